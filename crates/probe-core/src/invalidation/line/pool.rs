//! Errors drawn once and read by everybody, with their images.
//!
//! A pool is a sequence of blocks of 64 errors, made when first read and then kept, up to a limit of memory; what lies beyond is
//! made again each time, with the same bits. Segments are independent of one another: an attempt to certify reads a segment of its own.

use super::wide::Singles;
use super::{LANES, Lanes, Lines};
use crate::math::normal::quantile;
use crate::math::sobol::ScrambledSobol;
use crate::seed::{Key, Purpose, Seed, Stream};
use std::sync::OnceLock;

/// Groups of lanes in a block.
const GROUPS: usize = 8;
/// Errors in a block.
pub(crate) const BLOCK: usize = GROUPS * LANES;
/// Bytes of blocks that a segment keeps.
const KEPT_BYTES: usize = 16 << 20;

/// Some errors.
pub(crate) struct Block {
    /// Per group, the coordinates of eight errors.
    pub(super) coordinates: Vec<Lanes>,
    /// Per group, their images. Empty where the noise depends on the point.
    pub(super) images: Vec<Lanes>,
    /// Per group, a number drawn uniformly from (0, 1) for each error. Empty where lines are not looked at in places.
    pub(super) drawn: Vec<Lanes>,
    few: OnceLock<Places>,
    many: OnceLock<Places>,
}

/// Places of lines, in standard deviations: see `shallow/places.rs`.
pub(super) struct Places {
    each: usize,
    singles: Vec<Singles>,
}

impl Places {
    /// `each` of them for every number that was drawn.
    fn new(drawn: &[Lanes], each: usize) -> Self {
        let place = |k: usize, group: &Lanes| group.map(|w| quantile((k as f64 + w) / each as f64) as f32);
        let singles = drawn.iter().flat_map(|group| (0..each).map(move |k| place(k, group))).collect();
        Self { each, singles }
    }

    /// Those of one group of lines after the other.
    pub(super) fn groups(&self) -> impl Iterator<Item = &[Singles]> {
        self.singles.chunks_exact(self.each)
    }
}

/// How many places of a line are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    /// The line as a whole: its refused mass, exactly.
    Whole,
    /// Eight, or sixteen.
    Few,
    Many,
}

impl Look {
    /// The way to look that takes a certificate of `rate` least work, for lines of this variance whose mean is `gap` below it.
    pub(crate) fn cheapest(rate: f64, gap: f64, variance: f64) -> Self {
        // Work for each unit of what a bet wins on average, at its best stake.
        let work = |look: Self| {
            let square = variance + look.variance() + gap * gap;
            let stake = (gap / square).min(0.98 / (1.0 - rate));
            (look.places() + SHIFTING) / (stake * (gap - 0.5 * stake * square))
        };
        if work(Self::Few) < work(Self::Many) { Self::Few } else { Self::Many }
    }

    fn places(self) -> f64 {
        match self {
            Self::Whole => 0.0,
            Self::Few => FEW as f64,
            Self::Many => MANY as f64,
        }
    }

    /// Roughly what looking at places adds to the variance of a line, judged by how many more lines certificates took. A wrong number costs time, not
    /// validity.
    pub(crate) fn variance(self) -> f64 {
        match self {
            Self::Whole => 0.0,
            Self::Few => 0.004,
            Self::Many => 0.0013,
        }
    }
}

/// What placing a line takes, in places.
const SHIFTING: f64 = 2.0;
const FEW: usize = 8;
const MANY: usize = 16;

impl Block {
    pub(super) fn new(coordinates: Vec<Lanes>, images: Vec<Lanes>) -> Self {
        let (few, many) = (OnceLock::new(), OnceLock::new());
        Self { coordinates, images, drawn: Vec::new(), few, many }
    }

