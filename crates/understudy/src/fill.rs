//! A clause into the arguments of a tool. Nothing is made up: without all required arguments the tool is not called.
//!
//! Evidence goes first (sums, addresses, places, paths), then numbers, switches and choices, then free text. Optional
//! parameters are filled on clear evidence only. "The time in Tokyo and London" becomes two calls.

use serde_json::{Map, Value};

use crate::clause::Clause;
use crate::evidence::{Evidence, Kind};
use crate::numbers::assign;
use crate::text::{Piece, TextSource};
use crate::tokens::{Shape, path_shape};
use crate::tool::{Parameter, Takes, Tool};
use crate::value::fitting;
use crate::words::{Word, among, identifier_words, is, is_stop, means, related, terms};

/// Byte offsets in the clause.
pub(crate) type Span = (usize, usize);

/// A tool made ready by a clause.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Filled {
    /// One for each call.
    pub(crate) arguments: Vec<Map<String, Value>>,
    /// The pieces of the clause that became arguments.
    pub(crate) used: Vec<Span>,
    /// Of these, the words that were left over for free text.
    pub(crate) loose: Vec<Span>,
    /// The strength of the fit.
    pub(crate) bonus: f32,
    /// Whether the evidence alone is enough to choose the tool.
    pub(crate) firm: bool,
    /// The parameter that takes the text of the answer before.
    pub(crate) carry: Option<String>,
}

/// Fills a tool, or returns None if a required argument is not in the clause.
pub(crate) fn fill(tool: &Tool, clause: &Clause) -> Option<Filled> {
    let mut filling =
        Filling { tool, clause, filled: Filled::default(), arguments: Map::new(), switched: Vec::new() };
    // Which of two places or files is which would be a guess.
    let required = tool.parameters.iter().filter(|one| one.required);
    let kinds: Vec<Takes> = required.map(|one| one.takes).filter(|takes| REPEATED.contains(takes)).collect();
    if kinds.iter().enumerate().any(|(at, kind)| kinds[..at].contains(kind)) {
        return None;
    }
    let order = |parameter: &&Parameter| match parameter.takes {
        Takes::Number | Takes::Whole => (1, !parameter.required),
        Takes::Switch | Takes::Choice => (2, false),
        Takes::Quoted | Takes::Identifier | Takes::Pattern => (3, false),
        Takes::Query | Takes::Text | Takes::Old | Takes::New => (4, false),
        _ => (0, !parameter.required),
    };
    let mut parameters: Vec<&Parameter> = tool.parameters.iter().collect();
    parameters.sort_by_key(order);
    let mut counted = false;
    for parameter in parameters {
        let done = match parameter.takes {
            Takes::Number | Takes::Whole if counted => continue,
            Takes::Number | Takes::Whole => {
                counted = true;
                filling.numbers()
            }
            Takes::Switch => filling.switch(parameter),
            Takes::Choice => filling.choice(parameter),
            takes if REPEATED.contains(&takes) => filling.evidence(parameter),
            _ => filling.text(parameter),
        };
        if !done && (parameter.required || parameter.is_number()) {
            return None;
        }
    }
    Some(filling.finish())
}

/// Kinds of parameters that evidence fills. More evidence of the kind repeats the call.
const REPEATED: [Takes; 6] =
    [Takes::Expression, Takes::Zone, Takes::Place, Takes::Path, Takes::Directory, Takes::Url];

struct Filling<'a> {
    tool: &'a Tool,
    clause: &'a Clause,
    filled: Filled,
    arguments: Map<String, Value>,
    switched: Vec<Span>,
}

impl<'a> Filling<'a> {
    fn free(&self, start: usize, end: usize) -> bool {
        self.filled.used.iter().all(|(from, to)| end <= *from || *to <= start)
    }

    fn take(&mut self, parameter: &Parameter, value: Value, span: Span, bonus: f32) -> bool {
        self.arguments.insert(parameter.name.clone(), value);
        self.filled.used.push(span);
        self.filled.bonus += bonus;
        true
    }

