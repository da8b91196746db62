//! Reads YAML 1.2 from the events of its parser, so that an alias costs what it repeats and nothing is built twice
//! before it is counted.

use std::collections::HashMap;

use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Span};

use super::MAX_DOCUMENT;
use super::document::{MAX_NODES, Node, Unreadable, Value, check};
use super::finding::Place;

/// The values that aliases may repeat. A document of aliases of aliases has billions.
const MAX_REPEATED: usize = 100_000;
/// The bytes of text that anchors and aliases may repeat together.
const MAX_REPEATED_BYTES: usize = 2 * MAX_DOCUMENT;

pub(super) fn parse(text: &str) -> Result<Node, Unreadable> {
    let mut reader =
        Reader { anchors: HashMap::new(), open: Vec::new(), nodes: 0, repeated: 0, bytes: 0, root: None };
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| unreadable(&error))?;
        if matches!(event, Event::DocumentStart(_)) && reader.root.is_some() {
            let message = "the file has more than one YAML document".to_owned();
            return Err(Unreadable { place: place(span), message });
        }
        reader.event(event, place(span))?;
    }
    reader.root.ok_or_else(|| Unreadable { place: Place::START, message: "the document is empty".to_owned() })
}

fn unreadable(error: &ScanError) -> Unreadable {
    let mark = error.marker();
    let message = format!("this is not YAML: {}", super::finding::shown(error.info()));
    Unreadable { place: Place { line: mark.line(), column: mark.col() + 1 }, message }
}

fn place(span: Span) -> Place {
    Place { line: span.start.line(), column: span.start.col() + 1 }
}

/// A list or map whose end has not come.
struct Open {
    node: Node,
    anchor: usize,
    /// The key of the next value of a map.
    key: Option<String>,
}

/// What a copy of a value costs.
#[derive(Debug, Clone, Copy)]
struct Size {
    values: usize,
    /// Of its texts and keys.
    bytes: usize,
    /// The levels of lists and maps.
    height: usize,
}

struct Reader {
    anchors: HashMap<usize, (Node, Size)>,
    open: Vec<Open>,
    nodes: usize,
    repeated: usize,
    bytes: usize,
    root: Option<Node>,
}

impl Reader {
    fn event(&mut self, event: Event<'_>, place: Place) -> Result<(), Unreadable> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let is_text = tag.is_some_and(|tag| tag.suffix == "str") || style != ScalarStyle::Plain;
                let is_key = self.open.last().is_some_and(Open::wants_key);
                let value = if is_text || is_key { Value::Text(text.into_owned()) } else { scalar(&text) };
                self.add(Node { place, value }, anchor)
            }
            Event::SequenceStart(anchor, _) => self.start(Value::List(Vec::new()), anchor, place),
            Event::MappingStart(anchor, _) => self.start(Value::Map(Vec::new()), anchor, place),
            Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                Some(open) => self.add(open.node, open.anchor),
                None => Ok(()),
            },
            Event::Alias(anchor) => {
                let Some(&(_, size)) = self.anchors.get(&anchor) else {
                    let message = "this alias stands inside the value that it repeats".to_owned();
                    return Err(Unreadable { place, message });
                };
                self.repeated += size.values;
                self.nodes += size.values;
                if self.repeated > MAX_REPEATED {
                    let message =
                        format!("the aliases of the document repeat more than {MAX_REPEATED} values");
                    return Err(Unreadable { place, message });
                }
                self.copies(size, place)?;
                check(self.nodes, self.open.len() + size.height, place)?;
                match self.anchors.get(&anchor).map(|(node, _)| node.clone()) {
                    Some(node) => self.add(node, 0),
                    None => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }

    /// Fails if another copy of this size is too much.
    fn copies(&mut self, size: Size, place: Place) -> Result<(), Unreadable> {
        self.bytes += size.bytes;
        if self.bytes <= MAX_REPEATED_BYTES {
            return Ok(());
        }
        let message =
            format!("the anchors and aliases of the document repeat more than {MAX_REPEATED_BYTES} bytes");
        Err(Unreadable { place, message })
    }

    fn start(&mut self, value: Value, anchor: usize, place: Place) -> Result<(), Unreadable> {
        self.open.push(Open { node: Node { place, value }, anchor, key: None });
        check(self.nodes, self.open.len(), place)
    }

    fn add(&mut self, node: Node, anchor: usize) -> Result<(), Unreadable> {
        self.nodes += 1;
        check(self.nodes, self.open.len(), node.place)?;
        if anchor > 0 {
            let size = size(&node);
            self.repeated += size.values;
            if self.repeated > MAX_NODES {
                let message = "the anchors of the document hold too many values".to_owned();
                return Err(Unreadable { place: node.place, message });
            }
            self.copies(size, node.place)?;
            self.anchors.insert(anchor, (node.clone(), size));
        }
        let Some(open) = self.open.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        match &mut open.node.value {
            Value::List(items) => items.push(node),
            Value::Map(entries) => match open.key.take() {
                None => {
                    let Value::Text(key) = node.value else {
                        let message = "a key is not a text".to_owned();
                        return Err(Unreadable { place: node.place, message });
                    };
                    open.key = Some(key);
                }
                // Keys beside `<<` count more, and stand behind what it brings.
                Some(key) if key == "<<" => {
                    let merged = if let Value::List(maps) = node.value { maps } else { vec![node] };
                    let brought = merged.iter().rev().flat_map(|map| map.entries().to_vec());
                    entries.splice(0..0, brought);
                }
                Some(key) => entries.push((key, node)),
            },
            _ => {}
        }
        Ok(())
    }
}

impl Open {
    fn wants_key(&self) -> bool {
        matches!(self.node.value, Value::Map(_)) && self.key.is_none()
    }
}

fn size(node: &Node) -> Size {
    let keys = node.entries().iter().map(|(key, _)| key.len()).sum::<usize>();
    let mut all = Size { values: 1, bytes: keys + node.text().map_or(0, str::len), height: 0 };
    for inner in node.items().iter().chain(node.entries().iter().map(|(_, node)| node)) {
        let inner = size(inner);
        all.values += inner.values;
        all.bytes += inner.bytes;
        all.height = all.height.max(inner.height + 1);
    }
    all
}

/// A plain scalar by the core schema (<https://yaml.org/spec/1.2.2/#103-core-schema>, checked 2026-11). Dates are texts.
fn scalar(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "true" | "True" | "TRUE" => return Value::Bool(true),
        "false" | "False" | "FALSE" => return Value::Bool(false),
        _ => {}
    }
    let plain = text.strip_prefix('+').unwrap_or(text);
    let is_number = plain.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '.'))
        && plain.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | '-' | '+' | 'e' | 'E'));
    if !is_number {
        return Value::Text(text.to_owned());
    }
    let integer = plain.parse::<i64>().ok().map(serde_json::Number::from);
    let float = || plain.parse::<f64>().ok().and_then(serde_json::Number::from_f64);
    integer.or_else(float).map_or_else(|| Value::Text(text.to_owned()), Value::Number)
}
