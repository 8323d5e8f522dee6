//! $\det K$ with $K_{ij} = 1 / (1 + d(c_i, c_j))$: large where points differ from each other.

/// Keeps the matrix invertible where two points coincide.
const RIDGE: f64 = 1e-4;

/// The determinant and, for each pair $i \ne j$, the factor of $\nabla_{c_i} d(c_i, c_j)$ in its
/// gradient (row-major).
pub(super) fn determinant(distance: &[f64], k: usize) -> (f64, Vec<f64>) {
    let kernel: Vec<f64> = distance.iter().map(|d| 1.0 / (1.0 + d)).collect();
    let mut matrix = kernel.clone();
    (0..k).for_each(|i| matrix[i * k + i] += RIDGE);
    let (det, inverse) = invert(matrix, k);
    // ∂ det / ∂K_ij = det · (K⁻¹)_ji, twice by symmetry, and ∂K_ij / ∂d = -K_ij².
    let factor = kernel.iter().zip(&inverse).map(|(k, inverse)| -2.0 * det * inverse * k * k);
    (det, factor.collect())
}

/// Determinant and inverse of a symmetric matrix by Gauss and Jordan, with the largest pivots
/// first.
fn invert(mut a: Vec<f64>, n: usize) -> (f64, Vec<f64>) {
    let mut inverse = vec![0.0; n * n];
    (0..n).for_each(|i| inverse[i * n + i] = 1.0);
    let mut det = 1.0;
    for column in 0..n {
        let size = |row: &usize| a[row * n + column].abs();
        let pivot = (column..n).max_by(|a, b| size(a).total_cmp(&size(b))).unwrap_or(column);
        if pivot != column {
            for j in 0..n {
                a.swap(pivot * n + j, column * n + j);
                inverse.swap(pivot * n + j, column * n + j);
            }
            det = -det;
        }
        let head = a[column * n + column];
        det *= head;
        for j in 0..n {
            a[column * n + j] /= head;
            inverse[column * n + j] /= head;
        }
        for row in (0..n).filter(|&row| row != column) {
            let times = a[row * n + column];
            for j in 0..n {
                a[row * n + j] -= times * a[column * n + j];
                inverse[row * n + j] -= times * inverse[column * n + j];
            }
        }
    }
    (det, inverse)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_points_by_hand() {
        // Distance 1: K = [[1, ½], [½, 1]] plus the ridge.
        let (det, factor) = determinant(&[0.0, 1.0, 1.0, 0.0], 2);
        assert!((det - ((1.0 + RIDGE) * (1.0 + RIDGE) - 0.25)).abs() < 1e-14);
        // det = (1+ε)² - 1/(1+d)²: its derivative is 2/(1+d)³ = ¼.
        assert!((factor[1] - 0.25).abs() < 1e-12 && factor[1] == factor[2], "{factor:?}");
    }

    #[test]
    fn factors_agree_with_differences() {
        let distance = [0.0, 0.7, 1.9, 0.7, 0.0, 1.4, 1.9, 1.4, 0.0];
        let factor = determinant(&distance, 3).1;
        for (i, j) in [(0, 1), (0, 2), (1, 2)] {
            let at = |h: f64| {
                let mut moved = distance;
                moved[i * 3 + j] += h;
                moved[j * 3 + i] += h;
                determinant(&moved, 3).0
            };
            // Central differences at h = 1e-5 err by h².
            assert!((factor[i * 3 + j] - (at(1e-5) - at(-1e-5)) / 2e-5).abs() < 1e-9);
        }
    }
}
