//! The binary as a user and a script see it: exit status, standard output, standard error, files.

#![allow(clippy::unwrap_used, reason = "a helper of a test may fail the test")]

mod answers;
mod audit;
mod audited;
mod bad_flags;
mod bad_models;
mod bad_tables;
mod choice;
mod columns;
mod compare;
mod demo;
mod docs;
mod guarantee;
mod imported;
mod interrupt;
mod letters;
mod methods;
mod missing;
mod mixed;
mod noise;
mod outputs;
mod repeat;
mod reproduce;
mod sampled;
mod serve;
mod shift;
mod statuses;
mod support;
mod surface;
mod tables;
mod train;