    fn evidence(&mut self, parameter: &Parameter) -> bool {
        let mut best: Option<(f32, &'a Evidence, Value)> = None;
        for one in &self.clause.evidence {
            if let Some((quality, value)) = self.fits(parameter, one)
                && best.as_ref().is_none_or(|(other, ..)| quality > *other)
            {
                best = Some((quality, one, value));
            }
        }
        let Some((quality, one, value)) = best.filter(|(quality, ..)| parameter.required || *quality >= 1.0)
        else {
            return false;
        };
        let telling = match one.kind {
            Kind::Sum { certain } => certain,
            Kind::Conversion => true,
            _ => matches!(one.kind, Kind::Path(_) | Kind::Url) && quality >= 2.0,
        };
        self.filled.firm |= telling && parameter.required;
        self.take(parameter, value, (one.start, one.end), quality)
    }

    /// Returns how well a free piece of evidence suits a parameter, and its value.
    fn fits(&self, parameter: &Parameter, one: &Evidence) -> Option<(f32, Value)> {
        let described = |word: &str| parameter.description.to_lowercase().contains(word);
        let text = &one.value;
        let (quality, text) = match (parameter.takes, &one.kind) {
            (Takes::Expression, Kind::Sum { certain }) => (if *certain { 4.0 } else { 1.0 }, text),
            (Takes::Expression, Kind::Conversion) if self.tool.knows_units() => (4.0, text),
            (Takes::Zone, Kind::Place(Some(zone))) => (2.0, zone),
            (Takes::Place, Kind::Place(_)) if parameter.wants_region() && !text.contains(',') => return None,
            (Takes::Zone, Kind::Zone | Kind::Place(None)) | (Takes::Place, Kind::Place(_)) => (2.0, text),
            (Takes::Directory, Kind::Path(Shape::File)) => return None,
            // "Write tests for main.rs" must not write them over it.
            (Takes::Path, _) if self.keeps_text() && !self.is_destination(one) => return None,
            (Takes::Path, Kind::Path(Shape::Directory)) if !described("director") && !described("folder") => {
                (0.4, text)
            }
            (Takes::Path | Takes::Directory, Kind::Path(_)) if self.is_subject(one) => (0.4, text),
            (Takes::Path | Takes::Directory, Kind::Path(_)) => (2.0, text),
            (Takes::Path, Kind::Quoted) if is_file_name(text) => (0.7, text),
            (Takes::Url, Kind::Url) => (2.5, text),
            (Takes::Place | Takes::Expression, Kind::Quoted) => (0.7, text),
            _ => return None,
        };
        let value = fitting(&parameter.schema, parameter.kind(), text)?;
        self.free(one.start, one.end).then_some((quality, value))
    }

    fn keeps_text(&self) -> bool {
        self.tool.parameters.iter().any(|one| one.required && one.takes == Takes::Text)
    }

    fn is_destination(&self, one: &Evidence) -> bool {
        let mut before = self.clause.words.iter().rev().filter(|word| word.end <= one.start);
        let source = before.next().is_some_and(|word| among(&word.text, "for about of from для про о об из"));
        !source || before.next().is_some_and(|word| word.text == "end")
    }

    /// "What is Node.js?" names a thing, not a file to open.
    fn is_subject(&self, one: &Evidence) -> bool {
        let rest = self.clause.words.iter().filter(|word| word.end <= one.start || word.start >= one.end);
        let words: Vec<&str> = rest.map(|word| word.text.as_str()).collect();
        matches!(
            words.as_slice(),
            ["what" | "who", "is" | "are"] | ["что", "такое"] | ["tell", "me", "about"]
        )
    }

    fn numbers(&mut self) -> bool {
        let Some(assigned) = assign(self.tool, self.clause, &self.filled.used) else { return false };
        for one in assigned {
            self.take(one.parameter, one.value, one.span, if one.named { 1.5 } else { 0.8 });
        }
        true
    }

    /// Turns a switch on by the words of its name that the tool's own name does not have: "append" turns something on in a
    /// tool that writes, "write" does not.
    fn switch(&mut self, parameter: &Parameter) -> bool {
        let own: Vec<String> =
            identifier_words(self.tool.own_name()).iter().flat_map(|word| terms(word)).collect();
        let all = parameter.is_named(&["all"]);
        let names: Vec<&String> = parameter
            .words
            .iter()
            .filter(|word| !among(word, "include enable only should replace with"))
            .collect();
        let hit = |name: &&String| {
            let mine: Vec<String> = terms(name).into_iter().filter(|term| !own.contains(term)).collect();
            let same = |word: &Word| terms(&word.text).iter().any(|term| mine.contains(term));
            let every = |word: &Word| all && is(&word.text, "every");
            self.clause
                .words
                .iter()
                .position(|word| (same(word) || every(word)) && self.free(word.start, word.end))
        };
        let Some(hits) = names.iter().map(hit).collect::<Option<Vec<usize>>>() else { return false };
        let Some(last) = hits.last().copied() else { return false };
        let word = &self.clause.words[last];
        let first = hits.iter().copied().min().unwrap_or(last);
        let mut before = self.clause.words[..first].iter().rev().take(2);
        let off = before.any(|word| among(&word.text, "no not without few little never не без мало"));
        let span = (word.start, word.end);
        if off || self.switched.contains(&span) {
            return false;
        }
        // The word stays free: "append" also says what to do.
        self.switched.push(span);
        self.filled.bonus += 0.5;
        self.arguments.insert(parameter.name.clone(), Value::Bool(true));
        true
    }

    /// One of an `enum`'s values that is a word of the clause. For an optional parameter a value that is a word of the
    /// tool's own name does not count: a question for the time need not want `format=time`.
    fn choice(&mut self, parameter: &Parameter) -> bool {
        let own = identifier_words(self.tool.own_name());
        for choice in parameter.choices() {
            let parts = choice.as_str().map(identifier_words).unwrap_or_default();
            let hit = |part: &String| {
                // "Annual" is not "annually".
                let adverb = |word: &Word| part.ends_with("ly") == word.text.ends_with("ly");
                let same = |word: &&Word| {
                    related(part, &word.text) && adverb(word) && self.free(word.start, word.end)
                };
                self.clause.words.iter().find(same).filter(|word| !is_stop(&word.text))
            };
            let of_tool = parts.iter().any(|part| own.iter().any(|mine| related(mine, part)));
            let hits: Option<Vec<&Word>> = parts.iter().map(hit).collect();
            if let Some(word) = hits.and_then(|hits| hits.first().copied())
                && (parameter.required || !of_tool)
            {
                return self.take(parameter, choice.clone(), (word.start, word.end), 1.0);
            }
        }
        false
    }

    fn text(&mut self, parameter: &Parameter) -> bool {
        match crate::text::find(self.clause, &self.filled.used, self.tool, parameter) {
            TextSource::Nothing => false,
            TextSource::Reference => {
                self.filled.carry = Some(parameter.name.clone());
                true
            }
            TextSource::Piece(Piece { text, start, end, loose }) => {
                let Some(value) = fitting(&parameter.schema, parameter.kind(), &text) else { return false };
                if loose {
                    self.filled.loose.push((start, end));
                }
                self.take(parameter, value, (start, end), if loose { 0.4 } else { 1.0 })
            }
        }
    }

    fn finish(mut self) -> Filled {
        self.end_the_line();
        self.filled.arguments = vec![self.arguments.clone()];
        if let Some(parameter) = self.repeated() {
            for one in &self.clause.evidence {
                let Some((_, value)) = self.fits(parameter, one).filter(|(quality, _)| *quality >= 1.0)
                else {
                    continue;
                };
                let mut arguments = self.arguments.clone();
                arguments.insert(parameter.name.clone(), value);
                self.filled.arguments.push(arguments);
                self.filled.used.push((one.start, one.end));
            }
        }
        self.filled
    }

    /// A text that is added to the end of a file becomes a line of its own.
    fn end_the_line(&mut self) {
        let is_append = |one: &&Parameter| {
            let named = one.words.iter().any(|word| means(word, "append"));
            named && self.arguments.get(&one.name) == Some(&Value::Bool(true))
        };
        let appends = self.tool.parameters.iter().any(|one| is_append(&one));
        let text = self.tool.parameters.iter().find(|one| one.required && one.takes == Takes::Text);
        if let Some(Value::String(text)) =
            text.filter(|_| appends).and_then(|one| self.arguments.get_mut(&one.name))
            && !text.ends_with('\n')
        {
            text.push('\n');
        }
    }

    /// The parameter for whose further values the tool is called again: its only one with evidence, and no text.
    fn repeated(&self) -> Option<&'a Parameter> {
        let mut filled = self.tool.parameters.iter().filter(|one| self.arguments.contains_key(&one.name));
        let only = filled.clone().find(|one| REPEATED.contains(&one.takes))?;
        let other = |one: &Parameter| {
            one.kind() == Some("string") && one.takes != Takes::Choice && one.name != only.name
        };
        let alone = !filled.any(other);
        (alone && self.filled.carry.is_none()).then_some(only)
    }
}

