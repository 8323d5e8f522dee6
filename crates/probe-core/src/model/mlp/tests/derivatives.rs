//! Gradients and Hessian-vector products against central differences.

use super::*;

fn shifted(x: &[f64], v: &[f64], h: f64) -> Vec<f64> {
    x.iter().zip(v).map(|(x, v)| x + h * v).collect()
}

/// Widths of a network with this many hidden layers.
fn widths(depth: usize, outputs: usize) -> Vec<usize> {
    [&[6, 11, 9, 8, 10][..=depth], &[outputs]].concat()
}

/// Smallest distance of any hidden unit from its kink.
fn distance_to_kink(model: &Mlp, x: &[f64]) -> f64 {
    let (mut values, mut nearest) = (x.to_vec(), f64::INFINITY);
    for layer in model.hidden() {
        let z: Vec<f64> = (0..layer.n_out())
            .map(|j| crate::math::dot(layer.row(j), &values) + layer.bias()[j])
            .collect();
        nearest = z.iter().fold(nearest, |nearest, t| nearest.min(t.abs()));
        values = z.iter().map(|&t| model.activation().value(t)).collect();
    }
    nearest
}

#[test]
fn gradients_agree_with_central_differences() {
    // The differences err by h²/6 times a third derivative (some hundreds here at most) and by
    // 1e-16/h of the score.
    let h = 1e-5;
    let mut stream = Seed(3).stream(Purpose::Data, 0);
    for activation in Activation::ALL {
        for (depth, outputs) in [(1, 1), (1, 2), (2, 1), (3, 2), (4, 1)] {
            let model = random_net(&widths(depth, outputs), activation, &mut stream);
            let mut checked = 0;
            while checked < 10 {
                let x: Vec<f64> = (0..6).map(|_| stream.normal()).collect();
                // A kink inside the step would be a fault of the differences.
                if activation.is_piecewise_linear() && distance_to_kink(&model, &x) < 100.0 * h {
                    continue;
                }
                checked += 1;
                let mut gradient = [0.0; 6];
                let score = model.score_and_gradient(&x, &mut gradient).unwrap();
                assert_eq!(score.to_bits(), model.score(&x).unwrap().to_bits());
                for j in 0..6 {
                    let mut unit = [0.0; 6];
                    unit[j] = 1.0;
                    let [up, down] = [h, -h].map(|h| model.score(&shifted(&x, &unit, h)).unwrap());
                    assert_close!(
                        gradient[j],
                        (up - down) / (2.0 * h),
                        Absolute(2e-8),
                        "{activation}"
                    );
                }
            }
        }
    }
}

#[test]
fn hessian_products_agree_with_differences_of_gradients() {
    let h = 1e-5;
    let mut stream = Seed(4).stream(Purpose::Data, 0);
    for activation in Activation::ALL {
        for (depth, outputs) in [(1, 2), (2, 1), (3, 2), (4, 1)] {
            let model = random_net(&widths(depth, outputs), activation, &mut stream);
            let mut largest = 0.0f64;
            for _ in 0..10 {
                let x: Vec<f64> = (0..6).map(|_| stream.normal()).collect();
                let v: Vec<f64> = (0..6).map(|_| stream.normal()).collect();
                let mut product = [f64::NAN; 6];
                model.hessian_vector(&x, &v, &mut product).unwrap();
                if activation.is_piecewise_linear() {
                    assert_eq!(product, [0.0; 6]);
                    continue;
                }
                let [up, down] = [h, -h].map(|h| {
                    let mut gradient = [0.0; 6];
                    model.score_and_gradient(&shifted(&x, &v, h), &mut gradient).unwrap();
                    gradient
                });
                for j in 0..6 {
                    assert_close!(
                        product[j],
                        (up[j] - down[j]) / (2.0 * h),
                        Absolute(2e-7),
                        "{activation}"
                    );
                    largest = largest.max(product[j].abs());
                }
            }
            // There is a curvature to be found.
            assert!(
                activation.is_piecewise_linear() || largest > 1e-3,
                "{activation} {depth}: {largest}"
            );
        }
    }
}

#[test]
fn hessians_are_symmetric() {
    let mut stream = Seed(5).stream(Purpose::Data, 0);
    let model = random_net(&[6, 11, 9, 1], Activation::Silu, &mut stream);
    let draw = |stream: &mut Stream| (0..6).map(|_| stream.normal()).collect::<Vec<f64>>();
    for _ in 0..20 {
        let (x, u, v) = (draw(&mut stream), draw(&mut stream), draw(&mut stream));
        let product = |along: &[f64]| {
            let mut out = [0.0; 6];
            model.hessian_vector(&x, along, &mut out).unwrap();
            out
        };
        let [uv, vu] = [(&u, &v), (&v, &u)].map(|(a, b)| crate::math::dot(a, &product(b)));
        assert_close!(uv, vu, Mixed { relative: 1e-12, absolute: 1e-13 });
    }
}

#[test]
fn dead_and_constant_networks_have_no_slope() {
    // Every unit is off in the unit box, and far outside.
    let dead = Dense { weight: vec![1.0, -1.0, 0.5, 0.5], bias: vec![-1e6, -1e6] };
    let output = Dense { weight: vec![2.0, -3.0], bias: vec![-0.75] };
    let relu = Mlp::new(vec![dead, output.clone()], Activation::Relu, 0.0).unwrap();
    // And zero weights: constant whatever the activation.
    let constant = Dense { weight: vec![0.0; 4], bias: vec![0.3, -0.2] };
    for activation in Activation::ALL {
        let constant = Mlp::new(vec![constant.clone(), output.clone()], activation, 0.0).unwrap();
        let level = 2.0 * activation.value(0.3) - 3.0 * activation.value(-0.2) - 0.75;
        for (model, level) in [(&relu, -0.75), (&constant, level)] {
            for x in [[0.0, 1.0], [-50.0, 7.0]] {
                let mut out = [1.0; 2];
                assert_close!(
                    model.score_and_gradient(&x, &mut out).unwrap(),
                    level,
                    Absolute(1e-15)
                );
                assert_eq!(out.map(f64::abs), [0.0, 0.0]);
                model.hessian_vector(&x, &[1.0, -2.0], &mut out).unwrap();
                assert_eq!(out.map(f64::abs), [0.0, 0.0]);
            }
        }
    }
}
