use super::*;
use probe_core::{Model, Purpose, Seed};

/// The weighted mean loss, computed independently by the engine's network.
fn mean_loss(net: &Net, x: &[f64], favourable: &[bool], class_weights: [f64; 2]) -> f64 {
    let model = net.model().unwrap();
    let n_cols = model.n_features();
    let loss = |(row, &yes): (&[f64], &bool)| {
        let margin = model.score(row).unwrap();
        // Of 1 + e^t and not of a probability near 1, whose digits are gone.
        class_weights[usize::from(yes)] * (1.0 + (if yes { -margin } else { margin }).exp()).ln()
    };
    x.chunks(n_cols).zip(favourable).map(loss).sum::<f64>() / favourable.len() as f64
}

#[test]
fn the_gradient_of_the_loss_agrees_with_central_differences() {
    let h = 1e-6;
    let mut stream = Seed(1).stream(Purpose::Data, 0);
    for widths in [&[3, 5, 2][..], &[3, 5, 1], &[3, 4, 6, 2], &[3, 2]] {
        for activation in Activation::ALL {
            let mut net = Net::new(widths, activation, &mut stream);
            // Biases away from 0, where a relu has its kink.
            net.parameters.iter_mut().for_each(|p| *p += 0.1 * stream.normal());
            let x: Vec<f64> = (0..7 * 3).map(|_| stream.normal()).collect();
            let favourable: Vec<bool> = (0..7).map(|i| i % 3 == 0).collect();
            let class_weights = [0.75, 2.0];
            let mut gradient = vec![f64::NAN; net.parameters.len()];
            // A workspace for more rows than there are, as for the last batch of an epoch.
            let mut workspace = Workspace::new(&net, 10);
            let loss = net.gradient(&x, &favourable, class_weights, &mut workspace, &mut gradient);
            let expected = mean_loss(&net, &x, &favourable, class_weights);
            assert!((loss / 7.0 - expected).abs() < 1e-12, "{activation}: {loss} {expected}");
            for (index, slope) in gradient.iter().enumerate() {
                let at = |step: f64| {
                    let mut moved = net.clone();
                    moved.parameters[index] += step;
                    mean_loss(&moved, &x, &favourable, class_weights)
                };
                let difference = (at(h) - at(-h)) / (2.0 * h);
                assert!(
                    (slope - difference).abs() < 1e-8,
                    "{activation} {widths:?} {index}: {slope} {difference}"
                );
            }
        }
    }
}

#[test]
fn one_unit_by_hand() {
    // One input, one output, no hidden layer: loss ln(1 + e^-m) at m = 2·0.5 + 0.25, slope -x /
    // (1 + e^m).
    let shapes = vec![Shape { start: 0, n_in: 1, n_out: 1 }];
    let net = Net { parameters: vec![0.5, 0.25], shapes, activation: Activation::Relu };
    let (mut workspace, mut gradient) = (Workspace::new(&net, 1), vec![0.0; 2]);
    let loss = net.gradient(&[2.0], &[true], [1.0; 2], &mut workspace, &mut gradient);
    let m = 1.25f64;
    assert!((loss - (1.0 + (-m).exp()).ln()).abs() < 1e-15);
    let slope = -1.0 / (1.0 + m.exp());
    assert!((gradient[0] - 2.0 * slope).abs() < 1e-15 && (gradient[1] - slope).abs() < 1e-15);
    // The penalty acts on the weight alone.
    net.add_penalty(4.0, &mut gradient);
    assert!(
        (gradient[0] - (2.0 * slope + 2.0)).abs() < 1e-15 && (gradient[1] - slope).abs() < 1e-15
    );
}

#[test]
fn starting_weights_have_the_stated_spread() {
    let mut stream = Seed(2).stream(Purpose::Training, 0);
    for (activation, variance) in [(Activation::Relu, 2.0 / 100.0), (Activation::Tanh, 2.0 / 500.0)]
    {
        let net = Net::new(&[100, 400, 2], activation, &mut stream);
        let (weights, biases) = net.shapes[0].of(&net.parameters);
        let found = weights.iter().map(|w| w * w).sum::<f64>() / weights.len() as f64;
        // 40,000 squares of normals: relative standard error √(2/40000) = 0.7 %; five of them.
        assert!((found / variance - 1.0).abs() < 0.036, "{activation}: {found} {variance}");
        assert!(biases.iter().all(|b| *b == 0.0));
    }
}
