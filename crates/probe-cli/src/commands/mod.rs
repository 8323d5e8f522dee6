//! One file per command: parse, call, render.

pub(crate) mod audit;
pub(crate) mod compare;
pub(crate) mod completions;
mod costs;
pub(crate) mod data;
pub(crate) mod demo;
pub(crate) mod frontier;
pub(crate) mod inspect;
pub(crate) mod noise;
pub(crate) mod rate;
pub(crate) mod recourse;
pub(crate) mod reproduce;
pub(crate) mod schema;
pub(crate) mod train;
