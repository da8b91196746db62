//! The front over real sockets, with a handler that does little.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test's helpers may panic")]
#![allow(clippy::indexing_slicing, reason = "what is not there is a failed test")]

mod access;
mod draining;
mod era;
mod exact;
mod limits;
mod pages;
mod stage;
#[path = "../../../gateway/tests/it/stage.rs"]
#[allow(dead_code, reason = "its other half is for the tests over stdio")]
mod tools;
