//! What the tests of several crates share. Never a dependency of the program, only of what tries it; the one exception is
//! the binary's feature `test-fakes`.
//!
//! The unit tests of a crate below this one see another build of their own crate than this one does: they may use
//! [`hang_guard`] and [`pty`], and no type of ours. Integration tests may use all of it.

#[cfg(feature = "fakes")]
pub mod fakes;
pub mod hang_guard;
#[cfg(feature = "postgres")]
pub mod postgres;
pub mod pty;
#[cfg(feature = "tools")]
pub mod tools;
#[cfg(feature = "wire")]
pub mod wire;
