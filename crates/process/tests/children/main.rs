//! Real children: how they are born and how they end.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test's helpers may panic")]

mod birth;
mod ending;
#[path = "../stage/mod.rs"]
mod stage;

#[test]
#[ignore = "the body of a guardian process, which the tests start"]
fn guardian_body() {
    converse_process::guard();
}
