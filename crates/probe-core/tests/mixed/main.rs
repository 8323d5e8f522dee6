//! Steps and categories together: answers against brute force over every admissible row.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod alternatives;
mod any;
mod bounds;
mod effort;
mod failures;
mod near;
mod optimum;
mod refusal;
mod relax;
mod tied;
mod world;
