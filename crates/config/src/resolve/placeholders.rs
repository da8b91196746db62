//! Placeholders in a command or request: each must name an argument, and each argument should be used.

use std::collections::BTreeSet;

use serde_json::Value;

use super::Resolver;
use crate::Code;
use crate::address;
use crate::diagnostic::{Diagnostic, quoted};
use crate::invoker::InvokerDescriptor;
use crate::plan::BodyPlan;
use crate::request::BodyDescriptor;
use crate::schema::escaped;

/// Limit on the reports about one invoker.
const MAX_REPORTED: usize = 32;

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
                if new
                    && !invoker.arguments_incomplete
                    && !properties.contains(name)
                    && unknown < MAX_REPORTED
                {
                    unknown += 1;
                    self.unknown(template.span, name, &properties);
                }
            }
        }
        let styles = invoker.request.iter().flat_map(|request| &request.styles);
        for (name, _) in styles.filter(|_| !invoker.arguments_incomplete).take(MAX_REPORTED) {
            if !properties.contains(name.value.as_str()) {
                self.unknown(name.span, &name.value, &properties);
            }
        }
        self.left_out_of_url(invoker);
        self.inside_body(invoker);
        if !invoker.templates_incomplete {
            self.unused(invoker, properties.difference(&used));
        }
    }

    fn unknown(&mut self, span: crate::Span, name: &str, properties: &BTreeSet<&str>) {
        let message = format!("{} is not a property of `[arguments]`", quoted(&format!("{{{name}}}")));
        let diagnostic = Diagnostic::error(Code::UnknownArgument, span, message).without_excerpt();
        let diagnostic = self.suggested(diagnostic, name, properties.iter().copied());
        self.diagnostics.push(diagnostic);
    }

    fn unused<'n>(&mut self, invoker: &InvokerDescriptor, names: impl Iterator<Item = &'n &'n str>) {
        let Some(arguments) = &invoker.arguments else { return };
        let what = if invoker.command.is_some() { "command" } else { "request" };
        for name in names.take(MAX_REPORTED) {
            let message = format!("the argument {} is not used in the {what}", quoted(name));
            let place = arguments.place(&format!("/properties/{}", escaped(name)));
            self.warning(Code::UnusedArgument, place, message);
        }
    }
    /// Warns about optional arguments in a URL: a call without them fails.
    fn left_out_of_url(&mut self, invoker: &InvokerDescriptor) {
        let url = invoker.request.as_ref().and_then(|request| request.url.as_ref());
        // An invalid URL is already reported.
        let Some(url) = url.filter(|url| address::fault(&url.value).is_none()) else { return };
        let schema = invoker.arguments.as_ref().map(|arguments| &arguments.schema.value);
        let required = schema.and_then(|schema| schema.get("required")).and_then(Value::as_array);
        let names: BTreeSet<&str> = url.value.arguments().collect();
        for name in names.into_iter().take(MAX_REPORTED) {
            let is_required = required.is_some_and(|names| names.iter().any(|required| required == name));
            let is_optional = |property: &Value| !is_required && property.get("default").is_none();
            if property(invoker, name).is_some_and(is_optional) {
                let message =
                    format!("the argument {} is part of the URL, but a call may leave it out", quoted(name));
                let diagnostic = Diagnostic::warning(Code::OptionalInUrl, url.span, message);
                self.diagnostics.push(diagnostic.without_excerpt());
            }
        }
    }

    /// Warns about arguments inside a text body, where nothing is encoded: `a={a}` with `1&b=2` is two fields.
    fn inside_body(&mut self, invoker: &InvokerDescriptor) {
        let body = invoker.request.as_ref().and_then(|request| request.body.as_ref());
        let Some(BodyDescriptor { plan: BodyPlan::Text(text), templates }) = body else { return };
        let argument = text.arguments().next().filter(|_| text.sole_argument().is_none());
        if let (Some(argument), Some(template)) = (argument, templates.first()) {
            let message =
                format!("the argument {} is inserted into the text without encoding", quoted(argument));
            let diagnostic = Diagnostic::warning(Code::ArgumentInBody, template.span, message);
            self.diagnostics.push(diagnostic.without_excerpt());
        }
    }
}

/// Returns the schema of one argument, if it is known.
pub(super) fn property<'i>(invoker: &'i InvokerDescriptor, name: &str) -> Option<&'i Value> {
    let arguments = invoker.arguments.as_ref().filter(|_| !invoker.arguments_incomplete)?;
    arguments.schema.value.get("properties")?.get(name)
}

fn properties(invoker: &InvokerDescriptor) -> BTreeSet<&str> {
    let schema = invoker.arguments.as_ref().map(|arguments| &arguments.schema.value);
    let properties = schema.and_then(|schema| schema.get("properties")).and_then(Value::as_object);
    properties.into_iter().flat_map(|properties| properties.keys().map(String::as_str)).collect()
}
