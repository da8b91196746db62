//! Numbers, switches and choices: a word of the clause says which, or the words beside it do.

use serde_json::Value;

use super::Filling;
use crate::evidence::{Evidence, Kind};
use crate::lexicon::lexicon;
use crate::remainder::related;
use crate::tool::{Parameter, Wants};
use crate::value::fitting;
use crate::words::Word;

impl Filling<'_> {
    pub(super) fn small(&mut self, parameter: &Parameter) -> bool {
        match parameter.wants {
            Wants::Number | Wants::Whole => self.number(parameter),
            Wants::Truth => self.truth(parameter),
            _ => self.choice(parameter),
        }
    }

    fn number(&mut self, parameter: &Parameter) -> bool {
        let numbers = self
            .clause
            .evidence
            .iter()
            .filter(|one| one.kind == Kind::Number && self.free(one.start, one.end));
        let mut found: Vec<(f32, Value, (usize, usize))> = Vec::new();
        for one in numbers {
            let near = self.beside(parameter, one);
            if !parameter.required && near == 0 {
                continue;
            }
            if let Some(value) = fitting(&parameter.schema, parameter.kind(), &one.value) {
                found.push((if near > 0 { 1.5 } else { 0.8 }, value, (one.start, one.end)));
            }
        }
        let best = found.into_iter().reduce(|best, next| if next.0 > best.0 { next } else { best });
        best.is_some_and(|(bonus, value, span)| self.take(parameter, value, span, bonus))
    }

    /// How near a parameter for numbers comes to any number of the clause; the nearest one chooses first.
    pub(super) fn nearest(&self, parameter: &Parameter) -> u8 {
        if !matches!(parameter.wants, Wants::Number | Wants::Whole) {
            return 0;
        }
        let numbers = self.clause.evidence.iter().filter(|one| one.kind == Kind::Number);
        numbers.map(|one| self.beside(parameter, one)).max().unwrap_or(0)
    }

    /// How much the words next to a number speak of this parameter: 3 for "limit 5", 2 for a count ("the first 5
    /// commits"), 1 for what its description speaks of ("5 commits"), 0 for not at all.
    fn beside(&self, parameter: &Parameter, one: &Evidence) -> u8 {
        let after = self.clause.words.iter().find(|word| word.start >= one.end);
        let before: Vec<_> =
            self.clause.words.iter().rev().filter(|word| word.end <= one.start).take(2).collect();
        let described = crate::words::words(&parameter.description);
        let own = |word: &str| parameter.words.iter().any(|mine| related(mine, word));
        // "Line 10" is the place to begin at, "the first 10 lines" are not.
        if let [first] = parameter.words.as_slice()
            && ["first", "start", "begin", "line"].contains(&first.as_str())
        {
            let thing = |word: &&Word| described.iter().any(|mine| related(&mine.text, &word.text));
            return u8::from(
                before.first().is_some_and(|word| !lexicon().is_stop(&word.text) && thing(word)),
            );
        }
        let counts = parameter.words.iter().any(|word| lexicon().means(word, "count"));
        let last = before.iter().any(|word| lexicon().means(&word.text, "recent"));
        let thing = after.is_some_and(|word| {
            let said = described.iter().any(|mine| related(&mine.text, &word.text));
            !lexicon().is_stop(&word.text) && (own(&word.text) || said)
        });
        match () {
            () if before.iter().any(|word| own(&word.text)) => 3,
            () if counts && (thing || last) => 2,
            () => u8::from(thing),
        }
    }

    /// A switch is named by words that the tool's own name does not have: "append" switches something on in a tool that
    /// writes, "write" does not. Of several words in its name all must be said.
    fn truth(&mut self, parameter: &Parameter) -> bool {
        let own = crate::words::identifier_words(self.tool.own_name());
        let own: Vec<String> = own.iter().flat_map(|word| lexicon().terms(word)).collect();
        if parameter.words.iter().any(|word| word == "all") {
            return self.every(parameter, &own);
        }
        let telling = |word: &&String| !lexicon().is_filler(word) && word.len() > 3;
        let names: Vec<&String> = parameter.words.iter().filter(telling).collect();
        let hit = |name: &&String| {
            let mut terms = lexicon().terms(name);
            terms.retain(|term| !own.contains(term));
            let same = |text: &str| {
                lexicon().terms(text).iter().any(|term| terms.contains(term))
                    || (!terms.is_empty() && name.len() > 5 && text.starts_with(name.as_str()))
            };
            let opens =
                |word: &Word| self.clause.opener().is_some_and(|(at, verb)| at == word.start && same(verb));
            let found = |word: &Word| (same(&word.text) || opens(word)) && self.free(word.start, word.end);
            self.clause.words.iter().position(found)
        };
        let Some(hits) = names.iter().map(hit).collect::<Option<Vec<usize>>>() else { return false };
        let Some(index) = hits.last().copied() else { return false };
        let Some(word) = self.clause.words.get(index) else { return false };
        let span = (word.start, word.end);
        let before = index
            .checked_sub(1)
            .and_then(|at| self.clause.words.get(at))
            .map_or("", |word| word.text.as_str());
        let value = !["no", "not", "without", "non", "не", "без"].contains(&before);
        self.filled.flags.push(span);
        self.take(parameter, Value::Bool(value), span, 0.5)
    }

    /// `replace_all`: "all" throws it where the rest of its name is what the tool does anyway, or is said.
    fn every(&mut self, parameter: &Parameter, own: &[String]) -> bool {
        let said = |name: &String| self.clause.words.iter().any(|word| related(name, &word.text));
        let rest = parameter.words.iter().filter(|word| *word != "all" && !lexicon().is_filler(word));
        let mut rest = rest.filter(|word| !lexicon().terms(word).iter().any(|term| own.contains(term)));
        let word = self.clause.words.iter().find(|word| lexicon().is_every(&word.text));
        let Some(word) = word.filter(|word| rest.all(said) && self.free(word.start, word.end)) else {
            return false;
        };
        let span = (word.start, word.end);
        self.filled.flags.push(span);
        self.take(parameter, Value::Bool(true), span, 0.5)
    }

    fn choice(&mut self, parameter: &Parameter) -> bool {
        let hit = crate::choice::choose(self.clause, self.tool, parameter)
            .filter(|(_, span)| self.free(span.0, span.1));
        hit.is_some_and(|(value, span)| self.take(parameter, value, span, 1.0))
    }
}
