//! The command line of a program, built from the arguments of an invocation. Pure.
//!
//! There is no shell. One element of the template is one argument of the program, for every value, and a value never
//! becomes an option: a value that begins with `-` is refused if the element begins with it, unless it can only be a
//! number, or the descriptor has ended the options with `--` before it.

use std::collections::BTreeSet;

use converse_config::{ArgvPart, Template, TemplatePiece};
use serde_json::Value;

use crate::InvokeError;
use crate::template_input::TemplateInput;

/// Largest argument on Linux, without the NUL at its end (`MAX_ARG_STRLEN`, execve(2), checked 2026-11).
const MAX_ELEMENT: usize = 128 * 1024 - 1;
/// Limit of all arguments together, with the NUL and the pointer of each. Half of the kernel's default, so that the
/// environment has room as well.
const MAX_TOTAL: usize = 1024 * 1024;
const OVERHEAD: usize = 1 + size_of::<usize>();

/// Returns the program and its arguments. The error is for the model if an argument is at fault.
pub(super) fn argv(
    parts: &[ArgvPart],
    numbers: &Numbers,
    given: TemplateInput<'_>,
) -> Result<Vec<String>, InvokeError> {
    let mut line = Line { elements: Vec::new(), total: 0, options_ended: false, numbers, given };
    for (index, part) in parts.iter().enumerate() {
        match part {
            ArgvPart::One(template) if index == 0 => line.program(template)?,
            ArgvPart::One(template) => line.one(template)?,
            ArgvPart::Group(templates) if index > 0 => line.together(templates)?,
            ArgvPart::Group(_) => return Err(no_program()),
        }
    }
    if line.elements.is_empty() { Err(no_program()) } else { Ok(line.elements) }
}

fn no_program() -> InvokeError {
    InvokeError::Failed("the command names no program".to_owned())
}

/// One word to be.
struct Element<'t> {
    text: String,
    /// The argument that makes it look like an option.
    option: Option<&'t str>,
}

struct Line<'a> {
    elements: Vec<String>,
    total: usize,
    /// The element comes after a literal `--`.
    options_ended: bool,
    numbers: &'a Numbers,
    given: TemplateInput<'a>,
}

