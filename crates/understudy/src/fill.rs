//! A tool's schema and a clause into arguments. A required parameter that the clause does not fill refuses the tool.
//!
//! Certain kinds go first (sums, addresses, dates, places, paths), then numbers and choices, free text last with what is
//! left. Optional parameters are filled on clear evidence only. Surprising: one clause may become several calls; "the
//! time in Tokyo and London" fills a tool that takes one zone twice.

mod small;
mod texts;

use serde_json::{Map, Value};

use crate::clauses::Clause;
use crate::evidence::{Evidence, Kind, Role, Shape};
use crate::lexicon::lexicon;
use crate::tool::{Parameter, Tool, Wants};
use crate::value::fitting;

/// A tool made ready from a clause.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Filled {
    /// One for each call.
    pub(crate) arguments: Vec<Map<String, Value>>,
    /// The pieces of the clause that became arguments for certain.
    pub(crate) used: Vec<(usize, usize)>,
    /// The pieces that were left over for free text.
    pub(crate) loose: Vec<(usize, usize)>,
    /// How well the evidence fits.
    pub(crate) bonus: f32,
    /// Of the used pieces the words that switched something on or off; they may say what to do as well ("append").
    pub(crate) flags: Vec<(usize, usize)>,
    /// The evidence alone says what is wanted.
    pub(crate) firm: bool,
    /// The parameter that takes the text of the answer before.
    pub(crate) carry: Option<String>,
}

pub(crate) fn fill(tool: &Tool, clause: &Clause) -> Option<Filled> {
    let mut filling = Filling { tool, clause, filled: Filled::default(), arguments: Map::new() };
    let order = |wants: Wants| match wants {
        Wants::Query | Wants::Prose => 3,
        Wants::Label => 2,
        Wants::Number | Wants::Whole | Wants::Truth | Wants::Choice => 1,
        _ => 0,
    };
    let mut parameters: Vec<&Parameter> = tool.parameters.iter().collect();
    parameters.sort_by_key(|parameter| {
        let nearest = std::cmp::Reverse(filling.nearest(parameter));
        (order(parameter.wants), !parameter.required, nearest)
    });
    for parameter in parameters {
        let done = match order(parameter.wants) {
            0 => filling.certain(parameter),
            1 => filling.small(parameter),
            _ => filling.text(parameter),
        };
        if !done && parameter.required {
            return None;
        }
    }
    filling.finish()
}

struct Filling<'a> {
    tool: &'a Tool,
    clause: &'a Clause,
    filled: Filled,
    arguments: Map<String, Value>,
}

impl<'a> Filling<'a> {
    fn free(&self, start: usize, end: usize) -> bool {
        self.filled.used.iter().all(|(from, to)| end <= *from || *to <= start)
    }

    fn take(&mut self, parameter: &Parameter, value: Value, span: (usize, usize), bonus: f32) -> bool {
        let value = if parameter.many { Value::Array(vec![value]) } else { value };
        self.arguments.insert(parameter.name.clone(), value);
        self.filled.used.push(span);
        self.filled.bonus += bonus;
        true
    }

    /// Kinds that are recognised by their form.
    fn certain(&mut self, parameter: &Parameter) -> bool {
        let role = role(parameter);
        let mut best: Option<(f32, &Evidence, Value)> = None;
        for one in self.clause.evidence.iter().filter(|one| self.free(one.start, one.end)) {
            let Some((mut quality, value)) = self.fits(parameter, one) else { continue };
            let Some(value) = fitting(&parameter.schema, parameter.kind(), &value) else { continue };
            match self.suits(role, one) {
                Some(more) => quality += more,
                None => continue,
            }
            if best.as_ref().is_none_or(|(other, _, _)| quality > *other) {
                best = Some((quality, one, value));
            }
        }
        let Some((quality, one, value)) =
            best.filter(|(quality, _, _)| parameter.required || *quality >= 1.0)
        else {
            return false;
        };
        self.filled.firm |= is_firm(&one.kind, quality) && parameter.required;
        let span = (one.start, one.end);
        self.take(parameter, value, span, quality);
        if parameter.many {
            self.more(parameter);
        }
        true
    }

