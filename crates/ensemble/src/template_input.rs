//! The input of descriptor templates, for commands and requests.

use converse_config::{Environment, SecretRef, Style, Template, TemplatePiece, UnsetVariable, value_text};
use serde_json::{Map, Value};

use crate::InvokeError;

/// The arguments of one invocation and the environment that a template may name.
#[derive(Clone, Copy)]
pub(crate) struct TemplateInput<'a> {
    pub(crate) arguments: &'a Map<String, Value>,
    pub(crate) environment: &'a Environment,
    /// How lists and objects are written, by the names of arguments.
    pub(crate) styles: &'a [(String, Style)],
}

impl TemplateInput<'_> {
    /// Returns the filled template, or `None` if it needs an argument that is not given.
    pub(crate) fn text(&self, template: &Template) -> Result<Option<String>, InvokeError> {
        self.quoted(template, |value| value)
    }

    pub(crate) fn quoted(
        &self,
        template: &Template,
        quote: impl Fn(String) -> String,
    ) -> Result<Option<String>, InvokeError> {
        let written = |name: &str, value: &Value| match self.style(name) {
            Some(style) if value.is_array() || value.is_object() => style.joined(value, &quote),
            _ => quote(value_text(value)),
        };
        template.fill(self.arguments, self.environment, written).map_err(unset)
    }

    pub(crate) fn style(&self, name: &str) -> Option<Style> {
        self.styles.iter().find(|(known, _)| known == name).map(|(_, style)| *style)
    }

    pub(crate) fn secret(&self, secret: &SecretRef) -> Result<String, InvokeError> {
        secret.read(self.environment).map_err(unset)
    }

    /// The first argument of `template` whose text is `odd`.
    pub(crate) fn culprit<'t>(&self, template: &'t Template, odd: impl Fn(&str) -> bool) -> Option<&'t str> {
        template.arguments().find(|name| self.arguments.get(*name).is_some_and(|value| any_text(value, &odd)))
    }
}

fn any_text(value: &Value, odd: &impl Fn(&str) -> bool) -> bool {
    match value {
        Value::String(text) => odd(text),
        Value::Array(entries) => entries.iter().any(|entry| any_text(entry, odd)),
        // Within JSON text such characters are escaped.
        _ => false,
    }
}

fn unset(unset: UnsetVariable) -> InvokeError {
    InvokeError::Failed(unset.to_string())
}

/// Fails if the template needs a variable that is not set. Checked when connecting, before anybody is asked.
pub(crate) fn missing_variable(template: &Template, environment: &Environment) -> Result<(), UnsetVariable> {
    template.pieces.iter().try_for_each(|piece| match piece {
        TemplatePiece::Variable { name, default: None } if environment.get(name).is_none() => {
            Err(UnsetVariable { name: name.clone() })
        }
        _ => Ok(()),
    })
}
