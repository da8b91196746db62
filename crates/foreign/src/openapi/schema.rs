//! Schemas of a document as JSON Schemas of arguments: references in place, within a budget.

use serde_json::{Map, Value as Json, json};

use super::document::{BadReference, Node, Value, resolved};
use super::finding::{Place, prose};

/// How much of a schema is kept. What is deeper is open: any value of its type.
#[derive(Debug, Clone, Copy)]
pub(super) struct Detail {
    pub(super) depth: usize,
    /// Patterns, formats and limits of values.
    pub(super) limits: bool,
}

/// From whole to coarse: the first whose result is accepted counts.
pub(super) const DETAILS: [Detail; 4] = [
    Detail { depth: 8, limits: true },
    Detail { depth: 5, limits: false },
    Detail { depth: 3, limits: false },
    Detail { depth: 1, limits: false },
];

/// The schemas that are read for one tool.
const MAX_READ: usize = 5_000;
/// The bytes that the schemas of one tool have before they are made coarser; a tool has less in the end.
const MAX_BYTES: usize = 64 * 1024;
/// Bytes of a value, a pattern or a name.
const MAX_VALUE: usize = 500;
const MAX_NESTED_DESCRIPTION: usize = 160;
const MAX_DESCRIPTION: usize = 400;
const MAX_ENUM: usize = 100;
const MAX_REQUIRED: usize = 1_000;

const LIMITS: [&str; 13] = [
    "format",
    "pattern",
    "minimum",
    "maximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minProperties",
    "maxProperties",
    "contentMediaType",
];

/// Reads schemas for one tool.
pub(super) struct Reader<'d> {
    root: &'d Node,
    detail: Detail,
    /// The schemas around the one that is read, by their addresses.
    around: Vec<*const Node>,
    read: usize,
    bytes: usize,
    /// Places where something was left open, and why.
    pub(super) opened: Vec<(Place, &'static str)>,
}

impl<'d> Reader<'d> {
    pub(super) fn new(root: &'d Node, detail: Detail) -> Self {
        Self { root, detail, around: Vec::new(), read: 0, bytes: 0, opened: Vec::new() }
    }

    pub(super) fn schema(&mut self, node: &'d Node) -> Json {
        let own = node.text_of("description").filter(|_| node.get("$ref").is_some());
        let target = match resolved(self.root, node) {
            Ok(target) => target,
            Err(why) => return self.open(node.place, reason(why)),
        };
        self.read += 1;
        self.bytes += 8;
        let reason = if self.around.contains(&std::ptr::from_ref(target)) {
            Some("a schema that contains itself")
        } else if self.read > MAX_READ {
            Some("more schemas than one tool can have")
        } else if self.is_full() {
            Some("schemas with more text than one tool can have")
        } else {
            None
        };
        if let Some(reason) = reason {
            return self.open(node.place, reason);
        }
        self.around.push(target);
        let mut schema = self.read(target);
        self.around.pop();
        if let (Some(own), Some(fields)) = (own, schema.as_object_mut()) {
            describe(fields, own, self.budget());
        }
        schema
    }

    fn open(&mut self, place: Place, why: &'static str) -> Json {
        self.opened.push((place, why));
        json!({})
    }

    fn is_full(&self) -> bool {
        self.bytes > MAX_BYTES
    }

    fn budget(&self) -> usize {
        if self.around.len() <= 1 { MAX_DESCRIPTION } else { MAX_NESTED_DESCRIPTION }
    }

