//! The indicator and the sigmoids that Algorithm 2 puts in its place.

use super::super::lab::Laboratory;
use super::super::{Experiment, Made, csv};
use crate::paper_data::Error;
use crate::plot::{Area, Axis, Figure, Labels, Path, Scale};
use probe_core::registry::Entry;
use probe_core::theory::sigmoid_bias;

pub(in super::super) const SIGMOID: Entry<dyn Experiment> = Entry {
    name: "sigmoid",
    reference: "figure of the appendix on sigmoid temperatures, arXiv:2203.06768",
    item: &Sigmoid,
};

const TEMPERATURES: [f64; 5] = [1.0, 2.0, 10.0, 25.0, 100.0];
const SIZE: (f64, f64) = (700.0, 330.0);
const STEPS: usize = 400;

struct Sigmoid;

fn sigmoid(x: f64, temperature: f64) -> f64 {
    1.0 / (1.0 + (-x * temperature).exp())
}

impl Experiment for Sigmoid {
    fn make(&self, _lab: &Laboratory) -> Result<Made, Error> {
        let caption = "S(t·s) = 1 / (1 + exp(-t·s)) for temperatures t, and the decision itself \
                       (broken): yes for scores s above 0. What matters is t times the deviation \
                       of the score under noise: a temperature that is sharp for one model \
                       is blunt for another.";
        let figure = Figure {
            id: "sigmoid",
            title: "The decision, and sigmoids that stand in for it",
            caption,
            legend: &[],
            columns: 1,
            size: SIZE,
        };
        let xs: Vec<f64> = (0..=STEPS).map(|i| -2.0 + 4.0 * i as f64 / STEPS as f64).collect();
        let svg = figure.draw(&[String::new()], |svg, _| {
            let x = Axis { title: "score", scale: Scale::new(-2.0, 2.0, 0.0, 1.0), label: None };
            let y = Axis { title: "S(t·s)", scale: Scale::new(0.0, 1.05, 0.0, 1.0), label: None };
            let area = Area::draw(svg, SIZE, &x, &y);
            let mut labels = Labels::within((area.left, area.top), (area.right, area.bottom - 4.0));
            let step =
                [area.at(-2.0, 0.0), area.at(0.0, 0.0), area.at(0.0, 1.0), area.at(2.0, 1.0)];
            svg.path(&Path::through(step), "boundary dash");
            step.windows(2).for_each(|w| labels.avoid_line(w[0], w[1]));
            for (i, t) in TEMPERATURES.into_iter().enumerate() {
                let points: Vec<_> = xs.iter().map(|&x| area.at(x, sigmoid(x, t))).collect();
                points.windows(2).for_each(|w| labels.avoid_line(w[0], w[1]));
                svg.path(&Path::through(points), &format!("s{i} line"));
            }
            for (i, t) in TEMPERATURES.into_iter().enumerate() {
                // Where the curves are apart: at heights that differ.
                let height = 0.92 - 0.13 * i as f64;
                let at = (height / (1.0 - height)).ln() / t;
                let text = format!("t = {t}");
                labels.place(
                    svg,
                    area.at(at, height),
                    10.0,
                    &[(&text, &format!("s{i} tone halo"))],
                    13.0,
                );
            }
        });
        let header = ["score", "t=1", "t=2", "t=10", "t=25", "t=100"];
        let rows = xs.iter().map(|&x| {
            let values = TEMPERATURES.map(|t| sigmoid(x, t).to_string());
            std::iter::once(x.to_string()).chain(values).collect()
        });
        let bias = |t: f64| sigmoid_bias(t, 0.1).map(|b| crate::number::fixed(b, 4));
        let remarks = vec![format!(
            "At a true rate of 0.1 the sigmoid estimate of Algorithm 2 is too large by {} where t \
             times the score's deviation is 1, by {} at 2 and by {} at 10: \
             more samples do not help.",
            bias(1.0)?,
            bias(2.0)?,
            bias(10.0)?
        )];
        let files = vec![("sigmoid.svg", svg.standalone()), ("sigmoid.csv", csv(&header, rows))];
        Ok(Made { remarks, files, ..Made::default() })
    }
}