    /// How well a side of "from … to …" suits a parameter, or none if it is the other one. Where two are merely "in" a
    /// place, nobody knows which is which.
    fn suits(&self, role: Option<Role>, one: &Evidence) -> Option<f32> {
        let target = |other: &Evidence| {
            other.role == Some(Role::To)
                && std::mem::discriminant(&other.kind) == std::mem::discriminant(&one.kind)
        };
        match (role, one.role) {
            (Some(Role::From), Some(Role::In)) => self.clause.evidence.iter().any(target).then_some(0.0),
            (Some(Role::To), Some(Role::In)) => Some(0.3),
            (_, Some(Role::About)) => Some(0.0),
            (Some(mine), Some(its)) => (mine == its).then_some(0.5),
            _ => Some(0.0),
        }
    }

    /// The rest of the evidence for a parameter that takes many.
    fn more(&mut self, parameter: &Parameter) {
        for one in &self.clause.evidence {
            let value = self
                .fits(parameter, one)
                .and_then(|(_, value)| fitting(&parameter.schema, parameter.kind(), &value));
            let Some(value) = value.filter(|_| self.free(one.start, one.end)) else { continue };
            self.filled.used.push((one.start, one.end));
            if let Some(Value::Array(values)) = self.arguments.get_mut(&parameter.name) {
                values.push(value);
            }
        }
    }

    /// How well a piece of evidence suits a parameter, and the text it gives.
    fn fits(&self, parameter: &Parameter, one: &Evidence) -> Option<(f32, String)> {
        let text = || one.value.clone();
        let described = |word: &str| parameter.description.to_lowercase().contains(word);
        Some(match (parameter.wants, &one.kind) {
            (Wants::Expression, Kind::Expression { strong }) => (if *strong { 4.0 } else { 1.0 }, text()),
            (Wants::Expression, Kind::Conversion) if self.tool.knows_units() => (4.0, text()),
            (Wants::Zone, Kind::Zone) => (2.0, text()),
            (Wants::Zone, Kind::Place(zone)) => (2.0, zone.clone().unwrap_or_else(text)),
            (Wants::Place, Kind::Place(_)) => (2.0, text()),
            (Wants::Path, Kind::Path(Shape::Directory)) => {
                let either = described("directory") || described("folder");
                (if either { 2.0 } else { 0.4 }, text())
            }
            (Wants::Path | Wants::Directory, Kind::Path(shape)) => match (parameter.wants, shape) {
                (Wants::Directory, Shape::File) => return None,
                _ => (if self.asks_what_it_is(one) { 0.4 } else { 2.0 }, text()),
            },
            (Wants::Url, Kind::Url) => (2.5, text()),
            (Wants::Email, Kind::Email) => (2.5, text()),
            (Wants::Date, Kind::Date) => (2.0, text()),
            (Wants::Clock, Kind::Clock) => (2.0, text()),
            (Wants::Sql, Kind::Sql) => (3.0, text()),
            (Wants::Sql, Kind::Quoted) => (0.8, text()),
            (Wants::Language, Kind::Language(code)) => {
                let coded = (described("code") || described("iso")) && !described("name");
                (2.0, if coded { code.clone() } else { text() })
            }
            (Wants::Currency, Kind::Currency(code)) => (2.0, code.clone()),
            // "Write tests for main.rs" must not write them over it.
            (Wants::Path, _) if matches!(one.role, Some(Role::From | Role::About)) && self.keeps() => {
                return None;
            }
            (Wants::Path, Kind::Quoted) if !is_file_name(&one.value) => return None,
            (Wants::Path | Wants::Place | Wants::Expression, Kind::Quoted) => (0.7, text()),
            _ => return None,
        })
    }

