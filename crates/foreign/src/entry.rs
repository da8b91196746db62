//! Reads the object of one server key by key, and notes wrong types and unknown keys.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::draft::{Named, RawText};
use crate::note::{Notes, quoted};

/// The longest text, in bytes. Each text is searched for secrets.
const MAX_TEXT: usize = 16 * 1024;

/// The largest number of entries in a list or table.
const MAX_ENTRIES: usize = 1024;

/// The number of unknown keys of a server that are named.
const MAX_UNKNOWN: usize = 20;

pub(crate) struct Entry<'a> {
    pub(crate) server: &'a str,
    map: &'a Map<String, Value>,
    known: BTreeSet<&'a str>,
    pub(crate) notes: &'a mut Notes,
}

#[derive(Clone, Copy)]
pub(crate) enum Unit {
    Seconds,
    Milliseconds,
    /// Seconds below 1000, else milliseconds: programs of one family differ.
    Guessed,
}

impl<'a> Entry<'a> {
    pub(crate) fn new(server: &'a str, map: &'a Map<String, Value>, notes: &'a mut Notes) -> Self {
        Self { server, map, known: BTreeSet::new(), notes }
    }

    pub(crate) fn note(&mut self, message: impl Into<String>) {
        self.notes.server(self.server, message);
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        self.map.get(key).is_some_and(|value| !value.is_null())
    }

    pub(crate) fn value(&mut self, key: &'a str) -> Option<&'a Value> {
        self.known.insert(key);
        self.map.get(key).filter(|value| !value.is_null())
    }

    fn wrong(&mut self, key: &str, wanted: &str) {
        self.note(format!("{} is not {wanted} and is left out", quoted(key)));
    }

    pub(crate) fn text(&mut self, key: &'a str) -> Option<String> {
        match self.value(key)? {
            Value::String(text) if text.len() <= MAX_TEXT => Some(text.clone()),
            _ => {
                self.wrong(key, "a text of at most 16 KiB");
                None
            }
        }
    }

    /// A list of texts; numbers and booleans become texts.
    pub(crate) fn texts(&mut self, key: &'a str) -> Vec<String> {
        match self.value(key) {
            None => Vec::new(),
            Some(Value::Array(values)) if values.len() <= MAX_ENTRIES => {
                let texts: Vec<String> = values.iter().filter_map(scalar).collect();
                if texts.len() < values.len() {
                    self.note(format!(
                        "an entry of {} is not a text of at most 16 KiB and is left out",
                        quoted(key)
                    ));
                }
                texts
            }
            Some(_) => {
                self.wrong(key, "a list of at most 1024 texts");
                Vec::new()
            }
        }
    }

    /// A list of what is allowed. An unreadable list allows nothing.
    pub(crate) fn allowed(&mut self, key: &'a str) -> Option<Vec<String>> {
        self.has(key).then(|| self.texts(key)).or_else(|| {
            self.silent(&[key]);
            None
        })
    }

    /// Texts by name; numbers and booleans become texts.
    pub(crate) fn table(&mut self, key: &'a str) -> Named {
        match self.value(key) {
            None => Vec::new(),
            Some(Value::Object(entries)) if entries.len() <= MAX_ENTRIES => {
                let mut named = Named::new();
                for (name, value) in entries {
                    match scalar(value) {
                        Some(text) => named.push((name.clone(), RawText::Foreign(text))),
                        None => {
                            self.note(format!(
                                "{} in {} is not a text of at most 16 KiB and is left out",
                                quoted(name),
                                quoted(key)
                            ));
                        }
                    }
                }
                named
            }
            Some(_) => {
                self.wrong(key, "an object of at most 1024 texts");
                Named::new()
            }
        }
    }

    pub(crate) fn boolean(&mut self, key: &'a str) -> Option<bool> {
        match self.value(key)? {
            Value::Bool(boolean) => Some(*boolean),
            _ => {
                self.wrong(key, "true or false");
                None
            }
        }
    }

    pub(crate) fn object(&mut self, key: &'a str) -> Option<&'a Map<String, Value>> {
        match self.value(key)? {
            Value::Object(map) => Some(map),
            _ => {
                self.wrong(key, "an object");
                None
            }
        }
    }

    pub(crate) fn list(&mut self, key: &'a str) -> &'a [Value] {
        match self.value(key) {
            Some(Value::Array(list)) => list,
            None => &[],
            Some(_) => {
                self.wrong(key, "a list");
                &[]
            }
        }
    }

    pub(crate) fn is_list(&self, key: &str) -> bool {
        self.map.get(key).is_some_and(Value::is_array)
    }

    pub(crate) fn is_object(&self, key: &str) -> bool {
        self.map.get(key).is_some_and(Value::is_object)
    }

    pub(crate) fn duration(&mut self, key: &'a str, unit: Unit) -> Option<Duration> {
        let value = self.value(key)?;
        let Some(number) = value.as_f64().filter(|number| *number > 0.0) else {
            self.wrong(key, "a number above 0");
            return None;
        };
        let seconds = match unit {
            Unit::Seconds => number,
            Unit::Milliseconds => number / 1000.0,
            Unit::Guessed if number >= 1000.0 => number / 1000.0,
            Unit::Guessed => number,
        };
        if matches!(unit, Unit::Guessed) {
            self.note(format!("{} is read as {seconds} s", quoted(key)));
        }
        // Too long limits are cut later.
        Some(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
    }

    /// Known keys without a counterpart here. If one is set, `why` is noted.
    pub(crate) fn ignored(&mut self, keys: &[&'a str], why: &str) {
        let is_set = |value: &Value| !matches!(value, Value::Null | Value::Bool(false));
        let empty = |value: &Value| {
            value.as_array().is_some_and(Vec::is_empty) || value.as_object().is_some_and(Map::is_empty)
        };
        for key in keys {
            if self.value(key).is_some_and(|value| is_set(value) && !empty(value)) {
                self.note(format!("{} is not imported: {why}", quoted(key)));
            }
        }
    }

    /// Known keys that need no note.
    pub(crate) fn silent(&mut self, keys: &[&'a str]) {
        self.known.extend(keys);
    }

    pub(crate) fn finish(mut self) {
        let map = self.map;
        let unknown: Vec<&String> = map.keys().filter(|key| !self.known.contains(key.as_str())).collect();
        for key in unknown.iter().take(MAX_UNKNOWN) {
            self.note(format!("{} is not known and not imported", quoted(key)));
        }
        if unknown.len() > MAX_UNKNOWN {
            self.note(format!("nor are {} more keys", unknown.len() - MAX_UNKNOWN));
        }
    }
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => (text.len() <= MAX_TEXT).then(|| text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(boolean) => Some(boolean.to_string()),
        _ => None,
    }
}
