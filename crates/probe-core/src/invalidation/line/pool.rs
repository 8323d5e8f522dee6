//! Errors with their images, drawn once and shared by all sessions.
//!
//! A pool is a sequence of blocks of 64 errors. A block is created when it is first read and then
//! kept, up to a memory limit. Blocks beyond the limit are created again for each read, with the
//! same bits. Segments are independent of one another; each attempt to certify reads its own.

use super::shallow::ShortImages;
use super::strata::{N_STRATA, point_in};
use super::wide::Singles;
use super::{LANES, Lanes, Lines};
use crate::math::sobol::ScrambledSobol;
use crate::seed::{Key, Purpose, Seed, Stream};
use std::sync::OnceLock;

/// Groups of lanes in a block.
const GROUPS: usize = 8;
/// Errors in a block.
pub(crate) const BLOCK: usize = GROUPS * LANES;
/// Bytes of blocks that a segment keeps.
const KEPT_BYTES: usize = 16 << 20;

/// A block of errors.
pub(crate) struct Block {
    /// Per group, the coordinates of eight errors.
    pub(super) coordinates: Vec<Lanes>,
    /// Per group, the images of the errors. Empty if the noise depends on the point.
    pub(super) images: Vec<Lanes>,
    /// Per group, a number drawn uniformly from (0, 1) for each error. Empty if lines are not
    /// evaluated at stratified points.
    pub(super) drawn: Vec<Lanes>,
    /// Per stratum, the points on the errors' lines, in standard deviations: see `strata.rs`.
    points: Vec<OnceLock<Box<[Singles]>>>,
    short: OnceLock<Short>,
}

/// Images of a block's errors in single precision, and the sums of their magnitudes.
pub(super) struct Short {
    images: Vec<Singles>,
    magnitudes: Vec<Lanes>,
    width: usize,
}

impl Short {
    /// The images of one group of eight errors.
    pub(super) fn group(&self, number: usize) -> ShortImages<'_> {
        ShortImages {
            images: &self.images[number * self.width..][..self.width],
            magnitudes: &self.magnitudes[number],
        }
    }
}

impl Block {
    pub(super) fn new(coordinates: Vec<Lanes>, images: Vec<Lanes>) -> Self {
        Self { coordinates, images, drawn: Vec::new(), points: Vec::new(), short: OnceLock::new() }
    }

    /// Whether stratified points were drawn.
    pub(super) fn can_stratify(&self) -> bool {
        !self.drawn.is_empty()
    }

    /// Images of this width in single precision.
    pub(super) fn short_images(&self, width: usize) -> &Short {
        self.short.get_or_init(|| {
            let images = self.images.iter().map(|lanes| lanes.map(|z| z as f32)).collect();
            let magnitudes = |group: &[Lanes]| {
                let mut sum = [0.0; LANES];
                for lanes in group {
                    sum.iter_mut().zip(lanes).for_each(|(sum, z)| *sum += z.abs());
                }
                sum
            };
            let magnitudes = self.images.chunks_exact(width).map(magnitudes).collect();
            Short { images, magnitudes, width }
        })
    }

    /// The points of the lines in one stratum, group by group.
    pub(super) fn points(&self, stratum: u8) -> &[Singles] {
        let points = |group: &Lanes| group.map(|drawn| point_in(stratum, drawn));
        self.points[usize::from(stratum)].get_or_init(|| self.drawn.iter().map(points).collect())
    }

    fn with_draws(mut self, mut draw: impl FnMut() -> f64) -> Self {
        self.drawn.resize_with(GROUPS, || std::array::from_fn(|_| draw()));
        self.points.resize_with(N_STRATA, OnceLock::new);
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

/// How errors are drawn.
enum Source {
    /// Independent draws, as a certificate needs them.
    Fresh { seed: Seed, purpose: Purpose, segment: u64 },
    /// Scrambled Sobol' points, which estimate means more precisely.
    Even { points: ScrambledSobol, seed: Seed, purpose: Purpose, key: u64 },
}

impl Pool {
    /// Independent errors in `segments` segments, for lines like `lines`.
    pub(crate) fn fresh(seed: Seed, purpose: Purpose, segments: u64, lines: &Lines<'_>) -> Self {
        let source = |segment| Source::Fresh { seed, purpose, segment };
        Self { segments: (0..segments).map(|s| Segment::new(source(s), lines)).collect() }
    }

    /// One segment of evenly spread errors, for lines like `lines`. Pools with different keys are
    /// independent.
    pub(crate) fn even(seed: Seed, purpose: Purpose, key: u64, lines: &Lines<'_>) -> Self {
        let points = ScrambledSobol::new(lines.n_coordinates(), &mut seed.stream(purpose, key));
        Self { segments: vec![Segment::new(Source::Even { points, seed, purpose, key }, lines)] }
    }

    /// Block number `index` of a segment, for lines like those given when the pool was created.
    /// `spare` holds a block that the pool does not keep.
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
        match self {
            Self::Fresh { seed, purpose, segment } => {
                let key = Key::default().word(*segment).word(index as u64).finish();
                let mut stream = seed.stream(*purpose, key);
                let block = lines.block(GROUPS, |row| law.draw(&mut stream, row));
                let mut aside = aside(*seed, *purpose, *segment, index);
                block.with_draws(|| aside.uniform())
            }
            Self::Even { points, seed, purpose, key } => {
                let mut next = index * BLOCK..;
                let block = lines.block(GROUPS, |row| {
                    points.uniform_into(next.next().unwrap_or_default(), row);
                    law.shape_uniform(row);
                });
                // The numbers within strata are evenly spread too: multiples of the golden section
                // from a random start.
                let start = aside(*seed, *purpose, *key, 0).uniform();
                let mut number = (index * BLOCK) as f64;
                block.with_draws(|| {
                    number += 1.0;
                    (start + number * GOLDEN).fract()
                })
            }
        }
    }
}

/// The golden section. The fractional parts of its multiples are spread most evenly over (0, 1).
const GOLDEN: f64 = 0.618_033_988_749_894_9;

/// The stream of the stratified points of a block, independent of the errors.
fn aside(seed: Seed, purpose: Purpose, of: u64, index: usize) -> Stream {
    const BESIDE: u64 = 0xB35D_E000;
    seed.stream(purpose, Key::default().word(BESIDE).word(of).word(index as u64).finish())
}