impl Line<'_> {
    fn program(&mut self, template: &Template) -> Result<(), InvokeError> {
        if template.arguments().next().is_some() {
            return Err(no_program());
        }
        match self.given.text(template)? {
            Some(program) if !program.is_empty() => self.push(template, program),
            _ => Err(no_program()),
        }
    }

    fn one(&mut self, template: &Template) -> Result<(), InvokeError> {
        let elements = self.elements(template)?.unwrap_or_default();
        elements.into_iter().try_for_each(|element| self.element(template, element))
    }

    /// All or nothing; a list of nothing is nothing, since the flag before it would take the word after it.
    fn together(&mut self, templates: &[Template]) -> Result<(), InvokeError> {
        let mut all = Vec::new();
        for template in templates {
            match self.elements(template)? {
                Some(elements) if !elements.is_empty() => all.push((template, elements)),
                _ => return Ok(()),
            }
        }
        let mut all = all
            .into_iter()
            .flat_map(|(template, elements)| elements.into_iter().map(move |element| (template, element)));
        all.try_for_each(|(template, element)| self.element(template, element))
    }

    /// What a template becomes: one element, or one for each entry of a list that is all of it. `None` if an argument
    /// is not given. A null in a list is nothing, as everywhere in templates.
    fn elements<'t>(&self, template: &'t Template) -> Result<Option<Vec<Element<'t>>>, InvokeError> {
        let sole = template.sole_argument().and_then(|name| Some((name, self.given.arguments.get(name)?)));
        if let Some((name, Value::Array(entries))) = sole {
            let entries = entries.iter().filter(|entry| !entry.is_null());
            return Ok(Some(entries.map(|entry| self.entry(name, entry)).collect()));
        }
        let Some(text) = self.given.text(template)? else { return Ok(None) };
        Ok(Some(vec![Element { option: self.leading_dash(template)?, text }]))
    }

    fn entry<'t>(&self, name: &'t str, entry: &Value) -> Element<'t> {
        let text = entry.as_str().map_or_else(|| entry.to_string(), str::to_owned);
        let dashed = text.starts_with('-') && !self.numbers.is_entry(name, entry);
        Element { option: dashed.then_some(name), text }
    }

    fn element(&mut self, template: &Template, element: Element<'_>) -> Result<(), InvokeError> {
        if let (Some(name), false) = (element.option, self.options_ended) {
            return Err(option(name));
        }
        self.options_ended |=
            matches!(template.pieces.as_slice(), [TemplatePiece::Text(dashes)] if dashes == "--");
        self.push(template, element.text)
    }

    /// The argument whose own text gives the element its first character, if that is a `-`. Empty pieces before it
    /// hide nothing.
    fn leading_dash<'t>(&self, template: &'t Template) -> Result<Option<&'t str>, InvokeError> {
        for piece in &template.pieces {
            let alone = Template { pieces: vec![piece.clone()] };
            let text = self.given.text(&alone)?.unwrap_or_default();
            if text.is_empty() {
                continue;
            }
            return Ok(match piece {
                TemplatePiece::Argument(name) if text.starts_with('-') => {
                    let is_number = |value: &Value| self.numbers.is_one(name, value);
                    (!self.given.arguments.get(name).is_some_and(is_number)).then_some(name.as_str())
                }
                _ => None,
            });
        }
        Ok(None)
    }

    fn push(&mut self, template: &Template, text: String) -> Result<(), InvokeError> {
        if text.contains('\0') {
            return Err(match self.given.culprit(template, |text| text.contains('\0')) {
                Some(name) => InvokeError::Invalid(format!("`{name}` contains a NUL character")),
                None => InvokeError::Failed("the command line contains a NUL character".to_owned()),
            });
        }
        self.total += text.len() + OVERHEAD;
        if text.len() > MAX_ELEMENT || self.total > MAX_TOTAL {
            return Err(too_long(template, text.len()));
        }
        self.elements.push(text);
        Ok(())
    }
}

fn option(name: &str) -> InvokeError {
    InvokeError::Invalid(format!("`{name}` begins with `-` and would be read as an option"))
}

fn too_long(template: &Template, bytes: usize) -> InvokeError {
    let Some(name) = template.arguments().next() else {
        return InvokeError::Failed("the command line is too long".to_owned());
    };
    InvokeError::Invalid(format!(
        "`{name}` is too long for a command line: {bytes} bytes in one element; {MAX_ELEMENT} are possible there, and \
         {MAX_TOTAL} in all"
    ))
}

/// The arguments that can only be numbers, by their schema. In such an argument a leading `-` is a sign and not an option.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    properties: BTreeSet<String>,
    /// Lists of numbers.
    lists: BTreeSet<String>,
}

impl Numbers {
    pub(super) fn of(schema: Option<&Value>) -> Self {
        let mut numbers = Self::default();
        let properties = schema.and_then(|schema| schema.get("properties")).and_then(Value::as_object);
        for (name, property) in properties.into_iter().flatten() {
            if is_number(property) {
                numbers.properties.insert(name.clone());
            }
            if property.get("items").is_some_and(is_number) {
                numbers.lists.insert(name.clone());
            }
        }
        numbers
    }

    /// Returns whether the value of an argument is a number. The value is checked too, because in older drafts of JSON
    /// Schema a reference replaces the `type` beside it.
    pub(super) fn is_one(&self, name: &str, value: &Value) -> bool {
        value.is_number() && self.properties.contains(name)
    }

    pub(super) fn is_entry(&self, name: &str, entry: &Value) -> bool {
        entry.is_number() && self.lists.contains(name)
    }
}

fn is_number(schema: &Value) -> bool {
    let number = |of: &Value| matches!(of.as_str(), Some("integer" | "number"));
    match schema.get("type") {
        Some(Value::Array(types)) => !types.is_empty() && types.iter().all(number),
        Some(of) => number(of),
        None => false,
    }
}
