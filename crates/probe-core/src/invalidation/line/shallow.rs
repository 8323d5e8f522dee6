//! One hidden layer of rectifiers: along a line the score is piecewise linear, with one kink per hidden unit.
//!
//! $f(t) = c + \sum_i v_i\,\rho(p_i + t q_i)$ with $\rho(z) = z$ for $z > 0$ and $\alpha z$ below. Unit $i$ bends the score at $t_i =
//! -p_i/q_i$ and raises its slope there by $v_i|q_i|(1-\alpha)$, whichever way it is crossed. Sorting the kinks and walking them
//! gives every root exactly, up to rounding.

use super::crossing::{REACH, Refused};

/// The output side of the network, shared by all lines.
#[derive(Debug, Clone)]
pub(super) struct Shallow {
    /// $v$: weight of each hidden unit in the score.
    pub output: Vec<f64>,
    /// $c$: bias of the score.
    pub bias: f64,
    /// $\alpha$: slope of the rectifier below zero.
    pub leak: f64,
}

/// A root of the score on a line: where, and how steep the score is there.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Root {
    /// Position.
    pub at: f64,
    /// Slope of the score along the line.
    pub slope: f64,
}

impl Shallow {
    /// The refused mass of the line with pre-activations `p + t q`; its roots are written to `roots`. `kinks` is scratch.
    pub(super) fn refused_mass(
        &self,
        p: &[f64],
        q: &[f64],
        kinks: &mut Vec<(f64, f64)>,
        roots: &mut Vec<Root>,
    ) -> f64 {
        kinks.clear();
        roots.clear();
        let (mut score, mut slope) = (self.bias, 0.0);
        for ((&v, &p), &q) in self.output.iter().zip(p).zip(q) {
            let z = p - REACH * q;
            let on = z > 0.0 || (z == 0.0 && q > 0.0);
            let rate = if on { 1.0 } else { self.leak };
            score += v * rate * z;
            slope += v * rate * q;
            let t = -p / q;
            if t > -REACH && t < REACH {
                kinks.push((t, v * q.abs() * (1.0 - self.leak)));
            }
        }
        kinks.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let mut refused = Refused::start(score);
        let mut here = -REACH;
        for &(t, bend) in kinks.iter().chain(std::iter::once(&(REACH, 0.0))) {
            let next = score + slope * (t - here);
            if (score <= 0.0) != (next <= 0.0) {
                let at = (here - score / slope).clamp(here, t);
                if next > 0.0 {
                    refused.up(at)
                } else {
                    refused.down(at)
                }
                roots.push(Root { at, slope });
            }
            (score, here) = (next, t);
            slope += bend;
        }
        refused.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::normal::{cdf, upper_tail};

    fn mass(net: &Shallow, p: &[f64], q: &[f64]) -> (f64, Vec<Root>) {
        let mut roots = Vec::new();
        let mass = net.refused_mass(p, q, &mut Vec::new(), &mut roots);
        (mass, roots)
    }

    #[test]
    fn a_tent_is_accepted_between_its_feet() {
        // f = 1 - |t| = 1 - relu(t) - relu(-t): accepted on (-1, 1).
        let net = Shallow { output: vec![-1.0, -1.0], bias: 1.0, leak: 0.0 };
        let (mass, roots) = mass(&net, &[0.0, 0.0], &[1.0, -1.0]);
        assert!((mass - 2.0 * upper_tail(1.0)).abs() < 1e-15);
        assert_eq!(roots, [Root { at: -1.0, slope: 1.0 }, Root { at: 1.0, slope: -1.0 }]);
    }

    #[test]
    fn dead_units_leave_a_constant() {
        let net = Shallow { output: vec![2.0], bias: -0.5, leak: 0.0 };
        assert_eq!(mass(&net, &[-30.0], &[1.0]).0, 1.0);
        let net = Shallow { output: vec![2.0], bias: 0.5, leak: 0.0 };
        assert_eq!(mass(&net, &[-30.0], &[0.0]).0, 0.0);
    }

    #[test]
    fn a_leaky_line_is_a_line() {
        // leak 1 is the identity: f = t - 0.7.
        let net = Shallow { output: vec![1.0], bias: -0.7, leak: 1.0 };
        assert!((mass(&net, &[0.0], &[1.0]).0 - cdf(0.7)).abs() < 1e-15);
        // leak 0.5: f = t/2 below 0, t above, minus -0.25: root at -0.5.
        let net = Shallow { output: vec![1.0], bias: 0.25, leak: 0.5 };
        assert!((mass(&net, &[0.0], &[1.0]).0 - cdf(-0.5)).abs() < 1e-15);
    }
}
