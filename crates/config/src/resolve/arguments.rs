//! The schema of one invoker's arguments: is it one, and does it say what it means?

use serde_json::{Value, json};

use super::Resolver;
use crate::Code;
use crate::diagnostic::Diagnostic;
use crate::escape::quoted;
use crate::invoker::{ArgumentsDescriptor, InvokerDescriptor};
use crate::schema::ArgumentsSchema;

/// Names in `required` that are looked at.
const MAX_REQUIRED: usize = 100;

impl Resolver<'_> {
    /// `None` if it cannot be used. An invoker without `[arguments]` takes none. Compiled where that is asked for.
    pub(super) fn arguments(
        &mut self,
        invoker: &InvokerDescriptor,
    ) -> Option<(Value, Option<ArgumentsSchema>)> {
        let Some(arguments) = &invoker.arguments else {
            return Some((json!({ "type": "object", "properties": {} }), None));
        };
        let schema = &arguments.schema.value;
        if invoker.lost_arguments && schema.get("type").is_none() {
            return None;
        }
        if schema.get("type").and_then(Value::as_str) != Some("object") {
            let message = "`[arguments]` must say `type = \"object\"`: arguments have names";
            self.error(Code::BadSchema, arguments.place("/type"), message);
            return None;
        }
        self.required(arguments);
        let mut compiled = None;
        if self.given.compile_schemas {
            match ArgumentsSchema::compile(schema) {
                Ok(sound) => {
                    self.defaults_fit(arguments, &sound)?;
                    compiled = Some(sound);
                }
                Err(_) => {
                    for error in ArgumentsSchema::problems(schema) {
                        self.error(Code::BadSchema, arguments.place(&error.pointer), error.message);
                    }
                    return None;
                }
            }
        } else if let Err(error) = ArgumentsSchema::weigh(schema) {
            // What is too large is offered to no model, whether or not it is compiled now.
            self.error(Code::BadSchema, arguments.place(&error.pointer), error.message);
            return None;
        }
        Some((schema.clone(), compiled))
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
            let message = format!("{} is required and not among the `properties`", quoted(name));
            let place = arguments.place(&format!("/required/{at}"));
            let diagnostic = Diagnostic::warning(Code::RequiredUnknown, place, message);
            let names = properties.into_iter().flat_map(|properties| properties.keys().map(String::as_str));
            let diagnostic = self.suggested(diagnostic, name, names);
            self.diagnostics.push(diagnostic);
        }
    }

    fn defaults_fit(&mut self, arguments: &ArgumentsDescriptor, compiled: &ArgumentsSchema) -> Option<()> {
        let faults = compiled.faults_of_defaults();
        for fault in &faults {
            // Of nested defaults the property is named: pointers into arguments are not pointers into the schema.
            let property = fault.pointer.split('/').nth(1).unwrap_or_default();
            let place = arguments.place(&format!("/properties/{property}/default"));
            let message = format!("the default of {} does not fit: {}", quoted(property), fault.message);
            self.error(Code::BadSchema, place, message);
        }
        faults.is_empty().then_some(())
    }
}
