//! Which number of a clause belongs to which parameter. The words beside a number decide; where they do not, the number
//! would be a guess, and the tool is not called.

use std::collections::HashSet;

use serde_json::Value;

use crate::clause::Clause;
use crate::evidence::{Evidence, Kind};
use crate::fill::Span;
use crate::tool::{Parameter, Tool};
use crate::value::fitting;
use crate::words::{Word, among, is_stop, means, terms, words};

/// A number for a parameter.
#[derive(Debug, Clone)]
pub(crate) struct Assigned<'a> {
    pub(crate) parameter: &'a Parameter,
    pub(crate) value: Value,
    pub(crate) span: Span,
    /// Whether words beside the number speak of the parameter.
    pub(crate) named: bool,
}

/// Numbers of a clause that are considered. A clause with more is hardly a question.
const NUMBERS: usize = 64;

/// Returns the numbers of a clause by parameter, or None if a required one is missing or would be a guess: two numbers
/// suit a parameter equally well, or nothing says which of several parameters a number is for.
pub(crate) fn assign<'a>(tool: &'a Tool, clause: &Clause, used: &[Span]) -> Option<Vec<Assigned<'a>>> {
    let parameters: Vec<&Parameter> = tool.parameters.iter().filter(|one| one.is_number()).collect();
    let free = |one: &&Evidence| {
        let number = matches!(one.kind, Kind::Number | Kind::Percent);
        number && used.iter().all(|(from, to)| one.end <= *from || *to <= one.start)
    };
    let numbers: Vec<&Evidence> = clause.evidence.iter().filter(free).take(NUMBERS).collect();
    let mut assigning = Assigning {
        open: (0..parameters.len()).collect(),
        free: (0..numbers.len()).collect(),
        near: nearness(&parameters, &numbers, clause),
        parameters,
        numbers,
        assigned: Vec::new(),
    };
    while let Some(claim) = assigning.strongest() {
        match claim.pairs {
            Some(pairs) => assigning.take(&pairs, true)?,
            // A row may still be filled in the order of the text.
            None if assigning.parameters[claim.parameter].required => break,
            None => assigning.open.retain(|one| *one != claim.parameter),
        }
    }
    assigning.rest()?;
    Some(assigning.assigned)
}

struct Assigning<'a, 'b> {
    parameters: Vec<&'a Parameter>,
    numbers: Vec<&'b Evidence>,
    /// For each number and parameter how strongly the words beside the number speak of the parameter.
    near: Vec<Vec<u8>>,
    /// Parameters without a number so far.
    open: Vec<usize>,
    /// Numbers without a parameter so far.
    free: Vec<usize>,
    assigned: Vec<Assigned<'a>>,
}

struct Claim {
    parameter: usize,
    /// The parameter and its number, or a row of parameters and as many numbers; None if it is not decided.
    pairs: Option<Vec<(usize, usize)>>,
}

impl Assigning<'_, '_> {
    fn take(&mut self, pairs: &[(usize, usize)], named: bool) -> Option<()> {
        for (parameter, at) in pairs {
            let (own, number) = (self.parameters[*parameter], self.numbers[*at]);
            let (value, span) = (value(own, number)?, (number.start, number.end));
            self.assigned.push(Assigned { parameter: own, value, span, named });
            self.open.retain(|one| one != parameter);
            self.free.retain(|one| one != at);
        }
        Some(())
    }

    /// Returns the free numbers that suit a parameter best, and how well.
    fn best(&self, parameter: usize) -> (u8, Vec<usize>) {
        let near = |at: &usize| self.near[*at][parameter];
        let most = self.free.iter().map(near).max().unwrap_or(0);
        (most, self.free.iter().copied().filter(|at| near(at) == most).collect())
    }

