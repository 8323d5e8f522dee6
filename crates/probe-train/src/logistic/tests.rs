use super::*;
use crate::error::Error;
use probe_core::{Purpose, Seed};

fn names(n: usize) -> Vec<String> {
    (0..n).map(|j| format!("x{j}")).collect()
}

fn fit(x: &[f64], n_cols: usize, favourable: &[bool], params: LogisticParams) -> LogisticFit {
    let rows = Rows::new(x, n_cols).unwrap();
    Logistic::new(params).unwrap().fit(rows, &names(n_cols), favourable).unwrap()
}

/// The data of the script below.
fn reference_data() -> (Vec<f64>, Vec<bool>) {
    let row = |i: i32| {
        let i = f64::from(i);
        [7.0 * i % 11.0 / 10.0, (5.0 * i * i + 3.0) % 13.0 / 6.0 - 1.0, i.powi(3) % 7.0 / 3.0]
    };
    let favourable = [0, 1, 0, 1, 1, 0, 1, 1, 0, 1, 0, 0, 1, 0, 1, 0, 0, 1, 0, 1, 1, 0, 0, 0];
    ((0..24).flat_map(row).collect(), favourable.map(|y| y == 1).to_vec())
}

/// Coefficients from scikit-learn 1.9.1 with numpy 2.4.6:
///
/// ```python
/// import numpy as np
/// from sklearn.linear_model import LogisticRegression as LR
/// i = np.arange(24)
/// x = np.c_[7 * i % 11 / 10, (5 * i * i + 3) % 13 / 6 - 1, i ** 3 % 7 / 3]
/// y = (3 * x[:, 0] - x[:, 1] + i * 5 % 8 / 4) > 2.4
/// for c, w in [(1, None), (10, None), (1, "balanced"), (np.inf, None)]:
///     m = LR(C=c, class_weight=w, solver="newton-cholesky", tol=1e-14, max_iter=1000).fit(x, y)
///     print(c, w, *m.coef_[0].tolist(), m.intercept_[0])
/// ```
///
/// Its solver "lbfgs" agrees to eight digits or more.
#[test]
fn works_like_scikit_learn() {
    let (x, favourable) = reference_data();
    let known = [
        (
            1.0,
            false,
            [1.5758842106372923, -1.2429829225344196, 0.349_313_445_168_311],
            -1.0981747147624839,
        ),
        (
            0.1,
            false,
            [5.259941042777467, -2.720606224367887, 0.2953249943146249],
            -2.7727831033939014,
        ),
        (
            1.0,
            true,
            [1.5827279459767718, -1.2515076442246547, 0.35209580510738886],
            -0.9687759591432131,
        ),
        (
            0.0,
            false,
            [29.484552937630585, -14.210619243956653, -0.060781043646860336],
            -14.69038611442092,
        ),
    ];
    for (l2, balanced, weights, bias) in known {
        let fit =
            fit(&x, 3, &favourable, LogisticParams { l2, balanced, ..LogisticParams::default() });
        assert!(fit.converged && fit.iterations < 15, "{fit:?}");
        // The reference stops at a gradient of about 1e-14 times the rows; 1e-9 of the largest
        // weight is ample.
        let bound = 1e-9 * weights[0];
        for (found, known) in fit.model.weights().iter().zip(weights) {
            assert!((found - known).abs() < bound, "l2 {l2}: {found} for {known}");
        }
        assert!(
            (fit.model.bias() - bias).abs() < bound,
            "l2 {l2}: bias {} for {bias}",
            fit.model.bias()
        );
    }
}

/// The gradient of the penalised objective in the original columns, intercept last, written out
/// plainly.
fn gradient(x: &[f64], n_cols: usize, favourable: &[bool], l2: f64, model: &Linear) -> Vec<f64> {
    let mut g: Vec<f64> = model.weights().iter().map(|w| l2 * w).chain([0.0]).collect();
    for (row, &yes) in x.chunks(n_cols).zip(favourable) {
        let score = model.bias() + row.iter().zip(model.weights()).map(|(v, w)| v * w).sum::<f64>();
        let residual = 1.0 / (1.0 + (-score).exp()) - f64::from(u8::from(yes));
        for (g, v) in g.iter_mut().zip(row.iter().chain([&1.0])) {
            *g += residual * v;
        }
    }
    g
}

