//! The service: formats, problems, faults. Most tests need no socket.

mod documents;
mod faults;
mod formats;
mod problems;
mod sockets;
mod support;
