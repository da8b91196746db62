//! A terminal for tests and pictures: a program runs at it, what it writes is on a screen, keys are pressed.
//!
//! [`Line`] is the pseudo-terminal itself, bytes in and bytes out. [`Terminal`] is one with a screen, which also says
//! its cursor position on request, as terminals do. Only tests depend on it, never the program.

mod line;
mod terminal;

pub use line::{Heard, Line, Tap};
pub use terminal::{Setup, Terminal};
