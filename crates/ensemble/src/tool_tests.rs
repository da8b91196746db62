//! Tests of tools without a model.
//!
//! Two pure halves. [`verdict()`] holds what came of a call against what a descriptor's `[[tests]]` expect of it, and
//! says in words what does not hold. [`synthesise()`] makes arguments from a JSON Schema: some that fit it, and some
//! that must be refused. Nothing here calls a tool, reads a clock or draws a random number: the same schema gives the
//! same arguments for ever.

mod excerpt;
mod outcome;
mod synth;
mod verdict;

pub use outcome::{TestKind, TestOutcome, TestStatus};
pub use synth::{Sample, Synthesis, synthesise};
pub use verdict::{Miss, result_text, verdict};
