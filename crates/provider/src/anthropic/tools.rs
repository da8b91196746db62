//! Tools as Anthropic wants them: `{name, description, input_schema}`, the schema an object at its root.
//!
//! The server has been seen to refuse a history with calls when no tools are declared. When none are offered any more (a session goes on
//! without its tools), those that were called are declared without arguments, and calling is switched off.

use converse_canister::Declaration;
use serde_json::{Value, json};

use crate::TranslateError;
use crate::schema::object_root;

pub(crate) fn prepare(tool: &Declaration) -> Result<Value, TranslateError> {
    let schema = object_root(tool)?;
    Ok(json!({ "name": tool.name.as_str(), "description": tool.description, "input_schema": schema }))
}

/// A declaration that only explains an old call.
pub(crate) fn retired(name: &str) -> Value {
    let schema = json!({ "type": "object", "properties": {} });
    json!({ "name": name, "description": "No longer available.", "input_schema": schema })
}
