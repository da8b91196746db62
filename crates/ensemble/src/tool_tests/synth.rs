//! Arguments made from a schema: sets that fit it and sets that must be refused.
//!
//! Candidates are made by reading the schema ([`values`], [`breaks`]), which knows nothing of half the keywords there
//! are; then each is held against the schema itself, and only what proves to fit (or to be broken) is kept. So the
//! reading may be simple: what it does not understand costs candidates, never a wrong one. What could not be made is
//! said.

mod breaks;
mod fitting;
mod flat;
mod numbers;
mod objects;
mod pattern;
mod texts;
mod values;

use std::cell::Cell;
use std::collections::HashSet;

use converse_canister::canonical;
use converse_config::{ArgumentsSchema, SchemaError};
use serde_json::{Map, Value};

/// Sets of each of the two sorts.
const MOST_OF_A_SORT: usize = 15;
/// Levels of arguments, and of references followed, that are filled.
const MAX_DEPTH: usize = 6;
/// Values of one schema that are tried.
const MOST_VALUES: usize = 12;
/// Bytes of one text.
const MOST_TEXT: usize = 64 * 1024;
/// Bytes of one set, written as JSON.
const MOST_BYTES: usize = 256 * 1024;
/// Subschemas looked at for the values of one argument: a schema that refers to itself has no end.
const MOST_STEPS: usize = 2_000;
/// Maximum number of reported gaps.
const MOST_GAPS: usize = 10;

/// One set of arguments, and what is special about it.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// `only what is required`, `` `count` is the least ``, `` without `path` ``.
    pub what: String,
    pub arguments: Map<String, Value>,
}

/// What was made of one schema: at most 30 sets.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Synthesis {
    /// Each passes [`ArgumentsSchema::check`]; the one with the fewest arguments is the first.
    pub fitting: Vec<Sample>,
    /// Each fails it.
    pub broken: Vec<Sample>,
    /// What could not be made, in words.
    pub gaps: Vec<String>,
}

/// The sets of arguments for a tool of this schema; always the same for the same schema.
///
/// Fails if the schema itself cannot be used.
pub fn synthesise(schema: &Value) -> Result<Synthesis, SchemaError> {
    let checker = ArgumentsSchema::compile(schema)?;
    let maker = Maker::new(schema);
    let mut made = Synthesis::default();
    let base = maker.fitting(&checker, &mut made);
    maker.broken(&checker, &base, &mut made.broken);
    made.gaps.truncate(MOST_GAPS);
    Ok(made)
}

/// A candidate for one value, and what is special about it.
#[derive(Debug, Clone)]
struct Drawn {
    note: String,
    value: Value,
}

impl Drawn {
    fn new(note: impl Into<String>, value: impl Into<Value>) -> Self {
        Self { note: note.into(), value: value.into() }
    }
}

/// Reads one schema.
struct Maker<'s> {
    root: &'s Value,
    steps: Cell<usize>,
}

impl<'s> Maker<'s> {
    fn new(root: &'s Value) -> Self {
        Self { root, steps: Cell::new(0) }
    }

    /// False once enough has been looked at.
    fn step(&self) -> bool {
        self.steps.set(self.steps.get() + 1);
        self.steps.get() <= MOST_STEPS
    }

    /// The values of one argument, with a budget of its own.
    fn afresh(&self, schema: &Value) -> Vec<Drawn> {
        self.steps.set(0);
        self.values(schema, MAX_DEPTH)
    }
}

/// Keeps a bounded number of sets, each once.
#[derive(Default)]
struct Kept {
    seen: HashSet<String>,
}

impl Kept {
    /// True if the set is new, of a sane size, and there is room for it.
    fn admits(&mut self, sets: &[Sample], arguments: &Map<String, Value>) -> bool {
        if sets.len() >= MOST_OF_A_SORT {
            return false;
        }
        let text = canonical(&Value::Object(arguments.clone()));
        text.len() <= MOST_BYTES && self.seen.insert(text)
    }
}

/// The first of each, then the second of each, and so on: with little room everybody gets some.
fn in_turn<T>(lists: Vec<Vec<T>>) -> Vec<T> {
    let mut lists: Vec<_> = lists.into_iter().map(Vec::into_iter).collect();
    let mut all = Vec::new();
    loop {
        let before = all.len();
        all.extend(lists.iter_mut().filter_map(Iterator::next));
        if all.len() == before {
            return all;
        }
    }
}

#[cfg(test)]
mod tests;
