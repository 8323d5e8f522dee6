//! The service: formats, problems, faults. Most tests need no socket.

#![allow(clippy::unwrap_used, reason = "a helper of a test may fail the test")]

mod documents;
mod faults;
mod formats;
mod problems;
mod sockets;
mod support;
