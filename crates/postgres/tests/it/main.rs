//! The port of sessions on files and on PostgreSQL: one suite for both, and what only a database can do wrong.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test's helpers may panic")]

mod connection;
mod copying;
mod crash;
mod lease;
mod place;
mod proxy;
mod suite;
