//! Where a schema has what a row of the table speaks of. Each looks at one schema, not at those inside it.

use serde_json::Value;

use super::walk::{self, SchemaNode, escaped};

/// Where below the site, and what.
pub(super) type Finding = (String, String);

/// google-genai 3.4.0, `class Schema`, without what only the enterprise product has (`additionalProperties`, `defs`,
/// `ref`).
const PARAMETERS: &[&str] = &[
    "anyOf",
    "default",
    "description",
    "enum",
    "example",
    "format",
    "items",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "nullable",
    "pattern",
    "properties",
    "propertyOrdering",
    "required",
    "title",
    "type",
];
/// Keywords that narrow what is valid and that Gemini does not name among those it supports.
pub(super) const UNHEEDED: &[&str] = &[
    "allOf",
    "const",
    "contains",
    "dependentRequired",
    "dependentSchemas",
    "else",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "if",
    "multipleOf",
    "not",
    "patternProperties",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
    "uniqueItems",
];

/// <https://platform.openai.com/docs/guides/structured-outputs> (a summary of 2026-02 read 2026-11).
const STRICT_DEPTH: usize = 10;
const STRICT_PROPERTIES: usize = 5000;
const STRICT_ENUM: usize = 1000;
/// Some four thousand tokens.
const LARGE: usize = 16 * 1024;

pub(super) fn finding_if(applies: bool, below: &str) -> Vec<Finding> {
    if applies { vec![(below.to_owned(), String::new())] } else { Vec::new() }
}

pub(super) fn root_type(node: &SchemaNode<'_>) -> Vec<Finding> {
    let kind = node.get("type");
    let applies =
        node.is_root() && node.get("$ref").is_none() && kind.and_then(Value::as_str) != Some("object");
    finding_if(applies, if kind.is_some() { "/type" } else { "" })
}

pub(super) fn no_properties(node: &SchemaNode<'_>) -> Vec<Finding> {
    finding_if(node.is_root() && !node.get("properties").is_some_and(Value::is_object), "")
}

pub(super) fn empty_object(node: &SchemaNode<'_>) -> Vec<Finding> {
    let some =
        node.get("properties").and_then(Value::as_object).is_some_and(|properties| !properties.is_empty());
    finding_if(node.may_be("object") && !some, "")
}

pub(super) fn no_items(node: &SchemaNode<'_>) -> Vec<Finding> {
    finding_if(node.may_be("array") && node.get("items").is_none(), "")
}

pub(super) fn boolean(node: &SchemaNode<'_>) -> Vec<Finding> {
    finding_if(node.schema.is_boolean() && is_value_schema(node), "")
}

pub(super) fn no_type(node: &SchemaNode<'_>) -> Vec<Finding> {
    let says = ["type", "anyOf", "oneOf", "allOf", "$ref"].iter().any(|key| node.get(key).is_some());
    finding_if(node.schema.is_object() && !says && is_value_schema(node), "")
}

/// Returns whether this is the schema of a property, of an entry, or one of several alternatives for them.
fn is_value_schema(node: &SchemaNode<'_>) -> bool {
    let mut segments = node.pointer.rsplit('/');
    let (last, before) = (segments.next(), segments.next());
    last == Some("items") || matches!(before, Some("properties" | "anyOf"))
}

pub(super) fn beyond_parameters(node: &SchemaNode<'_>) -> Vec<Finding> {
    let keys = node.schema.as_object().into_iter().flat_map(|schema| schema.keys());
    let beyond = keys.filter(|key| {
        let key = key.as_str();
        // A reference has a row of its own.
        !PARAMETERS.contains(&key) && !UNHEEDED.contains(&key) && key != "$ref"
    });
    beyond.map(|key| (format!("/{}", escaped(key)), key.clone())).collect()
}

/// Returns whether the schema is below no keyword that servers ignore.
fn is_heeded(node: &SchemaNode<'_>) -> bool {
    !node.pointer.split('/').any(|segment| UNHEEDED.contains(&segment))
}

pub(super) fn unknown_required(node: &SchemaNode<'_>) -> Vec<Finding> {
    if !is_heeded(node) {
        return Vec::new();
    }
    let names = node.get("required").and_then(Value::as_array).into_iter().flatten().enumerate();
    let unknown = names.filter_map(|(index, name)| {
        let name = name.as_str()?;
        let known = node.get("properties").and_then(|properties| properties.get(name)).is_some();
        (!known).then(|| (format!("/required/{index}"), format!("`{name}`")))
    });
    unknown.collect()
}

pub(super) fn has_in_enum(node: &SchemaNode<'_>, is: fn(&Value) -> bool) -> bool {
    node.get("enum").and_then(Value::as_array).is_some_and(|values| values.iter().any(is))
}

pub(super) fn odd_names<'a>(
    node: &SchemaNode<'a>,
    most: usize,
    marks: &'static str,
    letter_first: bool,
) -> impl Iterator<Item = Finding> + use<'a> {
    let names = node.get("properties").and_then(Value::as_object).into_iter().flat_map(|names| names.keys());
    let taken = move |name: &&String| {
        let first = |c: char| c.is_ascii_alphabetic() || c == '_';
        (1..=most).contains(&name.chars().count())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || marks.contains(c))
            && (!letter_first || name.starts_with(first))
    };
    let odd = names.filter(move |name| !taken(name));
    odd.map(|name| (format!("/properties/{}", escaped(name)), name.clone()))
}

pub(super) fn strict_limits(node: &SchemaNode<'_>) -> Vec<Finding> {
    if !node.is_root() {
        return Vec::new();
    }
    let nodes = walk::nodes(node.schema);
    let count = |key: &str, of: fn(&Value) -> usize| {
        nodes.iter().filter_map(|node| node.get(key)).map(of).sum::<usize>()
    };
    let properties = count("properties", |table| table.as_object().map_or(0, serde_json::Map::len));
    let values = count("enum", |list| list.as_array().map_or(0, Vec::len));
    let depth = nodes.iter().map(|node| node.depth).max().unwrap_or_default();
    let over = [
        (depth > STRICT_DEPTH, format!("at most {STRICT_DEPTH} levels")),
        (properties > STRICT_PROPERTIES, format!("at most {STRICT_PROPERTIES} properties")),
        (values > STRICT_ENUM, format!("at most {STRICT_ENUM} values of `enum`")),
    ];
    over.into_iter().filter(|(over, _)| *over).map(|(_, limit)| (String::new(), limit)).collect()
}

pub(super) fn large(node: &SchemaNode<'_>) -> Vec<Finding> {
    if !node.is_root() {
        return Vec::new();
    }
    let bytes = node.schema.to_string().len();
    if bytes > LARGE { vec![(String::new(), format!("{} KiB", bytes / 1024))] } else { Vec::new() }
}