    /// Whether the tool keeps a text somewhere.
    fn keeps(&self) -> bool {
        self.tool.parameters.iter().any(|parameter| parameter.required && parameter.wants == Wants::Prose)
    }

    /// "What is Node.js?" names a thing and no file to open.
    fn asks_what_it_is(&self, one: &Evidence) -> bool {
        let rest = self.clause.words.iter().filter(|word| word.end <= one.start || word.start >= one.end);
        let words: Vec<&str> = rest.map(|word| word.text.as_str()).collect();
        matches!(
            words.as_slice(),
            ["what" | "who", "is" | "are"] | ["что", "такое"] | ["about"] | ["tell", "me", "about"]
        )
    }

    /// The calls: the one that was filled, and one more for each further value of its one certain parameter.
    fn finish(mut self) -> Option<Filled> {
        self.end_the_line();
        let mut calls = vec![self.arguments.clone()];
        if let Some(parameter) = self.repeated() {
            for one in &self.clause.evidence {
                let value = self.fits(parameter, one).filter(|(quality, _)| *quality >= 1.0);
                let value = value.and_then(|(_, value)| fitting(&parameter.schema, parameter.kind(), &value));
                let Some(value) = value.filter(|_| self.free(one.start, one.end)) else { continue };
                let mut arguments = self.arguments.clone();
                arguments.insert(parameter.name.clone(), value);
                calls.push(arguments);
                self.filled.used.push((one.start, one.end));
            }
        }
        self.filled.arguments = calls;
        Some(self.filled)
    }

    /// What is added to the end of something is added as a line of its own.
    fn end_the_line(&mut self) {
        let appends = self.tool.parameters.iter().any(|one| {
            let named = one.words.iter().any(|word| lexicon().means(word, "append"));
            named && self.arguments.get(&one.name) == Some(&Value::Bool(true))
        });
        let mut texts = self.tool.parameters.iter().filter(|one| one.required && one.wants == Wants::Prose);
        let text = texts.next().filter(|_| appends).and_then(|one| self.arguments.get_mut(&one.name));
        if let Some(Value::String(text)) = text
            && !text.ends_with('\n')
        {
            text.push('\n');
        }
    }

    /// The parameter for whose further values the tool is called again.
    fn repeated(&self) -> Option<&'a Parameter> {
        let kinds = [Wants::Expression, Wants::Zone, Wants::Place, Wants::Path, Wants::Directory, Wants::Url];
        let mut certain = self
            .tool
            .parameters
            .iter()
            .filter(|one| kinds.contains(&one.wants) && self.arguments.contains_key(&one.name));
        let only = certain.next().filter(|one| !one.many && role(one).is_none())?;
        let text = self
            .tool
            .parameters
            .iter()
            .any(|one| one.required && matches!(one.wants, Wants::Prose | Wants::Label));
        (certain.next().is_none() && !text).then_some(only)
    }
}

/// One word, or something with an ending or a folder in it: "my notes.txt", and not "call mother".
fn is_file_name(quoted: &str) -> bool {
    !quoted.contains(char::is_whitespace)
        || quoted.split_whitespace().last().is_some_and(|last| crate::tokens::path_shape(last).is_some())
}

fn is_firm(kind: &Kind, quality: f32) -> bool {
    match kind {
        Kind::Expression { strong } => *strong,
        Kind::Conversion | Kind::Sql => true,
        Kind::Path(_) | Kind::Url => quality >= 2.0,
        _ => false,
    }
}

/// Which side of "from … to …" a parameter's name is on.
fn role(parameter: &Parameter) -> Option<Role> {
    let has = |any: &[&str]| parameter.words.iter().any(|word| any.contains(&word.as_str()));
    if has(&["source", "from", "src", "origin", "base", "start"]) {
        return Some(Role::From);
    }
    has(&["target", "to", "dest", "destination", "into", "end"]).then_some(Role::To)
}

#[cfg(test)]
mod tests;