/// One word, or something with an ending or a folder in it: "my notes.txt", and not "call mother".
fn is_file_name(quoted: &str) -> bool {
    let last = quoted.split_whitespace().last().unwrap_or_default();
    !quoted.contains(char::is_whitespace) || path_shape(last).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn filled(properties: Value, required: &[&str], clause: &str) -> Option<Value> {
        let parameters = json!({"required": required, "properties": properties});
        let tool = Tool::read(&json!({"function": {"name": "x__brew", "parameters": parameters}})).unwrap();
        let filled = fill(&tool, &Clause::read(clause))?;
        filled.arguments.into_iter().next().map(Value::Object)
    }

    #[test]
    fn a_switch_is_not_turned_on_by_its_opposite() {
        let tea = |clause: &str| filled(json!({"green_leaves": {"type": "boolean"}}), &[], clause);
        assert_eq!(tea("brew green leaves"), Some(json!({"green_leaves": true})));
        for clause in ["brew without green leaves", "brew with few green leaves", "brew not too green leaves"]
        {
            assert_eq!(tea(clause), Some(json!({})), "{clause}");
        }
    }

    #[test]
    fn an_adverb_is_not_its_adjective() {
        let tea = |clause: &str| filled(json!({"rhythm": {"enum": ["Daily", "Monthly"]}}), &[], clause);
        assert_eq!(tea("brew the tea monthly"), Some(json!({"rhythm": "Monthly"})));
        assert_eq!(tea("brew the tea of the month"), Some(json!({})));
    }

    #[test]
    fn a_place_has_the_declared_form() {
        let tea = |description: &str, clause: &str| {
            filled(json!({"city": {"type": "string", "description": description}}), &["city"], clause)
        };
        let form = "In the format City, State";
        assert_eq!(tea(form, "tea in Boston"), None);
        assert_eq!(tea(form, "tea in Boston, MA"), Some(json!({"city": "Boston, MA"})));
        assert_eq!(tea("The city and state", "tea in Boston"), Some(json!({"city": "Boston"})));
    }

    #[test]
    fn a_unit_and_a_word_of_the_tool_are_not_identifiers() {
        let tea = |clause: &str| filled(json!({"key": {"type": "string"}}), &["key"], clause);
        assert_eq!(tea("make it of TX7"), Some(json!({"key": "TX7"})));
        assert_eq!(tea("make it at 80 RPM"), None);
        assert_eq!(tea("the BREW of today"), None);
    }

    #[test]
    fn a_topic_is_not_what_is_left_over() {
        let tea =
            |name: &str| filled(json!({name: {"type": "string"}}), &[name], "find the oldest friend of tea");
        assert_eq!(tea("query"), Some(json!({"query": "oldest friend of tea"})));
        assert_eq!(tea("topic"), None);
    }
}
