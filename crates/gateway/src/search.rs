//! The search of a view with `search = true`: one tool that finds the others, and one that calls them.
//!
//! A call through [`CALL`] is a call of the tool that it names, before anything is judged, counted or recorded.

use converse_canister::{Arguments, Malformed};
use converse_text::ranking::{SearchText, ranked};
use rmcp::model::{CallToolResult, ContentBlock, JsonObject, Tool as Shown, ToolAnnotations};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::raw_arguments::RawArguments;

pub(crate) const FIND: &str = "find_tools";
pub(crate) const CALL: &str = "call_tool";

/// Default and maximum number of tools that one search finds. Their schemas are part of the answer.
const USUAL: u64 = 5;
const MOST: u64 = 20;
/// Characters of a query that are looked at: each word is compared with the words of all tools.
const QUERY: usize = 200;
/// Number of ensembles that the description names.
const NAMES: usize = 40;

/// Returns the two tools that clients see instead of the tools of these ensembles, in the order of their names.
pub(crate) fn search_tools(ensembles: &[String], tools: usize) -> [Shown; 2] {
    let shown = ensembles.iter().take(NAMES).map(String::as_str).collect::<Vec<_>>().join(", ");
    let call = Shown::new(
        CALL,
        format!("Calls a tool that `{FIND}` found. `arguments` must match its `inputSchema`."),
        object(json!({
            "type": "object",
            "properties": {
                "name": { "type": "string", "description": "The name of the tool" },
                "arguments": { "type": "object", "description": "The arguments of the tool" },
            },
            "required": ["name"],
            "additionalProperties": false,
        })),
    );
    let find = Shown::new(
        FIND,
        format!(
            "Finds some of the {tools} tools of this server ({shown}) by what they do, in a few English words such as \
             \"send mail\". Returns their names, descriptions and schemas; `{CALL}` calls them."
        ),
        object(json!({
            "type": "object",
            "properties": {
                "query": { "type": "string", "description": "What the tool does, or a part of its name" },
                "limit": { "type": "integer", "minimum": 1, "maximum": MOST, "default": USUAL },
            },
            "required": ["query"],
            "additionalProperties": false,
        })),
    );
    let reads = ToolAnnotations::new().read_only(true).open_world(false);
    [call, find.with_annotations(reads)]
}

fn object(schema: Value) -> JsonObject {
    schema.as_object().cloned().unwrap_or_default()
}

/// Answers a call of [`FIND`] with the tools that fit, the best first.
pub(crate) fn found(tools: &[Shown], arguments: RawArguments) -> CallToolResult {
    let Arguments { object, malformed, .. } = arguments.parse();
    let Some(query) = object.get("query").and_then(Value::as_str) else {
        let why = malformed.map_or_else(|| "`query` must be a text".to_owned(), |why| why.to_string());
        return failed(format!("invalid arguments: {why}"));
    };
    let query: String = query.chars().take(QUERY).collect();
    let limit = object.get("limit").and_then(Value::as_u64).unwrap_or(USUAL).clamp(1, MOST);
    let texts: Vec<SearchText<'_>> = tools.iter().map(text_of).collect();
    let found = ranked(&query, &texts, usize::try_from(limit).unwrap_or(usize::MAX));
    let hits: Vec<Value> = found.into_iter().filter_map(|at| tools.get(at)).map(summary).collect();
    let mut answer = json!({ "tools": hits, "of": tools.len() });
    if hits.is_empty() {
        answer["hint"] = json!("nothing fits; use other words");
    }
    CallToolResult::structured(answer)
}

fn text_of(tool: &Shown) -> SearchText<'_> {
    let properties = tool.input_schema.get("properties").and_then(Value::as_object);
    let arguments = properties.into_iter().flat_map(JsonObject::keys).map(String::as_str).collect();
    SearchText { name: &tool.name, description: tool.description.as_deref().unwrap_or_default(), arguments }
}

fn summary(tool: &Shown) -> Value {
    json!({ "name": tool.name, "description": tool.description, "inputSchema": tool.input_schema })
}

/// The arguments of [`CALL`]. A duplicate key is an error.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct InnerCall<'a> {
    name: String,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

/// Returns the tool that a call of [`CALL`] calls, and its arguments as they are written, or why it calls none.
pub(crate) fn inner_call(arguments: &RawArguments) -> Result<(String, RawArguments), String> {
    let text = arguments.text().map_err(|why: Malformed| format!("invalid arguments: {why}"))?;
    let call: InnerCall<'_> =
        serde_json::from_str(text).map_err(|error| format!("invalid arguments: {error}"))?;
    match call.arguments.map(RawValue::get) {
        None => Ok((call.name, arguments.inner("{}"))),
        Some(inner) if inner.starts_with('{') => Ok((call.name, arguments.inner(inner))),
        Some(_) => Err("invalid arguments: `arguments` must be an object".to_owned()),
    }
}

/// Returns the result of a call that did not run.
pub(crate) fn failed(text: String) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(text)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inner_call_is_read_as_strictly_as_a_call() {
        let read = |text: &str| {
            let read = inner_call(&RawArguments::new(text, 10));
            read.map(|(name, inner)| (name, inner.parse().raw.into_string()))
        };
        for (text, name, inner) in [
            (r#"{"name":"io__x","arguments":{ "a": 1 }}"#, "io__x", r#"{ "a": 1 }"#),
            (r#"{"arguments":null,"name":"io__x"}"#, "io__x", "{}"),
            (r#"{"name":"io__x"}"#, "io__x", "{}"),
            // Two readers would read them differently, which the parser of arguments refuses.
            (r#"{"name":"x","arguments":{"a":1,"a":2}}"#, "x", r#"{"a":1,"a":2}"#),
        ] {
            assert_eq!(read(text), Ok((name.to_owned(), inner.to_owned())), "{text}");
        }
        for text in [
            "{}",
            r#"{"name":1}"#,
            r#"{"name":"a","name":"b"}"#,
            r#"{"name":"a","arguments":{},"arguments":{}}"#,
            r#"{"name":"a","argument":{}}"#,
            r#"{"name":"a","arguments":"{}"}"#,
            r#"{"name":"a","arguments":[1]}"#,
        ] {
            assert!(read(text).is_err_and(|why| why.starts_with("invalid arguments: ")), "{text}");
        }
        let long = format!(r#"{{"name":"a","arguments":{{"a":"{}"}}}}"#, "x".repeat(Arguments::MAX_BYTES));
        assert!(read(&long).is_err_and(|why| why.contains("at most")));
    }
}
