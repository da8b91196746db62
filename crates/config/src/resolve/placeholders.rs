//! The places for arguments in a command or request: does each name an argument, and is each argument used?

use std::collections::BTreeSet;

use serde_json::Value;

use super::Resolver;
use crate::Code;
use crate::diagnostic::Diagnostic;
use crate::escape::quoted;
use crate::invoker::InvokerDescriptor;
use crate::schema::escaped;

/// Of one invoker, those that are told.
const MAX_TOLD: usize = 32;

impl Resolver<'_> {
    pub(super) fn placeholders(&mut self, invoker: &InvokerDescriptor) {
        let templates = invoker.templates();
        for template in &templates {
            self.variables(template.value.required(), template.span);
        }
        if invoker.command.is_none() && invoker.request.is_none() {
            return;
        }
        let properties = properties(invoker);
        let mut used = BTreeSet::new();
        let mut unknown = 0;
        for template in templates {
            for name in template.value.arguments() {
                let new = used.insert(name);
                if new && !invoker.lost_arguments && !properties.contains(name) && unknown < MAX_TOLD {
                    unknown += 1;
                    self.unknown(template.span, name, &properties);
                }
            }
        }
        if !invoker.lost_places {
            self.unused(invoker, properties.difference(&used));
        }
    }

    fn unknown(&mut self, span: crate::Span, name: &str, properties: &BTreeSet<&str>) {
        let message = format!("`{{{name}}}` names no property of `[arguments]`");
        let diagnostic = Diagnostic::error(Code::UnknownArgument, span, message).discreet();
        let diagnostic = self.suggested(diagnostic, name, properties.iter().copied());
        self.diagnostics.push(diagnostic);
    }

    fn unused<'n>(&mut self, invoker: &InvokerDescriptor, names: impl Iterator<Item = &'n &'n str>) {
        let Some(arguments) = &invoker.arguments else { return };
        let what = if invoker.command.is_some() { "command" } else { "request" };
        for name in names.take(MAX_TOLD) {
            let message = format!("the argument {} never reaches the {what}", quoted(name));
            let place = arguments.place(&format!("/properties/{}", escaped(name)));
            self.warning(Code::UnusedArgument, place, message);
        }
    }
}

fn properties(invoker: &InvokerDescriptor) -> BTreeSet<&str> {
    let schema = invoker.arguments.as_ref().map(|arguments| &arguments.schema.value);
    let properties = schema.and_then(|schema| schema.get("properties")).and_then(Value::as_object);
    properties.into_iter().flat_map(|properties| properties.keys().map(String::as_str)).collect()
}
