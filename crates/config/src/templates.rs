//! Templates in a table of a descriptor, each with its place.
//!
//! A template that is wrong is told without the line it stands in: beside a reference there may be a secret in plain
//! text.

use toml::de::DeValue;

use crate::Code;
use crate::diagnostic::Diagnostic;
use crate::document::Problems;
use crate::escape::quoted;
use crate::source::{Span, Spanned};
use crate::table::Table;
use crate::template::Template;

/// Templates by the names of their keys.
pub(crate) type Named = Vec<(String, Spanned<Template>)>;

impl Table<'_, '_> {
    pub(crate) fn template(&self, key: &'static str) -> Option<Spanned<Template>> {
        let text = self.string(key)?;
        parse(&text.value, text.span, self.problems)
    }

    /// A table of templates; `fault` says what is wrong with a name.
    pub(crate) fn templates(&self, key: &'static str, fault: impl Fn(&str) -> Option<&'static str>) -> Named {
        let Some(inner) = self.table(key) else { return Named::new() };
        let mut templates = Named::new();
        for (name, value) in inner.named() {
            let template = of_value(value, self.problems, &name.value);
            if let Some(fault) = fault(&name.value) {
                let message = format!("{} cannot be an entry of `{key}`: {fault}", quoted(&name.value));
                self.problems.push(Diagnostic::error(Code::BadName, name.span, message).discreet());
                continue;
            }
            templates.extend(template.map(|template| (name.value, template)));
        }
        templates
    }
}

/// `what` is what the value is called if it is no text.
pub(crate) fn of_value(
    value: &toml::Spanned<DeValue<'_>>,
    problems: &Problems,
    what: &str,
) -> Option<Spanned<Template>> {
    let span = problems.span(value.span());
    match value.get_ref().as_str() {
        Some(text) => parse(text, span, problems),
        None => {
            let message = format!("{} must be a string", quoted(what));
            problems.push(Diagnostic::error(Code::WrongType, span, message).discreet());
            None
        }
    }
}

pub(crate) fn parse(text: &str, span: Span, problems: &Problems) -> Option<Spanned<Template>> {
    match Template::parse(text) {
        Ok(value) => Some(Spanned { value, span }),
        Err(message) => {
            problems.push(Diagnostic::error(Code::BadTemplate, span, message).discreet());
            None
        }
    }
}
