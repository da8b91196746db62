//! Converts TOML to JSON, keeps the order of keys and records positions.
//!
//! Values without a JSON form are errors: `inf`, `nan`, integers beyond 64 bits. Dates become text.

use std::collections::BTreeMap;

use serde_json::{Map, Number, Value};
use toml::de::DeValue;

use crate::document::Problems;
use crate::schema::escaped;
use crate::source::Span;
use crate::{Code, Diagnostic};

/// Limit on nesting.
pub(crate) const MAX_DEPTH: usize = 64;
/// Limits on recorded positions and the length of their pointers: enough for any accepted schema.
const MAX_PLACES: usize = 5_000;
const MAX_POINTER: usize = 256;

/// Positions of the parts of a converted value, by JSON pointer.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Conversion {
    pub(crate) places: BTreeMap<String, Span>,
}

impl Conversion {
    pub(crate) fn convert(&mut self, value: &DeValue<'_>, span: Span, problems: &Problems) -> Option<Value> {
        self.value(value, span, problems, "", MAX_DEPTH)
    }

    /// Returns the position of the value at a pointer, or of the nearest known parent.
    pub(crate) fn place(&self, pointer: &str) -> Option<Span> {
        let mut pointer = pointer;
        loop {
            if let Some(span) = self.places.get(pointer) {
                return Some(*span);
            }
            pointer = pointer.rsplit_once('/')?.0;
        }
    }

    fn remember(&mut self, pointer: &str, span: Span) {
        if self.places.len() < MAX_PLACES && pointer.len() <= MAX_POINTER {
            self.places.insert(pointer.to_owned(), span);
        }
    }

    fn value(
        &mut self,
        value: &DeValue<'_>,
        span: Span,
        problems: &Problems,
        pointer: &str,
        depth: usize,
    ) -> Option<Value> {
        self.remember(pointer, span);
        let Some(depth) = depth.checked_sub(1) else {
            problems.error(Code::TooMany, span, format!("more than {MAX_DEPTH} levels of nesting"));
            return None;
        };
        match value {
            DeValue::String(text) => Some(Value::String(text.to_string())),
            DeValue::Boolean(value) => Some(Value::Bool(*value)),
            DeValue::Datetime(datetime) => Some(Value::String(datetime.to_string())),
            DeValue::Integer(_) | DeValue::Float(_) => {
                let number = number(value);
                if number.is_none() {
                    let message = "this number cannot be written in JSON";
                    let hint = "write a finite number, for example `0.5`";
                    problems.push(Diagnostic::error(Code::OutOfRange, span, message).hint(hint));
                }
                number.map(Value::Number)
            }
            DeValue::Array(items) => {
                let convert = |(at, item): (usize, &toml::Spanned<DeValue<'_>>)| {
                    if item.span().is_empty() {
                        return None;
                    }
                    let pointer = longer(pointer, &at.to_string());
                    self.value(item.get_ref(), problems.span(item.span()), problems, &pointer, depth)
                };
                // Without `collect::<Option<_>>`, so that items after an invalid one are checked too.
                let items: Vec<_> = items.iter().enumerate().map(convert).collect();
                items.into_iter().collect::<Option<Vec<_>>>().map(Value::Array)
            }
            DeValue::Table(table) => {
                let mut map = Map::new();
                let mut whole = true;
                for (key, item) in table {
                    let (name, span) = (key.get_ref(), problems.span(key.span()));
                    if item.span().is_empty() {
                        // Made up by the parser after an error.
                        whole = false;
                        continue;
                    }
                    let pointer = longer(pointer, &escaped(name));
                    // The span of a table is its header, so the key is used instead.
                    let span = if item.get_ref().is_table() { span } else { problems.span(item.span()) };
                    match self.value(item.get_ref(), span, problems, &pointer, depth) {
                        Some(value) => drop(map.insert(name.to_string(), value)),
                        None => whole = false,
                    }
                }
                whole.then_some(Value::Object(map))
            }
        }
    }
}

/// Joins a pointer and a part. Pointers that are too long to record are not extended.
fn longer(pointer: &str, part: &str) -> String {
    if pointer.len() > MAX_POINTER { pointer.to_owned() } else { format!("{pointer}/{part}") }
}

fn number(value: &DeValue<'_>) -> Option<Number> {
    match value {
        DeValue::Integer(integer) => {
            i64::from_str_radix(integer.as_str(), integer.radix()).ok().map(Number::from)
        }
        DeValue::Float(float) => float.as_str().parse().ok().and_then(Number::from_f64),
        _ => None,
    }
}
