//! Which tool a clause means: the words they share, the evidence that fits the schema, and how much of the clause that
//! explains.
//!
//! A clause must be explained and not just touched: "tell me a joke about time" shares "time" with a clock and is left
//! alone because of the joke. And a tool that does something (deletes, sends, writes) is never taken for a clause that
//! does not ask for such a deed. Below [`THRESHOLD`] nothing is invoked.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use crate::clauses::Clause;
use crate::evidence::{Evidence, Kind, Shape};
use crate::fill::{Filled, fill};
use crate::lexicon::lexicon;
use crate::tool::Wants;
use crate::toolbox::{RANKED, Toolbox};
use crate::words::Word;

/// A tool that a clause means, with its arguments.
#[derive(Debug, Clone)]
pub(crate) struct Match {
    pub(crate) tool: usize,
    pub(crate) filled: Filled,
    pub(crate) score: f32,
}

const THRESHOLD: f32 = 2.0;
/// The same where every word of the clause is explained.
const EXPLAINED: f32 = 1.7;
/// Words that must be shared unless the evidence alone says what is wanted.
const SHARED: f32 = 0.9;
/// Tools that are tried in earnest for a clause.
const CANDIDATES: usize = 12;
const WEAK: f32 = 0.3;
/// What remains of a score when the clause asks for a deed the tool does not speak of, or the tool does one unasked.
const OTHER_DEED: f32 = 0.35;
const UNASKED_DEED: f32 = 0.2;
const IGNORED: f32 = 0.4;
/// What of "list" is heard in "which files".
const LISTED: f32 = 0.5;
/// … and when it speaks of the weather and the tool does not.
const OTHER_SUBJECT: f32 = 0.5;

/// The best tool for a clause, if any is good enough.
pub(crate) fn best(toolbox: &Toolbox, clause: &Clause) -> Option<Match> {
    if clause.text.is_empty() || negated(clause) || asks_how(clause) {
        return None;
    }
    let opener = clause.opener();
    let having: Vec<HashMap<usize, f32>> =
        clause.words.iter().map(|word| shared(toolbox, word, opener)).collect();
    let mut matches: Vec<Match> = candidates(toolbox, clause, &having)
        .into_iter()
        .filter_map(|tool| judge(toolbox, clause, &having, tool))
        .collect();
    // Stable: of equals the one that was declared first.
    matches.sort_by(|one, other| {
        other.score.partial_cmp(&one.score).unwrap_or(Ordering::Equal).then(one.tool.cmp(&other.tool))
    });
    matches.into_iter().next()
}

fn shared(toolbox: &Toolbox, word: &Word, opener: Option<(usize, &str)>) -> HashMap<usize, f32> {
    if lexicon().is_stop(&word.text) {
        return HashMap::new();
    }
    let mut having = toolbox.having(&word.text);
    if let Some((_, verb)) = opener.filter(|(at, _)| *at == word.start) {
        for (tool, strength) in toolbox.having(verb) {
            let best = having.entry(tool).or_insert(0.0);
            *best = best.max(strength);
        }
    }
    if lexicon().is_weak(&word.text) {
        having.values_mut().for_each(|strength| *strength *= WEAK);
    }
    having
}

/// "Don't read it", «не читай»; but «не могли бы вы» is only polite.
fn negated(clause: &Clause) -> bool {
    let mut words = clause
        .words
        .iter()
        .map(|word| word.text.as_str())
        .filter(|word| !["please", "пожалуйста"].contains(word));
    let (first, second) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let polite = second.starts_with("мог") || second.starts_with("подскаж");
    (lexicon().is_negation(first) && !polite) || (first == "do" && second == "not")
}

/// "How do I list files in Python?" wants to be told how; a sum is worked out all the same.
fn asks_how(clause: &Clause) -> bool {
    let words: Vec<&str> = clause.words.iter().map(|word| word.text.as_str()).take(3).collect();
    let how = match words.as_slice() {
        ["how", "to", ..] | ["how", "do" | "can" | "could" | "should" | "would", "i" | "we" | "one"] => true,
        ["как", verb, ..] => verb.ends_with("ть") || verb.ends_with("ти") || *verb == "мне",
        _ => false,
    };
    how && !clause.evidence.iter().any(|one| matches!(one.kind, Kind::Expression { .. } | Kind::Conversion))
}

