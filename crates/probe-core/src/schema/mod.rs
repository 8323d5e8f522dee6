//! Meaning of the columns: units, scales, bounds, and what may change.

mod actions;
mod encoding;
mod feature;
mod group;
mod relation;
mod space;

pub use actions::{Actions, Direction, FeatureLimits, Grid, Outcomes, Restriction, Violation};
pub use encoding::Encoding;
pub use feature::{Coding, Feature, Kind, ModelInput, Schema};
pub use group::Group;
pub use relation::{Condition, Relation, Tie};
pub use space::Space;
