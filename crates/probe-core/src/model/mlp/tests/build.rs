//! What a network is built from, what is refused, and networks made from others.

use super::*;
use crate::schema::ModelInput;

fn layer(weight: &[f64], bias: &[f64]) -> Dense {
    Dense { weight: weight.to_vec(), bias: bias.to_vec() }
}

fn message(layers: Vec<Dense>) -> String {
    Mlp::new(layers, Activation::Relu, 0.0).unwrap_err().to_string()
}

#[test]
fn two_outputs_are_folded_and_kept() {
    let hidden = layer(&[1.0, 0.0, 0.0, 1.0], &[0.0, 0.0]);
    let logits = layer(&[0.5, -1.0, 2.0, 3.0], &[0.25, 1.0]);
    let model = Mlp::new(vec![hidden.clone(), logits.clone()], Activation::Relu, 0.5).unwrap();
    assert_eq!(model.output(), (&[1.5, 4.0][..], 0.75));
    assert_eq!((model.last().dense(), model.last().n_out()), (&logits, 2));
    assert_eq!(model.dense().collect::<Vec<_>>(), [&hidden, &logits]);
    assert_eq!((model.layers().len(), model.hidden().len(), model.n_parameters()), (2, 1, 12));
    // z = (0.25 + 0.5 - 2, 1 + 2 + 6) at (1, 2): the margin is 10.25.
    assert_eq!(model.score(&[1.0, 2.0]).unwrap(), 9.75);
}

#[test]
fn layers_tell_their_shape() {
    let mut stream = Seed(6).stream(Purpose::Data, 0);
    let model = random_net(&[3, 5, 4, 2], Activation::Tanh, &mut stream);
    let shapes: Vec<_> =
        model.layers().iter().map(|l| (l.n_in(), l.n_out(), l.weight().len())).collect();
    assert_eq!(shapes, [(3, 5, 15), (5, 4, 20), (4, 1, 4)]);
    assert_eq!(model.layers()[1].row(2), &model.layers()[1].weight()[10..15]);
    assert_eq!(model.layers()[1].bias().len(), 4);
    assert_eq!(model.as_mlp(), Some(&model));
    assert!(model.as_linear().is_none());
}

#[test]
fn a_single_layer_is_an_affine_score() {
    let model =
        Mlp::new(vec![layer(&[1.0, 0.0, -1.0, 4.0], &[0.0, 2.0])], Activation::Relu, 0.5).unwrap();
    let linear = model.as_linear().unwrap();
    assert_eq!((linear.weights(), linear.bias(), linear.threshold()), (&[-2.0, 4.0][..], 2.0, 0.5));
    let mut gradient = [0.0; 2];
    assert_eq!(model.score_and_gradient(&[1.0, 0.5], &mut gradient).unwrap(), 1.5);
    assert_eq!(gradient, [-2.0, 4.0]);
    assert_eq!(linear.score(&[1.0, 0.5]).unwrap(), 1.5);
    model.hessian_vector(&[1.0, 0.5], &[1.0, 1.0], &mut gradient).unwrap();
    assert_eq!(gradient, [0.0, 0.0]);
}

#[test]
fn faults_name_layer_and_index() {
    let good = layer(&[1.0, 2.0, 3.0, 4.0], &[0.0, 0.0]);
    assert_eq!(message(vec![]), "layers of a network (at least): expected 1, found 0");
    assert_eq!(
        message(vec![layer(&[], &[0.0])]),
        "inputs of layer 0 (at least): expected 1, found 0"
    );
    assert_eq!(
        message(vec![good.clone(), layer(&[1.0, 2.0, 3.0], &[0.0])]),
        "number of weights of layer 1 (1 outputs, \
         2 inputs) must be outputs × inputs, and not zero, got 3"
    );
    assert_eq!(
        message(vec![good.clone(), layer(&[], &[])]),
        "number of weights of layer 1 (0 outputs, \
         2 inputs) must be outputs × inputs, and not zero, got 0"
    );
    assert_eq!(
        message(vec![layer(&[1.0, 2.0, f64::NAN, 4.0], &[0.0, 0.0]), good.clone()]),
        "weight [1][0] of layer 0 must be finite, got NaN"
    );
    assert_eq!(
        message(vec![good.clone(), layer(&[1.0, 2.0], &[f64::INFINITY])]),
        "bias [0] of layer 1 must be finite, got inf"
    );
    assert_eq!(
        message(vec![good.clone(), layer(&[0.0; 6], &[0.0; 3])]),
        "outputs of the last layer (1 or 2): expected 2, found 3"
    );
    assert_eq!(
        message(vec![good.clone(), layer(&[0.0, -1e308, 0.0, 1e308], &[0.0; 2])]),
        "weight [1][1] - weight [0][1] of layer 1 must be finite, got inf"
    );
    assert!(Mlp::new(vec![layer(&[1.0], &[0.0])], Activation::Relu, f64::NAN).is_err());
}

#[test]
fn wrong_lengths_are_errors_and_not_panics() {
    let mut stream = Seed(7).stream(Purpose::Data, 0);
    let model = random_net(&[3, 5, 2], Activation::Softplus, &mut stream);
    assert!(model.score(&[1.0, 2.0]).is_err());
    assert!(model.score_batch(Rows::new(&[0.0; 6], 3).unwrap(), &mut [0.0]).is_err());
    assert!(model.score_and_gradient(&[0.0; 3], &mut [0.0; 2]).is_err());
    assert!(model.score_and_gradient(&[0.0; 4], &mut [0.0; 3]).is_err());
    assert!(model.hessian_vector(&[0.0; 3], &[0.0; 2], &mut [0.0; 3]).is_err());
    assert!(model.hessian_vector(&[0.0; 3], &[0.0; 3], &mut [0.0; 4]).is_err());
    assert!(model.with_input(&[0.0; 2], &[1.0; 3]).is_err());
}

#[test]
fn another_decision_negates_and_cuts() {
    let mut stream = Seed(8).stream(Purpose::Data, 0);
    for outputs in [1, 2] {
        let model = random_net(&[3, 5, outputs], Activation::Relu, &mut stream);
        let x = [0.4, -0.2, 0.9];
        let margin = model.score(&x).unwrap() + 0.125;
        let negated = model.with_decision(true, None).unwrap();
        assert_eq!(negated.threshold(), -0.125);
        assert_eq!(negated.score(&x).unwrap(), -model.score(&x).unwrap());
        let cut = model.with_decision(true, Some(0.75)).unwrap();
        assert_close!(cut.score(&x).unwrap(), -margin - 0.75, Absolute(1e-14));
        assert_eq!(model.with_decision(false, None).unwrap(), model);
        assert!(model.with_decision(false, Some(f64::INFINITY)).is_err());
    }
}

#[test]
fn raw_inputs_become_scaled_ones_in_the_first_layer() {
    let mut stream = Seed(9).stream(Purpose::Data, 0);
    let raw = random_net(&[3, 5, 4, 2], Activation::Gelu, &mut stream);
    let space = Space::new(vec![10.0, -1.0, 0.5], vec![4.0, 0.25, 2.0], ModelInput::Raw);
    let scaled = raw.rescaled(&space).unwrap();
    let y = [0.3, 0.9, -0.4];
    let x: Vec<f64> = (0..3).map(|j| space.to_raw(j, y[j])).collect();
    assert_close!(scaled.score(&y).unwrap(), raw.score(&x).unwrap(), Absolute(1e-12));
    assert!(raw.with_input(&[0.0; 3], &[1.0, f64::INFINITY, 1.0]).is_err());
}
