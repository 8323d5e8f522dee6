//! Sets of leaves, as bits.

/// A set of numbers below $64 W$.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bits<const W: usize>([u64; W]);

impl<const W: usize> Bits<W> {
    pub(super) const EMPTY: Self = Self([0; W]);

    pub(super) fn insert(&mut self, i: usize) {
        self.0[i / 64] |= 1 << (i % 64);
    }

    /// The numbers below `n`.
    pub(super) fn below(n: usize) -> Self {
        let mut set = Self::EMPTY;
        (0..n).for_each(|i| set.insert(i));
        set
    }

    #[inline(always)]
    pub(super) fn and(mut self, other: &Self) -> Self {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a &= b);
        self
    }

    #[inline(always)]
    pub(super) fn without(mut self, other: &Self) -> Self {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a &= !b);
        self
    }

    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    /// The smallest member; the set must have one.
    #[inline(always)]
    pub(super) fn first(&self) -> usize {
        let mut w = 0;
        while w + 1 < W && self.0[w] == 0 {
            w += 1;
        }
        64 * w + (self.0[w].trailing_zeros() as usize & 63)
    }

    /// The largest member; the set must have one.
    #[inline(always)]
    pub(super) fn last(&self) -> usize {
        let mut w = W - 1;
        while w > 0 && self.0[w] == 0 {
            w -= 1;
        }
        64 * w + (63 - (self.0[w].leading_zeros() as usize & 63))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_and_last_are_found_in_any_word() {
        for i in [0, 1, 63, 64, 100, 191] {
            for j in [i, 191] {
                let mut set = Bits::<3>::EMPTY;
                assert!(set.is_empty());
                set.insert(i);
                set.insert(j);
                assert_eq!((set.first(), set.last()), (i, j));
                assert!(set.without(&set).is_empty() && set.and(&Bits::below(i)).is_empty());
            }
        }
        assert_eq!((Bits::<2>::below(65).first(), Bits::<2>::below(65).last()), (0, 64));
    }
}
