//! The whole crate against servers by script.

mod accepted;
mod asking;
mod calling;
mod connecting;
mod eras;
mod living;
mod looking;
mod offers;
