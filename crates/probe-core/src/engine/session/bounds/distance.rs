//! The least cost of moving a given distance, in standard deviations of the noise.
//!
//! The problem is to minimise $C(\delta)$ subject to $\sum_j (\delta_j/\sigma_j)^2 \ge d^2$ and
//! $|\delta_j| \le$ cap. Let $v_j = (\delta_j/\sigma_j)^2 \le V_j = \min(\mathrm{cap}_j/\sigma_j,
//! d)^2$ (a longer move is not needed). Where totals add up, the total of a move is concave in
//! $v_j$ (`l1`) or linear (`l2`), so it is at least the chord from 0 to $V_j$: a fractional
//! knapsack, filled in ascending order of slope, is a lower bound. It is exact under `l2`, and
//! under `l1` where no cap binds: then it is $d\min_j c_j\sigma_j$. Under `linf` everything moves
//! as far as a largest move of $t$ allows, and $t$ follows from $\sum_j \min(V_j, (t/p_j)^2) =
//! d^2$, with the price $p_j = c_j\sigma_j$: exact. Steps and categories only raise slope and
//! price.

use crate::cost::Norm;

/// A squared distance that is short by less than this share counts as reached.
const ROUNDING: f64 = 1e-8;

/// What one feature or category can contribute to a distance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Move {
    /// Lower bound on the norm's total per squared deviation.
    slope: f64,
    /// Lower bound on the weighted move per deviation.
    price: f64,
    /// The largest possible squared distance, in squared deviations.
    most: f64,
}

impl Move {
    /// No possible move.
    pub(super) const NONE: Self = Self { slope: f64::INFINITY, price: f64::INFINITY, most: 0.0 };

    /// A number that may move up to `cap` deviations, where one deviation is a weighted move of
    /// `price`. If it moves by steps, `steps` has the last step before distance `d` and the first
    /// one beyond.
    pub(super) fn of_number(
        norm: &dyn Norm,
        d: f64,
        (price, cap): (f64, f64),
        steps: Option<[f64; 2]>,
    ) -> Self {
        match steps {
            None => Self::of_ends(norm, d, price, [cap.min(d); 2]),
            Some(ends) => Self::of_ends(norm, d, price, ends),
        }
    }

    /// Either of two moves of these lengths, in deviations.
    fn of_ends(norm: &dyn Norm, d: f64, price: f64, ends: [f64; 2]) -> Self {
        let end = |u: f64| Self::of_choice(norm.add(0.0, price * u), price * u, u, d);
        end(ends[0]).or(end(ends[1]))
    }

    /// A move of `distance` deviations with this total, which is a weighted move of `moved`.
    pub(super) fn of_choice(total: f64, moved: f64, distance: f64, d: f64) -> Self {
        let useful = distance.min(d);
        if useful > 0.0 {
            Self { slope: total / (useful * useful), price: moved / useful, most: useful * useful }
        } else {
            Self::NONE
        }
    }

    /// Bounds that hold for both moves.
    pub(super) fn or(self, other: Self) -> Self {
        Self {
            slope: self.slope.min(other.slope),
            price: self.price.min(other.price),
            most: self.most.max(other.most),
        }
    }
}

/// The least total with which at most `max_changes` of these `moves` together reach a distance of
/// `d` deviations; `None` if they cannot.
pub(super) fn least_total(
    norm: &dyn Norm,
    d: f64,
    moves: &mut [Move],
    max_changes: Option<usize>,
) -> Option<f64> {
    let needed = d * d * (1.0 - ROUNDING);
    let changes = max_changes.unwrap_or(moves.len()).min(moves.len());
    moves.sort_by(|a, b| b.most.total_cmp(&a.most));
    if moves[..changes].iter().map(|one| one.most).sum::<f64>() < needed {
        return None;
    }
    Some(if norm.is_separable() { knapsack(needed, moves) } else { largest(needed, moves) })
}

/// Makes moves in ascending order of slope.
fn knapsack(needed: f64, moves: &mut [Move]) -> f64 {
    moves.sort_by(|a, b| a.slope.total_cmp(&b.slope));
    let (mut rest, mut total) = (needed, 0.0);
    for one in moves.iter().filter(|one| one.most > 0.0) {
        let part = one.most.min(rest);
        total += one.slope * part;
        rest -= part;
        if rest <= 0.0 {
            break;
        }
    }
    total
}

