//! The front over real sockets, with a handler that does little.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test's helpers may panic")]

mod access;
mod draining;
mod era;
mod limits;
mod pages;
mod stage;
