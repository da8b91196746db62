//! Finds the tool that a clause means, by the words they share, the evidence that fits the schema, and how much of the clause that
//! explains.
//!
//! "Tell me a joke about time" shares "time" with a clock and is left alone because of the joke. A tool that deletes, sends
//! or writes is not taken for a clause that does not ask for it. Below a threshold nothing is called.

use std::collections::{HashMap, HashSet};

use crate::clause::Clause;
use crate::evidence::Kind;
use crate::fill::{Filled, fill};
use crate::tokens::Shape;
use crate::tool::{Takes, Tool};
use crate::words::{Word, concepts, identifier_words, is, is_done, is_stop, terms, words};

/// The offered tools with an index from terms to tools.
#[derive(Debug)]
pub(crate) struct Toolbox {
    pub(crate) tools: Vec<Tool>,
    /// For each term the tools that have it, and how strongly.
    index: HashMap<String, Vec<(usize, f32)>>,
    /// The deeds that each tool's texts mention, and those of its own name.
    deeds: Vec<(HashSet<u8>, HashSet<u8>)>,
}

/// More tools are not ranked; the explicit form still reaches them.
const RANKED: usize = 2000;
/// Tools that are filled for a clause.
const CANDIDATES: usize = 24;

const OWN_NAME: f32 = 3.0;
const ENSEMBLE: f32 = 1.2;
const FIRST_SENTENCE: f32 = 1.5;
const DESCRIPTION: f32 = 0.8;
const PARAMETER: f32 = 1.0;
const PARAMETER_DESCRIPTION: f32 = 0.5;

const THRESHOLD: f32 = 2.0;
/// The threshold where every word of the clause is explained.
const EXPLAINED: f32 = 1.7;
/// Minimum shared strength, unless the evidence alone decides; less where an argument fits well.
const SHARED: f32 = 0.9;
const SHARED_BESIDE: f32 = 0.7;
/// Bonus for a tool that is called by its whole name, "git show".
const CALLED: f32 = 1.5;
/// Weight of "show" and similar words, relative to other words.
const WEAK: f32 = 0.3;
/// Share of the word "list" that "which files" implies.
const LISTED: f32 = 0.5;
/// Share of the word "read" that a file or an address alone implies. It decides between tools that fit anyway.
const IMPLIED: f32 = 0.2;
/// Factors for an action that the tool does not perform, an action that was not requested, a subject of other tools, and
/// an unused address.
const OTHER_DEED: f32 = 0.35;
const UNASKED_DEED: f32 = 0.2;
const OTHER_SUBJECT: f32 = 0.4;
const IGNORED: f32 = 0.3;

/// The deeds that a word speaks of: what a tool does to the world.
fn deeds_of(word: &str) -> impl Iterator<Item = u8> {
    concepts(word).into_iter().filter_map(|concept| match concept {
        "write" | "create" => Some(0),
        "delete" => Some(1),
        "send" => Some(2),
        "update" => Some(3),
        _ => None,
    })
}

impl Toolbox {
    pub(crate) fn new(tools: Vec<Tool>) -> Self {
        let mut index: HashMap<String, Vec<(usize, f32)>> = HashMap::new();
        let mut deeds = Vec::new();
        for (at, tool) in tools.iter().enumerate().take(RANKED) {
            let (mut all, mut named) = (HashSet::new(), HashSet::new());
            for (word, weight) in weighed_words(tool) {
                // A tool for "changed files" changes none.
                let done = is_done(&word) || weight < DESCRIPTION;
                let mentioned: Vec<u8> = if done { Vec::new() } else { deeds_of(&word).collect() };
                named.extend(mentioned.iter().copied().filter(|_| weight >= OWN_NAME));
                all.extend(mentioned);
                for term in terms(&word) {
                    let tools = index.entry(term).or_default();
                    match tools.last_mut() {
                        Some((last, mine)) if *last == at => *mine = mine.max(weight),
                        _ => tools.push((at, weight)),
                    }
                }
            }
            deeds.push((all, named));
        }
        Self { tools, index, deeds }
    }

