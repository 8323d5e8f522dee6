//! The methods the paper compares with, on toy problems worked out by hand.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod ar;
mod ar_lime;
mod dice;
mod growing_spheres;
mod minimax;
mod support;
mod wachter;
