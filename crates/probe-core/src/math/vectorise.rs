//! Loops compiled for the vector units that the machine turns out to have.

/// Runs `work` compiled for the widest available vector instructions.
///
/// The same operations run in the same order: products and sums are not fused, so the bits are
/// those of the plain loop on every machine. Whatever is called inside must be inlined
/// (`#[inline(always)]`) to profit.
///
/// ```
/// use probe_core::math::vectorised;
/// let x = [0.1, 0.2, 0.3];
/// assert_eq!(vectorised(|| x.iter().sum::<f64>()), 0.1 + 0.2 + 0.3);
/// ```
pub fn vectorised<R>(work: impl FnOnce() -> R) -> R {
    struct Work<F>(F);

    impl<R, F: FnOnce() -> R> pulp::NullaryFnOnce for Work<F> {
        type Output = R;

        #[inline(always)]
        fn call(self) -> R {
            (self.0)()
        }
    }

    pulp::Arch::new().dispatch(Work(work))
}
