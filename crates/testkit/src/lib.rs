//! What the tests of several crates share. Never a dependency of the program, only of what tries it.

pub mod hang_guard;
pub mod pty;
