//! JSON Schemas of arguments: compiled within a budget, checked with defaults filled in.
//!
//! Schemas of descriptors and servers are foreign input. A schema is weighed before it is compiled ([`weight`]), nothing
//! is fetched, and a check that would take too long is refused before it starts, because a thread inside a validator
//! cannot be stopped.
//!
//! Recursive schemas are accepted: their cost is bounded by the size of the arguments. The worst cost is counted for each
//! depth of the arguments.

mod defaults;
mod describe;
mod fault;
mod fixed;
mod graph;
mod lint;
mod plain;
mod value;
mod weight;

use std::sync::OnceLock;

use jsonschema::meta::MetaValidator;
use jsonschema::{Draft, PatternOptions, ValidationError, Validator};
use serde_json::{Map, Value};

use defaults::Filled;
pub use describe::describe_argument;
pub use fault::SchemaFault;
pub use fixed::{fixed_fault, without_fixed};
pub(crate) use graph::escaped;
pub(crate) use lint::{FindingKind, SchemaFinding, lint};
pub use value::ValueSchema;
use weight::Weight;

/// Limit on the reported faults of one check.
const MAX_FAULTS: usize = 8;
/// Backtracking steps of one pattern on one string. Patterns without look-around and back references use a linear engine.
/// <https://docs.rs/fancy-regex>.
const BACKTRACK_LIMIT: usize = 10_000;
/// Limit on the bytes of one compiled pattern.
const PATTERN_SIZE: usize = 1024 * 1024;

/// Why a schema cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SchemaError {
    /// JSON pointer into the schema; empty for the whole schema.
    pub pointer: String,
    pub message: String,
}

impl SchemaError {
    fn new(pointer: impl Into<String>, message: impl Into<String>) -> Self {
        Self { pointer: pointer.into(), message: message.into() }
    }
}

/// A compiled schema for the arguments object of one tool.
pub struct ArgumentsSchema {
    schema: Value,
    draft: Draft,
    is_plain: bool,
    /// There from the beginning, unless the schema is plain: then at the first arguments that do not fit it.
    validator: OnceLock<Result<Validator, SchemaError>>,
    weight: Weight,
}

/// Returns whether a property's schema allows a list.
pub(crate) fn may_be_list(property: &Value) -> bool {
    match property.get("type") {
        Some(Value::Array(types)) => types.iter().any(|of| of == "array"),
        Some(of) => of == "array",
        None => false,
    }
}

impl ArgumentsSchema {
    /// Compiles a schema. Known drafts are supported, any other `$schema` is read as 2020-12. Nothing is fetched.
    ///
    /// Limits: 64 KiB, 5,000 values, 64 levels, 50,000 unrolled references; a `$ref` must stay inside the schema.
    pub fn compile(schema: &Value) -> Result<Self, SchemaError> {
        if schema.get("type").and_then(Value::as_str) != Some("object") {
            return Err(SchemaError::new("", "the schema of arguments must have `type = \"object\"`"));
        }
        let weight = Weight::of(schema)?;
        let draft = draft(schema);
        let schema = without_base(schema);
        let is_plain = plain::is_plain(&schema, draft);
        let validator = if is_plain { OnceLock::new() } else { OnceLock::from(Ok(build(&schema, draft)?)) };
        Ok(Self { schema, draft, is_plain, validator, weight })
    }

    /// Returns all errors of a schema, at most 8; empty if it is valid and within the limits.
    pub fn problems(schema: &Value) -> Vec<SchemaError> {
        let Err(first) = Self::compile(schema) else { return Vec::new() };
        if Self::weigh(schema).is_err() {
            return vec![first];
        }
        let (draft, schema) = (draft(schema), without_base(schema));
        let judge = of_drafts(draft);
        let found: Vec<_> =
            judge.iter_errors(&schema).take(MAX_FAULTS).map(|error| not_valid(&error)).collect();
        // Errors that appear only when compiling, such as an invalid pattern.
        if found.is_empty() { vec![first] } else { found }
    }

    /// Checks the limits of [`ArgumentsSchema::compile`] without compiling.
    pub fn weigh(schema: &Value) -> Result<(), SchemaError> {
        Weight::of(schema).map(drop)
    }