    /// Returns the strongest claim; of equals one that is decided, then one of a required parameter.
    fn strongest(&self) -> Option<Claim> {
        let bests: Vec<(usize, u8, Vec<usize>)> = (self.open.iter())
            .map(|parameter| (*parameter, self.best(*parameter)))
            .filter(|(_, (most, _))| *most > 0)
            .map(|(parameter, (most, best))| (parameter, most, best))
            .collect();
        let claim = |(parameter, most, best): &(usize, u8, Vec<usize>)| {
            let mine = self.parameters[*parameter];
            let equals = bests.iter().filter(|(_, other, numbers)| other == most && numbers == best);
            let rivals: Vec<usize> =
                equals.map(|(one, ..)| *one).filter(|one| self.parameters[*one].required).collect();
            let row = rivals.iter().all(|one| self.parameters[*one].row() == mine.row());
            let pairs = match (best.as_slice(), rivals.as_slice()) {
                ([at], []) => Some(vec![(*parameter, *at)]),
                ([at], [one]) if one == parameter => Some(vec![(*parameter, *at)]),
                (_, [_, _, ..]) if row && rivals.len() == best.len() => {
                    Some(rivals.into_iter().zip(best.iter().copied()).collect())
                }
                _ => None,
            };
            ((*most, pairs.is_some(), mine.required), Claim { parameter: *parameter, pairs })
        };
        bests.iter().map(claim).max_by_key(|(rank, _)| *rank).map(|(_, claim)| claim)
    }

    /// Fills required parameters that no words name: the only one, or a row such as `a` and `b` in the order of the text.
    fn rest(&mut self) -> Option<()> {
        let required = |one: &&usize| self.parameters[**one].required;
        let rest: Vec<usize> = self.open.iter().filter(required).copied().collect();
        let Some(first) = rest.first().map(|one| self.parameters[*one]) else { return Some(()) };
        let all: Vec<&&Parameter> = self.parameters.iter().filter(|one| one.required).collect();
        let row = all.iter().filter(|one| one.row() == first.row()).count() == rest.len()
            && rest.iter().all(|one| self.parameters[*one].row() == first.row());
        let fits = |at: &&usize| value(first, self.numbers[**at]).is_some();
        let numbers: Vec<usize> = self.free.iter().filter(fits).copied().collect();
        let decided = numbers.len() == rest.len() && (all.len() == 1 || (row && rest.len() > 1));
        let pairs: Vec<(usize, usize)> = rest.into_iter().zip(numbers).collect();
        if decided { self.take(&pairs, false) } else { None }
    }
}

/// Returns for each number and parameter how strongly the words beside the number suggest the parameter: 8 for "limit 5",
/// 6 for "5 bedrooms" and for a count ("the first 5 commits"), less for words of the description, 0 for nothing or for a
/// number that does not fit the schema.
fn nearness(parameters: &[&Parameter], numbers: &[&Evidence], clause: &Clause) -> Vec<Vec<u8>> {
    let of_number = |number: &&Evidence| {
        let (before, after) = beside(number, clause);
        let last = after.is_empty() && before.iter().any(|word| means(&word.text, "recent"));
        let behind = weigh(&after, (6, 4), parameters);
        let front = weigh(&before, (8, 2), parameters);
        let near = |(parameter, (behind, front)): (&&Parameter, (u8, u8))| match parameter {
            _ if value(parameter, number).is_none() => 0,
            // "Line 10" is a place to begin at, "the first 10 lines" is a count.
            _ if parameter.is_named(&["first", "start", "line"]) => {
                2 * u8::from(before.first().is_some_and(|word| means(&word.text, "line")))
            }
            _ if (behind > 0 || last) && parameter.words.iter().any(|word| means(word, "count")) => {
                front.max(6)
            }
            _ => front.max(behind),
        };
        parameters.iter().zip(behind.into_iter().zip(front)).map(near).collect()
    };
    numbers.iter().map(of_number).collect()
}

