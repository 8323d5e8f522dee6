//! Errors drawn once and read by everybody, with their images.
//!
//! A pool is a sequence of blocks of 64 errors, made when first read and then kept, up to a limit of memory; what lies beyond is
//! made again each time, with the same bits. Segments are independent of one another: an attempt to certify reads a segment of its own.

use super::{LANES, Lanes, Lines};
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
    seed: Seed,
    purpose: Purpose,
    segments: Vec<Vec<OnceLock<Block>>>,
}

impl Pool {
    /// A pool of `segments` segments for lines like `lines`.
    pub(crate) fn new(seed: Seed, purpose: Purpose, segments: usize, lines: &Lines<'_>) -> Self {
        let bytes = size_of::<Lanes>() * GROUPS * (lines.n_coordinates() + lines.image_width());
        let kept = (KEPT_BYTES / bytes.max(1)).clamp(4, 4_096);
        let segment = || (0..kept).map(|_| OnceLock::new()).collect();
        Self { seed, purpose, segments: (0..segments).map(|_| segment()).collect() }
    }

    /// Block number `index` of a segment, for lines like those that the pool was made for.
    pub(crate) fn block<'p>(
        &'p self,
        segment: usize,
        index: usize,
        lines: &Lines<'_>,
        spare: &'p mut Option<Block>,
    ) -> &'p Block {
        match self.segments[segment].get(index) {
            Some(kept) => kept.get_or_init(|| self.make(segment, index, lines)),
            None => spare.insert(self.make(segment, index, lines)),
        }
    }

    fn make(&self, segment: usize, index: usize, lines: &Lines<'_>) -> Block {
        let key = Key::default().word(segment as u64).word(index as u64).finish();
        let mut stream = self.seed.stream(self.purpose, key);
        lines.block(GROUPS, |row| lines.law().draw(&mut stream, row))
    }
}
