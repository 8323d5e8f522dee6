//! Functions of one number, applied to each entry of a layer: sums of products of the entry and of
//! activations of it. Exporters write one activation as several operators, in several orders; the
//! sum is the same for all of them.

use probe_core::{Activation, model::LEAKY_SLOPE};
use std::f64::consts::FRAC_1_SQRT_2;

/// A function that graphs apply entry by entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Function {
    Relu,
    LeakyRelu,
    Tanh,
    Sigmoid,
    Softplus,
    Erf,
}

/// `function(slope · t + offset)`.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Factor {
    function: Function,
    slope: f64,
    offset: f64,
}

/// `coefficient · t^power · product of factors`.
#[derive(Debug, Clone, PartialEq)]
struct Term {
    coefficient: f64,
    power: u32,
    factors: Vec<Factor>,
}

/// A sum of terms, with like terms combined.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Curve {
    terms: Vec<Term>,
}

/// An activation between two affine maps: `scale · activation(slope · t + offset) + shift`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Shape {
    pub activation: Activation,
    pub slope: f64,
    pub offset: f64,
    pub scale: f64,
    pub shift: f64,
}

/// Limit, more than any activation needs.
const MOST_TERMS: usize = 8;

impl Curve {
    /// `t` itself.
    pub(super) fn identity() -> Self {
        Self { terms: vec![Term { coefficient: 1.0, power: 1, factors: Vec::new() }] }
    }

    pub(super) fn constant(c: f64) -> Self {
        Self { terms: vec![Term { coefficient: c, power: 0, factors: Vec::new() }] }
    }

    /// Offset and slope, where it is a straight line.
    pub(super) fn line(&self) -> Option<(f64, f64)> {
        let (mut offset, mut slope) = (0.0, 0.0);
        for term in &self.terms {
            match (term.power, term.factors.is_empty()) {
                (0, true) => offset += term.coefficient,
                (1, true) => slope += term.coefficient,
                _ => return None,
            }
        }
        Some((offset, slope))
    }

    /// A function of a straight line.
    pub(super) fn of(function: Function, line: (f64, f64)) -> Self {
        let factor = Factor { function, slope: line.1, offset: line.0 };
        Self { terms: vec![Term { coefficient: 1.0, power: 0, factors: vec![factor] }] }
    }

    /// The exact gelu, `t/2 · (1 + erf(t/√2))`, of `t`.
    pub(super) fn gelu() -> Self {
        let half = |factors| Term { coefficient: 0.5, power: 1, factors };
        let erf = Factor { function: Function::Erf, slope: FRAC_1_SQRT_2, offset: 0.0 };
        Self { terms: vec![half(Vec::new()), half(vec![erf])] }
    }

    pub(super) fn plus(&self, other: &Self) -> Result<Self, String> {
        let mut terms = self.terms.clone();
        for term in &other.terms {
            match terms.iter_mut().find(|t| t.power == term.power && t.factors == term.factors) {
                Some(like) => like.coefficient += term.coefficient,
                None => terms.push(term.clone()),
            }
        }
        Self::of_terms(terms)
    }

    pub(super) fn times(&self, other: &Self) -> Result<Self, String> {
        let mut sum = Self { terms: Vec::new() };
        for a in &self.terms {
            for b in &other.terms {
                let mut factors = [&a.factors[..], &b.factors[..]].concat();
                factors
                    .sort_by(|x, y| x.function.cmp(&y.function).then(x.slope.total_cmp(&y.slope)));
                let term = Term {
                    coefficient: a.coefficient * b.coefficient,
                    power: a.power + b.power,
                    factors,
                };
                sum = sum.plus(&Self { terms: vec![term] })?;
            }
        }
        Ok(sum)
    }

    fn of_terms(mut terms: Vec<Term>) -> Result<Self, String> {
        terms.retain(|term| term.coefficient != 0.0);
        if terms.len() > MOST_TERMS || terms.iter().any(|t| t.power > 3 || t.factors.len() > 2) {
            return Err("a function of one number that is no known activation".to_owned());
        }
        Ok(Self { terms })
    }

    /// The activation that it equals.
    pub(super) fn shape(&self) -> Result<Shape, String> {
        let is_shift = |term: &&Term| term.power == 0 && term.factors.is_empty();
        let shift = self.terms.iter().filter(is_shift).map(|term| term.coefficient).sum();
        let rest: Vec<&Term> = self.terms.iter().filter(|term| !is_shift(term)).collect();
        let whole = |activation, scale| Shape { activation, slope: 1.0, offset: 0.0, scale, shift };
        let plain = |factor: &Factor| factor.slope == 1.0 && factor.offset == 0.0;
        match rest[..] {
            [term] => match (term.power, &term.factors[..]) {
                (0, [factor]) => {
                    if let Some(activation) = factor.function.activation() {
                        let (slope, offset, scale) =
                            (factor.slope, factor.offset, term.coefficient);
                        return Ok(Shape { activation, slope, offset, scale, shift });
                    }
                }
                (1, [factor]) if factor.function == Function::Sigmoid && plain(factor) => {
                    return Ok(whole(Activation::Silu, term.coefficient));
                }
                _ => {}
            },
            [a, b] if a.power == 1 && b.power == 1 => {
                let (line, curve) = if a.factors.is_empty() { (a, b) } else { (b, a) };
                if let ([], [erf]) = (&line.factors[..], &curve.factors[..]) {
                    // The files hold 1/√2 or √2 as float32.
                    let right = erf.function == Function::Erf
                        && erf.offset == 0.0
                        && (erf.slope / FRAC_1_SQRT_2 - 1.0).abs() < f64::from(f32::EPSILON)
                        && line.coefficient == curve.coefficient;
                    if right {
                        return Ok(whole(Activation::Gelu, 2.0 * line.coefficient));
                    }
                }
            }
            _ => {}
        }
        let known = Activation::ALL.map(Activation::name).join(", ");
        Err(format!("the function {self} of each entry is no activation that is read ({known})"))
    }