/// Tools that share most words, and a few whose required argument is here.
fn candidates(toolbox: &Toolbox, clause: &Clause, having: &[HashMap<usize, f32>]) -> Vec<usize> {
    let mut sums: HashMap<usize, f32> = HashMap::new();
    for (tool, strength) in having.iter().flatten() {
        *sums.entry(*tool).or_insert(0.0) += strength;
    }
    let mut ranked: Vec<(usize, f32)> = sums.into_iter().collect();
    ranked.sort_by(|one, other| {
        other.1.partial_cmp(&one.1).unwrap_or(Ordering::Equal).then(one.0.cmp(&other.0))
    });
    let mut found: Vec<usize> = ranked.into_iter().take(CANDIDATES).map(|(tool, _)| tool).collect();
    let certain = [Wants::Expression, Wants::Path, Wants::Directory, Wants::Url, Wants::Sql, Wants::Language];
    if clause.evidence.is_empty() {
        return found;
    }
    let wanting = toolbox.tools.iter().take(RANKED).enumerate().filter(|(_, tool)| {
        tool.parameters.iter().any(|parameter| parameter.required && certain.contains(&parameter.wants))
    });
    for (tool, _) in wanting.take(CANDIDATES) {
        if !found.contains(&tool) {
            found.push(tool);
        }
    }
    found
}

fn judge(toolbox: &Toolbox, clause: &Clause, having: &[HashMap<usize, f32>], tool: usize) -> Option<Match> {
    let filled = fill(toolbox.tools.get(tool)?, clause)?;
    let within = |spans: &[(usize, usize)], word: &Word| {
        spans.iter().any(|(start, end)| *start <= word.start && word.end <= *end)
    };
    let (mut sum, mut content, mut covered) = (0.0, 0.0, 0.0);
    let mut terms = HashSet::new();
    let mut elsewhere = false;
    terms.extend(clause.opener().into_iter().flat_map(|(_, verb)| lexicon().concepts(verb)));
    for (index, (word, having)) in clause.words.iter().zip(having).enumerate() {
        let strength = having.get(&tool).copied().unwrap_or(0.0);
        let loose = within(&filled.loose, word);
        let flag = within(&filled.flags, word);
        if within(&filled.used, word) && !loose && !flag {
            // It is an argument; it may be a word of the tool's too ("closed issues").
            content += 1.0;
            covered += 1.0;
            continue;
        }
        if !loose {
            terms.extend(lexicon().concepts(&word.text));
        }
        if idle(clause, index)
            || lexicon().is_stop(&word.text)
            || (strength == 0.0 && lexicon().is_weak(&word.text))
        {
            continue;
        }
        content += 1.0;
        covered += if loose { 0.7 } else { f32::from(u8::from(strength > 0.0 || flag)) };
        elsewhere |= !loose && strength == 0.0 && lexicon().is_subject(&word.text);
        sum += if loose { 0.0 } else { strength };
    }
    sum += listed(toolbox, clause, having, tool);
    if sum < SHARED && !filled.firm {
        return None;
    }
    let coverage = if content > 0.0 { covered / content } else { 1.0 };
    let score = (sum + filled.bonus)
        * (0.3 + 0.7 * coverage)
        * deeds(toolbox, &terms, tool)
        * ignored(clause, &filled)
        * if elsewhere { OTHER_SUBJECT } else { 1.0 };
    let least = if covered >= content { EXPLAINED } else { THRESHOLD };
    (score >= least).then_some(Match { tool, filled, score })
}

/// "The current directory" is any directory when it comes to what is asked.
fn idle(clause: &Clause, index: usize) -> bool {
    let word = clause.words.get(index).map_or("", |word| word.text.as_str());
    let which = ["working", "root", "same"].contains(&word) || lexicon().means(word, "now");
    which && clause.words.get(index + 1).is_some_and(|next| lexicon().means(&next.text, "directory"))
}

/// "Which files …", "show all files", «какие файлы»: whoever asks so for things of a tool that lists wants them listed.
fn listed(toolbox: &Toolbox, clause: &Clause, having: &[HashMap<usize, f32>], tool: usize) -> f32 {
    let one_is_named = clause.evidence.iter().any(|one| one.kind == Kind::Path(Shape::File));
    let mut words = clause.words.iter().zip(having).enumerate();
    let asks = words.any(|(index, (thing, having))| {
        let before = index.checked_sub(1).and_then(|at| clause.words.get(at));
        let asked = before.is_none_or(|word| lexicon().is_weak(&word.text) || lexicon().is_stop(&word.text));
        asked && is_plural(&thing.text) && having.contains_key(&tool)
    });
    let lists = toolbox.having("list").get(&tool).copied();
    lists.filter(|_| asks && !one_is_named).map_or(0.0, |strength| LISTED * strength)
}

