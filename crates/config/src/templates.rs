//! Reads templates in tables of a descriptor.
//!
//! The line of an invalid template is not shown, because it may also contain a literal secret.

use toml::de::DeValue;

use crate::Code;
use crate::diagnostic::{Diagnostic, quoted};
use crate::document::Problems;
use crate::source::{Span, Spanned};
use crate::table::Table;
use crate::template::Template;
use crate::tool_test::is_pointer;

/// Templates by the names of their keys.
pub(crate) type Named = Vec<(String, Spanned<Template>)>;

impl Table<'_, '_> {
    pub(crate) fn template(&self, key: &'static str) -> Option<Spanned<Template>> {
        let text = self.string(key)?;
        parse(&text.value, text.span, self.problems)
    }

    /// Reads a JSON pointer.
    pub(crate) fn pointer(&self, key: &'static str) -> Option<Spanned<String>> {
        let pointer = self.string(key)?;
        let valid = pointer.value.starts_with('/') && is_pointer(&pointer.value);
        if !valid {
            let message = format!("`{key}` is not a JSON pointer to a part of the response");
            self.problems.bad_value(pointer.span, message, format!("for example: `{key} = \"/data/items\"`"));
        }
        valid.then_some(pointer)
    }

    /// A table of templates; `fault` says what is wrong with a name.
    pub(crate) fn templates(&self, key: &'static str, fault: impl Fn(&str) -> Option<&'static str>) -> Named {
        let Some(inner) = self.table(key) else { return Named::new() };
        let mut templates = Named::new();
        for (name, value) in inner.named() {
            let template = of_value(value, self.problems, &name.value);
            if let Some(fault) = fault(&name.value) {
                let message = format!("{} cannot be an entry of `{key}`: {fault}", quoted(&name.value));
                self.problems.push(Diagnostic::error(Code::BadName, name.span, message).without_excerpt());
                continue;
            }
            templates.extend(template.map(|template| (name.value, template)));
        }
        templates
    }
}

/// Reads a template; `what` names the value in the message for a value that is not text.
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
            problems.push(Diagnostic::error(Code::WrongType, span, message).without_excerpt());
            None
        }
    }
}

pub(crate) fn parse(text: &str, span: Span, problems: &Problems) -> Option<Spanned<Template>> {
    match Template::parse(text) {
        Ok(value) => Some(Spanned { value, span }),
        Err(message) => {
            problems.push(Diagnostic::error(Code::BadTemplate, span, message).without_excerpt());
            None
        }
    }
}