    /// Slope and offset of `t` where it is `sigmoid(slope · t + offset)`.
    pub(super) fn sigmoid(&self) -> Option<(f64, f64)> {
        let shape = self.shape().ok()?;
        let pure =
            shape.activation == Activation::Sigmoid && shape.scale == 1.0 && shape.shift == 0.0;
        pure.then_some((shape.slope, shape.offset))
    }
}

impl Function {
    /// The function of an operator that has no attributes.
    pub(super) fn named(op: &str) -> Option<Self> {
        match op {
            "Relu" => Some(Self::Relu),
            "Tanh" => Some(Self::Tanh),
            "Sigmoid" => Some(Self::Sigmoid),
            "Softplus" => Some(Self::Softplus),
            "Erf" => Some(Self::Erf),
            _ => None,
        }
    }

    fn activation(self) -> Option<Activation> {
        match self {
            Self::Relu => Some(Activation::Relu),
            Self::LeakyRelu => Some(Activation::LeakyRelu),
            Self::Tanh => Some(Activation::Tanh),
            Self::Sigmoid => Some(Activation::Sigmoid),
            Self::Softplus => Some(Activation::Softplus),
            Self::Erf => None,
        }
    }

    /// A leaky rectifier, if its slope is supported.
    pub(super) fn leaky(slope: f64) -> Result<Self, String> {
        if slope as f32 == LEAKY_SLOPE as f32 {
            return Ok(Self::LeakyRelu);
        }
        Err(format!("alpha is {slope}; only {LEAKY_SLOPE} is read"))
    }
}

impl std::fmt::Display for Curve {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (i, term) in self.terms.iter().enumerate() {
            write!(f, "{}{}", if i > 0 { " + " } else { "" }, term.coefficient)?;
            if term.power > 0 {
                write!(f, " t^{}", term.power)?;
            }
            for factor in &term.factors {
                write!(f, " {:?}({} t + {})", factor.function, factor.slope, factor.offset)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gelu_is_known_in_every_order() {
        let t = Curve::identity();
        let half = Curve::constant(0.5);
        let erf = Curve::of(Function::Erf, (0.0, f64::from(std::f32::consts::FRAC_1_SQRT_2)));
        let one_more = erf.plus(&Curve::constant(1.0)).unwrap();
        let orders = [
            t.times(&one_more).unwrap().times(&half).unwrap(),
            half.times(&t).unwrap().times(&one_more).unwrap(),
            half.times(&one_more).unwrap().times(&t).unwrap(),
        ];
        for curve in orders {
            let shape = curve.shape().unwrap();
            assert_eq!((shape.activation, shape.scale, shape.shift), (Activation::Gelu, 1.0, 0.0));
        }
        // Another argument of erf is another function.
        let other = Curve::of(Function::Erf, (0.0, 0.7)).plus(&Curve::constant(1.0)).unwrap();
        assert!(t.times(&other).unwrap().shape().is_err());
    }

    #[test]
    fn silu_is_its_argument_times_its_sigmoid() {
        let t = Curve::identity();
        let silu = t.times(&Curve::of(Function::Sigmoid, (0.0, 1.0))).unwrap();
        assert_eq!(silu.shape().unwrap().activation, Activation::Silu);
        assert!(t.times(&Curve::of(Function::Sigmoid, (0.0, 1.7))).unwrap().shape().is_err());
    }

    #[test]
    fn lines_around_an_activation_are_kept() {
        let curve = Curve::of(Function::Tanh, (0.5, 2.0)).times(&Curve::constant(3.0)).unwrap();
        let shape = curve.plus(&Curve::constant(-1.0)).unwrap().shape().unwrap();
        let wanted = Shape {
            activation: Activation::Tanh,
            slope: 2.0,
            offset: 0.5,
            scale: 3.0,
            shift: -1.0,
        };
        assert_eq!(shape, wanted);
    }

    #[test]
    fn slopes_of_leaky_rectifiers_are_compared_as_float32() {
        assert!(Function::leaky(f64::from(0.01_f32)).is_ok());
        assert!(Function::leaky(f64::from(0.2_f32)).unwrap_err().contains("0.2"));
    }
}