    /// Returns the tool of a name, as offered or as people write it.
    pub(crate) fn named(&self, name: &str) -> Option<&Tool> {
        let offered = self.tools.iter().find(|tool| tool.name == name);
        offered.or_else(|| self.tools.iter().find(|tool| tool.spoken() == name))
    }

    /// Returns the strength of a word (lower case) for each tool that has it. A word of many tools is weak for each.
    fn having(&self, word: &str) -> HashMap<usize, f32> {
        let mut strengths: HashMap<usize, f32> = HashMap::new();
        for tools in terms(word).iter().filter_map(|term| self.index.get(term)) {
            let total: f32 = tools.iter().map(|(_, weight)| weight).sum();
            for (tool, weight) in tools {
                // Tools that only mention the word count in part.
                let strength = weight * self.rarity((total / weight).min(count(tools.len())));
                let best = strengths.entry(*tool).or_insert(0.0);
                *best = best.max(strength);
            }
        }
        strengths
    }

    /// 1 for a term of one tool, down to 0.3 for a term of all.
    fn rarity(&self, having: f32) -> f32 {
        let all = count(self.tools.len().min(RANKED));
        if all <= 1.0 { 1.0 } else { 0.3 + 0.7 * (all / having.max(1.0)).ln() / all.ln() }
    }

    /// Returns the best tool for a clause with its arguments, if any is good enough. Of equals the first.
    pub(crate) fn best(&self, clause: &Clause) -> Option<(&Tool, Filled)> {
        if clause.is_declined() {
            return None;
        }
        let strengths: Vec<HashMap<usize, f32>> =
            clause.words.iter().map(|word| self.strengths(word)).collect();
        let mut sums = vec![0.0_f32; self.tools.len().min(RANKED)];
        for (tool, strength) in strengths.iter().flatten() {
            sums[*tool] += strength;
        }
        let telling = |tool: &Tool| !clause.evidence.is_empty() && takes_evidence(tool);
        let mut candidates: Vec<usize> =
            (0..sums.len()).filter(|tool| sums[*tool] > 0.0 || telling(&self.tools[*tool])).collect();
        candidates.sort_by(|one, other| sums[*other].total_cmp(&sums[*one]));
        candidates.truncate(CANDIDATES);
        candidates.sort_unstable();
        let mut best: Option<(f32, &Tool, Filled)> = None;
        for tool in candidates {
            if let Some((score, filled)) = self.judge(clause, &strengths, tool)
                && best.as_ref().is_none_or(|(other, ..)| score > *other)
            {
                best = Some((score, &self.tools[tool], filled));
            }
        }
        best.map(|(_, tool, filled)| (tool, filled))
    }

    fn strengths(&self, word: &Word) -> HashMap<usize, f32> {
        let mut having = if is_stop(&word.text) { HashMap::new() } else { self.having(&word.text) };
        if is(&word.text, "weak") {
            having.values_mut().for_each(|strength| *strength *= WEAK);
        }
        having
    }

