//! Schema of `[[tests]]`.

use serde_json::{Value, json};

use super::field::{choice, described, duration, schema, table, text};
use crate::policy::MAX_TIMEOUT;
use crate::trial::{MAX_NAME, MAX_TESTS, OUTCOMES};

/// Returns the schema of the tests of one tool.
pub(super) fn tests() -> Value {
    let keys = json!({
        "name": text("Name of the test", json!({ "minLength": 1, "maxLength": MAX_NAME })),
        "arguments": described("Arguments of the call", json!({ "type": "object", "default": {} })),
        "expect": expect(),
    });
    let shape = json!({
        "type": "array",
        "maxItems": MAX_TESTS,
        "items": table("One call, and its expected result", keys, &[]),
    });
    described("Tests that `converse ensembles test` runs, without a model", shape)
}

fn expect() -> Value {
    let pointers = json!({
        "type": "object",
        "propertyNames": { "pattern": "^(/([^~]|~[01])*)?$" },
        "examples": [{ "/items/0/name": "x" }],
    });
    let keys = json!({
        "outcome": choice("Outcome of the call", &OUTCOMES, json!({ "default": "success" })),
        "text": text("Whole text of the result, apart from white space at both ends", json!({})),
        "contains": described(
            "One or several texts that the result contains",
            json!({ "type": ["string", "array"], "minLength": 1, "items": { "type": "string", "minLength": 1 } }),
        ),
        "matches": text("Regular expression that matches somewhere in the text", json!({})),
        "json": described("JSON pointers into the result, and the values at those places", pointers),
        "schema": schema("JSON Schema that the result fits"),
        "within": duration("Longest duration of the call", MAX_TIMEOUT),
    });
    table("Expectations; all must be met", keys, &[])
}