    fn read(&mut self, node: &'d Node) -> Json {
        let mut schema = Map::new();
        match &node.value {
            Value::Map(_) => {}
            Value::Bool(false) => return json!({ "not": {} }),
            _ => return json!({}),
        }
        self.types(node, &mut schema);
        let description = node.text_of("description").unwrap_or_default();
        let mut description = description[..description.floor_char_boundary(4 * MAX_DESCRIPTION)].to_owned();
        let default = node.get("default").filter(|default| default.fits(MAX_VALUE)).map(Node::json);
        if let Some(default) = default.filter(|default| !default.is_object()) {
            description = format!("{} Default: {default}.", description.trim());
        }
        describe(&mut schema, &description, self.budget());
        let values = node.get("enum").map_or(&[][..], Node::items);
        if values.len() <= MAX_ENUM + 1 && values.iter().all(|value| value.fits(MAX_VALUE)) {
            let values: Vec<Json> = values.iter().map(Node::json).filter(|value| !value.is_null()).collect();
            if !values.is_empty() && values.len() <= MAX_ENUM {
                schema.insert("enum".to_owned(), values.into());
            }
        }
        if let Some(value) = node
            .get("const")
            .filter(|value| value.fits(MAX_VALUE))
            .map(Node::json)
            .filter(|value| !value.is_null())
        {
            schema.insert("const".to_owned(), value);
        }
        if self.detail.limits {
            limits(node, &mut schema);
        }
        self.bytes += Json::from(schema.clone()).to_string().len();
        if self.around.len() >= self.detail.depth {
            if !node.get("properties").map_or(&[][..], Node::entries).is_empty()
                || node.get("items").is_some()
            {
                self.opened.push((node.place, "a schema that is nested deeper than a tool can have"));
            }
            schema
                .remove("enum")
                .filter(|values| values.to_string().len() < 400)
                .map(|values| schema.insert("enum".to_owned(), values));
            return Json::Object(schema);
        }
        self.inner(node, &mut schema);
        Json::Object(schema)
    }

    /// `nullable` of 3.0 is a type of its own in 3.1.
    fn types(&self, node: &Node, schema: &mut Map<String, Json>) {
        let mut types: Vec<&str> = match node.get("type") {
            Some(one) if one.text().is_some() => one.text().into_iter().collect(),
            Some(list) => list.items().iter().filter_map(Node::text).collect(),
            None if node.get("properties").is_some() => vec!["object"],
            None if node.get("items").is_some() => vec!["array"],
            None => Vec::new(),
        };
        const KNOWN: [&str; 7] = ["string", "number", "integer", "boolean", "array", "object", "null"];
        types.retain(|name| KNOWN.contains(name));
        let has_null = node
            .get("enum")
            .is_some_and(|values| values.items().iter().any(|one| matches!(one.value, Value::Null)));
        // TOML has no null, so an `enum` cannot name it.
        if node.flag("nullable") == Some(true) && !types.is_empty() && node.get("enum").is_none() && !has_null
        {
            types.push("null");
        }
        if node.get("enum").is_some() {
            types.retain(|name| *name != "null");
        }
        types.dedup();
        match types.as_slice() {
            [] => {}
            [one] => drop(schema.insert("type".to_owned(), json!(one))),
            several => drop(schema.insert("type".to_owned(), json!(several))),
        }
    }

