//! A terminal for tests and pictures: a program runs at it, what it writes is on a screen, keys are pressed.
//!
//! [`Line`] is the pseudo-terminal itself, bytes in and bytes out. [`Terminal`] is one with a screen, which also says
//! where its cursor is when it is asked, as terminals do. Never a dependency of the program, only of what tries it.

mod line;
mod terminal;

pub use line::{Heard, Line, Tap};
pub use terminal::{Setup, Terminal};
