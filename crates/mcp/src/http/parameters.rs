//! [`Parameters`]: arguments that modern servers also require as `Mcp-Param-*` headers, so that proxies can route by them.
//!
//! A tool declares them with `x-mcp-header` in its input schema. A tool with an invalid declaration must not be offered.
//! <https://modelcontextprotocol.io/specification/draft/basic/transports> (checked 2026-11).

use std::collections::{HashMap, HashSet};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use http::{HeaderName, HeaderValue};
use parking_lot::Mutex;
use serde_json::{Map, Value};

use crate::listing::Listed;
use crate::sanitize;

const MARK: &str = "x-mcp-header";

/// The header arguments of one server by tool name. Kept across connections, because a call may precede a list.
#[derive(Debug, Default)]
pub(crate) struct Parameters(Mutex<HashMap<String, Vec<Mirrored>>>);

/// An argument and its header.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Mirrored {
    /// The property names from the root of the arguments.
    path: Vec<String>,
    header: HeaderName,
}

impl Parameters {
    /// Remembers the declarations of the tools, and skips tools whose declaration is not valid.
    pub(crate) fn fit(&self, mut listed: Listed) -> Listed {
        let mut wanted = HashMap::new();
        let skipped = &mut listed.skipped;
        listed.tools.retain(|tool| match mirrored(&tool.arguments) {
            Ok(of_it) => {
                if !of_it.is_empty() {
                    wanted.insert(tool.name.to_string(), of_it);
                }
                true
            }
            Err(why) => {
                skipped.push((tool.name.to_string(), sanitize::clean(&why, 300)));
                false
            }
        });
        *self.0.lock() = wanted;
        listed
    }

    /// Returns the headers of a call.
    pub(super) fn headers(
        &self,
        tool: &str,
        arguments: Option<&Map<String, Value>>,
    ) -> Vec<(HeaderName, HeaderValue)> {
        let wanted = self.0.lock();
        let (Some(wanted), Some(arguments)) = (wanted.get(tool), arguments) else { return Vec::new() };
        let header = |one: &Mirrored| {
            let (first, rest) = one.path.split_first()?;
            let value = rest.iter().try_fold(arguments.get(first)?, |value, key| value.get(key))?;
            Some((one.header.clone(), HeaderValue::try_from(written(value)?).ok()?))
        };
        wanted.iter().filter_map(header).collect()
    }
}

/// Encodes a header value. Returns `None` for `null`, arrays and objects.
fn written(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        _ => return None,
    };
    let plain = text.chars().all(|c| matches!(c, ' '..='~'))
        && text.trim_matches(' ').len() == text.len()
        && !(text.starts_with("=?base64?") && text.ends_with("?="));
    Some(if plain { text } else { format!("=?base64?{}?=", BASE64_STANDARD.encode(text)) })
}

fn mirrored(schema: &Value) -> Result<Vec<Mirrored>, String> {
    let mut mirrored = Vec::new();
    if let Some(schema) = schema.as_object() {
        if schema.contains_key(MARK) {
            return Err(format!("`{MARK}` is valid on one argument, not on the whole schema"));
        }
        seek(schema, Some(&[]), &mut mirrored)?;
    }
    let mut seen = HashSet::new();
    match mirrored.iter().find(|one| !seen.insert(one.header.clone())) {
        Some(twin) => Err(format!("two arguments use the header `{}`", twin.header)),
        None => Ok(mirrored),
    }
}

/// Collects the declarations below `schema`. `path` is the path of the schema if only `properties` lead to it. The depth
/// of schemas is limited when they are weighed.
fn seek(
    schema: &Map<String, Value>,
    path: Option<&[&str]>,
    mirrored: &mut Vec<Mirrored>,
) -> Result<(), String> {
    for (key, value) in schema {
        match key.as_str() {
            MARK => match path {
                Some(path) => mirrored.push(one(path, value, schema.get("type"))?),
                None => return Err(format!("`{MARK}` is in a place that does not name one argument")),
            },
            "properties" => within(value, path, mirrored)?,
            "$defs" | "definitions" | "dependentSchemas" | "patternProperties" => {
                within(value, None, mirrored)?
            }
            // These keywords contain values and not schemas.
            "default" | "const" | "enum" | "examples" => {}
            _ => {
                let below = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
                for below in below.iter().filter_map(Value::as_object) {
                    seek(below, None, mirrored)?;
                }
            }
        }
    }
    Ok(())
}

