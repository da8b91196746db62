//! Schemas of a document as JSON Schemas of arguments: references in place, within a budget.

use serde_json::{Map, Value as Json, json};

use super::document::{BadReference, Node, Value, parts, resolved};
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
            let is_text = schema.get("type").is_some_and(|of| of == "string");
            // YAML reads the texts `1.0` and `true` as other values.
            let value = |node: &Node| match node.scalar().filter(|_| is_text) {
                Some(text) => text.into(),
                None => node.json(),
            };
            let values: Vec<Json> = values.iter().map(value).filter(|value| !value.is_null()).collect();
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
        let mut properties = self.properties(node);
        let others = self.parts(node, schema, &mut properties);
        let mut required = self.required(node);
        required.retain(|name| {
            let is_of_part = |part: &Json| part.get("properties").is_some_and(|all| all.get(name).is_some());
            properties.contains_key(*name) || others.iter().any(is_of_part)
        });
        let choices = self.choices(node, &properties);
        for (key, list) in [("allOf", others), ("anyOf", choices)] {
            if !list.is_empty() {
                schema.insert(key.to_owned(), list.into());
            }
        }
        if !properties.is_empty() {
            schema.insert("properties".to_owned(), Json::Object(properties));
        }
        require(schema, required.into_iter());
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
    }

    /// The properties that a caller can set.
    fn properties(&mut self, node: &'d Node) -> Map<String, Json> {
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
            // Beside a reference it counts too.
            if !is_read_only(property) && !resolved(self.root, property).is_ok_and(is_read_only) {
                let property = self.schema(property);
                properties.insert(name.clone(), property);
            }
        }
        properties
    }

    /// The names that a schema and the parts of its `allOf` require. A part may require what another part describes.
    fn required(&self, node: &'d Node) -> Vec<&'d str> {
        let parts = parts(self.root, node, &["allOf"]).into_iter();
        let names = parts.flat_map(|part| part.get("required").map_or(&[][..], Node::items));
        let names = names.filter_map(Node::text).filter(|name| name.len() <= MAX_VALUE);
        names.take(MAX_REQUIRED).collect()
    }

    /// Merges the parts of an `allOf` into the schema, because models understand one object better than several. Returns
    /// the parts that cannot be merged.
    fn parts(
        &mut self,
        node: &'d Node,
        schema: &mut Map<String, Json>,
        properties: &mut Map<String, Json>,
    ) -> Vec<Json> {
        let all = node.get("allOf").map_or(&[][..], Node::items);
        let adds = ["properties", "required", "additionalProperties", "anyOf", "oneOf"];
        let is_wrapped = all.len() == 1 && adds.iter().all(|key| node.get(key).is_none());
        let mut others = Vec::new();
        for part in all {
            if self.is_full() {
                self.opened.push((part.place, "schemas with more text than one tool can have"));
                break;
            }
            let Json::Object(mut part) = self.schema(part) else { continue };
            let is_object = is_object(&part);
            if !is_object && !(is_compatible(schema, &part) && (is_wrapped || is_value(&part))) {
                others.push(Json::Object(part));
                continue;
            }
            if is_object {
                if let Some(Json::Object(more)) = part.remove("properties") {
                    for (name, property) in more {
                        properties.entry(name).or_insert(property);
                    }
                }
                part.remove("required");
                // Authors who close a part mean the part.
                if !is_wrapped && part.get("additionalProperties") == Some(&json!(false)) {
                    part.remove("additionalProperties");
                }
            }
            for (key, value) in part {
                schema.entry(key).or_insert(value);
            }
        }
        others
    }

    /// The choices of an `anyOf` or a `oneOf`, which may require what the schema around them describes.
    fn choices(&mut self, node: &'d Node, properties: &Map<String, Json>) -> Vec<Json> {
        let mut choices = Vec::new();
        // Of schemas that overlap, `oneOf` refuses what fits two.
        let mut lists = ["oneOf", "anyOf"].iter().filter_map(|key| Some(node.get(key)?.items()));
        for choice in lists.find(|list| !list.is_empty()).unwrap_or_default() {
            let mut made = self.schema(choice);
            if let Some(fields) = made.as_object_mut() {
                let names = self.required(choice).into_iter();
                require(fields, names.filter(|name| properties.contains_key(*name)));
            }
            choices.push(made);
            if self.is_full() {
                // Without all of them the others are not a choice.
                return Vec::new();
            }
        }
        choices
    }
}

/// Adds names to `required`.
fn require<'n>(schema: &mut Map<String, Json>, names: impl Iterator<Item = &'n str>) {
    let mut required = match schema.remove("required") {
        Some(Json::Array(known)) => known,
        _ => Vec::new(),
    };
    for name in names {
        if !required.iter().any(|known| known == name) {
            required.push(json!(name));
        }
    }
    if !required.is_empty() {
        schema.insert("required".to_owned(), required.into());
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
fn is_object(part: &Map<String, Json>) -> bool {
    let known = ["type", "properties", "required", "description", "additionalProperties"];
    part.get("type").is_none_or(|of| of == "object") && part.keys().all(|key| known.contains(&key.as_str()))
}

/// Whether a part of an `allOf` says nothing about properties and has no parts itself.
fn is_value(part: &Map<String, Json>) -> bool {
    ["properties", "required", "additionalProperties", "anyOf", "allOf"]
        .iter()
        .all(|key| !part.contains_key(*key))
}

/// Whether two schemas say nothing different about the same.
fn is_compatible(schema: &Map<String, Json>, part: &Map<String, Json>) -> bool {
    part.iter().all(|(key, value)| key == "description" || schema.get(key).is_none_or(|own| own == value))
}
