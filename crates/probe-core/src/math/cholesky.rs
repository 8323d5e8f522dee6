//! Cholesky factor of a covariance matrix that may be singular.

/// Lower-triangular $L$ with $LL^\top = A$ for a symmetric positive *semi*-definite `a` (row-major,
/// `n` × `n`).
///
/// Pivots within rounding of zero become zero columns. `None` if `a` has a clearly negative
/// direction.
pub fn semidefinite(a: &[f64], n: usize) -> Option<Vec<f64>> {
    let largest = (0..n).map(|i| a[i * n + i]).fold(0.0, f64::max);
    let zero = largest * n as f64 * 1e-14;
    let mut l = vec![0.0; n * n];
    for j in 0..n {
        let pivot = a[j * n + j] - (0..j).map(|k| l[j * n + k] * l[j * n + k]).sum::<f64>();
        if !pivot.is_finite() || pivot < -zero {
            return None;
        }
        let root = if pivot > zero { pivot.sqrt() } else { 0.0 };
        l[j * n + j] = root;
        for i in j + 1..n {
            let rest = a[i * n + j] - (0..j).map(|k| l[i * n + k] * l[j * n + k]).sum::<f64>();
            if root > 0.0 {
                l[i * n + j] = rest / root;
            } else if rest.abs() > (zero * largest).sqrt().max(zero) {
                return None;
            }
        }
    }
    Some(l)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factor_multiplies_back() {
        let a = [4.0, 2.0, -2.0, 2.0, 5.0, 1.0, -2.0, 1.0, 6.0];
        let l = semidefinite(&a, 3).unwrap();
        for i in 0..3 {
            for j in 0..3 {
                let product: f64 = (0..3).map(|k| l[i * 3 + k] * l[j * 3 + k]).sum();
                assert!((product - a[i * 3 + j]).abs() < 1e-14);
            }
        }
    }

    #[test]
    fn singular_is_accepted_and_indefinite_refused() {
        assert!(semidefinite(&[1.0, 1.0, 1.0, 1.0], 2).is_some());
        assert!(semidefinite(&[1.0, 2.0, 2.0, 1.0], 2).is_none());
        assert!(semidefinite(&[0.0, 1.0, 1.0, 0.0], 2).is_none());
        assert!(semidefinite(&[f64::NAN], 1).is_none());
    }
}