fn within(schemas: &Value, path: Option<&[&str]>, mirrored: &mut Vec<Mirrored>) -> Result<(), String> {
    for (name, schema) in schemas.as_object().into_iter().flatten() {
        let Some(schema) = schema.as_object() else { continue };
        let path = path.map(|path| [path, &[name.as_str()]].concat());
        seek(schema, path.as_deref(), mirrored)?;
    }
    Ok(())
}

fn one(path: &[&str], name: &Value, kind: Option<&Value>) -> Result<Mirrored, String> {
    let argument = path.join(".");
    let bad = |what: &str| Err(format!("the `{MARK}` of `{argument}` {what}"));
    let Some(name) = name.as_str() else { return bad("is not a string") };
    if name.is_empty() {
        return bad("is empty");
    }
    let Ok(header) = HeaderName::try_from(format!("mcp-param-{name}")) else {
        return bad("is not a valid header name");
    };
    if !matches!(kind.and_then(Value::as_str), Some("string" | "integer" | "boolean")) {
        return bad("is on an argument that is not a string, integer or boolean");
    }
    Ok(Mirrored { path: path.iter().map(ToString::to_string).collect(), header })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn where_it_may_be_and_where_not() {
        let argument =
            |name: Value, kind: &str| json!({ "properties": { "a": { "type": kind, MARK: name } } });
        for (schema, fits) in [
            (argument(json!("Region"), "string"), true),
            (argument(json!("Region"), "integer"), true),
            (argument(json!("Region"), "number"), false),
            (argument(json!("Region"), "object"), false),
            (argument(json!(""), "string"), false),
            (argument(json!(7), "string"), false),
            (argument(json!("My Region"), "string"), false),
            (argument(json!("Region:1"), "string"), false),
            (argument(json!("Région"), "string"), false),
            (argument(json!("Region\t1"), "string"), false),
            (json!({ MARK: "x" }), false),
            (
                json!({ "properties": { "a": { "properties": { "b": { "type": "string", MARK: "B" } } } } }),
                true,
            ),
            (json!({ "properties": { "a": { "items": { "type": "string", MARK: "B" } } } }), false),
            (json!({ "anyOf": [{ "properties": { "a": { "type": "string", MARK: "A" } } }] }), false),
            (json!({ "$defs": { "d": { "type": "string", MARK: "A" } } }), false),
            (json!({ "properties": { "a": { "type": "string", "default": { MARK: "A" } } } }), true),
            (
                json!({ "properties": { "a": { "type": "string", MARK: "One" }, "b": { "type": "string", MARK: "oNE" } } }),
                false,
            ),
        ] {
            assert_eq!(mirrored(&schema).is_ok(), fits, "{schema}");
        }
    }

    #[test]
    fn values_are_written_so_that_headers_can_hold_them() {
        for (value, text) in [
            (json!("eu-west"), Some("eu-west")),
            (json!("a b"), Some("a b")),
            (json!(42), Some("42")),
            (json!(false), Some("false")),
            (json!(""), Some("")),
            (json!(" a"), Some("=?base64?IGE=?=")),
            (json!("ж"), Some("=?base64?0LY=?=")),
            (json!("a\r\nb"), Some("=?base64?YQ0KYg==?=")),
            (json!("=?base64?IGE=?="), Some("=?base64?PT9iYXNlNjQ/SUdFPT89?=")),
            (json!(null), None),
            (json!({}), None),
        ] {
            assert_eq!(written(&value).as_deref(), text, "{value}");
        }
    }

    #[test]
    fn an_argument_is_found_however_deep() {
        let schema =
            json!({ "properties": { "a": { "properties": { "b": { "type": "string", MARK: "B" } } } } });
        let parameters = Parameters::default();
        parameters.0.lock().insert("t".into(), mirrored(&schema).unwrap());
        let headers = |tool, arguments: Value| parameters.headers(tool, arguments.as_object());
        let (name, value) = headers("t", json!({ "a": { "b": "x" } })).remove(0);
        assert_eq!((name.as_str(), value.to_str().unwrap()), ("mcp-param-b", "x"));
        assert!(headers("t", json!({ "a": {} })).is_empty());
        assert!(headers("u", json!({ "a": { "b": "x" } })).is_empty());
    }
}
