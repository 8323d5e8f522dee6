//! Adam (Kingma and Ba 2015, arXiv:1412.6980): steps along the running mean of the gradient,
//! divided by the root of the running mean of its square, both corrected for starting at zero. With
//! AMSGrad (Reddi, Kale and Kumar 2018, arXiv:1904.09237) the divisor is the largest such mean so
//! far, so that steps never grow back.

const MEAN_DECAY: f64 = 0.9;
const SQUARE_DECAY: f64 = 0.999;
const EPSILON: f64 = 1e-8;

/// The state of one descent.
#[derive(Debug)]
pub struct Adam {
    rate: f64,
    mean: Vec<f64>,
    square: Vec<f64>,
    /// The largest running mean of squares so far; empty for plain Adam.
    largest: Vec<f64>,
    /// $\beta_1^t$ and $\beta_2^t$ after $t$ steps.
    powers: [f64; 2],
}

impl Adam {
    /// Plain Adam on `n` parameters with learning rate `rate`.
    pub fn new(n: usize, rate: f64) -> Self {
        Self {
            rate,
            mean: vec![0.0; n],
            square: vec![0.0; n],
            largest: Vec::new(),
            powers: [1.0; 2],
        }
    }

    /// With AMSGrad.
    pub fn amsgrad(n: usize, rate: f64) -> Self {
        Self { largest: vec![0.0; n], ..Self::new(n, rate) }
    }

    /// Resets the state.
    pub fn reset(&mut self) {
        for moments in [&mut self.mean, &mut self.square, &mut self.largest] {
            moments.fill(0.0);
        }
        self.powers = [1.0; 2];
    }

    /// One step down `gradient`.
    pub fn step(&mut self, parameters: &mut [f64], gradient: &[f64]) {
        self.powers = [self.powers[0] * MEAN_DECAY, self.powers[1] * SQUARE_DECAY];
        let rate = self.rate / (1.0 - self.powers[0]);
        let correction = 1.0 / (1.0 - self.powers[1]);
        let moments = self.mean.iter_mut().zip(&mut self.square);
        for (g, (mean, square)) in gradient.iter().zip(moments) {
            *mean = MEAN_DECAY * *mean + (1.0 - MEAN_DECAY) * g;
            *square = SQUARE_DECAY * *square + (1.0 - SQUARE_DECAY) * g * g;
        }
        for (largest, square) in self.largest.iter_mut().zip(&self.square) {
            *largest = largest.max(*square);
        }
        let square = if self.largest.is_empty() { &self.square } else { &self.largest };
        for ((p, mean), square) in parameters.iter_mut().zip(&self.mean).zip(square) {
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
        // After one step both corrected means are the gradient's own: the step is the rate,
        // whatever the gradient.
        adam.step(&mut p, &[4.0]);
        assert!((p[0] - 0.9).abs() < 1e-9, "{p:?}");
        // Then m = 0.9·0.4 + 0.1·(-2) = 0.16, over 1 - 0.81; v = 0.999·0.016 + 0.001·4 = 0.019984,
        // over 1 - 0.998001.
        adam.step(&mut p, &[-2.0]);
        let step = 0.1 * (0.16 / 0.19) / (0.019_984_f64 / 0.001_999).sqrt();
        assert!((p[0] - (0.9 - step)).abs() < 1e-9, "{p:?} {step}");
    }

    #[test]
    fn amsgrad_divides_by_the_largest_square_so_far() {
        let (mut plain, mut ams) = (Adam::new(1, 0.1), Adam::amsgrad(1, 0.1));
        let (mut p, mut q) = ([0.0], [0.0]);
        // A gradient of 100 and then of 0: v falls to 0.999 of itself, its largest value does not.
        for g in [100.0, 0.0] {
            plain.step(&mut p, &[g]);
            ams.step(&mut q, &[g]);
        }
        // Second steps: m = 0.9·10, over 0.19; v = 9.99 or 10, over 0.001999.
        let step = |v: f64| 0.1 * (9.0 / 0.19) / (v / 0.001_999_f64).sqrt();
        assert!((p[0] + 0.1 + step(9.99)).abs() < 1e-9 && (q[0] + 0.1 + step(10.0)).abs() < 1e-9);
        ams.reset();
        let mut fresh = [0.0];
        ams.step(&mut fresh, &[-3.0]);
        assert!((fresh[0] - 0.1).abs() < 1e-9, "{fresh:?}");
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
