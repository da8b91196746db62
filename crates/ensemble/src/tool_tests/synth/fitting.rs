//! Whole sets of arguments that fit.

use std::collections::BTreeSet;

use converse_config::{ArgumentsSchema, SchemaFault};
use serde_json::{Map, Value};

use super::flat::Flat;
use super::objects::{more_names, properties, required, schema_of};
use super::{Drawn, Kept, Maker, Sample, Synthesis, in_turn};

/// Other values tried for the arguments of one set.
const MOST_TRIES: usize = 60;
/// Arguments that are looked at.
const MOST_ARGUMENTS: usize = 200;

/// Names, and the values that each may have.
type Choices = Vec<(String, Vec<Drawn>)>;

impl Maker<'_> {
    /// Adds fitting samples, and notes what could not be made. Returns the sample with only the required properties, to
    /// break it; empty if there is none.
    pub(super) fn fitting(&self, checker: &ArgumentsSchema, made: &mut Synthesis) -> Map<String, Value> {
        self.steps.set(0);
        let forms = self.branches(self.root);
        let (mut bases, mut faults) = (Vec::new(), Vec::new());
        for form in &forms {
            match self.least(form, checker) {
                Ok(base) => bases.push((form, base)),
                Err(fault) => faults.push(fault),
            }
        }
        if bases.is_empty() {
            let why =
                faults.into_iter().next().unwrap_or_else(|| "its forms are too many or too deep".to_owned());
            made.gaps.push(format!("no fitting arguments were found: {why}"));
        }
        let mut seen = Seen::default();
        let sets = bases.iter().map(|(form, base)| self.around(form, base, checker, &mut seen)).collect();
        made.gaps.extend(seen.unfilled());
        let mut kept = Kept::default();
        for sample in in_turn(sets) {
            if kept.admits(&made.fitting, &sample.arguments) {
                made.fitting.push(sample);
            }
        }
        bases.into_iter().next().map(|(_, base)| base).unwrap_or_default()
    }

    /// The arguments that must be there, as `required` or conditions say.
    fn least(&self, form: &Flat, checker: &ArgumentsSchema) -> Result<Map<String, Value>, String> {
        let mut names = required(form);
        let declared: Vec<String> = properties(form).map(|(name, _)| name.clone()).collect();
        let more = more_names(form, names.len());
        let optional: Vec<String> = declared.iter().filter(|name| !names.contains(name)).cloned().collect();
        names.extend(optional.iter().chain(&more).take(more.len()).cloned());
        let why = match self.together(form, &names, checker) {
            Ok(set) => return Ok(set),
            Err(why) => why,
        };
        // A condition may require properties that `required` does not name: unneeded ones are removed again.
        names.extend(optional.into_iter().filter(|name| schema_of(form, name) != Value::Bool(false)));
        let mut set = self.together(form, &names, checker).map_err(|_| why)?;
        for name in &declared {
            let mut less = set.clone();
            less.shift_remove(name);
            if checker.check(&less).is_ok() {
                set = less;
            }
        }
        Ok(set)
    }

    /// A set of exactly these; where the first values do not fit, others are tried.
    fn together(
        &self,
        form: &Flat,
        names: &[String],
        checker: &ArgumentsSchema,
    ) -> Result<Map<String, Value>, String> {
        let drawn = |name: &String| (name.clone(), self.afresh(&schema_of(form, name)));
        let choices: Choices = names.iter().take(MOST_ARGUMENTS).map(drawn).collect();
        if let Some((name, _)) = choices.iter().find(|(_, drawn)| drawn.is_empty()) {
            return Err(format!("no value for `{name}` could be made"));
        }
        let mut chosen = vec![0_usize; choices.len()];
        for _ in 0..MOST_TRIES {
            let entries = choices.iter().zip(&chosen);
            let entry = |((name, drawn), at): (&(String, Vec<Drawn>), &usize)| {
                Some((name.clone(), drawn.get(*at)?.value.clone()))
            };
            let set: Map<String, Value> = entries.filter_map(entry).collect();
            let faults = match checker.check(&set) {
                Ok(_) => return Ok(set),
                Err(faults) => faults,
            };
            if !try_another(&choices, &mut chosen, &faults) {
                return Err(faults.first().map(fault_text).unwrap_or_default());
            }
        }
        Err("too many values were tried".to_owned())
    }

    /// The base, a set with as much as goes together, and sets with one special value each.
    fn around(
        &self,
        form: &Flat,
        base: &Map<String, Value>,
        checker: &ArgumentsSchema,
        seen: &mut Seen,
    ) -> Vec<Sample> {
        let mut everything = base.clone();
        let mut special = Vec::new();
        for (name, schema) in properties(form).take(MOST_ARGUMENTS) {
            let with = |set: &Map<String, Value>, drawn: &Drawn| {
                let mut set = set.clone();
                set.insert(name.clone(), drawn.value.clone());
                checker.check(&set).is_ok().then_some(set)
            };
            let drawn = self.afresh(schema);
            if !everything.contains_key(name)
                && let Some(larger) = drawn.iter().find_map(|drawn| with(&everything, drawn))
            {
                everything = larger;
            }
            let sample = |drawn: &Drawn| {
                let what = format!("`{name}` is {}", drawn.note);
                with(base, drawn).map(|arguments| Sample { what, arguments })
            };
            let sets: Vec<Sample> = drawn.iter().filter_map(sample).collect();
            seen.looked_at(name, schema, !sets.is_empty() || everything.contains_key(name));
            special.push(sets);
        }
        let plain = [("only what is required", base.clone()), ("everything", everything)];
        let plain = plain.map(|(what, arguments)| Sample { what: what.to_owned(), arguments });
        plain.into_iter().chain(in_turn(special)).collect()
    }
}

/// Which arguments ever had a value.
#[derive(Default)]
struct Seen {
    all: BTreeSet<String>,
    filled: BTreeSet<String>,
}

impl Seen {
    fn looked_at(&mut self, name: &str, schema: &Value, filled: bool) {
        // What is forbidden is not missed.
        if *schema != Value::Bool(false) {
            self.all.insert(name.to_owned());
        }
        if filled {
            self.filled.insert(name.to_owned());
        }
    }

    fn unfilled(&self) -> impl Iterator<Item = String> {
        self.all.difference(&self.filled).map(|name| format!("no value was found that fits `{name}`"))
    }
}

/// Another value for the first argument that is complained of and has one left.
fn try_another(choices: &Choices, chosen: &mut [usize], faults: &[SchemaFault]) -> bool {
    let blamed = |name: &str| {
        let pointer = format!("/{}", name.replace('~', "~0").replace('/', "~1"));
        let below = format!("{pointer}/");
        faults.iter().any(|fault| fault.pointer == pointer || fault.pointer.starts_with(&below))
    };
    for ((name, drawn), at) in choices.iter().zip(chosen) {
        if blamed(name) && *at + 1 < drawn.len() {
            *at += 1;
            return true;
        }
    }
    false
}

fn fault_text(fault: &SchemaFault) -> String {
    let place = if fault.pointer.is_empty() { "the whole" } else { fault.pointer.as_str() };
    format!("{place}: {}", fault.message)
}