fn is_plural(word: &str) -> bool {
    let endings = ["s", "ы", "и", "ов", "ей"];
    word.chars().count() > 3 && endings.iter().any(|ending| word.ends_with(ending))
}

/// An address, a file, a date or a time of day that the tool has no use for: something else was asked.
fn ignored(clause: &Clause, filled: &Filled) -> f32 {
    let telling = |one: &&Evidence| {
        matches!(
            one.kind,
            Kind::Url | Kind::Email | Kind::Date | Kind::Clock | Kind::Sql | Kind::Path(Shape::File)
        )
    };
    let taken = |one: &Evidence| filled.used.iter().any(|(start, end)| *start < one.end && one.start < *end);
    if clause.evidence.iter().filter(telling).all(taken) { 1.0 } else { IGNORED }
}

fn deeds(toolbox: &Toolbox, terms: &HashSet<String>, tool: usize) -> f32 {
    let asked = lexicon().actions(terms);
    let all = toolbox.actions(tool, false);
    let named = toolbox.actions(tool, true);
    if !named.is_empty() && !named.iter().any(|deed| asked.contains(deed)) {
        UNASKED_DEED
    } else if !asked.is_empty() && !asked.iter().any(|deed| all.contains(deed)) {
        OTHER_DEED
    } else {
        1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::Tool;
    use serde_json::json;

    fn best_of(tools: &[(&str, &str)], clause: &str) -> Option<usize> {
        let schema = json!({"required": ["path"], "properties": {"path": {"type": "string"}}});
        let read = |(name, description): &(&str, &str)| {
            Tool::read(&json!({"function": {"name": name, "description": description, "parameters": schema}}))
        };
        let toolbox = Toolbox::new(tools.iter().filter_map(read).collect());
        best(&toolbox, &Clause::read(clause)).map(|found| found.tool)
    }

    #[test]
    fn a_deed_is_done_by_a_tool_that_speaks_of_it_and_only_when_it_is_asked_for() {
        let tools = [("x__page", "Shows a page"), ("x__delete_page", "Deletes a page")];
        assert_eq!(best_of(&tools[..1], "show page notes.md"), Some(0));
        assert_eq!(best_of(&tools[..1], "delete page notes.md"), None);
        assert_eq!(best_of(&tools[..1], "удали page notes.md"), None);
        assert_eq!(best_of(&tools[1..], "delete page notes.md"), Some(0));
        assert_eq!(best_of(&tools[1..], "show page notes.md"), None);
        assert_eq!(best_of(&tools, "delete page notes.md"), Some(1));
        assert_eq!(best_of(&tools, "show page notes.md"), Some(0));
    }

    #[test]
    fn a_refusal_to_have_it_done_is_obeyed() {
        let tools = [("x__page", "Shows a page")];
        for clause in [
            "don't show page a.md",
            "do not show page a.md",
            "не показывай page a.md",
            "Please never show page a.md",
        ] {
            assert_eq!(best_of(&tools, clause), None, "{clause}");
        }
        assert_eq!(best_of(&tools, "Не могли бы вы показать page a.md"), Some(0));
    }

    #[test]
    fn a_question_how_something_is_done_does_nothing() {
        let tools = [("x__page", "Shows a page")];
        for clause in ["how do I show page a.md", "How to show page a.md", "как показать page a.md"]
        {
            assert_eq!(best_of(&tools, clause), None, "{clause}");
        }
    }

    #[test]
    fn another_subject_and_an_unused_file_speak_against_a_tool() {
        let schema = json!({"required": ["path"], "properties": {"path": {"type": "string"}}});
        let page =
            json!({"function": {"name": "x__page", "description": "Shows a page", "parameters": schema}});
        let toolbox = Toolbox::new(Tool::read(&page).into_iter().collect());
        let score = |clause: &str| best(&toolbox, &Clause::read(clause)).map(|found| found.score).unwrap();
        assert!(score("show the weather page a.md") < score("show the purple page a.md"));
        let schema = json!({"required": ["text"], "properties": {"text": {"type": "string"}}});
        let note =
            json!({"function": {"name": "x__add_note", "description": "Adds a note", "parameters": schema}});
        let toolbox = Toolbox::new(Tool::read(&note).into_iter().collect());
        assert!(best(&toolbox, &Clause::read("add a note: tea")).is_some());
        assert!(best(&toolbox, &Clause::read("add a note to a.txt: tea")).is_none());
    }

    #[test]
    fn of_equals_the_first_is_taken() {
        assert_eq!(best_of(&[("a__page", "Shows"), ("b__page", "Shows")], "show page a.md"), Some(0));
    }
}
