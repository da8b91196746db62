//! One of an `enum`'s values out of a clause: "closed issues" chooses `closed`, «в градусах Цельсия» `celsius`.
//!
//! Surprising: for an optional parameter a value that is also a word of the tool's own name is not chosen unless a
//! marker stands before it ("in unix format", "as json"): whoever asks for the time need not want `format=time`.

use serde_json::Value;

use crate::clauses::Clause;
use crate::lexicon::lexicon;
use crate::remainder::related;
use crate::tool::{Parameter, Tool};
use crate::words::{Word, identifier_words};

/// The value and the place of the word that chose it.
pub(crate) fn choose(clause: &Clause, tool: &Tool, parameter: &Parameter) -> Option<(Value, (usize, usize))> {
    let own = identifier_words(tool.own_name());
    for choice in parameter.choices() {
        let Some(text) = choice.as_str() else {
            if let Some(found) = number(clause, choice) {
                return Some(found);
            }
            continue;
        };
        let parts = identifier_words(text);
        let Some((index, word)) = find(clause, &parts) else { continue };
        let of_tool = parts.iter().all(|part| own.iter().any(|mine| related(mine, part)));
        if parameter.required || !of_tool || marked(clause, index, parameter) {
            return Some((choice.clone(), (word.start, word.end)));
        }
    }
    None
}

/// The word for a choice; of several words all must be there.
fn find<'a>(clause: &'a Clause, parts: &[String]) -> Option<(usize, &'a Word)> {
    let hit = |part: &String| clause.words.iter().enumerate().find(|(_, word)| same(part, &word.text));
    let first = parts.first().and_then(hit)?;
    parts.iter().all(|part| hit(part).is_some()).then_some(first)
}

fn same(choice: &str, word: &str) -> bool {
    if lexicon().is_stop(word) && choice != word {
        return false;
    }
    let catalogues = [&lexicon().languages, &lexicon().currencies, &lexicon().units];
    let coded =
        |(code, name): (&str, &str)| code.eq_ignore_ascii_case(choice) || name.eq_ignore_ascii_case(choice);
    related(choice, word) || catalogues.iter().filter_map(|catalogue| catalogue.find(word)).any(coded)
}

/// Behind "as", "in … format" or the parameter's own name, or before it.
fn marked(clause: &Clause, index: usize, parameter: &Parameter) -> bool {
    let near =
        |at: Option<usize>| at.and_then(|at| clause.words.get(at)).map_or("", |word| word.text.as_str());
    let names = |word: &str| {
        let format = word.starts_with("формат") && parameter.words.iter().any(|mine| mine == "format");
        !word.is_empty() && (format || parameter.words.iter().any(|mine| related(mine, word)))
    };
    let (before, after) = (near(index.checked_sub(1)), near(Some(index + 1)));
    before == "as" || names(before) || names(after)
}

fn number(clause: &Clause, choice: &Value) -> Option<(Value, (usize, usize))> {
    let text = choice.as_number()?.to_string();
    let word = clause.words.iter().find(|word| word.text == text)?;
    Some((choice.clone(), (word.start, word.end)))
}
