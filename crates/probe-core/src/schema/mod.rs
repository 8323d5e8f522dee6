//! What the columns mean to a person: units, scales, bounds, and what may change.

mod actions;
mod feature;
mod space;

pub use actions::{Actions, Direction, Group, Room, Violation};
pub use feature::{Feature, Kind, ModelInput, Schema};
pub use space::Space;
