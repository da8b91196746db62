//! The gateway from outside: raw lines and a client of the protocol library, in both eras, over tools of the test.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test's helpers may panic")]
#![allow(clippy::indexing_slicing, reason = "what is not there is a failed test")]

mod calls;
mod clients;
mod lines;
mod offers;
mod reload;
mod stage;
mod tasks;
mod traces;
mod upstreams;
mod views;
