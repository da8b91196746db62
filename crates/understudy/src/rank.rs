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
    if clause.text.is_empty() || negated(clause) {
        return None;
    }
    let opener = opener(clause);
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

/// A noun that is a verb where a clause begins with it ("note it in a.txt"), and the verb that it stands for.
#[derive(Debug, Clone, Copy)]
struct Opener {
    at: usize,
    verb: &'static str,
}

fn opener(clause: &Clause) -> Option<Opener> {
    let mut words = clause.words.iter().skip_while(|word| lexicon().is_stop(&word.text));
    let first = words.next()?;
    let verb = lexicon().opener(&first.text)?;
    // "Note that …" and "Note: …" ask for nothing.
    let colon = clause.text.get(first.end..).is_some_and(|rest| rest.starts_with(':'));
    let follows = words.next().is_some_and(|word| word.text != "that");
    (follows && !colon).then_some(Opener { at: first.start, verb })
}

fn shared(toolbox: &Toolbox, word: &Word, opener: Option<Opener>) -> HashMap<usize, f32> {
    if lexicon().is_stop(&word.text) {
        return HashMap::new();
    }
    let mut having = toolbox.having(&word.text);
    if let Some(opener) = opener.filter(|opener| opener.at == word.start) {
        for (tool, strength) in toolbox.having(opener.verb) {
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
    terms.extend(opener(clause).into_iter().flat_map(|opener| lexicon().concepts(opener.verb)));
    for (word, having) in clause.words.iter().zip(having) {
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
        if lexicon().is_stop(&word.text) || (strength == 0.0 && lexicon().is_weak(&word.text)) {
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
    (score >= THRESHOLD).then_some(Match { tool, filled, score })
}

/// "Which files …", «какие файлы …»: whoever asks so for things of a tool that lists wants them listed.
fn listed(toolbox: &Toolbox, clause: &Clause, having: &[HashMap<usize, f32>], tool: usize) -> f32 {
    let mut pairs = clause.words.iter().zip(clause.words.iter().skip(1).zip(having.iter().skip(1)));
    let asks = pairs.any(|(word, (thing, having))| {
        let many = match word.text.as_str() {
            "what" | "which" => thing.text.ends_with('s'),
            "какие" => true,
            _ => false,
        };
        many && having.contains_key(&tool)
    });
    if asks { LISTED * toolbox.having("list").get(&tool).copied().unwrap_or(0.0) } else { 0.0 }
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
    fn of_equals_the_first_is_taken() {
        assert_eq!(best_of(&[("a__page", "Shows"), ("b__page", "Shows")], "show page a.md"), Some(0));
    }
}
