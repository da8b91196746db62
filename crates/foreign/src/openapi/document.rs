//! An OpenAPI document as a tree with positions, from JSON or YAML, and its references.

use std::collections::VecDeque;

use jsonc_parser::ast::Value as Json;
use jsonc_parser::common::Ranged as _;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde_json::Number;

use super::finding::Place;
use super::yaml;

/// The values of a document, with those that aliases repeat.
pub(super) const MAX_NODES: usize = 1_000_000;
pub(super) const MAX_DEPTH: usize = 100;
/// The references that lead from one to the next.
const MAX_HOPS: usize = 16;
/// The schemas that are parts of one.
const MAX_PARTS: usize = 200;

const STRICT: ParseOptions = ParseOptions {
    allow_comments: false,
    allow_trailing_commas: false,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) place: Place,
    pub(super) value: Value,
}

#[derive(Debug, Clone)]
pub(super) enum Value {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<Node>),
    /// In the order of the document. The last value of a duplicate key counts.
    Map(Vec<(String, Node)>),
}

/// Why a text is not a document.
#[derive(Debug)]
pub(super) struct Unreadable {
    pub(super) place: Place,
    pub(super) message: String,
}

impl Node {
    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        self.entries().iter().rev().find(|(name, _)| name == key).map(|(_, node)| node)
    }

    pub(super) fn entries(&self) -> &[(String, Self)] {
        if let Value::Map(entries) = &self.value { entries } else { &[] }
    }

    pub(super) fn items(&self) -> &[Self] {
        if let Value::List(items) = &self.value { items } else { &[] }
    }

    pub(super) fn text(&self) -> Option<&str> {
        if let Value::Text(text) = &self.value { Some(text) } else { None }
    }

    pub(super) fn text_of(&self, key: &str) -> Option<&str> {
        self.get(key)?.text()
    }

    /// Returns a text, a number or a flag as a text.
    pub(super) fn scalar(&self) -> Option<String> {
        match &self.value {
            Value::Text(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            Value::Bool(flag) => Some(flag.to_string()),
            Value::Null | Value::List(_) | Value::Map(_) => None,
        }
    }

    pub(super) fn flag(&self, key: &str) -> Option<bool> {
        if let Value::Bool(flag) = self.get(key)?.value { Some(flag) } else { None }
    }

    /// Whether the texts and values below are within so many bytes, found without reading more than these.
    pub(super) fn fits(&self, most: usize) -> bool {
        self.left_of(most).is_some()
    }

    fn left_of(&self, left: usize) -> Option<usize> {
        let own = left.checked_sub(1 + self.text().map_or(0, str::len))?;
        let left = self.items().iter().try_fold(own, |left, item| item.left_of(left))?;
        self.entries().iter().try_fold(left, |left, (key, node)| node.left_of(left.checked_sub(key.len())?))
    }

    /// Returns the value as JSON, for a small part such as an `enum`.
    pub(super) fn json(&self) -> serde_json::Value {
        match &self.value {
            Value::Null => serde_json::Value::Null,
            Value::Bool(flag) => (*flag).into(),
            Value::Number(number) => number.clone().into(),
            Value::Text(text) => text.as_str().into(),
            Value::List(items) => items.iter().map(Self::json).collect(),
            Value::Map(entries) => entries
                .iter()
                .map(|(name, node)| (name.clone(), node.json()))
                .collect::<serde_json::Map<_, _>>()
                .into(),
        }
    }
}

pub(super) fn parse(text: &str) -> Result<Node, Unreadable> {
    if text.trim_start().starts_with('{') { json(text) } else { yaml::parse(text) }
}

fn json(text: &str) -> Result<Node, Unreadable> {
    let parsed = parse_to_ast(text, &CollectOptions::default(), &STRICT).map_err(|error| Unreadable {
        place: Place { line: error.line_display(), column: error.column_display() },
        message: format!("this is not JSON: {}", error.kind().to_string().to_lowercase()),
    })?;
    let mut reader = Reader { text, at: 0, place: Place::START, nodes: 0 };
    match parsed.value {
        Some(root) => reader.node(&root, 0),
        None => Err(Unreadable { place: Place::START, message: "the document is empty".to_owned() }),
    }
}

