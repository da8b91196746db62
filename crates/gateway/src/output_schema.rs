//! The output schema of a tool.

use std::sync::{Arc, OnceLock};

use converse_config::ArgumentsSchema;
use rmcp::model::JsonObject;
use serde_json::Value;

/// Maximum characters of a reported fault.
const MAX_CHARS: usize = 300;

/// The output schema of a tool, compiled at its first result.
#[derive(Debug)]
pub(crate) struct OutputSchema {
    schema: Arc<JsonObject>,
    compiled: OnceLock<Option<ArgumentsSchema>>,
}

impl OutputSchema {
    pub(crate) fn new(schema: Arc<JsonObject>) -> Self {
        Self { schema, compiled: OnceLock::new() }
    }

    /// Returns how structured content violates the schema. A schema that is invalid or too expensive is not checked.
    pub(crate) fn violation(&self, structure: &Value) -> Option<String> {
        let compile = || ArgumentsSchema::compile(&Value::Object((*self.schema).clone())).ok();
        let compiled = self.compiled.get_or_init(compile).as_ref()?;
        let Some(object) = structure.as_object() else { return Some("not an object".to_owned()) };
        let faults = compiled.check(object).err()?;
        let fault = faults.first().map(|fault| format!("{} {}", fault.pointer, fault.message));
        Some(fault.unwrap_or_default().chars().filter(|c| !c.is_control()).take(MAX_CHARS).collect())
    }
}
