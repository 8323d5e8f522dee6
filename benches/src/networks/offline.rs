//! The offline search's rates on networks: fixed lines, along one direction for each person.

use super::lines::{Bundle, Draws, Shallow};
use crate::offline::{Rates, search as search_by};

/// Lines behind the first three steps, the fourth and the last.
const LINES: [usize; 3] = [256, 1_024, 16_384];

/// What is asked.
#[derive(Clone, Copy)]
pub(crate) struct Request<'a> {
    pub(crate) model: &'a Shallow,
    pub(crate) person: &'a [f64],
    pub(crate) sigma: f64,
    pub(crate) r: f64,
}

/// Draws that serve all people: one set per number of lines.
pub(crate) struct OfflineDraws([Draws; 3]);

impl OfflineDraws {
    pub(crate) fn new(model: &Shallow) -> Self {
        Self([0, 1, 2].map(|level| Draws::sobol(model, LINES[level], 0x0ff1_1e00 + level as u32)))
    }
}

/// The cheapest point found; `None` where no single feature or mixture reaches the target.
pub(crate) fn search(request: Request<'_>, draws: &OfflineDraws) -> Option<Vec<f64>> {
    search_by(&OnLines::new(request, draws), request.r)
}

struct OnLines<'a> {
    request: Request<'a>,
    bundles: [Bundle<'a>; 3],
    /// $Wx + b$ of the person, and what each feature does to it.
    origin: Vec<f64>,
    columns: Vec<Vec<f64>>,
    /// Follows the gradient until the target is reached.
    way_up: Vec<f64>,
}

impl<'a> OnLines<'a> {
    /// Lines along the direction that matters near an answer: of the first point on the way up the
    /// gradient that is good enough.
    fn new(request: Request<'a>, draws: &OfflineDraws) -> Self {
        let Request { model, person, sigma, r } = request;
        let origin = model.pre(person);
        let columns: Vec<Vec<f64>> = (0..model.d()).map(|j| model.column(j)).collect();
        let mut point = person.to_vec();
        for _ in 0..400 {
            let pre = model.pre(&point);
            let along = model.direction(&pre, sigma, &draws.0[0]);
            if model.score(&pre) > 0.0
                && Bundle::new(model, sigma, &along, &draws.0[0]).rate(&pre) <= r
            {
                break;
            }
            point.iter_mut().zip(&along).for_each(|(x, u)| *x += 0.05 * u);
        }
        let along = model.direction(&model.pre(&point), sigma, &draws.0[0]);
        let bundles = [0, 1, 2].map(|level| Bundle::new(model, sigma, &along, &draws.0[level]));
        let way_up = point.iter().zip(person).map(|(x, p)| x - p).collect();
        Self { request, bundles, origin, columns, way_up }
    }
}

impl Rates for OnLines<'_> {
    fn person(&self) -> &[f64] {
        self.request.person
    }

    fn rate(&self, change: &[f64], level: usize) -> f64 {
        let mut pre = self.origin.clone();
        for (column, &by) in self.columns.iter().zip(change).filter(|(_, by)| **by != 0.0) {
            pre.iter_mut().zip(column).for_each(|(p, w)| *p += by * w);
        }
        if self.request.model.score(&pre) > 0.0 { self.bundles[level].rate(&pre) } else { 1.0 }
    }

    fn start(&self) -> Option<Vec<f64>> {
        Some(self.way_up.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::super::lines::tests::affine;
    use super::*;
    use crate::offline::bisect;
    use probe_core::math::normal::{upper_quantile, upper_tail};
    use probe_core::{Activation, Dense, Mlp};

    fn cost(person: &[f64], point: &[f64]) -> f64 {
        person.iter().zip(point).map(|(x, p)| (x - p).abs()).sum()
    }

    #[test]
    fn an_affine_score_is_solved_by_its_largest_weight() {
        let model = affine(&[1.0, -2.0, 0.5], -0.7);
        let (person, sigma) = ([0.2, 0.4, 0.9], 0.1);
        // f = 0.2 - 0.8 + 0.45 - 0.7 = -0.85.
        for r in [0.35, 0.1, 0.01] {
            let needed = (upper_quantile(r) * sigma * 5.25f64.sqrt() + 0.85) / 2.0;
            let draws = OfflineDraws::new(&model);
            let point =
                search(Request { model: &model, person: &person, sigma, r }, &draws).unwrap();
            assert!((cost(&person, &point) / needed - 1.0).abs() < 1e-6, "{point:?} {needed}");
            assert!((point[1] - (0.4 - needed)).abs() < 1e-6, "{point:?}");
        }
    }

    #[test]
    fn a_tent_is_entered_from_the_near_side_until_both_tails_fit() {
        // f = 1 - |x| in one dimension; from -3 the rate is two tails, least at 0.
        let hidden = Dense { weight: vec![1.0, -1.0], bias: vec![0.0; 2] };
        let output = Dense { weight: vec![-1.0, -1.0], bias: vec![1.0] };
        let mlp = Mlp::new(vec![hidden, output], Activation::Relu, 0.0).unwrap();
        let model = Shallow::of(&mlp, 0.0).unwrap();
        let (sigma, r) = (0.6, 0.2);
        let rate = |x: f64| upper_tail((1.0 - x) / sigma) + upper_tail((1.0 + x) / sigma);
        let best = 3.0 + bisect(-1.0, 0.0, 60, |x| rate(x) <= r);
        let draws = OfflineDraws::new(&model);
        let request = Request { model: &model, person: &[-3.0], sigma, r };
        let point = search(request, &draws).unwrap();
        assert!((cost(&[-3.0], &point) / best - 1.0).abs() < 1e-6, "{point:?} {best}");
        // At σ = 1 even the middle is refused more often than that.
        assert!(rate(0.0) < r && search(Request { sigma: 1.0, ..request }, &draws).is_none());
    }

    #[test]
    fn two_features_share_the_way_where_neither_gets_there_alone() {
        // f = min(x, 1) + min(y, 1) - 1.8, by relu: x - max(x - 1, 0). No single feature gets
        // above -0.8.
        let hidden = Dense {
            weight: vec![1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0],
            bias: vec![9.0, -1.0, 9.0, -1.0],
        };
        let output = Dense { weight: vec![1.0, -1.0, 1.0, -1.0], bias: vec![-18.0 - 1.8] };
        let mlp = Mlp::new(vec![hidden, output], Activation::Relu, 0.0).unwrap();
        let model = Shallow::of(&mlp, 0.0).unwrap();
        let request = Request { model: &model, person: &[0.0, 0.0], sigma: 0.02, r: 0.2 };
        let point = search(request, &OfflineDraws::new(&model)).unwrap();
        // Away from the kinks the score is x + y - 1.8 and each direction costs the same: any split
        // between is optimal.
        let needed = 1.8 + upper_quantile(0.2) * 0.02 * 2f64.sqrt();
        let found = cost(&[0.0, 0.0], &point);
        assert!((found / needed - 1.0).abs() < 2e-3, "{point:?} {needed}");
        assert!(point.iter().all(|x| *x > 0.79 && *x < 1.03), "{point:?}");
    }
}
