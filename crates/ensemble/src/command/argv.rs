//! From the arguments of an invocation to the command line of a program: a pure function.
//!
//! There is no shell. One element of the template is one argument of the program, whatever its value holds, and a value
//! never becomes an option: one that begins with `-` is refused where the element begins with it, unless the descriptor
//! has ended the options with `--` before it.

use converse_config::{ArgvPart, Template, TemplatePiece};
use serde_json::Value;

use crate::InvokeError;
use crate::filled::Given;

/// What Linux takes as one argument, without the NUL at its end (`MAX_ARG_STRLEN`, execve(2), checked 2026-11).
const MAX_ELEMENT: usize = 128 * 1024 - 1;
/// All together, with the NUL and the pointer of each: half of what the kernel takes by default, so that the
/// environment has room as well.
const MAX_TOTAL: usize = 1024 * 1024;
const OVERHEAD: usize = 1 + size_of::<usize>();

/// The program and its arguments. The error is for the model where an argument is to blame.
pub(super) fn argv(parts: &[ArgvPart], given: Given<'_>) -> Result<Vec<String>, InvokeError> {
    let mut line = Line { elements: Vec::new(), total: 0, options_ended: false, given };
    for (index, part) in parts.iter().enumerate() {
        match part {
            ArgvPart::One(template) if index == 0 => line.program(template)?,
            ArgvPart::One(template) => line.one(template)?,
            ArgvPart::Together(templates) if index > 0 => line.together(templates)?,
            ArgvPart::Together(_) => return Err(no_program()),
        }
    }
    if line.elements.is_empty() { Err(no_program()) } else { Ok(line.elements) }
}

fn no_program() -> InvokeError {
    InvokeError::Failed("the command names no program".to_owned())
}

struct Line<'a> {
    elements: Vec<String>,
    total: usize,
    /// A literal `--` stands before.
    options_ended: bool,
    given: Given<'a>,
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
        let given = self.given;
        let sole = template.sole_argument().and_then(|name| given.arguments.get(name));
        if let Some(Value::Array(entries)) = sole {
            return entries.iter().try_for_each(|entry| self.entry(template, entry));
        }
        match given.text(template)? {
            Some(text) => self.element(template, text),
            None => Ok(()),
        }
    }

    /// One entry of an array that is all of an element. Null is nothing, as everywhere in templates.
    fn entry(&mut self, template: &Template, entry: &Value) -> Result<(), InvokeError> {
        match entry {
            Value::Null => Ok(()),
            Value::String(text) => {
                if !self.options_ended && text.starts_with('-') {
                    return Err(option(template.sole_argument().unwrap_or_default()));
                }
                self.push(template, text.clone())
            }
            other => self.push(template, other.to_string()),
        }
    }

    fn together(&mut self, templates: &[Template]) -> Result<(), InvokeError> {
        let given = self.given;
        let texts: Option<Vec<String>> =
            templates.iter().map(|template| given.text(template)).collect::<Result<_, _>>()?;
        let Some(texts) = texts else { return Ok(()) };
        templates.iter().zip(texts).try_for_each(|(template, text)| self.element(template, text))
    }

    fn element(&mut self, template: &Template, text: String) -> Result<(), InvokeError> {
        if !self.options_ended
            && let Some(name) = self.leading_dash(template)?
        {
            return Err(option(name));
        }
        self.options_ended |=
            matches!(template.pieces.as_slice(), [TemplatePiece::Text(dashes)] if dashes == "--");
        self.push(template, text)
    }

    /// The argument whose own text gives the element its first character, if that is a `-`. Empty pieces before it
    /// hide nothing; numbers are what their schema says.
    fn leading_dash<'t>(&self, template: &'t Template) -> Result<Option<&'t str>, InvokeError> {
        for piece in &template.pieces {
            let alone = Template { pieces: vec![piece.clone()] };
            let text = self.given.text(&alone)?.unwrap_or_default();
            if text.is_empty() {
                continue;
            }
            return Ok(match piece {
                TemplatePiece::Argument(name) if text.starts_with('-') => {
                    let worded = matches!(self.given.arguments.get(name), Some(Value::String(_)));
                    worded.then_some(name.as_str())
                }
                _ => None,
            });
        }
        Ok(None)
    }

    fn push(&mut self, template: &Template, text: String) -> Result<(), InvokeError> {
        if text.contains('\0') {
            return Err(match self.given.culprit(template, |text| text.contains('\0')) {
                Some(name) => InvokeError::Invalid(format!("`{name}` holds a NUL character")),
                None => InvokeError::Failed("the command line holds a NUL character".to_owned()),
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
