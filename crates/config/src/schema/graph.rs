//! A schema as a graph: which subschemas apply where, and where each `$ref` leads.
//!
//! Building it needs no recursion and follows each reference once, so the cost is the size of the text.

use std::collections::HashMap;

use serde_json::Value;

use super::SchemaError;

/// One subschema and the subschemas that it applies.
#[derive(Debug, Default)]
pub(super) struct Node {
    /// Applied to the same value (`allOf`, `not`, …).
    pub(super) in_place: Vec<usize>,
    /// Targets of this node's references; applied to the same value.
    pub(super) references: Vec<usize>,
    /// Applied to different parts of the value, so only the most expensive counts.
    pub(super) parts: Vec<usize>,
    /// Applied to parts of the value to which others may be applied too.
    pub(super) shared_parts: Vec<usize>,
}

pub(super) struct Graph {
    /// The first node is the root.
    pub(super) nodes: Vec<Node>,
}

pub(super) const SAME_VALUE: [&str; 4] = ["not", "if", "then", "else"];
pub(super) const SAME_VALUE_LISTS: [&str; 3] = ["allOf", "anyOf", "oneOf"];
pub(super) const SAME_VALUE_MAPS: [&str; 2] = ["dependentSchemas", "dependencies"];
pub(super) const SHARED_PARTS: [&str; 6] = [
    "additionalProperties",
    "unevaluatedProperties",
    "propertyNames",
    "contains",
    "unevaluatedItems",
    "additionalItems",
];
pub(super) const HOLDERS: [&str; 2] = ["$defs", "definitions"];
pub(super) const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

struct Builder<'s> {
    root: &'s Value,
    nodes: Vec<Node>,
    /// By the address of the value: references may lead anywhere in the same schema.
    known: HashMap<*const Value, usize>,
    waiting: Vec<(usize, &'s Value, String)>,
    anchors: HashMap<&'s str, usize>,
    /// (node, pointer, reference), resolved when all anchors are known.
    references: Vec<(usize, String, &'s str)>,
}

impl Graph {
    pub(super) fn of(schema: &Value) -> Result<Self, SchemaError> {
        let mut builder = Builder {
            root: schema,
            nodes: Vec::new(),
            known: HashMap::new(),
            waiting: Vec::new(),
            anchors: HashMap::new(),
            references: Vec::new(),
        };
        builder.node(schema, String::new());
        builder.work()?;
        // Resolving may find further subschemas with references.
        while let Some((from, pointer, reference)) = builder.references.pop() {
            let to = builder.resolve(&pointer, reference)?;
            builder.nodes[from].references.push(to);
            builder.work()?;
        }
        Ok(Self { nodes: builder.nodes })
    }
}

impl<'s> Builder<'s> {
    fn node(&mut self, value: &'s Value, pointer: String) -> usize {
        let address = std::ptr::from_ref(value);
        if let Some(known) = self.known.get(&address) {
            return *known;
        }
        let id = self.nodes.len();
        self.nodes.push(Node::default());
        self.known.insert(address, id);
        self.waiting.push((id, value, pointer));
        id
    }

    fn work(&mut self) -> Result<(), SchemaError> {
        while let Some((id, value, pointer)) = self.waiting.pop() {
            let Some(object) = value.as_object() else { continue };
            for (key, value) in object {
                self.keyword(id, key, value, &format!("{pointer}/{}", escaped(key)))?;
            }
        }
        Ok(())
    }

    fn keyword(&mut self, id: usize, key: &str, value: &'s Value, pointer: &str) -> Result<(), SchemaError> {
        match (key, value) {
            (_, Value::String(text)) if REFERENCES.contains(&key) => {
                self.references.push((id, pointer.to_owned(), text));
            }
            ("$anchor" | "$dynamicAnchor", Value::String(name)) => {
                self.anchors.insert(name, id);
            }
            ("$id", Value::String(_)) if id != 0 => {
                return Err(SchemaError::new(pointer, "an `$id` inside a schema is not supported"));
            }
            ("properties", Value::Object(_)) | ("prefixItems", Value::Array(_)) | ("items", _) => {
                let parts = self.children(value, pointer, key == "items" && value.is_object());
                self.nodes[id].parts.extend(parts);
            }
            ("patternProperties", Value::Object(_)) => {
                let parts = self.children(value, pointer, false);
                self.nodes[id].shared_parts.extend(parts);
            }
            _ if SHARED_PARTS.contains(&key) => {
                let part = self.node(value, pointer.to_owned());
                self.nodes[id].shared_parts.push(part);
            }
            _ if SAME_VALUE.contains(&key) => {
                let same = self.node(value, pointer.to_owned());
                self.nodes[id].in_place.push(same);
            }
            _ if SAME_VALUE_LISTS.contains(&key) || SAME_VALUE_MAPS.contains(&key) => {
                let same = self.children(value, pointer, false);
                self.nodes[id].in_place.extend(same);
            }
            _ if HOLDERS.contains(&key) => {
                self.children(value, pointer, false);
            }
            _ => {}
        }
        Ok(())
    }

    /// Adds the subschemas in a map or list, or the one subschema itself (`single`).
    fn children(&mut self, value: &'s Value, pointer: &str, single: bool) -> Vec<usize> {
        if single {
            return vec![self.node(value, pointer.to_owned())];
        }
        match value {
            Value::Object(map) => map
                .iter()
                .map(|(key, value)| self.node(value, format!("{pointer}/{}", escaped(key))))
                .collect(),
            Value::Array(list) => list
                .iter()
                .enumerate()
                .map(|(at, value)| self.node(value, format!("{pointer}/{at}")))
                .collect(),
            _ => Vec::new(),
        }
    }

    fn resolve(&mut self, pointer: &str, reference: &str) -> Result<usize, SchemaError> {
        let shown = crate::diagnostic::quoted(reference);
        let Some(fragment) = reference.strip_prefix('#') else {
            return Err(SchemaError::new(
                pointer,
                format!("{shown} is outside the schema, and nothing is fetched"),
            ));
        };
        let nowhere = || SchemaError::new(pointer, format!("the target of {shown} does not exist"));
        let fragment = percent_decoded(fragment).ok_or_else(nowhere)?;
        if !fragment.is_empty() && !fragment.starts_with('/') {
            return self.anchors.get(fragment.as_str()).copied().ok_or_else(nowhere);
        }
        let root = self.root;
        let target = root.pointer(&fragment).ok_or_else(nowhere)?;
        Ok(self.node(target, fragment))
    }
}

/// Escapes a key for a JSON pointer (RFC 6901).
pub(crate) fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

pub(super) fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = text.bytes();
    let mut decoded = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
            let (high, low) = (digit(bytes.next())?, digit(bytes.next())?);
            decoded.push(u8::try_from(high * 16 + low).ok()?);
        } else {
            decoded.push(byte);
        }
    }
    String::from_utf8(decoded).ok()
}
