//! Adam (Kingma and Ba 2015): steps along the running mean of the gradient, divided by the root of the running mean of
//! its square, both corrected for starting at zero.

const MEAN_DECAY: f64 = 0.9;
const SQUARE_DECAY: f64 = 0.999;
const EPSILON: f64 = 1e-8;

#[derive(Debug)]
pub(super) struct Adam {
    rate: f64,
    mean: Vec<f64>,
    square: Vec<f64>,
    /// $\beta_1^t$ and $\beta_2^t$ after $t$ steps.
    powers: [f64; 2],
}

impl Adam {
    pub(super) fn new(n: usize, rate: f64) -> Self {
        Self { rate, mean: vec![0.0; n], square: vec![0.0; n], powers: [1.0; 2] }
    }

    pub(super) fn step(&mut self, parameters: &mut [f64], gradient: &[f64]) {
        self.powers = [self.powers[0] * MEAN_DECAY, self.powers[1] * SQUARE_DECAY];
        let rate = self.rate / (1.0 - self.powers[0]);
        let correction = 1.0 / (1.0 - self.powers[1]);
        let moments = self.mean.iter_mut().zip(&mut self.square);
        for ((p, g), (mean, square)) in parameters.iter_mut().zip(gradient).zip(moments) {
            *mean = MEAN_DECAY * *mean + (1.0 - MEAN_DECAY) * g;
            *square = SQUARE_DECAY * *square + (1.0 - SQUARE_DECAY) * g * g;
            *p -= rate * *mean / ((*square * correction).sqrt() + EPSILON);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_two_steps_by_hand() {
        let mut adam = Adam::new(1, 0.1);
        let mut p = [1.0];
        // After one step both corrected means are the gradient's own: the step is the rate, whatever the gradient.
        adam.step(&mut p, &[4.0]);
        assert!((p[0] - 0.9).abs() < 1e-9, "{p:?}");
        // Then m = 0.9·0.4 + 0.1·(-2) = 0.16, over 1 - 0.81; v = 0.999·0.016 + 0.001·4 = 0.019984, over 1 - 0.998001.
        adam.step(&mut p, &[-2.0]);
        let step = 0.1 * (0.16 / 0.19) / (0.019_984_f64 / 0.001_999).sqrt();
        assert!((p[0] - (0.9 - step)).abs() < 1e-9, "{p:?} {step}");
    }

    #[test]
    fn it_finds_the_bottom_of_a_bowl() {
        let mut adam = Adam::new(2, 0.05);
        let mut p = [3.0, -2.0];
        for _ in 0..2000 {
            let gradient = [2.0 * (p[0] - 1.0), 20.0 * (p[1] - 0.5)];
            adam.step(&mut p, &gradient);
        }
        assert!((p[0] - 1.0).abs() < 1e-3 && (p[1] - 0.5).abs() < 1e-3, "{p:?}");
    }
}