/// The smallest largest move that is enough, if every feature moves as far as it allows.
fn largest(needed: f64, moves: &mut [Move]) -> f64 {
    let end = |one: &Move| one.price * one.most.sqrt();
    moves.sort_by(|a, b| end(a).total_cmp(&end(b)));
    let inverse = |one: &Move| if one.most > 0.0 { (one.price * one.price).recip() } else { 0.0 };
    // Moves before this one have reached their ends; the others grow with the square of the largest
    // move.
    let mut growing: f64 = moves.iter().map(inverse).sum();
    let mut ended = 0.0;
    for one in moves.iter().filter(|one| one.most > 0.0) {
        let t = ((needed - ended).max(0.0) / growing).sqrt();
        if t <= end(one) {
            return t;
        }
        (ended, growing) = (ended + one.most, growing - inverse(one));
    }
    moves.iter().map(end).filter(|t| t.is_finite()).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::NORMS;
    use crate::seed::{Purpose, Seed};

    fn norm(name: &str) -> &'static dyn Norm {
        NORMS.iter().find(|entry| entry.name == name).unwrap().item
    }

    fn least(name: &str, d: f64, numbers: &[(f64, f64)], k: Option<usize>) -> Option<f64> {
        let norm = norm(name);
        let way = |number: &(f64, f64)| Move::of_number(norm, d, *number, None);
        let mut moves: Vec<Move> = numbers.iter().map(way).collect();
        least_total(norm, d, &mut moves, k).map(|total| norm.finish(total))
    }

    #[test]
    fn known_distances() {
        let near = |found: Option<f64>, expected: f64| {
            let off = found.unwrap() / expected - 1.0;
            (-2.0 * ROUNDING..=1e-15).contains(&off)
        };
        // One deviation costs 1 or 2: three of them in the first alone, or in both together.
        let free = [(1.0, f64::INFINITY), (2.0, f64::INFINITY)];
        assert!(near(least("l1", 3.0, &free, None), 3.0));
        assert!(near(least("l2", 3.0, &free, None), 3.0));
        // t² + (t/2)² = 9.
        assert!(near(least("linf", 3.0, &free, None), 3.0 / 1.25_f64.sqrt()));
        // The first may go two deviations only: v = 4 of 9; the rest is on the chord of the second.
        let capped = [(1.0, 2.0), (2.0, f64::INFINITY)];
        assert!(near(least("l1", 3.0, &capped, None), 2.0 + 6.0 * 5.0 / 9.0));
        // √(4·1 + 5·4), exact.
        assert!(near(least("l2", 3.0, &capped, None), 24.0_f64.sqrt()));
        // 4 + (t/2)² = 9.
        assert!(near(least("linf", 3.0, &capped, None), 20.0_f64.sqrt()));
        // Out of reach: 4 + 1 of 9, or with a single change.
        assert_eq!(least("l1", 3.0, &[(1.0, 2.0), (2.0, 1.0)], None), None);
        assert_eq!(least("linf", 3.0, &[(1.0, 2.0), (2.0, 2.5)], Some(1)), None);
        assert!(least("linf", 3.0, &[(1.0, 2.0), (2.0, 2.5)], None).is_some());
    }

    #[test]
    fn no_point_so_far_away_costs_less() {
        let mut stream = Seed(4).stream(Purpose::Data, 0);
        let mut tight = [0.0_f64; 3];
        for _ in 0..20_000 {
            let n = 1 + stream.below(4);
            let numbers: Vec<(f64, f64)> = (0..n)
                .map(|_| (0.1 + stream.uniform(), [0.5, 1.5, f64::INFINITY][stream.below(3)]))
                .collect();
            let sparse = 0.3 + 0.7 * stream.uniform();
            let moves: Vec<f64> = numbers
                .iter()
                .map(|(_, cap)| {
                    let u = if stream.uniform() < sparse { 2.0 * stream.uniform() } else { 0.0 };
                    u.min(*cap)
                })
                .collect();
            let d = moves.iter().map(|u| u * u).sum::<f64>().sqrt();
            if d < 1e-6 {
                continue;
            }
            for (k, name) in ["l1", "l2", "linf"].into_iter().enumerate() {
                let norm = norm(name);
                let total = numbers
                    .iter()
                    .zip(&moves)
                    .fold(0.0, |total, ((price, _), u)| norm.add(total, price * u));
                let (cost, found) = (norm.finish(total), least(name, d, &numbers, None).unwrap());
                assert!(found <= cost * (1.0 + 1e-9), "{name} {numbers:?} {moves:?}: {found}");
                tight[k] = tight[k].max(found / cost);
            }
        }
        assert!(tight.iter().all(|share| *share > 0.99), "{tight:?}");
    }

    #[test]
    fn steps_cost_what_the_next_one_does() {
        // Steps of two deviations: 3 of them take two steps, or one and the chord of the rest.
        let norm = norm("l1");
        let way = Move::of_number(norm, 3.0, (1.0, f64::INFINITY), Some([2.0, 4.0]));
        assert_eq!(way, Move { slope: 4.0 / 9.0, price: 1.0, most: 9.0 });
    }
}