/// Nodes come in the order of the text, so positions are counted once.
struct Reader<'t> {
    text: &'t str,
    at: usize,
    place: Place,
    nodes: usize,
}

impl Reader<'_> {
    fn node(&mut self, node: &Json<'_>, depth: usize) -> Result<Node, Unreadable> {
        for c in self.text.get(self.at..node.start()).unwrap_or_default().chars() {
            self.place.step(c);
        }
        self.at = node.start().max(self.at);
        let place = self.place;
        self.nodes += 1;
        check(self.nodes, depth, place)?;
        let value = match node {
            Json::StringLit(text) => Value::Text(text.value.to_string()),
            Json::NumberLit(number) => match number.value.parse() {
                Ok(parsed) => Value::Number(parsed),
                Err(_) => Value::Text(number.value.to_owned()),
            },
            Json::BooleanLit(flag) => Value::Bool(flag.value),
            Json::NullKeyword(_) => Value::Null,
            Json::Array(array) => {
                let items = array.elements.iter().map(|element| self.node(element, depth + 1));
                Value::List(items.collect::<Result<_, _>>()?)
            }
            Json::Object(object) => {
                let mut entries = Vec::new();
                for property in &object.properties {
                    entries.push((property.name.as_str().to_owned(), self.node(&property.value, depth + 1)?));
                }
                Value::Map(entries)
            }
        };
        Ok(Node { place, value })
    }
}

/// Fails if the document has too many values or levels.
pub(super) fn check(nodes: usize, depth: usize, place: Place) -> Result<(), Unreadable> {
    let message = if nodes > MAX_NODES {
        format!("the document has more than {MAX_NODES} values")
    } else if depth > MAX_DEPTH {
        format!("the document has more than {MAX_DEPTH} levels")
    } else {
        return Ok(());
    };
    Err(Unreadable { place, message })
}

/// Why a reference leads nowhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BadReference {
    External,
    Missing,
    Endless,
}

/// Follows the references of a node, if it is one.
pub(super) fn resolved<'d>(root: &'d Node, node: &'d Node) -> Result<&'d Node, BadReference> {
    let mut node = node;
    for _ in 0..MAX_HOPS {
        let Some(reference) = node.text_of("$ref") else { return Ok(node) };
        let pointer = reference.strip_prefix('#').ok_or(BadReference::External)?;
        node = target(root, pointer).ok_or(BadReference::Missing)?;
    }
    Err(BadReference::Endless)
}

/// Returns a schema without its references, and the schemas that these keys of it hold, at any depth. The parts are
/// counted: references repeat them without a copy in the document.
pub(super) fn parts<'d>(root: &'d Node, schema: &'d Node, keys: &[&str]) -> Vec<&'d Node> {
    let (mut found, mut waiting) = (Vec::new(), VecDeque::from([schema]));
    while let Some(schema) = waiting.pop_front() {
        let Ok(schema) = resolved(root, schema) else { continue };
        found.push(schema);
        for inner in keys.iter().filter_map(|key| schema.get(key)).flat_map(Node::items) {
            if found.len() + waiting.len() < MAX_PARTS {
                waiting.push_back(inner);
            }
        }
    }
    found
}

fn target<'d>(root: &'d Node, pointer: &str) -> Option<&'d Node> {
    let mut node = root;
    for part in pointer.split('/').skip(1) {
        let part = decoded(part).replace("~1", "/").replace("~0", "~");
        node = match &node.value {
            Value::List(items) => items.get(part.parse::<usize>().ok()?)?,
            _ => node.get(&part)?,
        };
    }
    (pointer.is_empty() || pointer.starts_with('/')).then_some(node)
}

/// Replaces `%2F` and others; a text that is not percent-encoded stays.
fn decoded(part: &str) -> String {
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let hex = after.get(..2).filter(|_| *first == b'%').and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| part.to_owned())
}
