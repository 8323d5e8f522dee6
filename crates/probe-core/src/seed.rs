//! Deterministic randomness: a stream is named by its purpose and the person's values, never by row
//! number or thread.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// The user's seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Seed(pub u64);

/// What a stream is for. Streams of different purposes are independent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Purpose {
    /// Estimating the invalidation rate of a given point.
    Rate = 1,
    /// Searching for a recourse.
    Search = 2,
    /// Certifying a recourse.
    Certificate = 3,
    /// The reported rate, from samples that neither search nor certificate saw.
    Audit = 4,
    /// Splitting, shuffling and initialising in training.
    Training = 5,
    /// Generating data.
    Data = 6,
    /// Resampling of people for intervals.
    Bootstrap = 7,
}

impl Seed {
    /// The stream for `purpose` and `key` (see [`Key`]).
    pub fn stream(self, purpose: Purpose, key: u64) -> Stream {
        let mut bytes = [0u8; 32];
        for (chunk, word) in
            bytes.chunks_exact_mut(8).zip([self.0, purpose as u64, key, 0x7072_6f62_6520_7631])
        {
            chunk.copy_from_slice(&word.to_le_bytes());
        }
        Stream { rng: ChaCha8Rng::from_seed(bytes), spare: None }
    }
}

/// A 64-bit hash of a person's values and the settings that matter; any partitioning of the people
/// gives the same keys.
#[derive(Debug, Clone, Copy)]
pub struct Key(u64);

impl Default for Key {
    fn default() -> Self {
        Self(0x9e37_79b9_7f4a_7c15)
    }
}

impl Key {
    /// Mixes in one word.
    #[must_use]
    pub fn word(self, word: u64) -> Self {
        // splitmix64's finaliser over the running hash.
        let mut h = self.0.rotate_left(25) ^ word;
        h = (h ^ (h >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        h = (h ^ (h >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Self((h ^ (h >> 31)).wrapping_add(0x9e37_79b9_7f4a_7c15))
    }

    /// Mixes in numbers by their bits (−0 counts as 0).
    #[must_use]
    pub fn values(self, values: &[f64]) -> Self {
        values.iter().fold(self, |key, value| key.word((value + 0.0).to_bits()))
    }

    /// The finished key.
    pub fn finish(self) -> u64 {
        self.0
    }
}

/// A reproducible stream of random numbers. It wraps ChaCha8, so that no dependency's type is
/// public.
#[derive(Debug, Clone)]
pub struct Stream {
    rng: ChaCha8Rng,
    spare: Option<f64>,
}

impl Stream {
    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.rng.next_u64()
    }

    /// Uniform on the open interval (0, 1), on a grid of 2⁻⁵³ shifted by half a step.
    pub fn uniform(&mut self) -> f64 {
        ((self.bits() >> 11) as f64 + 0.5) * (1.0 / 9_007_199_254_740_992.0)
    }

    /// Uniform on 0..n without bias.
    pub fn below(&mut self, n: usize) -> usize {
        let n = n as u64;
        let zone = u64::MAX - (u64::MAX % n + 1) % n;
        loop {
            let bits = self.bits();
            if bits <= zone {
                return (bits % n) as usize;
            }
        }
    }

    /// Standard normal, by Marsaglia's polar method. The sampler is our own, so that a new version
    /// of a dependency cannot change results.
    pub fn normal(&mut self) -> f64 {
        if let Some(z) = self.spare.take() {
            return z;
        }
        loop {
            let (u, v) = (2.0 * self.uniform() - 1.0, 2.0 * self.uniform() - 1.0);
            let s = u * u + v * v;
            if s < 1.0 && s > 0.0 {
                let factor = (-2.0 * libm::log(s) / s).sqrt();
                self.spare = Some(v * factor);
                return u * factor;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_repeat_and_differ_by_seed_purpose_and_key() {
        let first = |seed, purpose, key| Seed(seed).stream(purpose, key).bits();
        assert_eq!(first(1, Purpose::Rate, 2), first(1, Purpose::Rate, 2));
        assert_ne!(first(1, Purpose::Rate, 2), first(2, Purpose::Rate, 2));
        assert_ne!(first(1, Purpose::Rate, 2), first(1, Purpose::Audit, 2));
        assert_ne!(first(1, Purpose::Rate, 2), first(1, Purpose::Rate, 3));
        assert_ne!(
            Key::default().values(&[1.0, 2.0]).finish(),
            Key::default().values(&[2.0, 1.0]).finish()
        );
        assert_eq!(Key::default().values(&[0.0]).finish(), Key::default().values(&[-0.0]).finish());
    }

    #[test]
    fn normals_have_normal_moments() {
        let mut stream = Seed(3).stream(Purpose::Rate, 0);
        let n = 400_000;
        let draws: Vec<f64> = (0..n).map(|_| stream.normal()).collect();
        let moment = |p: i32| draws.iter().map(|z| z.powi(p)).sum::<f64>() / n as f64;
        // Standard errors of the first four moments: sqrt(1, 2, 15, 96) / sqrt(n); four of them
        // allowed.
        let bound = |variance: f64| 4.0 * (variance / n as f64).sqrt();
        assert!(moment(1).abs() < bound(1.0));
        assert!((moment(2) - 1.0).abs() < bound(2.0));
        assert!(moment(3).abs() < bound(15.0));
        assert!((moment(4) - 3.0).abs() < bound(96.0));
    }
}
