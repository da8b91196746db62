//! Tests of tools, and whether they can succeed at all.

use serde_json::Value;

use super::Resolver;
use crate::Code;
use crate::invoker::ArgumentsDescriptor;
use crate::plan::InvokerKind;
use crate::schema::{ArgumentsSchema, ValueSchema};
use crate::tool_test::{Expectation, ExpectationDescriptor, MAX_TESTS, TestDescriptor, TestPlan, too_many};
use converse_canister::Outcome;

/// The tool of a test, as far as it is known.
pub(super) struct TestedTool<'t> {
    /// The compiled schema, if schemas are compiled and it is valid.
    pub(super) schema: Option<&'t ArgumentsSchema>,
    pub(super) kind: Option<&'t InvokerKind>,
}

impl Resolver<'_> {
    pub(super) fn tests<'d>(
        &mut self,
        tests: impl Iterator<Item = &'d TestDescriptor>,
        tool: &TestedTool<'_>,
    ) -> Vec<TestPlan> {
        let mut plans = Vec::new();
        for (at, test) in tests.enumerate() {
            if at == MAX_TESTS {
                self.diagnostics.push(too_many(test.span));
                break;
            }
            self.contradiction(test, tool);
            plans.push(TestPlan {
                name: test.name.as_ref().map(|name| name.value.clone()),
                arguments: test.arguments.as_ref().map(|given| given.value.clone()).unwrap_or_default(),
                expect: self.expectation(&test.expect),
                origin: self.origin(test.span),
            });
        }
        plans
    }

    fn expectation(&mut self, given: &ExpectationDescriptor) -> Expectation {
        if let Some(schema) = &given.schema {
            self.schema_of_result(schema);
        }
        Expectation {
            outcome: given.outcome.as_ref().map_or(Outcome::Success, |outcome| outcome.value),
            text: given.text.as_ref().map(|text| text.value.clone()),
            contains: given.contains.iter().map(|part| part.value.clone()).collect(),
            matches: given.matches.as_ref().map(|pattern| pattern.value.clone()),
            json: given.json.clone(),
            schema: given.schema.as_ref().map(|schema| Value::clone(&schema.schema.value)),
            within: given.within.as_ref().map(|within| within.value),
        }
    }

    fn schema_of_result(&mut self, given: &ArgumentsDescriptor) {
        let schema = &given.schema.value;
        self.findings_in_schema(given);
        let result = match self.given.compile_schemas {
            true => ValueSchema::compile(schema).map(drop),
            false => ArgumentsSchema::weigh(schema),
        };
        if let Err(error) = result {
            self.error(Code::BadSchema, given.place(&error.pointer), error.message);
        }
    }

    /// Warns about an impossible outcome. Arguments that do not match the schema always end as `invalid`; matching
    /// arguments end otherwise, unless the tool itself may refuse them.
    fn contradiction(&mut self, test: &TestDescriptor, tool: &TestedTool<'_>) {
        let (Some(schema), Some(arguments), false) =
            (tool.schema, &test.arguments, test.expect.invalid_outcome)
        else {
            return;
        };
        let outcome = test.expect.outcome.as_ref();
        let expected = outcome.map_or(Outcome::Success, |outcome| outcome.value);
        match (schema.check(&arguments.value), expected) {
            (Err(faults), expected) if expected != Outcome::Invalid => {
                let fault = faults.first().map(|fault| format!("{} {}", fault.pointer, fault.message));
                let message = format!(
                    "the arguments do not match the schema of the tool ({}), so the outcome is `invalid`, not `{}`",
                    fault.unwrap_or_default().trim(),
                    expected.label()
                );
                self.warning(Code::TestContradicts, arguments.span, message);
            }
            (Ok(filled), Outcome::Invalid)
                if !tool.kind.is_none_or(|kind| may_refuse(kind, filled.values())) =>
            {
                let message =
                    "the arguments match the schema of the tool, so the outcome cannot be `invalid`";
                self.warning(Code::TestContradicts, outcome.map_or(test.span, |said| said.span), message);
            }
            _ => {}
        }
    }
}

/// Returns whether a tool of this kind may refuse such arguments itself. Built-ins and requests may refuse any; commands
/// refuse texts that could be an option, contain NUL, or are very long.
fn may_refuse<'v>(kind: &InvokerKind, arguments: impl Iterator<Item = &'v Value>) -> bool {
    match kind {
        InvokerKind::Builtin(_) | InvokerKind::Http(_) => true,
        InvokerKind::Command(_) => {
            let mut waiting: Vec<&Value> = arguments.collect();
            while let Some(value) = waiting.pop() {
                match value {
                    Value::String(text) if is_peculiar(text) => return true,
                    Value::Array(list) => waiting.extend(list),
                    Value::Object(map) => waiting.extend(map.values()),
                    _ => {}
                }
            }
            false
        }
    }
}

fn is_peculiar(text: &str) -> bool {
    text.starts_with('-') || text.contains('\0') || text.len() > 4096
}
