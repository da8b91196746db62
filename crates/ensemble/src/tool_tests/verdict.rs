//! Compares the result of a call with the expectations of a test.

use std::time::Duration;

use converse_canister::{Content, Outcome, canonical};
use converse_config::{Expectation, SchemaFault, TestPlan, ValueSchema};
use serde_json::Value;

use super::{excerpt, json_excerpt};

/// An expectation that is not met.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Miss {
    /// The key of `expect`: `outcome`, `text`, `contains`, `matches`, `json`, `schema`, `within`.
    pub key: &'static str,
    /// One line, at most a few hundred characters; excerpts of foreign text in it are escaped.
    pub words: String,
}

/// Returns every expectation of the test that is not met, or nothing if it passed.
///
/// `took` is the time of the whole call. A call that was stopped because it took longer than `within` has the outcome
/// `cancelled`; only the time is reported then.
pub fn verdict(test: &TestPlan, outcome: Outcome, content: &[Content], took: Duration) -> Vec<Miss> {
    let expect = &test.expect;
    let late = expect.within.filter(|within| took > *within).map(|within| late(within, took, outcome));
    if late.is_some() && outcome == Outcome::Cancelled && expect.outcome != Outcome::Cancelled {
        return late.into_iter().collect();
    }
    let text = result_text(content);
    let mut misses = Vec::new();
    if outcome != expect.outcome {
        misses.push(wrong_outcome(expect.outcome, outcome, &text));
    }
    misses.extend(of_text(expect, &text));
    if !expect.json.is_empty() || expect.schema.is_some() {
        misses.extend(of_json(expect, content, &text));
    }
    misses.extend(late);
    misses
}

fn miss(key: &'static str, words: impl Into<String>) -> Miss {
    Miss { key, words: words.into() }
}

fn late(within: Duration, took: Duration, outcome: Outcome) -> Miss {
    let (within, took) = (within.as_secs_f64(), took.as_secs_f64());
    miss(
        "within",
        match outcome {
            Outcome::Cancelled => format!("timeout: stopped after {within} s"),
            _ => format!("it took {took:.3} s, longer than {within} s"),
        },
    )
}

fn wrong_outcome(expected: Outcome, outcome: Outcome, text: &str) -> Miss {
    let said = if text.trim().is_empty() { String::new() } else { format!(": {}", excerpt(text.trim())) };
    miss("outcome", format!("expected the outcome `{}`, got `{}`{said}", expected.label(), outcome.label()))
}

/// The words of a result: its texts and links, a line each; the structured result, written as JSON, if there are none.
pub fn result_text(content: &[Content]) -> String {
    let words = content.iter().filter_map(|piece| match piece {
        Content::Text { text, .. } => Some(text.as_str()),
        Content::Resource { uri, .. } => Some(uri.as_str()),
        _ => None,
    });
    let words: Vec<&str> = words.collect();
    match structured(content) {
        Some(value) if words.is_empty() => value.to_string(),
        _ => words.join("\n"),
    }
}

fn structured(content: &[Content]) -> Option<&Value> {
    content.iter().find_map(|piece| match piece {
        Content::Structured { value } => Some(value),
        _ => None,
    })
}

fn of_text(expect: &Expectation, text: &str) -> Vec<Miss> {
    let mut misses = Vec::new();
    if let Some(whole) = &expect.text
        && whole.trim() != text.trim()
    {
        let words = format!("the text is {}, not {}", excerpt(text.trim()), excerpt(whole.trim()));
        misses.push(miss("text", words));
    }
    let absent = expect.contains.iter().filter(|part| !text.contains(part.as_str()));
    misses.extend(absent.map(|part| {
        miss("contains", format!("the text does not contain {}: {}", excerpt(part), excerpt(text)))
    }));
    let pattern = excerpt(expect.matches.as_deref().unwrap_or_default());
    match expect.is_matched(text) {
        Ok(true) => {}
        Ok(false) => {
            misses.push(miss("matches", format!("the text does not match {pattern}: {}", excerpt(text))))
        }
        Err(why) => misses.push(miss("matches", format!("{pattern} is not a usable pattern: {why}"))),
    }
    misses
}

fn of_json(expect: &Expectation, content: &[Content], text: &str) -> Vec<Miss> {
    let key = if expect.json.is_empty() { "schema" } else { "json" };
    let read;
    let value = match structured(content) {
        Some(value) => value,
        None => match serde_json::from_str::<Value>(text.trim()) {
            Ok(value) => {
                read = value;
                &read
            }
            Err(_) => return vec![miss(key, format!("the result is not JSON: {}", excerpt(text)))],
        },
    };
    let mut misses: Vec<Miss> =
        expect.json.iter().filter_map(|(pointer, wanted)| at(value, pointer, wanted)).collect();
    if let Some(schema) = &expect.schema {
        misses.extend(unfit(schema, value));
    }
    misses
}

/// Numbers count by their value (`7` is `7.0`), the keys of an object in any order.
fn at(value: &Value, pointer: &str, wanted: &Value) -> Option<Miss> {
    let shown = excerpt(pointer);
    match value.pointer(pointer) {
        Some(found) if canonical(found) == canonical(wanted) => None,
        Some(found) => {
            let words = format!("{shown} is {}, not {}", json_excerpt(found), json_excerpt(wanted));
            Some(miss("json", words))
        }
        None => Some(miss("json", format!("no value at {shown}: {}", json_excerpt(value)))),
    }
}

fn unfit(schema: &Value, value: &Value) -> Vec<Miss> {
    let words = |SchemaFault { pointer, message }| match pointer.as_str() {
        "" => format!("the result does not match the schema: {message}"),
        _ => format!("{pointer} does not match the schema: {message}"),
    };
    match ValueSchema::compile(schema) {
        Ok(schema) => schema.check(value).into_iter().map(|fault| miss("schema", words(fault))).collect(),
        Err(error) => vec![miss("schema", format!("the schema of the test cannot be used: {error}"))],
    }
}

#[cfg(test)]
mod tests;
