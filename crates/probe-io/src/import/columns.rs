//! Columns before the first layer or tree. Each comes from one input by recorded steps, so
//! that a threshold of a tree can be moved through them, bit for bit.

/// What the entries of a column or a constant are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Element {
    /// float32.
    Single,
    /// float64.
    Double,
    /// Whole numbers, and truth values as 0 and 1.
    Whole,
    Text,
}

/// Where a column comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Source {
    /// The number itself, of raw feature `.0`.
    Number(usize),
    /// 1 under one option of a raw feature, else 0.
    Option(usize, usize),
    /// The number of the raw feature's option.
    Code(usize),
}

impl Source {
    pub(super) fn raw(self) -> usize {
        match self {
            Self::Number(raw) | Self::Option(raw, _) | Self::Code(raw) => raw,
        }
    }
}

/// One operation on a column. Constants are finite, factors not zero unless said.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Step {
    /// Rounds to float32.
    Round,
    Add(f64),
    /// Adds the column's negative to a number.
    From(f64),
    Subtract(f64),
    Multiply(f64),
    Divide(f64),
}

/// Steps with the precision they are made in: `true` for float32.
type Steps = Vec<(Step, bool)>;

/// More steps than any pipeline has.
const MOST_STEPS: usize = 64;

/// One column.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Cell {
    pub source: Source,
    pub element: Element,
    steps: Steps,
    /// Truncated to a whole number; allowed for categories only.
    pub truncated: bool,
    /// Missing values were replaced before.
    pub imputed: bool,
}

impl Cell {
    /// An input of the graph.
    pub(super) fn input(raw: usize, element: Element) -> Self {
        let steps = if element == Element::Single { vec![(Step::Round, true)] } else { Vec::new() };
        Self { source: Source::Number(raw), element, steps, truncated: false, imputed: false }
    }

    /// The output of an encoder for a category.
    pub(super) fn encoded(source: Source, element: Element) -> Self {
        Self { source, element, steps: Vec::new(), truncated: false, imputed: false }
    }

    /// Number of steps, for budgets.
    pub(super) fn n_steps(&self) -> usize {
        self.steps.len()
    }

    /// Whether nothing but rounding happened to the input.
    pub(super) fn is_untouched(&self) -> bool {
        self.steps.iter().all(|(step, _)| *step == Step::Round)
    }

    /// Whether comparing it equals comparing the input rounded to float32.
    pub(super) fn is_single(&self) -> bool {
        let encoded = !matches!(self.source, Source::Number(_));
        match self.steps[..] {
            [] => encoded,
            [(Step::Round, _)] => !self.truncated,
            _ => false,
        }
    }

    /// After one more operation.
    pub(super) fn then(&self, step: Step) -> Result<Self, String> {
        match step {
            Step::Multiply(0.0) => return Err("a factor of zero".to_owned()),
            Step::Divide(0.0) => return Err("division by zero".to_owned()),
            Step::Round => {}
            Step::Add(c)
            | Step::From(c)
            | Step::Subtract(c)
            | Step::Multiply(c)
            | Step::Divide(c) => {
                if !c.is_finite() {
                    return Err(format!("the constant {c} is not finite"));
                }
                self.check_is_number()?;
                if self.element == Element::Whole {
                    return Err("arithmetic on whole numbers".to_owned());
                }
            }
        }
        if self.steps.len() >= MOST_STEPS {
            return Err(format!("more than {MOST_STEPS} operations on one column"));
        }
        let mut next = self.clone();
        next.steps.push((step, self.element == Element::Single));
        Ok(next)
    }

    /// As another type.
    pub(super) fn cast(&self, to: Element) -> Result<Self, String> {
        let mut next = self.clone();
        next.element = to;
        match (self.element, to) {
            (from, to) if from == to => {}
            // Codes and zeros and ones are exact as they are.
            (Element::Whole, Element::Single) if !matches!(self.source, Source::Number(_)) => {}
            (Element::Double | Element::Whole, Element::Single) if !self.truncated => {
                next.steps.push((Step::Round, true));
            }
            (Element::Single | Element::Whole, Element::Double) if !self.truncated => {}
            (Element::Single | Element::Double, Element::Whole) if self.is_untouched() => {
                next.truncated = true
            }
            (Element::Whole, Element::Text) if self.is_untouched() => {}
            _ => return Err(format!("{:?} cast to {to:?}", self.element)),
        }
        Ok(next)
    }

    fn check_is_number(&self) -> Result<(), String> {
        if self.element == Element::Text || self.truncated {
            return Err("a category is used as a number".to_owned());
        }
        Ok(())
    }

    /// Slope and offset of the column as a function of its source, without rounding.
    pub(super) fn affine(&self) -> Result<(f64, f64), String> {
        self.check_is_number()?;
        let (mut slope, mut offset) = (1.0, 0.0);
        for (step, _) in &self.steps {
            (slope, offset) = match *step {
                Step::Round => (slope, offset),
                Step::Add(c) => (slope, offset + c),
                Step::From(c) => (-slope, c - offset),
                Step::Subtract(c) => (slope, offset - c),
                Step::Multiply(c) => (slope * c, offset * c),
                Step::Divide(c) => (slope / c, offset / c),
            };
        }
        Ok((slope, offset))
    }

