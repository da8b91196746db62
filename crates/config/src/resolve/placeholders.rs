//! The places for arguments in a command or request: does each name an argument, and is each argument used?

use std::collections::BTreeSet;

use serde_json::Value;

use super::Resolver;
use crate::Code;
use crate::address;
use crate::diagnostic::Diagnostic;
use crate::escape::quoted;
use crate::invoker::InvokerDescriptor;
use crate::plan::BodyPlan;
use crate::request::BodyDescriptor;
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
        self.left_out_of_url(invoker);
        self.inside_body(invoker);
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

impl Resolver<'_> {
    /// Without it there is no URL, so a call that may leave it out is a call that may fail.
    fn left_out_of_url(&mut self, invoker: &InvokerDescriptor) {
        let url = invoker.request.as_ref().and_then(|request| request.url.as_ref());
        // What is no URL anyway has been told.
        let Some(url) = url.filter(|url| address::fault(&url.value).is_none()) else { return };
        let schema = invoker.arguments.as_ref().map(|arguments| &arguments.schema.value);
        let required = schema.and_then(|schema| schema.get("required")).and_then(Value::as_array);
        let names: BTreeSet<&str> = url.value.arguments().collect();
        for name in names.into_iter().take(MAX_TOLD) {
            let is_required = required.is_some_and(|names| names.iter().any(|required| required == name));
            let is_optional = |property: &Value| !is_required && property.get("default").is_none();
            if property(invoker, name).is_some_and(is_optional) {
                let message = format!("the argument {} is part of the URL and may be left out", quoted(name));
                let diagnostic = Diagnostic::warning(Code::OptionalInUrl, url.span, message);
                self.diagnostics.push(diagnostic.discreet());
            }
        }
    }

    /// In a text nothing is encoded: `a={a}` with `1&b=2` is two fields.
    fn inside_body(&mut self, invoker: &InvokerDescriptor) {
        let body = invoker.request.as_ref().and_then(|request| request.body.as_ref());
        let Some(BodyDescriptor { plan: BodyPlan::Text(text), templates }) = body else { return };
        let argument = text.arguments().next().filter(|_| text.sole_argument().is_none());
        if let (Some(argument), Some(template)) = (argument, templates.first()) {
            let message = format!("the argument {} is put into the text as it is", quoted(argument));
            let diagnostic = Diagnostic::warning(Code::ArgumentInBody, template.span, message);
            self.diagnostics.push(diagnostic.discreet());
        }
    }
}

/// What the schema says of one argument, if it can be looked up.
pub(super) fn property<'i>(invoker: &'i InvokerDescriptor, name: &str) -> Option<&'i Value> {
    let arguments = invoker.arguments.as_ref().filter(|_| !invoker.lost_arguments)?;
    arguments.schema.value.get("properties")?.get(name)
}

fn properties(invoker: &InvokerDescriptor) -> BTreeSet<&str> {
    let schema = invoker.arguments.as_ref().map(|arguments| &arguments.schema.value);
    let properties = schema.and_then(|schema| schema.get("properties")).and_then(Value::as_object);
    properties.into_iter().flat_map(|properties| properties.keys().map(String::as_str)).collect()
}
