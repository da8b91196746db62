//! Checks the schema of one invoker's arguments.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Value, json};

use super::Resolver;
use crate::Code;
use crate::diagnostic::{Diagnostic, quoted};
use crate::invoker::{ArgumentsDescriptor, InvokerDescriptor};
use crate::plan::Scope;
use crate::schema::{ArgumentsSchema, FindingKind, SchemaFinding, lint};
use crate::source::Span;

/// Limit on the checked names in `required`.
const MAX_REQUIRED: usize = 100;

impl Resolver<'_> {
    /// Returns the schema, compiled if requested, or `None` if it is invalid. Without `[arguments]`, a tool takes none.
    pub(super) fn arguments(
        &mut self,
        invoker: &InvokerDescriptor,
    ) -> Option<(Arc<Value>, Option<ArgumentsSchema>)> {
        let Some(arguments) = &invoker.arguments else {
            return Some((Arc::new(json!({ "type": "object", "properties": {} })), None));
        };
        let schema = &arguments.schema.value;
        if invoker.arguments_incomplete && schema.get("type").is_none() {
            return None;
        }
        let is_object = schema.get("type").and_then(Value::as_str) == Some("object");
        if !is_object {
            let message = "`[arguments]` must have `type = \"object\"`";
            self.error(Code::BadSchema, arguments.place("/type"), message);
        }
        self.required(arguments);
        self.findings_in_schema(arguments);
        let mut compiled = None;
        if self.given.compile_schemas {
            // A wrong type does not hide the problems of the rest.
            let typed = if is_object { Cow::Borrowed(&**schema) } else { Cow::Owned(as_object(schema)) };
            match ArgumentsSchema::compile(&typed) {
                Ok(compiled_schema) => {
                    self.defaults_fit(arguments, &compiled_schema)?;
                    compiled = Some(compiled_schema);
                }
                Err(_) => {
                    for error in ArgumentsSchema::problems(&typed) {
                        self.error(Code::BadSchema, arguments.place(&error.pointer), error.message);
                    }
                    return None;
                }
            }
        } else if self.scope != Scope::Shipped
            && let Err(error) = ArgumentsSchema::weigh(schema)
        {
            // A schema that is too large is never sent to a model, so it is an error in every run.
            self.error(Code::BadSchema, arguments.place(&error.pointer), error.message);
            return None;
        }
        if !is_object {
            return None;
        }
        Some((Arc::clone(schema), compiled))
    }

    fn required(&mut self, arguments: &ArgumentsDescriptor) {
        let schema = &arguments.schema.value;
        let properties = schema.get("properties").and_then(Value::as_object);
        let required = schema.get("required").and_then(Value::as_array);
        for (at, name) in required.into_iter().flatten().enumerate().take(MAX_REQUIRED) {
            let Some(name) = name.as_str() else { continue };
            if properties.is_some_and(|properties| properties.contains_key(name)) {
                continue;
            }
            let message = format!("{} is in `required`, but not in `properties`", quoted(name));
            let place = arguments.place(&format!("/required/{at}"));
            let diagnostic = Diagnostic::warning(Code::RequiredUnknown, place, message);
            let names = properties.into_iter().flat_map(|properties| properties.keys().map(String::as_str));
            let diagnostic = self.suggested(diagnostic, name, names);
            self.diagnostics.push(diagnostic);
        }
    }

    /// Reports misspelt keywords and limits that no value fits, in `check` only.
    pub(super) fn findings_in_schema(&mut self, arguments: &ArgumentsDescriptor) {
        if !self.given.compile_schemas {
            return;
        }
        for SchemaFinding { pointer, kind } in lint(&arguments.schema.value) {
            let place = arguments.place(&pointer);
            self.diagnostics.push(match kind {
                FindingKind::Misspelt { keyword, meant } => {
                    let message =
                        format!("{} is not a keyword of JSON Schema, so it has no effect", quoted(&keyword));
                    let place = self.key_before(place, &keyword);
                    Diagnostic::warning(Code::UnknownKeyword, place, message)
                        .hint(format!("did you mean `{meant}`?"))
                }
                FindingKind::FitsNothing { message, hint, certain: true } => {
                    Diagnostic::error(Code::SchemaFitsNothing, place, message).hint(hint)
                }
                FindingKind::FitsNothing { message, hint, certain: false } => {
                    Diagnostic::warning(Code::SchemaFitsNothing, place, message).hint(hint)
                }
            });
        }
    }

    /// Returns the position of a key in the line of its value, or the position of the value.
    fn key_before(&self, value: Span, key: &str) -> Span {
        let (line, start) = self.sources.line_of(value);
        let before = line.get(..value.start.saturating_sub(start)).unwrap_or_default();
        let found =
            before.rfind(key).map(|at| Span { start: start + at, end: start + at + key.len(), ..value });
        found.unwrap_or(value)
    }

    fn defaults_fit(&mut self, arguments: &ArgumentsDescriptor, compiled: &ArgumentsSchema) -> Option<()> {
        let faults = compiled.faults_of_defaults();
        for fault in &faults {
            // The property is named, because pointers into arguments are not pointers into the schema.
            let property = fault.pointer.split('/').nth(1).unwrap_or_default();
            let place = arguments.place(&format!("/properties/{property}/default"));
            let message =
                format!("the default of {} does not match its schema: {}", quoted(property), fault.message);
            self.error(Code::BadSchema, place, message);
        }
        faults.is_empty().then_some(())
    }
}

/// Returns the schema with `type = "object"`.
fn as_object(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if let Some(map) = schema.as_object_mut() {
        map.insert("type".to_owned(), json!("object"));
    }
    schema
}
