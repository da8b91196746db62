//! Messages about faults in arguments, short enough for a model.
//!
//! A message never contains the value, which may be large, secret, or an injected instruction.

use converse_text::suggest::nearest;
use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use serde_json::Value;

use crate::diagnostic::{bounded, quoted};
use converse_text::escape::escape;

const MAX_BYTES: usize = 300;
/// The values of `type`. <https://json-schema.org/draft/2020-12/meta/validation> (checked 2026-11)
pub(super) const TYPES: [&str; 7] = ["array", "boolean", "integer", "null", "number", "object", "string"];

/// One fault in the arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaFault {
    /// JSON pointer into the arguments; empty for the whole object.
    pub pointer: String,
    /// At most 300 bytes.
    pub message: String,
}

impl SchemaFault {
    pub(super) fn whole(message: String) -> Self {
        Self { pointer: String::new(), message }
    }
}

pub(super) fn of(error: &ValidationError<'_>) -> SchemaFault {
    let pointer = bounded(&escape(error.instance_path().as_str()), MAX_BYTES);
    SchemaFault { pointer, message: words(error) }
}

pub(super) fn words(error: &ValidationError<'_>) -> String {
    bounded(&escape(&plain(error)), MAX_BYTES)
}

/// Returns the message for an invalid schema, which may quote the schema.
pub(super) fn of_schema(error: &ValidationError<'_>) -> String {
    let message = match error.kind() {
        Kind::AnyOf { .. } if error.instance_path().as_str().ends_with("/type") => of_type(error.instance()),
        _ => None,
    };
    message.map_or_else(|| words(error), |message| bounded(&escape(&message), MAX_BYTES))
}

/// The message for a name that is not a type of JSON Schema; `None` if every name is one.
fn of_type(found: &Value) -> Option<String> {
    let list = found.as_array().map_or(std::slice::from_ref(found), Vec::as_slice);
    let stranger = list.iter().find(|one| !one.as_str().is_some_and(|name| TYPES.contains(&name)))?;
    let types = TYPES.map(|name| format!("`{name}`")).join(", ");
    let Some(name) = stranger.as_str() else {
        return Some(format!("`type` must be one of {types}, or a list of them"));
    };
    let near = nearest(name, TYPES.into_iter());
    let meant = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    Some(format!("{} is not a type: {types}{meant}", quoted(name)))
}

fn plain(error: &ValidationError<'_>) -> String {
    match error.kind() {
        Kind::Required { property } => {
            let name = property.as_str().map_or_else(|| property.to_string(), str::to_owned);
            format!("{} is missing", quoted(&name))
        }
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            let names: Vec<_> = unexpected.iter().take(5).map(|name| quoted(name)).collect();
            format!("unknown: {}", names.join(", "))
        }
        Kind::Type { kind } => format!("must be {}, not {}", type_names(kind), type_of(error.instance())),
        Kind::Enum { options } => match options.as_array() {
            Some(options) => {
                format!(
                    "must be one of {}",
                    options.iter().map(Value::to_string).collect::<Vec<_>>().join(", ")
                )
            }
            None => "must be one of the listed values".to_owned(),
        },
        Kind::AnyOf { .. } => "does not match any schema in `anyOf`".to_owned(),
        Kind::OneOfNotValid { .. } => "does not match any schema in `oneOf`".to_owned(),
        Kind::OneOfMultipleValid { .. } => "matches more than one schema in `oneOf`".to_owned(),
        Kind::Minimum { limit } => format!("must be at least {limit}"),
        Kind::Maximum { limit } => format!("must be at most {limit}"),
        Kind::ExclusiveMinimum { limit } => format!("must be more than {limit}"),
        Kind::ExclusiveMaximum { limit } => format!("must be less than {limit}"),
        Kind::MinLength { limit } => format!("must have at least {limit} characters"),
        Kind::MaxLength { limit } => format!("must have at most {limit} characters"),
        Kind::MinItems { limit } => format!("must have at least {limit} items"),
        Kind::MaxItems { limit } => format!("must have at most {limit} items"),
        Kind::Pattern { pattern } => format!("must match the pattern {}", quoted(pattern)),
        Kind::BacktrackLimitExceeded { .. } => "the pattern takes too long on this text".to_owned(),
        Kind::FalseSchema => "is not allowed".to_owned(),
        _ => error.masked().to_string(),
    }
}

fn type_names(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(one) => one.to_string(),
        TypeKind::Multiple(several) => {
            several.iter().map(|one| one.to_string()).collect::<Vec<_>>().join(" or ")
        }
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