    /// The column for a value of its source, in the arithmetic of the file.
    pub(super) fn value(&self, x: f64) -> f64 {
        let mut value = x;
        for &(step, single) in &self.steps {
            value = if single {
                f64::from(in_single(step, value as f32))
            } else {
                in_double(step, value)
            };
        }
        value
    }

    /// The split on the source that equals a split of this column at `threshold`.
    pub(super) fn cut(&self, threshold: f64) -> Result<Cut, String> {
        self.check_is_number()?;
        let falls = self.steps.iter().fold(false, |falls, (step, _)| match step {
            Step::From(_) => !falls,
            Step::Multiply(c) | Step::Divide(c) if *c < 0.0 => !falls,
            _ => falls,
        });
        let single =
            self.steps.last().is_some_and(|(step, single)| *single || *step == Step::Round);
        let most = if single { f64::from(f32::MAX) } else { f64::MAX };
        // The steps are monotone, so that the values below some point are on one side and all
        // others on the other side. Values that are too large for the column's type count as its
        // largest number, so that nothing is above a threshold that exceeds all numbers.
        let low_side = |x: f64| (self.value(x).clamp(-most, most) <= threshold) != falls;
        let (mut low, mut high) = (ordered(-f64::MAX), ordered(f64::MAX));
        let at = if low_side(f64::MAX) {
            f64::MAX
        } else if !low_side(-f64::MAX) {
            -f64::MAX
        } else {
            while low < high {
                // Rounded up, so that the range shrinks.
                let middle = low + (high - low) / 2 + (high - low) % 2;
                if low_side(number(middle)) {
                    low = middle;
                } else {
                    high = middle - 1;
                }
            }
            number(low)
        };
        Ok(Cut { at, falls })
    }
}

/// A split of the source.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Cut {
    /// The largest value of the low side.
    pub at: f64,
    /// Whether the low side is where the column is *above* the threshold.
    pub falls: bool,
}

/// Maps doubles to whole numbers in the same order, wide enough for their differences.
fn ordered(x: f64) -> i128 {
    let bits = x.to_bits();
    let size = i128::from(bits & !(1 << 63));
    if bits >> 63 == 1 { -size } else { size }
}

fn number(ordered: i128) -> f64 {
    let size = f64::from_bits(ordered.unsigned_abs() as u64);
    if ordered < 0 { -size } else { size }
}

fn in_single(step: Step, x: f32) -> f32 {
    match step {
        Step::Round => x,
        Step::Add(c) => x + c as f32,
        Step::From(c) => c as f32 - x,
        Step::Subtract(c) => x - c as f32,
        Step::Multiply(c) => x * c as f32,
        Step::Divide(c) => x / c as f32,
    }
}

fn in_double(step: Step, x: f64) -> f64 {
    match step {
        Step::Round => f64::from(x as f32),
        Step::Add(c) => x + c,
        Step::From(c) => c - x,
        Step::Subtract(c) => x - c,
        Step::Multiply(c) => x * c,
        Step::Divide(c) => x / c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every split is the same on the source as on the column, on both sides of the cut and of
    /// values around it.
    #[test]
    fn cuts_are_moved_to_the_bit() {
        let chains: [&[Step]; 5] = [
            &[],
            &[Step::Subtract(39.367_356), Step::Multiply(0.098_644_85)],
            &[Step::Multiply(-1.7e-3), Step::Add(0.25)],
            &[Step::From(1.0), Step::Divide(3.0), Step::Subtract(-2.5)],
            &[Step::Divide(-7.0), Step::Multiply(-0.1)],
        ];
        for element in [Element::Single, Element::Double] {
            for steps in chains {
                let mut cell = Cell::input(0, element);
                for step in steps {
                    cell = cell.then(*step).unwrap();
                }
                for i in -40_i32..40 {
                    // A value of the column itself: rows on thresholds.
                    let threshold = cell.value(f64::from(i) * 1.37);
                    let cut = cell.cut(threshold).unwrap();
                    for x in [
                        cut.at,
                        cut.at.next_up(),
                        cut.at.next_down(),
                        f64::from(i) * 1.37,
                        0.0,
                        -1e9,
                        1e9,
                    ] {
                        assert_eq!(
                            (x <= cut.at) != cut.falls,
                            cell.value(x) <= threshold,
                            "{steps:?} {x}"
                        );
                    }
                }
            }
        }
    }

    /// What is too large for float32 may be small enough once it is divided.
    #[test]
    fn cuts_beyond_float32_are_found_where_steps_come_before_rounding() {
        let cell = Cell::input(0, Element::Double)
            .then(Step::Divide(1e10))
            .unwrap()
            .then(Step::Round)
            .unwrap();
        let cut = cell.cut(f64::from(1e30_f32)).unwrap();
        assert!((cut.at / 1e40 - 1.0).abs() < 1e-6, "{}", cut.at);
        assert!(
            cell.value(cut.at) <= f64::from(1e30_f32)
                && cell.value(cut.at.next_up()) > f64::from(1e30_f32)
        );
    }

    #[test]
    fn cuts_out_of_reach_send_everything_one_way() {
        let cell = Cell::input(0, Element::Single);
        assert_eq!(cell.cut(f64::INFINITY).unwrap().at, f64::MAX);
        assert_eq!(cell.cut(f64::NEG_INFINITY).unwrap().at, -f64::MAX);
    }
}