/// Returns for each parameter the weight of the words for its name and for its description. A word that speaks of several
/// parameters counts half.
fn weigh(words: &[&Word], (name, told): (u8, u8), parameters: &[&Parameter]) -> Vec<u8> {
    let mut weights = vec![0; parameters.len()];
    for word in words {
        let marks = marks(&word.text);
        let tells = !is_stop(&word.text);
        let named: Vec<bool> = parameters.iter().map(|one| one.traits().in_name(&marks)).collect();
        let said = parameters.iter().map(|one| tells && one.traits().in_description(&marks)).collect();
        for (has, weight) in [(named, name), (said, told)] {
            let several = has.iter().filter(|has| **has).count() > 1;
            let weight = if several { weight / 2 } else { weight };
            for (best, _) in weights.iter_mut().zip(has).filter(|(_, has)| *has) {
                *best = weight.max(*best);
            }
        }
    }
    weights
}

/// What the words of a parameter's name and of its description are compared by.
#[derive(Debug, Clone)]
pub(crate) struct Traits {
    name: HashSet<String>,
    description: HashSet<String>,
}

impl Traits {
    pub(crate) fn new(name: &[String], description: &str) -> Self {
        let described = words(description);
        Self {
            name: name.iter().flat_map(|word| marks(word)).collect(),
            description: described.iter().flat_map(|word| marks(&word.text)).collect(),
        }
    }

    fn in_name(&self, marks: &[String]) -> bool {
        marks.iter().any(|mark| self.name.contains(mark))
    }

    fn in_description(&self, marks: &[String]) -> bool {
        marks.iter().any(|mark| self.description.contains(mark))
    }
}

/// The terms of a word, and the beginning of a long one: "accelerate" and "acceleration" speak of the same.
fn marks(word: &str) -> Vec<String> {
    let beginning: String = word.chars().take(7).collect();
    let long = (beginning.chars().count() == 7).then(|| format!("{beginning}*"));
    terms(word).into_iter().chain(long).collect()
}

/// Returns the words before a number, nearest first, and behind it, that may say what it is: up to two that carry
/// meaning before it and two behind, not across another number, a comma, or a word that begins something else.
fn beside<'b>(one: &Evidence, clause: &'b Clause) -> (Vec<&'b Word>, Vec<&'b Word>) {
    let (text, all) = (&clause.text, &clause.words);
    let breaks = |between: &str| between.contains([',', ';', '(', ')']);
    let number = |word: &Word| word.text.starts_with(|c: char| c.is_ascii_digit());
    let (mut before, mut after, mut edge) = (Vec::new(), Vec::new(), one.start);
    for word in all.iter().rev().filter(|word| word.end <= one.start) {
        let meaning =
            before.iter().filter(|word: &&&Word| !is_stop(&word.text) && word.text != "not").count();
        if number(word) || breaks(&text[word.end..edge]) || meaning == 2 {
            break;
        }
        before.push(word);
        edge = word.start;
        if among(&word.text, BEGINNINGS) {
            break;
        }
    }
    edge = one.end;
    for word in all.iter().filter(|word| word.start >= one.end).take(2) {
        if number(word) || breaks(&text[edge..word.start]) || among(&word.text, BEGINNINGS) {
            break;
        }
        after.push(word);
        edge = word.end;
    }
    (before, after)
}

/// With one of these a number belongs to something else than the words before it.
const BEGINNINGS: &str = "with for over in on after within during and or by if when where that which while per given и с со за на для после до по или";

