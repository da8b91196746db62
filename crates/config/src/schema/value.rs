//! A JSON Schema for any value, such as a tool's result in a test.

use jsonschema::Validator;
use serde_json::Value;

use super::weight::Weight;
use super::{MAX_FAULTS, SchemaError, SchemaFault, build, draft, fault, without_base};

/// A compiled schema for a value of any kind. No defaults are filled in.
pub struct ValueSchema {
    validator: Validator,
    weight: Weight,
}

impl ValueSchema {
    /// Compiles a schema within the limits of [`ArgumentsSchema::compile`](super::ArgumentsSchema::compile), of any type.
    pub fn compile(schema: &Value) -> Result<Self, SchemaError> {
        let weight = Weight::of(schema)?;
        let validator = build(&without_base(schema), draft(schema))?;
        Ok(Self { validator, weight })
    }

    /// Returns the faults, at most 8; empty if the value matches.
    pub fn check(&self, value: &Value) -> Vec<SchemaFault> {
        if let Some(fault) = self.weight.too_much_for(value) {
            return vec![fault];
        }
        self.validator.iter_errors(value).take(MAX_FAULTS).map(|error| fault::of(&error)).collect()
    }
}

impl std::fmt::Debug for ValueSchema {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ValueSchema").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn any_value_is_checked() {
        for (schema, fits, not, fault) in [
            (json!({ "type": "array", "minItems": 1 }), json!([1]), json!([]), "must have at least 1 items"),
            (json!({ "const": 7 }), json!(7), json!(8), "7 was expected"),
            (
                json!({ "$id": "https://example.org/x", "$ref": "#/$defs/a", "$defs": { "a": { "type": "string" } } }),
                json!("x"),
                json!(1),
                "must be string, not number",
            ),
        ] {
            let compiled = ValueSchema::compile(&schema).unwrap();
            assert!(compiled.check(&fits).is_empty(), "{schema}");
            assert_eq!(compiled.check(&not)[0].message, fault, "{schema}");
        }
        assert!(ValueSchema::compile(&json!({ "$ref": "http://x/y" })).is_err());
        assert!(ValueSchema::compile(&json!({ "type": "nonsense" })).is_err());
    }

    #[test]
    fn nothing_is_checked_that_would_take_too_long() {
        let deep = (0..200).fold(json!(1), |inner, _| json!([inner]));
        let faults = ValueSchema::compile(&json!({})).unwrap().check(&deep);
        assert_eq!(faults[0].message, "more than 64 levels of nesting");
    }
}