    fn judge(&self, clause: &Clause, strengths: &[HashMap<usize, f32>], at: usize) -> Option<(f32, Filled)> {
        let tool = &self.tools[at];
        let filled = fill(tool, clause)?;
        let inside = |spans: &[(usize, usize)], start: usize, end: usize| {
            spans.iter().any(|(from, to)| *from <= start && end <= *to)
        };
        let (mut shared, mut content, mut covered) = (0.0, 0.0, 0.0);
        let mut requested = HashSet::new();
        let mut elsewhere = false;
        for (word, having) in clause.words.iter().zip(strengths) {
            let strength = having.get(&at).copied().unwrap_or(0.0);
            let loose = inside(&filled.loose, word.start, word.end);
            if inside(&filled.used, word.start, word.end) {
                content += 1.0;
                covered += if loose { 0.7 } else { 1.0 };
                continue;
            }
            // "Changed" and "the changes" request no action.
            if !is_done(&word.text) && !word.text.ends_with('s') {
                requested.extend(deeds_of(&word.text));
            }
            if is_stop(&word.text) || (strength == 0.0 && is(&word.text, "weak")) {
                continue;
            }
            content += 1.0;
            covered += f32::from(u8::from(strength > 0.0));
            elsewhere |= strength == 0.0 && concepts(&word.text).iter().any(|one| is(one, "subjects"));
            shared += strength;
        }
        shared += self.listed(clause, strengths, at) + called(clause, &filled, &tool.name);
        let least = if filled.bonus >= 2.0 { SHARED_BESIDE } else { SHARED };
        if shared < least && !filled.firm {
            return None;
        }
        let unused = |kind: &Kind| matches!(kind, Kind::Url | Kind::Unread | Kind::Path(Shape::File));
        let mut ignored = clause.evidence.iter().filter(|one| unused(&one.kind));
        let ignored = ignored.any(|one| !inside(&filled.used, one.start, one.end));
        let (all, named) = &self.deeds[at];
        let unasked = !named.is_empty() && named.is_disjoint(&requested);
        let other = !unasked && !requested.is_empty() && all.is_disjoint(&requested);
        let factors =
            [(ignored, IGNORED), (elsewhere, OTHER_SUBJECT), (unasked, UNASKED_DEED), (other, OTHER_DEED)];
        let factor: f32 = factors.iter().filter(|(holds, _)| *holds).map(|(_, factor)| factor).product();
        let coverage = if content > 0.0 { covered / content } else { 1.0 };
        let score = (shared + filled.bonus) * (0.3 + 0.7 * coverage) * factor;
        let names = |kind: &Kind| matches!(kind, Kind::Url | Kind::Path(Shape::File));
        let implied = filled.firm && clause.evidence.iter().any(|one| names(&one.kind));
        let implied =
            if implied { IMPLIED * self.having("read").get(&at).copied().unwrap_or(0.0) } else { 0.0 };
        (score >= if covered >= content { EXPLAINED } else { THRESHOLD }).then_some((score + implied, filled))
    }

    /// "Which files …", "show all files", «какие файлы» ask for a list where the tool has such things and no file is named.
    fn listed(&self, clause: &Clause, strengths: &[HashMap<usize, f32>], at: usize) -> f32 {
        let named = clause.evidence.iter().any(|one| one.kind == Kind::Path(Shape::File));
        let idle = |word: &Word| is_stop(&word.text) || is(&word.text, "weak");
        let asks = clause.words.iter().enumerate().any(|(index, word)| {
            let before = index.checked_sub(1).map(|before| &clause.words[before]);
            is_plural(&word.text) && strengths[index].contains_key(&at) && before.is_none_or(idle)
        });
        if asks && !named { LISTED * self.having("list").get(&at).copied().unwrap_or(0.0) } else { 0.0 }
    }
}

/// Returns whether a required parameter takes a sum, a file or an address, which may be enough to choose the tool.
fn takes_evidence(tool: &Tool) -> bool {
    let telling = [Takes::Expression, Takes::Path, Takes::Directory, Takes::Url];
    tool.parameters.iter().any(|one| one.required && telling.contains(&one.takes))
}

/// Returns the words of a tool's declaration with their weights.
fn weighed_words(tool: &Tool) -> Vec<(String, f32)> {
    let own = tool.own_name();
    let ensemble = tool.name.strip_suffix(own).unwrap_or_default();
    let mut weighed: Vec<(String, f32)> =
        identifier_words(own).into_iter().map(|word| (word, OWN_NAME)).collect();
    let mut add = |words: Vec<String>, weight: f32| {
        weighed.extend(words.into_iter().filter(|word| !is_stop(word)).map(|word| (word, weight)));
    };
    let split = |text: &str| words(text).into_iter().map(|word| word.text).collect::<Vec<_>>();
    add(identifier_words(ensemble), ENSEMBLE);
    add(split(tool.first_sentence()), FIRST_SENTENCE);
    add(split(&tool.description), DESCRIPTION);
    for parameter in &tool.parameters {
        add(parameter.words.clone(), PARAMETER);
        add(split(&parameter.description), PARAMETER_DESCRIPTION);
        let choices = parameter.choices().filter_map(serde_json::Value::as_str);
        add(choices.flat_map(identifier_words).collect(), PARAMETER_DESCRIPTION);
    }
    weighed
}

