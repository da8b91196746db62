//! Every schema inside a schema, with the JSON pointer to it. Bounded: schemas come from strangers.

use serde_json::Value;

use crate::schema::{LIST, ONE, TABLE};

/// Levels that are looked into, and schemas that are looked at.
const MAX_DEPTH: usize = 64;
const MAX_NODES: usize = 5000;

/// One schema.
#[derive(Debug)]
pub(super) struct SchemaNode<'a> {
    /// Empty for the root.
    pub(super) pointer: String,
    pub(super) schema: &'a Value,
    pub(super) depth: usize,
}

impl<'a> SchemaNode<'a> {
    pub(super) fn is_root(&self) -> bool {
        self.pointer.is_empty()
    }

    pub(super) fn get(&self, key: &str) -> Option<&'a Value> {
        self.schema.get(key)
    }

    /// Returns whether a value may be of this type.
    pub(super) fn may_be(&self, kind: &str) -> bool {
        match self.get("type") {
            Some(Value::String(name)) => name == kind,
            Some(Value::Array(names)) => names.iter().any(|name| name == kind),
            _ => false,
        }
    }
}

/// Returns all nodes in document order, starting with the root.
pub(super) fn nodes(root: &Value) -> Vec<SchemaNode<'_>> {
    let mut nodes = Vec::new();
    visit(SchemaNode { pointer: String::new(), schema: root, depth: 0 }, &mut nodes);
    nodes
}

fn visit<'a>(node: SchemaNode<'a>, nodes: &mut Vec<SchemaNode<'a>>) {
    if nodes.len() >= MAX_NODES
        || node.depth > MAX_DEPTH
        || !(node.schema.is_object() || node.schema.is_boolean())
    {
        return;
    }
    let (pointer, depth, schema) = (node.pointer.clone(), node.depth + 1, node.schema);
    nodes.push(node);
    let mut go = |pointer: String, schema: &'a Value| visit(SchemaNode { pointer, schema, depth }, nodes);
    for (key, value) in schema.as_object().into_iter().flatten() {
        let at = format!("{pointer}/{}", escaped(key));
        match value {
            Value::Array(schemas) if LIST.contains(&key.as_str()) => {
                schemas.iter().enumerate().for_each(|(index, schema)| go(format!("{at}/{index}"), schema));
            }
            Value::Object(schemas) if TABLE.contains(&key.as_str()) => {
                schemas.iter().for_each(|(name, schema)| go(format!("{at}/{}", escaped(name)), schema));
            }
            value if ONE.contains(&key.as_str()) => go(at, value),
            _ => {}
        }
    }
}

/// A name as a part of a JSON pointer. <https://www.rfc-editor.org/rfc/rfc6901#section-3> (checked 2026-11)
pub(super) fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_schema_is_found_where_it_stands() {
        let schema = json!({
            "type": "object",
            "properties": {"a/b": {"items": [{}, true]}, "default": {"anyOf": [{"not": {}}]}},
            "additionalProperties": false,
            "default": {"properties": {"no": {}}},
            "enum": [{"items": {}}],
            "$defs": {"x~y": {"prefixItems": [{}]}},
        });
        let pointers: Vec<String> = nodes(&schema).into_iter().map(|node| node.pointer).collect();
        assert_eq!(
            pointers,
            [
                "",
                "/properties/a~1b",
                "/properties/a~1b/items/0",
                "/properties/a~1b/items/1",
                "/properties/default",
                "/properties/default/anyOf/0",
                "/properties/default/anyOf/0/not",
                "/additionalProperties",
                "/$defs/x~0y",
                "/$defs/x~0y/prefixItems/0",
            ]
        );
        assert!(pointers.iter().all(|pointer| schema.pointer(pointer).is_some()));
    }

    #[test]
    fn no_schema_is_too_deep_or_too_wide() {
        let deep = (0..500).fold(json!({}), |inner, _| json!({"items": inner}));
        assert_eq!(nodes(&deep).len(), MAX_DEPTH + 1);
        let wide = json!({"anyOf": vec![json!({}); 10_000]});
        assert_eq!(nodes(&wide).len(), MAX_NODES);
    }
}