/// The number as the parameter takes it.
fn value(parameter: &Parameter, one: &Evidence) -> Option<Value> {
    let text = if one.kind == Kind::Percent { parameter.percent(&one.value)? } else { one.value.clone() };
    fitting(&parameter.schema, parameter.kind(), &text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// The arguments of a tool with these required numbers, `name: description`, and an optional `limit`.
    fn numbers(required: &[(&str, &str)], clause: &str) -> Option<Value> {
        let schema = |(name, description): &(&str, &str)| {
            ((*name).to_owned(), json!({"type": "number", "description": description}))
        };
        let mut properties: serde_json::Map<String, Value> = required.iter().map(schema).collect();
        properties.insert("limit".into(), json!({"type": "integer", "minimum": 1}));
        let names: Vec<&str> = required.iter().map(|(name, _)| *name).collect();
        let function = json!({"name": "x", "parameters": {"required": names, "properties": properties}});
        let tool = Tool::read(&json!({"function": function})).unwrap();
        let assigned = assign(&tool, &Clause::read(clause), &[])?;
        Some(assigned.into_iter().map(|one| (one.parameter.name.clone(), one.value)).collect())
    }

    #[test]
    fn the_words_beside_a_number_say_whose_it_is() {
        let shelf = [("shelves", ""), ("doors", "")];
        let race = [("initial_weight", ""), ("target_weight", "")];
        let pump = [("ventilation", ""), ("duration", "Time in minutes")];
        for (required, clause, wanted) in [
            (&shelf, "a cupboard of 4 shelves, 2 doors", json!({"shelves": 4, "doors": 2})),
            (&shelf, "a cupboard with 2 doors and 4 shelves", json!({"shelves": 4, "doors": 2})),
            (
                &race,
                "from a target weight of 72 and an initial 80",
                json!({"initial_weight": 80, "target_weight": 72}),
            ),
            (
                &race,
                "an initial 80, a target 72 and a weight class of 5",
                json!({"initial_weight": 80, "target_weight": 72}),
            ),
            (&pump, "ventilate at 3 bar for 9 minutes", json!({"ventilation": 3, "duration": 9})),
        ] {
            assert_eq!(numbers(required, clause), Some(wanted), "{clause}");
        }
    }

    #[test]
    fn what_would_be_a_guess_is_not_filled() {
        let carpet = [("length", ""), ("width", "")];
        for clause in [
            "a carpet of 3 by 2",
            "a carpet of length 3 and 2 more",
            "a carpet of length 3, length 4, width 2",
            "a carpet of length width 3 and of 2",
        ] {
            assert_eq!(numbers(&carpet, clause), None, "{clause}");
        }
        // A tool with one number takes the only one, or the one that is named.
        let age = [("age", "")];
        assert_eq!(numbers(&age, "a horse of 7"), Some(json!({"age": 7})));
        assert_eq!(numbers(&age, "a horse of age 7 with 4 legs"), Some(json!({"age": 7})));
        assert_eq!(numbers(&age, "a horse of 7 with 4 legs"), None);
        assert_eq!(numbers(&age, "a horse age 7 4 legs"), Some(json!({"age": 7})));
        // An optional number needs its name.
        assert_eq!(numbers(&[], "horses 7"), Some(json!({})));
        assert_eq!(numbers(&[], "horses with limit 7"), Some(json!({"limit": 7})));
        assert_eq!(numbers(&[], "horses with limit 7, limit 8"), Some(json!({})));
        assert_eq!(numbers(&[], "horses with limit 7, limit 2.5"), Some(json!({"limit": 7})));
    }

    #[test]
    fn a_row_of_names_is_filled_in_the_order_of_the_text() {
        let pair = [("num1", "The first value"), ("num2", "The second value")];
        assert_eq!(numbers(&pair, "the values 12 and 30"), Some(json!({"num1": 12, "num2": 30})));
        assert_eq!(numbers(&pair, "the values 12, 30 and 4"), None);
        assert_eq!(numbers(&[("a", ""), ("b", "")], "12 and 30"), Some(json!({"a": 12, "b": 30})));
        let mix =
            [("cups1", "(flour)"), ("heat1", "(degrees)"), ("cups2", "(flour)"), ("heat2", "(degrees)")];
        let wanted = json!({"cups1": 1, "cups2": 2, "heat1": 90, "heat2": 70});
        assert_eq!(numbers(&mix, "1 flour at 90 degrees, 2 flour at 70 degrees"), Some(wanted));
    }

    #[test]
    fn a_percent_is_a_number_where_the_parameter_says_how() {
        let filled = |description: &str, clause: &str| numbers(&[("raise", description)], clause);
        let clause = "a raise of 5.5%";
        assert_eq!(filled("In percent", clause), Some(json!({"raise": 5.5})));
        assert_eq!(filled("As a decimal, 3% is 0.03", clause), Some(json!({"raise": 0.055})));
        assert_eq!(filled("The raise", clause), None);
        assert_eq!(filled("The raise", "a raise of 0.055"), Some(json!({"raise": 0.055})));
    }
}