    /// Returns the arguments with the defaults of missing properties filled in (nested objects too), or at most 8 faults.
    ///
    /// A default that its own schema refuses, such as `null` for a text, is not filled in. If the schema accepts the
    /// arguments only without the defaults, they are returned as they are.
    pub fn check(&self, arguments: &Map<String, Value>) -> Result<Map<String, Value>, Vec<SchemaFault>> {
        let mut filled = Filled::of(&self.schema, arguments);
        if let Some(fault) = self.weight.too_much_for(&filled.arguments) {
            return Err(vec![fault]);
        }
        let fits = self.is_plain && plain::fits(&self.schema, &filled.arguments);
        let faults = if fits { Vec::new() } else { self.faults(&mut filled, arguments)? };
        match filled.arguments {
            Value::Object(filled) if faults.is_empty() => Ok(filled),
            _ => Err(faults),
        }
    }

    /// Removes the defaults that cannot stay, and returns the faults of the rest.
    fn faults(
        &self,
        filled: &mut Filled,
        given: &Map<String, Value>,
    ) -> Result<Vec<SchemaFault>, Vec<SchemaFault>> {
        let validator = self.validator().map_err(|fault| vec![fault])?;
        if filled.has_defaults() && !validator.is_valid(&filled.arguments) {
            let at = |error: ValidationError<'_>| error.instance_path().as_str().to_owned();
            let faults: Vec<_> = validator.iter_errors(&filled.arguments).map(at).collect();
            filled.remove_refused(&faults);
            let plain = Value::Object(given.clone());
            if !validator.is_valid(&filled.arguments) && validator.is_valid(&plain) {
                filled.arguments = plain;
                return Ok(Vec::new());
            }
        }
        let errors = validator.iter_errors(&filled.arguments).take(MAX_FAULTS);
        Ok(errors.map(|error| fault::of(&error)).collect())
    }

    fn validator(&self) -> Result<&Validator, SchemaFault> {
        let validator = self.validator.get_or_init(|| build(&self.schema, self.draft));
        validator.as_ref().map_err(|error| SchemaFault::whole(error.message.clone()))
    }

    /// Returns at most 8 defaults that their own schema refuses.
    pub fn faults_of_defaults(&self) -> Vec<SchemaFault> {
        let filled = Filled::of(&self.schema, &Map::new());
        if let Some(fault) = self.weight.too_much_for(&filled.arguments) {
            return vec![fault];
        }
        if !filled.has_defaults() {
            return Vec::new();
        }
        let validator = match self.validator() {
            Ok(validator) => validator,
            Err(fault) => return vec![fault],
        };
        // At the root itself only missing or too few properties are reported, which is not the fault of a default.
        let errors = validator.iter_errors(&filled.arguments).map(|error| fault::of(&error));
        errors.filter(|fault| !fault.pointer.is_empty()).take(MAX_FAULTS).collect()
    }
}

impl std::fmt::Debug for ArgumentsSchema {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ArgumentsSchema").finish_non_exhaustive()
    }
}

fn draft(schema: &Value) -> Draft {
    let uri = schema.get("$schema").and_then(Value::as_str).unwrap_or_default();
    match uri.trim_end_matches('#') {
        "http://json-schema.org/draft-04/schema" => Draft::Draft4,
        "http://json-schema.org/draft-06/schema" => Draft::Draft6,
        "http://json-schema.org/draft-07/schema" => Draft::Draft7,
        "https://json-schema.org/draft/2019-09/schema" => Draft::Draft201909,
        _ => Draft::Draft202012,
    }
}

/// Removes the draft, which is chosen separately, and `$id`, which would give local references a remote base.
fn without_base(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if let Some(root) = schema.as_object_mut() {
        for key in ["$schema", "$id", "id"] {
            root.shift_remove(key);
        }
    }
    schema
}

fn build(schema: &Value, draft: Draft) -> Result<Validator, SchemaError> {
    let bounded = PatternOptions::fancy_regex().backtrack_limit(BACKTRACK_LIMIT).size_limit(PATTERN_SIZE);
    let options = jsonschema::options().with_draft(draft).offline().with_pattern_options(bounded);
    options.build(schema).map_err(|error| not_valid(&error))
}

fn not_valid(error: &ValidationError<'_>) -> SchemaError {
    let message = format!("not a valid schema: {}", fault::of_schema(error));
    SchemaError::new(error.instance_path().as_str(), message)
}

fn of_drafts(draft: Draft) -> MetaValidator<'static> {
    match draft {
        Draft::Draft4 => jsonschema::draft4::meta::validator(),
        Draft::Draft6 => jsonschema::draft6::meta::validator(),
        Draft::Draft7 => jsonschema::draft7::meta::validator(),
        Draft::Draft201909 => jsonschema::draft201909::meta::validator(),
        _ => jsonschema::draft202012::meta::validator(),
    }
}

#[cfg(test)]
mod tests;
