//! The paper's methods by our names and settings.

use super::cell::{Kind, Run, Size};
use super::published::DATA;
use probe_core::recourse::method;

/// A column of the paper's tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Column {
    /// As tables name it.
    pub(super) label: &'static str,
    /// The paper's column that it is compared with.
    pub(super) paper: &'static str,
    /// Our method for the logistic regression and for the network.
    methods: [&'static str; 2],
    /// Its settings, where they differ from the defaults.
    options: &'static [&'static str],
}

/// The target of the paper's tables.
pub(super) const TARGET: f64 = 0.35;

/// Radius of the adversaries of ROAR and ARAR.
const EPSILON: &[&str] = &["epsilon=0.01"];

const AR: Column =
    Column { label: "AR(-LIME)", paper: "AR", methods: ["ar", "ar-lime"], options: &[] };
const WACHTER: Column =
    Column { label: "Wachter", paper: "Wachter", methods: ["wachter"; 2], options: &[] };
const GS: Column =
    Column { label: "GS", paper: "GS", methods: ["growing-spheres"; 2], options: &[] };
/// As implemented in CARLA, the library behind the paper's numbers.
const AR_LIBRARY: Column = Column {
    label: "AR(-LIME), as implemented in CARLA",
    paper: "AR",
    methods: ["ar", "ar-lime"],
    options: &["version=library"],
};
/// The first favourable point of plain steps, which is what the library does for Wachter: its ARAR
/// without an adversary.
pub(super) const FIRST_POINT: [&str; 5] =
    ["version=library", "epsilon=0", "lambda=0.01", "learning-rate=0.01", "steps=1000"];
const WACHTER_LIBRARY: Column = Column {
    label: "Wachter, as implemented in CARLA",
    paper: "Wachter",
    methods: ["arar"; 2],
    options: &FIRST_POINT,
};
const GS_LIBRARY: Column = Column {
    label: "GS, as implemented in CARLA",
    paper: "GS",
    methods: ["growing-spheres"; 2],
    options: &["version=library"],
};
const DICE: Column = Column { label: "DiCE", paper: "DiCE", methods: ["dice"; 2], options: &[] };
const ROAR: Column =
    Column { label: "ROAR", paper: "ROAR", methods: ["roar"; 2], options: EPSILON };
const ARAR: Column =
    Column { label: "ARAR", paper: "ARAR", methods: ["arar"; 2], options: EPSILON };
/// With the last of the paper's balance parameters: with the others almost nobody gets an answer
/// from a network (settings).
const ROAR_LIBRARY: Column = Column {
    label: "ROAR, as implemented in CARLA",
    paper: "ROAR",
    methods: ["roar"; 2],
    options: &["epsilon=0.01", "version=library", "lambda=0"],
};
const ARAR_LIBRARY: Column = Column {
    label: "ARAR, as implemented in CARLA",
    paper: "ARAR",
    methods: ["arar"; 2],
    options: &["epsilon=0.01", "version=library"],
};
/// The paper's Algorithm 1, its balance parameter searched over {1, 0.75, 0.5, 0.25, 0}. The paper
/// does not give its step size; with this one the first point that is accepted lies about as far
/// beyond the target as in the paper's tables.
pub(super) const THEIRS: Column = Column {
    label: "PROBE, the paper's algorithm",
    paper: "PROBE",
    methods: ["probe-gradient"; 2],
    options: &["learning-rate=0.01"],
};
/// The same with the released program's step size.
pub(super) const RELEASED: Column = Column {
    label: "PROBE, released step size",
    paper: "PROBE",
    methods: ["probe-gradient"; 2],
    options: &[],
};
/// Our solver.
pub(super) const OURS: Column =
    Column { label: "PROBE, our solver", paper: "PROBE", methods: ["probe"; 2], options: &[] };

/// Methods that ignore noise.
pub(super) fn baselines() -> Vec<Column> {
    [AR, WACHTER, GS, DICE]
        .into_iter()
        .filter(|c| c.methods.iter().all(|m| method(m).is_ok()))
        .collect()
}

/// Methods against an adversary.
pub(super) fn adversarial() -> Vec<Column> {
    vec![ROAR, ARAR]
}

/// Other methods as implemented in CARLA, where the numbers differ; the last two are against
/// an adversary.
pub(super) const LIBRARY: [Column; 5] =
    [AR_LIBRARY, WACHTER_LIBRARY, GS_LIBRARY, ROAR_LIBRARY, ARAR_LIBRARY];

/// All methods, each once.
pub(super) fn all() -> Vec<Column> {
    [baselines(), adversarial(), vec![THEIRS, OURS]].concat()
}

impl Column {
    /// The cell of a table: the paper's target, and all people.
    pub(super) fn run(&self, data: &'static str, kind: Kind, variance: f64) -> Run {
        let method = self.methods[usize::from(kind == Kind::Network)];
        let options = self.options.iter().map(|&o| o.to_owned()).collect();
        Run { data, kind, method, options, rate: TARGET, variance, size: Size::Table }
    }

    /// A point of a figure: another target.
    pub(super) fn at(&self, data: &'static str, kind: Kind, variance: f64, rate: f64) -> Run {
        Run { rate, size: Size::Figure, ..self.run(data, kind, variance) }
    }

    /// A point of a figure: another radius of the adversary, which is also the noise's variance.
    pub(super) fn within(&self, data: &'static str, kind: Kind, radius: f64) -> Run {
        let options = vec![format!("epsilon={radius}")];
        Run { options, size: Size::Figure, ..self.run(data, kind, radius) }
    }
}

/// Every data set with every classifier.
pub(super) fn subjects() -> Vec<(&'static str, Kind)> {
    Kind::ALL.into_iter().flat_map(|kind| DATA.map(|data| (data, kind))).collect()
}
