//! What the tests of a tool call it with. They run only when somebody asks for that.

use converse_config::TestPlan;
use serde_json::{Value, json};

use super::{Line, quoted};
use converse_text::safe;

pub(super) fn json(tests: &[TestPlan]) -> Value {
    tests.iter().map(|test| json!({ "name": test.name, "arguments": test.arguments })).collect()
}

pub(super) fn lines(tests: &[TestPlan]) -> impl Iterator<Item = Line> {
    tests.iter().map(|test| {
        let name = test.name.as_ref().map(|name| quoted(name) + " ").unwrap_or_default();
        let arguments = Value::Object(test.arguments.clone()).to_string();
        Line::telling(format!("test {name}with {}", safe(&arguments)))
    })
}
