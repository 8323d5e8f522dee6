//! Noise on changed features only: which features change is part of the question, and the exact
//! linear solver knows the answer.

use crate::shared::plain_setup;
use probe_core::{
    Activation, Answer, Covariance, Dense, Engine, Gaussian, Linear, Mlp, Model, NoiseOn, Purpose,
    Reason, Rows, Seed, Setup, Status, Stream,
};
use std::sync::Arc;

/// How a network hides an affine score.
#[derive(Debug, Clone, Copy)]
enum Disguise {
    /// `relu(z) - relu(-z)`, whose kinks lie on the boundary itself.
    Pair,
    /// Parts of the score, each as a pair of its own: kinks everywhere.
    Parts,
    /// `relu(z + 100) - 100`.
    Lifted,
    /// Two layers of the first.
    Deep,
}

/// `weights · x + bias`, as a network.
fn disguised(weights: &[f64], bias: f64, disguise: Disguise, stream: &mut Stream) -> Mlp {
    let negative: Vec<f64> = weights.iter().map(|w| -w).collect();
    let pair = Dense { weight: [weights, &negative].concat(), bias: vec![bias, -bias] };
    let layer =
        |weight: &[f64], bias: &[f64]| Dense { weight: weight.to_vec(), bias: bias.to_vec() };
    let layers = match disguise {
        Disguise::Pair => vec![pair, layer(&[1.0, -1.0], &[0.0])],
        Disguise::Lifted => vec![layer(weights, &[bias + 100.0]), layer(&[1.0], &[-100.0])],
        Disguise::Deep => {
            vec![pair, layer(&[1.0, -1.0, -1.0, 1.0], &[0.0, 0.0]), layer(&[1.0, -1.0], &[0.0])]
        }
        Disguise::Parts => {
            // Random splits of the weights; the last part is the rest. Factors that are no powers
            // of two, so that rounding differs.
            let (mut weight, mut biases, mut output) = (Vec::new(), Vec::new(), Vec::new());
            let (mut rest, mut rest_bias) = (weights.to_vec(), bias);
            for part in 0..3 {
                let some: Vec<f64> = match part {
                    2 => rest.clone(),
                    _ => weights.iter().map(|_| 0.5 * stream.normal()).collect(),
                };
                let own = if part == 2 { rest_bias } else { stream.normal() };
                rest.iter_mut().zip(&some).for_each(|(r, s)| *r -= s);
                rest_bias -= own;
                for sign in [1.0, -1.0] {
                    weight.extend(some.iter().map(|w| sign * w / 0.7));
                    biases.push(sign * own / 0.7);
                    output.push(sign * 0.7);
                }
            }
            vec![layer(&weight, &biases), layer(&output, &[0.0])]
        }
    };
    Mlp::new(layers, Activation::Relu, 0.0).unwrap()
}

/// The effect of aiming at a share of the target on both solvers: the network's aims
/// there, the exact one is asked for it.
const AIM: f64 = 0.97;
const RATE: f64 = 0.1;

fn setup(model: Arc<dyn Model>, sd: &[f64], bounds: Option<f64>) -> Setup {
    let mut setup = plain_setup(model, RATE);
    (setup.noise_on, setup.certify, setup.aim) = (NoiseOn::Changed, false, Some(AIM));
    let covariance = Covariance::Diagonal(sd.to_vec());
    setup.noise = Arc::new(Gaussian::new(vec![0.0; sd.len()], covariance).unwrap());
    if let Some(bound) = bounds {
        setup.actions.intersect(-bound, bound).unwrap();
    }
    setup
}

fn only(engine: &Engine, person: &[f64]) -> Answer {
    engine.recourse(Rows::new(person, person.len()).unwrap()).unwrap().remove(0)
}

#[test]
fn the_search_finds_what_the_exact_solver_does() {
    let mut stream = Seed(31).stream(Purpose::Data, 0);
    let (mut answered, mut several, mut refused, mut worst) = (0, 0, 0, 0.0_f64);
    for case in 0..480 {
        let d = 2 + case % 6;
        let disguise =
            [Disguise::Pair, Disguise::Parts, Disguise::Lifted, Disguise::Deep][case / 6 % 4];
        let weights: Vec<f64> = (0..d).map(|_| stream.normal()).collect();
        let person: Vec<f64> = (0..d).map(|_| stream.normal().clamp(-0.9, 0.9)).collect();
        let score: f64 = weights.iter().zip(&person).map(|(w, x)| w * x).sum();
        // Half of the people turned down by little, half by much.
        let bias = -score - if case % 2 == 0 { 0.2 } else { 2.0 } * (0.1 + stream.uniform());
        let bounds = (case / 24 % 3 > 0).then_some(1.0);
        // From a fiftieth to nearly a half: the cheapest features are not always the ones to
        // change.
        let sd: Vec<f64> = (0..d).map(|_| 0.02 * 20f64.powf(stream.uniform())).collect();
        let name = format!(
            "case {case}, {disguise:?}, weights {weights:?}, bias {bias}, \
             person {person:?}, noise {sd:?}"
        );
        let mut plain =
            setup(Arc::new(Linear::new(weights.clone(), bias, 0.0).unwrap()), &sd, bounds);
        plain.max_rate = AIM * RATE;
        let exact = only(&Engine::new(plain).unwrap(), &person);
        let model = Arc::new(disguised(&weights, bias, disguise, &mut stream));
        let found = only(&Engine::new(setup(model, &sd, bounds)).unwrap(), &person);
        if exact.status != Status::Certified {
            refused += 1;
            continue;
        }
        // Nothing is certified here; another reason would say that the search fell short.
        let end = (found.status, found.reason);
        assert_eq!(end, (Status::Found, Some(Reason::NotCertified)), "{name}: {found:?} {exact:?}");
        let (cost, least) = (found.cost.unwrap(), exact.cost.unwrap());
        assert!(cost <= 1.03 * least, "{name}: {cost} for {least}: {found:?} {exact:?}");
        assert!(cost >= 0.99 * least, "{name}: {cost} is less than the least, {least}");
        worst = worst.max(cost / least);
        answered += 1;
        several += usize::from(exact.changed > 1);
    }
    assert!(
        answered > 400 && several > 40 && refused > 20,
        "{answered} {several} {refused}, worst {worst}"
    );
}
