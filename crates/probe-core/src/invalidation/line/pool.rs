//! Errors drawn once and read by everybody, with their images.
//!
//! A pool is a sequence of blocks of 64 errors, made when first read and then kept, up to a limit of memory; what lies beyond is
//! made again each time, with the same bits. Segments are independent of one another: an attempt to certify reads a segment of its own.

use super::{LANES, Lanes, Lines};
use crate::math::sobol::ScrambledSobol;
use crate::seed::{Key, Purpose, Seed};
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
    Even(ScrambledSobol),
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
        Self { segments: vec![Segment::new(Source::Even(points), lines)] }
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
        match self {
            Self::Fresh { seed, purpose, segment } => {
                let key = Key::default().word(*segment).word(index as u64).finish();
                let mut stream = seed.stream(*purpose, key);
                lines.block(GROUPS, |row| law.draw(&mut stream, row))
            }
            Self::Even(points) => {
                let mut next = index * BLOCK..;
                lines.block(GROUPS, |row| {
                    points.uniform_into(next.next().unwrap_or_default(), row);
                    law.shape_uniform(row);
                })
            }
        }
    }
}
