//! `converse batch`: many conversations from one file.
//!
//! What is decided is pure: [`Schedule`] says which conversation starts when, [`Pace`] how fast a provider may be asked,
//! [`Line`] reads a line of the input. [`run()`] runs the conversations over the ensembles and models of `host`, on one
//! task, and writes their results. `eval` runs its conversations with the same [`Shared`], each over tools of its own.

mod conversation;
mod gate;
mod ingress;
mod input;
mod line;
mod pace;
mod placeholders;
mod provider_batch;
mod results;
mod run;
mod running;
mod schedule;
mod summary;
mod work;

pub use conversation::{Acts, Durable, Outcome, Shared, Spending};
pub use gate::{Barred, Gate, PacedWire, Stops};
pub use ingress::{Ingress, WorkerSettings};
pub use line::{Fault, Line, Message};
pub use pace::{Admission, Ended, LONGEST_PAUSE, Pace, Ticket};
pub use provider_batch::{ProviderBatch, Substitute};
pub use results::Begun;
pub use run::{BatchOptions, run};
pub use schedule::{Bounds, Fate, Next, Schedule};
pub use work::stop;