    fn inner(&mut self, node: &'d Node, schema: &mut Map<String, Json>) {
        if let Some(items) = node.get("items") {
            let items = self.schema(items);
            schema.insert("items".to_owned(), items);
        }
        let mut properties = Map::new();
        for (name, property) in node.get("properties").map_or(&[][..], Node::entries) {
            if name.len() > MAX_VALUE || self.is_full() {
                self.opened.push((property.place, "a property with more text than one tool can have"));
                if self.is_full() {
                    break;
                }
                continue;
            }
            self.bytes += name.len();
            let is_read_only = |property: &Node| property.flag("readOnly") == Some(true);
            if !resolved(self.root, property).is_ok_and(is_read_only) {
                let property = self.schema(property);
                properties.insert(name.clone(), property);
            }
        }
        let mut required = Vec::new();
        let names = node.get("required").map_or(&[][..], Node::items).iter().filter_map(Node::text);
        for name in names.take(MAX_REQUIRED).filter(|name| name.len() <= MAX_VALUE) {
            if properties.contains_key(name) && !required.contains(&json!(name)) {
                required.push(json!(name));
            }
        }
        // A schema of two schemas that are objects is one object, which models understand better.
        let mut others = Vec::new();
        for part in node.get("allOf").map_or(&[][..], Node::items) {
            if self.is_full() {
                self.opened.push((part.place, "schemas with more text than one tool can have"));
                break;
            }
            match self.schema(part) {
                Json::Object(mut part) if is_plain_object(&part) => {
                    if let Some(Json::Object(more)) = part.remove("properties") {
                        for (name, property) in more {
                            properties.entry(name).or_insert(property);
                        }
                    }
                    if let Some(Json::Array(names)) = part.remove("required") {
                        let new: Vec<Json> =
                            names.into_iter().filter(|name| !required.contains(name)).collect();
                        required.extend(new);
                    }
                    schema.entry("type").or_insert(json!("object"));
                    if let (false, Some(text)) =
                        (schema.contains_key("description"), part.remove("description"))
                    {
                        schema.insert("description".to_owned(), text);
                    }
                }
                Json::Object(part) if schema.is_empty() && properties.is_empty() => schema.extend(part),
                other => others.push(other),
            }
        }
        if !properties.is_empty() {
            schema.insert("properties".to_owned(), Json::Object(properties));
        }
        if !required.is_empty() {
            schema.insert("required".to_owned(), required.into());
        }
        if !others.is_empty() {
            schema.insert("allOf".to_owned(), others.into());
        }
        if let Some(more) = node.get("additionalProperties") {
            match &more.value {
                Value::Bool(flag) => drop(schema.insert("additionalProperties".to_owned(), json!(flag))),
                Value::Map(entries) if !entries.is_empty() => {
                    let more = self.schema(more);
                    schema.insert("additionalProperties".to_owned(), more);
                }
                _ => {}
            }
        }
        for key in ["anyOf", "oneOf"] {
            let mut choices = Vec::new();
            for choice in node.get(key).map_or(&[][..], Node::items) {
                choices.push(self.schema(choice));
                if self.is_full() {
                    // Without all of them the others are not a choice.
                    choices.clear();
                    break;
                }
            }
            // Of schemas that overlap, `oneOf` refuses what fits two.
            if !choices.is_empty() {
                schema.insert("anyOf".to_owned(), choices.into());
            }
        }
    }
}

fn reason(why: BadReference) -> &'static str {
    match why {
        BadReference::External => "a reference to another document, which is not read",
        BadReference::Missing => "a reference to something that is not in the document",
        BadReference::Endless => "a reference that leads to itself",
    }
}

fn describe(schema: &mut Map<String, Json>, text: &str, most: usize) {
    let text = prose(text, most);
    if !text.is_empty() {
        schema.insert("description".to_owned(), text.into());
    }
}

fn limits(node: &Node, schema: &mut Map<String, Json>) {
    for key in LIMITS {
        let Some(value) = node.get(key).filter(|value| value.fits(MAX_VALUE)).map(Node::json) else {
            continue;
        };
        let fits = match key {
            "format" | "pattern" | "contentMediaType" => value.is_string(),
            "uniqueItems" => value.is_boolean(),
            _ => value.is_number(),
        };
        if fits && key != "contentMediaType" {
            schema.insert(key.to_owned(), value);
        }
    }
    // Numbers since 3.1, flags of the limits beside them in 3.0.
    for (key, limit) in [("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")] {
        match node.get(key).filter(|value| value.fits(MAX_VALUE)).map(Node::json) {
            Some(number) if number.is_number() => drop(schema.insert(key.to_owned(), number)),
            Some(Json::Bool(true)) => {
                if let Some(number) = schema.remove(limit) {
                    schema.insert(key.to_owned(), number);
                }
            }
            _ => {}
        }
    }
}

/// Whether a part of an `allOf` says nothing but its properties.
fn is_plain_object(part: &Map<String, Json>) -> bool {
    let known = ["type", "properties", "required", "description", "additionalProperties"];
    let is_object = part.get("type").is_none_or(|of| of == "object");
    is_object
        && part.contains_key("properties") | part.contains_key("required")
        && part.keys().all(|key| known.contains(&key.as_str()))
}
