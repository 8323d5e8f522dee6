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

/// $A^{-1}$ for a symmetric positive definite `a` (row-major, `n` × `n`). `None` where a pivot,
/// the square of a diagonal element of $L$, is below `least`.
pub fn inverse(a: &[f64], n: usize, least: f64) -> Option<Vec<f64>> {
    let l = semidefinite(a, n)?;
    if (0..n).any(|i| l[i * n + i] * l[i * n + i] < least) {
        return None;
    }
    // L⁻¹, column by column.
    let mut half = vec![0.0; n * n];
    for j in 0..n {
        for i in j..n {
            let unit = if i == j { 1.0 } else { 0.0 };
            let sum: f64 = (j..i).map(|k| l[i * n + k] * half[k * n + j]).sum();
            half[i * n + j] = (unit - sum) / l[i * n + i];
        }
    }
    let element = |i: usize, j: usize| -> f64 {
        (i.max(j)..n).map(|k| half[k * n + i] * half[k * n + j]).sum()
    };
    Some((0..n * n).map(|at| element(at / n, at % n)).collect())
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
    fn inverse_multiplies_to_one() {
        let a = [4.0, 2.0, -2.0, 2.0, 5.0, 1.0, -2.0, 1.0, 6.0];
        let inverse = inverse(&a, 3, 1e-9).unwrap();
        for i in 0..3 {
            for j in 0..3 {
                let product: f64 = (0..3).map(|k| inverse[i * 3 + k] * a[k * 3 + j]).sum();
                assert!((product - f64::from(u8::from(i == j))).abs() < 1e-14);
            }
        }
        assert!(super::inverse(&[1.0, 1.0, 1.0, 1.0], 2, 1e-9).is_none());
    }

    #[test]
    fn singular_is_accepted_and_indefinite_refused() {
        assert!(semidefinite(&[1.0, 1.0, 1.0, 1.0], 2).is_some());
        assert!(semidefinite(&[1.0, 2.0, 2.0, 1.0], 2).is_none());
        assert!(semidefinite(&[0.0, 1.0, 1.0, 0.0], 2).is_none());
        assert!(semidefinite(&[f64::NAN], 1).is_none());
    }
}
