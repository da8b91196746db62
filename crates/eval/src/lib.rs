//! `converse eval`: prompts with expectations. It is a batch with a verdict.
//!
//! What is decided is pure: [`parse_suite`] reads a suite, [`plan()`] says what runs, [`verdict()`] compares a finished
//! conversation with its expectations, [`Tally`] and [`Rate`] count, [`Baseline`] compares with an earlier run, and
//! [`Report`] writes. [`run()`] runs the conversations as `batch` does, each over tools of its own, so that no run sees
//! what another has done, and each run can have a cassette.

mod baseline;
mod conversation;
mod ending;
mod files;
mod judge;
mod parse;
mod plan;
mod remote;
mod report;
mod run;
mod statistics;
mod suite;
mod tally;
mod verdict;

pub use baseline::{Baseline, Change, Comparison, Entry};
pub use parse::parse_suite;
pub use plan::{Planned, cassette, plan};
pub use report::Report;
pub use run::{EvalOptions, run};
pub use statistics::{Rate, mean_pass_hat};
pub use suite::{CallExpect, Case, CaseLimits, Expect, Judge, Suite, Tools};
pub use tally::{Judged, Row, RowStatus, Tally};
pub use verdict::{Called, Finished, Miss, Problem, Status, verdict};
