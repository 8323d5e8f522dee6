//! Columns as ranks: the distinct values of each column, and the index of each row's value among
//! them. Trees only depend on the order of values.

use crate::rows::Rows;
use rayon::prelude::*;

/// One column.
#[derive(Debug, Clone, PartialEq)]
pub struct Levels {
    /// Its distinct values, ascending.
    pub values: Vec<f64>,
    /// The index of each row's value among them.
    pub codes: Vec<u32>,
}

impl Levels {
    /// All columns of finite numbers.
    pub fn of(x: Rows<'_>) -> Vec<Self> {
        (0..x.n_cols()).into_par_iter().map(|j| Self::column(x, j)).collect()
    }

    fn column(x: Rows<'_>, j: usize) -> Self {
        let mut order: Vec<(f64, u32)> = x.iter().zip(0u32..).map(|(row, i)| (row[j], i)).collect();
        order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let (mut values, mut codes) = (Vec::new(), vec![0; order.len()]);
        // By equality: -0 and 0 are one value.
        for (tied, code) in order.chunk_by(|a, b| a.0 == b.0).zip(0u32..) {
            values.push(tied[0].0);
            tied.iter().for_each(|&(_, row)| codes[row as usize] = code);
        }
        Self { values, codes }
    }

    /// A cut between two levels, midway.
    pub fn cut(&self, low: u32, high: u32) -> f64 {
        midway(self.values[low as usize], self.values[high as usize])
    }
}

/// Midway between $a < b$: at least $a$ and below $b$, also where nothing lies between them.
fn midway(a: f64, b: f64) -> f64 {
    let middle = 0.5 * a + 0.5 * b;
    if a <= middle && middle < b { middle } else { a }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_ranks_of_different_values() {
        let x = [3.0, 0.0, -1.0, -0.0, 3.0, 5.0];
        let levels = Levels::of(Rows::new(&x, 2).unwrap());
        assert_eq!(levels[0].values, [-1.0, 3.0]);
        assert_eq!(levels[0].codes, [1, 0, 1]);
        assert_eq!(levels[1].values, [0.0, 5.0]);
        assert_eq!(levels[1].codes, [0, 0, 1]);
        assert_eq!(levels[0].cut(0, 1), 1.0);
    }

    #[test]
    fn a_cut_tells_its_neighbours_apart() {
        let pairs = [
            (1.0, 1f64.next_up()),
            (1f64.next_down(), 1.0),
            (-f64::MAX, f64::MAX),
            (0.0, 5e-324),
            (-5e-324, 0.0),
            (1e308, f64::MAX),
        ];
        for (a, b) in pairs {
            let cut = midway(a, b);
            assert!(a <= cut && cut < b, "{a} {cut} {b}");
        }
    }
}