    /// Places of the lines, where numbers were drawn for them.
    pub(super) fn places(&self, look: Look) -> Option<&Places> {
        match look {
            _ if self.drawn.is_empty() => None,
            Look::Whole => None,
            Look::Few => Some(self.few.get_or_init(|| Places::new(&self.drawn, FEW))),
            Look::Many => Some(self.many.get_or_init(|| Places::new(&self.drawn, MANY))),
        }
    }

    fn with_draws(mut self, stream: &mut Stream) -> Self {
        self.drawn.resize_with(GROUPS, || std::array::from_fn(|_| stream.uniform()));
        self
    }
}

/// A sequence of errors for one purpose.
pub(crate) struct Pool {
    segments: Vec<Segment>,
}

struct Segment {
    source: Source,
    blocks: Vec<OnceLock<Block>>,
}

/// Where errors come from.
enum Source {
    /// Independent draws: what a certificate may read.
    Fresh { seed: Seed, purpose: Purpose, segment: u64 },
    /// Scrambled Sobol' points: for means.
    Even { points: ScrambledSobol, seed: Seed, purpose: Purpose, key: u64 },
}

impl Pool {
    /// Independent errors in `segments` segments, for lines like `lines`.
    pub(crate) fn fresh(seed: Seed, purpose: Purpose, segments: u64, lines: &Lines<'_>) -> Self {
        let source = |segment| Source::Fresh { seed, purpose, segment };
        Self { segments: (0..segments).map(|s| Segment::new(source(s), lines)).collect() }
    }

    /// One segment of evenly spread errors, for lines like `lines`; independent of those of another `key`.
    pub(crate) fn even(seed: Seed, purpose: Purpose, key: u64, lines: &Lines<'_>) -> Self {
        let points = ScrambledSobol::new(lines.n_coordinates(), &mut seed.stream(purpose, key));
        Self { segments: vec![Segment::new(Source::Even { points, seed, purpose, key }, lines)] }
    }

    /// Block number `index` of a segment, for lines like those that the pool was made for.
    pub(crate) fn block<'p>(
        &'p self,
        segment: usize,
        index: usize,
        lines: &Lines<'_>,
        spare: &'p mut Option<Block>,
    ) -> &'p Block {
        let Segment { source, blocks } = &self.segments[segment];
        match blocks.get(index) {
            Some(kept) => kept.get_or_init(|| source.block(index, lines)),
            None => spare.insert(source.block(index, lines)),
        }
    }
}

impl Segment {
    fn new(source: Source, lines: &Lines<'_>) -> Self {
        let bytes = size_of::<Lanes>() * GROUPS * (lines.n_coordinates() + lines.image_width());
        let kept = (KEPT_BYTES / bytes).clamp(4, 4_096);
        Self { source, blocks: (0..kept).map(|_| OnceLock::new()).collect() }
    }
}

impl Source {
    fn block(&self, index: usize, lines: &Lines<'_>) -> Block {
        let law = lines.law();
        let (block, mut aside) = match self {
            Self::Fresh { seed, purpose, segment } => {
                let key = Key::default().word(*segment).word(index as u64).finish();
                let mut stream = seed.stream(*purpose, key);
                let block = lines.block(GROUPS, |row| law.draw(&mut stream, row));
                (block, aside(*seed, *purpose, *segment, index))
            }
            Self::Even { points, seed, purpose, key } => {
                let mut next = index * BLOCK..;
                let block = lines.block(GROUPS, |row| {
                    points.uniform_into(next.next().unwrap_or_default(), row);
                    law.shape_uniform(row);
                });
                (block, aside(*seed, *purpose, *key, index))
            }
        };
        block.with_draws(&mut aside)
    }
}

/// What numbers beside the errors of a block are drawn from: a stream that no error comes from.
fn aside(seed: Seed, purpose: Purpose, of: u64, index: usize) -> Stream {
    const BESIDE: u64 = 0xB35D_E000;
    seed.stream(purpose, Key::default().word(BESIDE).word(of).word(index as u64).finish())
}