/// Rows whose log-odds are linear in the columns, column `j` in units of `units[j]`.
fn simulated(n: usize, units: &[f64], seed: u64) -> (Vec<f64>, Vec<bool>) {
    let mut stream = Seed(seed).stream(Purpose::Data, 0);
    let mut x = Vec::new();
    let favourable = (0..n)
        .map(|_| {
            let z: Vec<f64> = units.iter().map(|_| stream.normal()).collect();
            let score: f64 = z.iter().enumerate().map(|(j, z)| z / (j + 1) as f64).sum();
            x.extend(z.iter().zip(units).map(|(z, unit)| unit * (z + 3.0)));
            stream.uniform() < 1.0 / (1.0 + (-score).exp())
        })
        .collect();
    (x, favourable)
}

#[test]
fn gradient_vanishes_whatever_the_units() {
    let units = [1.0, 40_000.0, 1e-4, 7.0];
    let (x, favourable) = simulated(3000, &units, 1);
    for l2 in [0.0, 1e-6, 1.0, 1e6] {
        let fit = fit(&x, 4, &favourable, LogisticParams { l2, ..LogisticParams::default() });
        assert!(fit.converged);
        let g = gradient(&x, 4, &favourable, l2, &fit.model);
        for (g, unit) in g.iter().zip(units.iter().chain([&1.0])) {
            // 3000 terms of size 3 units, each rounded at 1e-16 of scores of size up to 100.
            assert!(g.abs() < 1e-8 * unit, "l2 {l2}: {g} in units of {unit}");
        }
    }
}

/// One far outlier of the wrong class: here full Newton steps overshoot until the Hessian is
/// singular.
#[test]
fn steps_are_halved_where_full_ones_diverge() {
    let x: Vec<f64> = (0..200).map(|i| f64::from(i) / 100.0 - 1.0).chain([30.0]).collect();
    let favourable: Vec<bool> = x.iter().map(|x| *x > 0.9 && *x < 1.0).collect();
    let l2 = 1e-3;
    let fit = fit(&x, 1, &favourable, LogisticParams { l2, ..LogisticParams::default() });
    assert!(fit.converged && fit.iterations < 30, "{fit:?}");
    let g = gradient(&x, 1, &favourable, l2, &fit.model);
    assert!(g.iter().all(|g| g.abs() < 1e-9), "{g:?}");
}

#[test]
fn constant_columns_get_no_weight_and_change_nothing() {
    let (x, favourable) = reference_data();
    let widened: Vec<f64> = x.chunks(3).flat_map(|r| [r[0], 0.1, r[1], 0.0, r[2], -7e9]).collect();
    for l2 in [0.0, 1.0] {
        let params = LogisticParams { l2, ..LogisticParams::default() };
        let (plain, wide) =
            (fit(&x, 3, &favourable, params), fit(&widened, 6, &favourable, params));
        let w = wide.model.weights();
        assert!(wide.converged);
        assert_eq!([w[1], w[3], w[5]], [0.0; 3]);
        for (found, known) in [w[0], w[2], w[4], wide.model.bias()]
            .iter()
            .zip(plain.model.weights().iter().chain([&plain.model.bias()]))
        {
            assert!(
                (found - known).abs() < 1e-10 * known.abs().max(1.0),
                "l2 {l2}: {found} for {known}"
            );
        }
    }
}

#[test]
fn collinear_columns_share_their_weight() {
    // With x and x/2 as columns the penalty is least on weights in the ratio 2 : 1.
    let (x, favourable) = reference_data();
    let doubled: Vec<f64> = x.chunks(3).flat_map(|r| [r[0], r[1], r[2], 0.5 * r[0]]).collect();
    let fitted = fit(&doubled, 4, &favourable, LogisticParams::default());
    let w = fitted.model.weights();
    assert!(fitted.converged && (w[0] - 2.0 * w[3]).abs() < 1e-9, "{w:?}");
    // Without a penalty the sum is determined, as if the copy were not there.
    let params = LogisticParams { l2: 0.0, ..LogisticParams::default() };
    let (plain, copied) = (fit(&x, 3, &favourable, params), fit(&doubled, 4, &favourable, params));
    let w = copied.model.weights();
    assert!(copied.converged);
    assert!((w[0] + 0.5 * w[3] - plain.model.weights()[0]).abs() < 1e-6, "{w:?}");
}

