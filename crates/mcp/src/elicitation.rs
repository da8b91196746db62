//! Forms of elicitation requests: schema to fields, text to values, and default answers. Pure functions.
//!
//! A form is flat: strings, numbers, booleans and choices
//! (<https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation>, checked 2026-11). Any other schema
//! is rejected and not shown.

mod confusables;
mod field;
mod format;
mod request;
mod secret;
#[cfg(test)]
mod tests;

use converse_config::ValueSchema;
use serde_json::{Map, Value};

pub use field::{Choice, Field, Kind};
pub use format::Format;
pub(crate) use request::{Rejected, parse_request};
pub use secret::{secret_field, secret_words};

/// Limits of a form: fields, and options of one choice.
const MAX_FIELDS: usize = 50;
const MAX_CHOICES: usize = 200;

/// Returns the fields of a form in their order.
///
/// # Errors
///
/// Why the schema is not a valid form.
pub fn fields(schema: &Value) -> Result<Vec<Field>, String> {
    let properties = match schema.get("properties") {
        None => return Ok(Vec::new()),
        Some(properties) => properties.as_object().ok_or("`properties` is not an object")?,
    };
    if properties.len() > MAX_FIELDS {
        return Err(format!("more than {MAX_FIELDS} fields"));
    }
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if let Some(unknown) = required.iter().find(|name| !properties.contains_key(**name)) {
        return Err(format!(
            "`required` names `{}`, which is not a field",
            crate::sanitize::clean(unknown, 100)
        ));
    }
    let field =
        |(name, schema): (&String, &Value)| Field::read(name, schema, required.contains(&name.as_str()));
    properties.iter().map(field).collect()
}

/// Returns the valid defaults of the fields.
pub fn defaults(schema: &Value) -> Map<String, Value> {
    let fields = fields(schema).unwrap_or_default();
    fields.into_iter().filter_map(|field| Some((field.name, field.default?))).collect()
}

/// Checks an answer against the form.
///
/// # Errors
///
/// The field and what is wrong with it.
pub fn validate(schema: &Value, answer: &Map<String, Value>) -> Result<(), String> {
    let fields = fields(schema)?;
    if let Some(unknown) = answer.keys().find(|name| !fields.iter().any(|field| field.name == **name)) {
        return Err(format!("`{unknown}` was not asked for"));
    }
    for field in &fields {
        match answer.get(&field.name) {
            Some(value) => field.check(value).map_err(|why| format!("`{}`: {why}", field.name))?,
            None if field.required => return Err(format!("`{}` is required", field.name)),
            None => {}
        }
    }
    // Keywords that forms must not use but some do, such as `pattern`.
    let compiled = ValueSchema::compile(schema).ok();
    let faults = compiled.map(|schema| schema.check(&Value::Object(answer.clone()))).unwrap_or_default();
    match faults.first() {
        Some(fault) => Err(format!("`{}`: {}", fault.pointer.trim_start_matches('/'), fault.message)),
        None => Ok(()),
    }
}