/// The ensemble and the invoker, one behind the other. A single word does not count.
fn called(clause: &Clause, filled: &Filled, name: &str) -> f32 {
    let mut name = identifier_words(name);
    name.dedup();
    let free = |word: &&Word| filled.used.iter().all(|(from, to)| word.end <= *from || *to <= word.start);
    let words: Vec<&str> = clause.words.iter().filter(free).map(|word| word.text.as_str()).collect();
    if name.len() > 1 && words.windows(name.len()).any(|some| some == name) { CALLED } else { 0.0 }
}

fn is_plural(word: &str) -> bool {
    let ends = |endings: &[&str]| endings.iter().any(|end| word.ends_with(end));
    word.chars().count() > 3 && !ends(&["ss", "us", "is"]) && ends(&["s", "ы", "и", "ов", "ей"])
}

fn count(number: usize) -> f32 {
    f32::from(u16::try_from(number).unwrap_or(u16::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn toolbox(tools: &[(&str, &str)], required: &[&str]) -> Toolbox {
        let text = json!({"type": "string"});
        let properties: serde_json::Map<_, _> =
            required.iter().map(|name| ((*name).to_owned(), text.clone())).collect();
        let schema = json!({"required": required, "properties": properties});
        let read = |(name, description): &(&str, &str)| {
            Tool::read(&json!({"function": {"name": name, "description": description, "parameters": schema}}))
        };
        Toolbox::new(tools.iter().filter_map(read).collect())
    }

    fn best(tools: &[(&str, &str)], clause: &str) -> Option<usize> {
        let toolbox = toolbox(tools, &["path"]);
        let name = toolbox.best(&Clause::read(clause)).map(|(tool, _)| tool.name.clone());
        tools.iter().position(|tool| Some(tool.0) == name.as_deref())
    }

    #[test]
    fn a_deed_is_done_only_when_it_is_asked_for() {
        let tools = [("x__page", "Shows a page"), ("x__delete_page", "Deletes a page")];
        assert_eq!(best(&tools[..1], "show page notes.md"), Some(0));
        assert_eq!(best(&tools[..1], "delete page notes.md"), None);
        assert_eq!(best(&tools[..1], "удали page notes.md"), None);
        assert_eq!(best(&tools[1..], "delete page notes.md"), Some(0));
        assert_eq!(best(&tools[1..], "show page notes.md"), None);
        assert_eq!(best(&tools, "delete page notes.md"), Some(1));
        assert_eq!(best(&tools, "show page notes.md"), Some(0));
        let tools = [("x__annals", "Says what was updated"), ("x__alter", "Edits a page")];
        assert_eq!(best(&tools, "update a.md"), Some(1));
        assert_eq!(best(&tools[..1], "update a.md"), None);
        assert_eq!(best(&tools, "what was updated in a.md"), Some(0));
    }

    #[test]
    fn another_subject_and_an_unused_file_speak_against_a_tool() {
        let page = [("x__page", "Shows a page")];
        assert_eq!(best(&page, "show the purple page a.md"), Some(0));
        assert_eq!(best(&page, "show the weather page a.md"), None);
        let notes = toolbox(&[("x__add_note", "Adds a note")], &["text"]);
        assert!(notes.best(&Clause::read("add a note: tea")).is_some());
        assert!(notes.best(&Clause::read("add a note to a.txt: tea")).is_none());
    }
}