#[test]
fn separable_data_converges_with_a_penalty_and_says_no_without() {
    let x: Vec<f64> = (0..10).map(f64::from).collect();
    let favourable: Vec<bool> = (0..10).map(|i| i > 4).collect();
    let fitted = fit(&x, 1, &favourable, LogisticParams { l2: 1e-3, ..LogisticParams::default() });
    assert!(fitted.converged);
    let cut = -fitted.model.bias() / fitted.model.weights()[0];
    assert!((cut - 4.5).abs() < 1e-9, "by symmetry the cut is in the middle, not at {cut}");
    for max_iterations in [50, 5000] {
        let params = LogisticParams { l2: 0.0, max_iterations, ..LogisticParams::default() };
        let fitted = fit(&x, 1, &favourable, params);
        assert!(!fitted.converged && fitted.model.weights()[0] > 10.0, "{fitted:?}");
    }
    // A column that separates all rows but those at one value: no minimum either.
    let overlapping: Vec<bool> = (0..10).map(|i| i > 4 || i == 2).collect();
    let x: Vec<f64> = (0..10).map(|i| if i > 4 { 1.0 } else { 0.0 }).collect();
    let fitted = fit(&x, 1, &overlapping, LogisticParams { l2: 0.0, ..LogisticParams::default() });
    assert!(!fitted.converged);
}

#[test]
fn same_bits_on_any_number_of_threads() {
    let (x, favourable) = simulated(20_000, &[1.0; 5], 2);
    let on = |n_threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().unwrap();
        pool.install(|| fit(&x, 5, &favourable, LogisticParams::default()))
    };
    let (one, many) = (on(1), on(4));
    assert_eq!(one, many);
    let bits =
        |fit: &LogisticFit| fit.model.weights().iter().map(|w| w.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(&one), bits(&many));
}

#[test]
fn estimates_the_weights_that_made_the_data() {
    // True weights 1, 1/2, 1/3; information per row is E[p(1-p) z²] > 0.14, so the standard error
    // is below 0.012.
    let (x, favourable) = simulated(50_000, &[1.0; 3], 3);
    let fitted = fit(&x, 3, &favourable, LogisticParams::default());
    for (j, w) in fitted.model.weights().iter().enumerate() {
        assert!((w - 1.0 / (j + 1) as f64).abs() < 4.0 * 0.012, "weight {j}: {w}");
    }
}

#[test]
fn one_step_is_not_enough_and_says_so() {
    let (x, favourable) = reference_data();
    let fitted =
        fit(&x, 3, &favourable, LogisticParams { max_iterations: 1, ..LogisticParams::default() });
    assert!(!fitted.converged && fitted.iterations == 1);
}

#[test]
fn bad_data_is_named() {
    let logistic = Logistic::new(LogisticParams::default()).unwrap();
    let attempt = |x: &[f64], favourable: &[bool]| {
        logistic.fit(Rows::new(x, 2).unwrap(), &names(2), favourable).unwrap_err()
    };
    assert_eq!(attempt(&[], &[]), Error::NoRows { what: "fit a model to" });
    let message = attempt(&[0.0; 6], &[true; 3]).to_string();
    assert_eq!(message, "the target has one class only: all 3 rows are favourable");
    let message = attempt(&[0.0, 1.0, 2.0, f64::NAN], &[true, false]).to_string();
    assert_eq!(message, "row 1, feature 'x1': NaN is not a finite number");
    let message = attempt(&[0.0, 1.0, 2.0, 3.0], &[true]).to_string();
    assert_eq!(message, "values of the target, one per row: expected 2, found 1");
    let message = attempt(&[0.0, 1e300, 1.0, -1e300], &[true, false]).to_string();
    assert_eq!(message, "standard deviation of feature 'x1' must be finite, got inf");
    let rows = Rows::new(&[0.0, 1.0], 1).unwrap();
    assert!(logistic.fit(rows, &names(2), &[true, false]).is_err());
}

#[test]
fn bad_parameters_are_refused() {
    let default = LogisticParams::default();
    for params in [
        LogisticParams { l2: -1.0, ..default },
        LogisticParams { l2: f64::NAN, ..default },
        LogisticParams { l2: f64::INFINITY, ..default },
        LogisticParams { tolerance: 0.0, ..default },
        LogisticParams { tolerance: f64::NAN, ..default },
        LogisticParams { max_iterations: 0, ..default },
    ] {
        assert!(Logistic::new(params).is_err(), "{params:?}");
    }
}
