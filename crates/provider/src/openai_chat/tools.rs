//! Tools as chat servers want them. `parameters` always has `type` and `properties`, which some servers' templates
//! look into without asking; `strict` is never sent, since it restricts schemas in ways that ours need not follow.

use converse_canister::Declaration;
use serde_json::{Value, json};

use crate::TranslateError;
use crate::schema::object_root;

pub(crate) fn prepare(tool: &Declaration) -> Result<Value, TranslateError> {
    let mut schema = object_root(tool)?;
    if !schema.get("properties").is_some_and(Value::is_object) {
        schema.insert("properties".to_owned(), json!({}));
    }
    let function =
        json!({ "name": tool.name.as_str(), "description": tool.description, "parameters": schema });
    Ok(json!({ "type": "function", "function": function }))
}
