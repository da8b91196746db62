//! `converse batch`: many conversations from one file.
//!
//! What is decided is pure: [`Schedule`] says which conversation starts when, [`Pace`] how fast a provider may be asked,
//! [`Line`] reads a line of the input. [`run()`] runs the conversations over the ensembles and models of `host`, on one
//! task, and writes their results.

mod conversation;
mod gate;
mod input;
mod line;
mod pace;
mod placeholders;
mod results;
mod run;
mod schedule;
mod summary;

pub use line::{Fault, Line};
pub use pace::{Admission, Ended, LONGEST_PAUSE, Pace, Ticket};
pub use run::{BatchOptions, run};
pub use schedule::{Bounds, Fate, Next, Schedule};
