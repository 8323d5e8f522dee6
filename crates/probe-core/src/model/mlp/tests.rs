use super::*;
use crate::seed::{Purpose, Seed, Stream};
use probe_testkit::{Absolute, Mixed, Relative, assert_close};

mod build;
mod derivatives;

/// A network of `widths` with weights of the usual size.
fn random_net(widths: &[usize], activation: Activation, stream: &mut Stream) -> Mlp {
    let layer = |pair: &[usize], stream: &mut Stream| {
        let scale = 1.5 / (pair[0] as f64).sqrt();
        let weight = (0..pair[0] * pair[1]).map(|_| scale * stream.normal()).collect();
        Dense { weight, bias: (0..pair[1]).map(|_| 0.3 * stream.normal()).collect() }
    };
    let layers = widths.windows(2).map(|pair| layer(pair, stream)).collect();
    Mlp::new(layers, activation, 0.125).unwrap()
}

/// The score by the definition, one sum after the other.
fn plain_score(model: &Mlp, x: &[f64]) -> f64 {
    let mut values = x.to_vec();
    let n_layers = model.dense().count();
    for (index, dense) in model.dense().enumerate() {
        let rows = dense.weight.chunks(values.len()).zip(&dense.bias);
        let z: Vec<f64> = rows
            .map(|(row, bias)| bias + row.iter().zip(&values).map(|(w, v)| w * v).sum::<f64>())
            .collect();
        let last = index + 1 == n_layers;
        values = z.iter().map(|&t| if last { t } else { model.activation().value(t) }).collect();
    }
    let margin = if values.len() == 2 { values[1] - values[0] } else { values[0] };
    margin - model.threshold()
}

#[test]
fn a_relu_network_by_hand() {
    // z = (x0 - x1 + 1, 2 x1 - 1, -x0); s = 2 φ(z0) - φ(z1) + 3 φ(z2) - 0.5 - 0.25.
    let hidden = Dense { weight: vec![1.0, -1.0, 0.0, 2.0, -1.0, 0.0], bias: vec![1.0, -1.0, 0.0] };
    let output = Dense { weight: vec![2.0, -1.0, 3.0], bias: vec![-0.5] };
    let model = Mlp::new(vec![hidden, output], Activation::Relu, 0.25).unwrap();
    assert_eq!((model.n_features(), model.name(), model.n_parameters()), (2, "mlp", 13));
    // (1, 2): z = (0, 3, -1), s = -3.75. (2, 0.5): z = (2.5, 0, -2), s = 4.25. (-1, 1): z = (-1, 1,
    // 1), s = 1.25.
    let mut scores = [0.0; 3];
    model
        .score_batch(Rows::new(&[1.0, 2.0, 2.0, 0.5, -1.0, 1.0], 2).unwrap(), &mut scores)
        .unwrap();
    assert_eq!(scores, [-3.75, 4.25, 1.25]);
    let mut gradient = [9.0; 2];
    // At (-1, 1) units 1 and 2 are on: -(0, 2) + 3 (-1, 0).
    assert_eq!(model.score_and_gradient(&[-1.0, 1.0], &mut gradient).unwrap(), 1.25);
    assert_eq!(gradient, [-3.0, -2.0]);
    model.hessian_vector(&[-1.0, 1.0], &[1.0, 1.0], &mut gradient).unwrap();
    assert_eq!(gradient, [0.0, 0.0]);
}

#[test]
fn a_smooth_network_by_hand() {
    // s = 3 tanh(u) - 1 with u = 2 x0 - x1 + 0.5: ∇s = 3 sech²(u) (2, -1), ∇²s v = -6 tanh u sech²
    // u ((2, -1)·v) (2, -1).
    let hidden = Dense { weight: vec![2.0, -1.0], bias: vec![0.5] };
    let model = Mlp::new(
        vec![hidden, Dense { weight: vec![3.0], bias: vec![-1.0] }],
        Activation::Tanh,
        0.0,
    )
    .unwrap();
    let (x, v) = ([0.3, 0.4], [1.0, 4.0]);
    let (t, mut found) = (0.7f64.tanh(), [0.0; 2]);
    let near = Relative(1e-14);
    assert_close!(model.score_and_gradient(&x, &mut found).unwrap(), 3.0 * t - 1.0, near);
    assert_close!(found[0], 6.0 * (1.0 - t * t), near);
    assert_close!(found[1], -3.0 * (1.0 - t * t), near);
    model.hessian_vector(&x, &v, &mut found).unwrap();
    // (2, -1)·v = -2.
    assert_close!(found[0], 24.0 * t * (1.0 - t * t), near);
    assert_close!(found[1], -12.0 * t * (1.0 - t * t), near);
}

#[test]
fn blocked_scores_are_those_of_the_definition() {
    let mut stream = Seed(1).stream(Purpose::Data, 0);
    for widths in
        [&[3, 1, 1][..], &[1, 8, 1], &[20, 50, 2], &[5, 7, 9, 2], &[2, 17, 16, 3, 1], &[4, 2]]
    {
        for activation in Activation::ALL {
            let model = random_net(widths, activation, &mut stream);
            let x: Vec<f64> = (0..widths[0] * 131).map(|_| stream.normal()).collect();
            let mut scores = vec![f64::NAN; 131];
            model.score_batch(Rows::new(&x, widths[0]).unwrap(), &mut scores).unwrap();
            for (row, score) in x.chunks(widths[0]).zip(&scores) {
                assert_close!(
                    *score,
                    plain_score(&model, row),
                    Mixed { relative: 1e-12, absolute: 1e-13 }
                );
            }
        }
    }
}

#[test]
fn a_row_scores_the_same_bits_in_any_batch() {
    let mut stream = Seed(2).stream(Purpose::Data, 0);
    for (widths, activation) in [
        (&[20, 50, 2][..], Activation::Relu),
        (&[9, 13, 21, 1], Activation::Gelu),
        (&[7, 2], Activation::Tanh),
    ] {
        let d = widths[0];
        let model = random_net(widths, activation, &mut stream);
        let x: Vec<f64> = (0..d * 150).map(|_| stream.normal()).collect();
        let alone: Vec<u64> = x.chunks(d).map(|row| model.score(row).unwrap().to_bits()).collect();
        for batch in [2, 3, 4, 5, 63, 64, 65, 150] {
            let mut scores = vec![0.0; 150];
            for (rows, out) in x.chunks(d * batch).zip(scores.chunks_mut(batch)) {
                model.score_batch(Rows::new(rows, d).unwrap(), out).unwrap();
            }
            assert_eq!(
                scores.iter().map(|s| s.to_bits()).collect::<Vec<_>>(),
                alone,
                "batches of {batch}"
            );
        }
        let mut gradient = vec![0.0; d];
        for (row, bits) in x.chunks(d).zip(&alone) {
            assert_eq!(model.score_and_gradient(row, &mut gradient).unwrap().to_bits(), *bits);
        }
    }
    let model = random_net(&[3, 4, 1], Activation::Relu, &mut stream);
    assert_eq!(model.score_batch(Rows::new(&[], 3).unwrap(), &mut []), Ok(()));
}
