//! A tool as a model is told about it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ToolName;

/// Name, description and JSON Schema of the arguments: all that a processor needs to know about a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Declaration {
    pub name: ToolName,
    pub description: String,
    /// A JSON Schema (2020-12 unless it says otherwise) for the arguments object.
    pub arguments: Value,
}
