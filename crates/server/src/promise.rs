//! What a tool says of its results, and whether it keeps to it.

use std::sync::{Arc, OnceLock};

use converse_config::ArgumentsSchema;
use rmcp::model::JsonObject;
use serde_json::Value;

/// Characters of a fault that are told.
const TOLD: usize = 300;

/// The output schema of a tool, compiled with its first result.
#[derive(Debug)]
pub(crate) struct Promise {
    schema: Arc<JsonObject>,
    compiled: OnceLock<Option<ArgumentsSchema>>,
}

impl Promise {
    pub(crate) fn new(schema: Arc<JsonObject>) -> Self {
        Self { schema, compiled: OnceLock::new() }
    }

    /// What is wrong with a structure. A schema that is too heavy to be held against results, or none, promises nothing.
    pub(crate) fn broken_by(&self, structure: &Value) -> Option<String> {
        let compile = || ArgumentsSchema::compile(&Value::Object((*self.schema).clone())).ok();
        let compiled = self.compiled.get_or_init(compile).as_ref()?;
        let Some(object) = structure.as_object() else { return Some("it is no object".to_owned()) };
        let faults = compiled.check(object).err()?;
        let fault = faults.first().map(|fault| format!("{} {}", fault.pointer, fault.message));
        Some(fault.unwrap_or_default().chars().filter(|c| !c.is_control()).take(TOLD).collect())
    }
}
