//! The operations that the user chose of a document.

use std::collections::BTreeSet;

use converse_config::{Code, Severity};
use converse_text::suggest::nearest;

use super::document::Node;
use super::finding::{Findings, quoted};
use super::operation::Operation;
use super::{ApiOptions, MAX_TOOLS};

/// The names in a hint.
const MAX_NAMED: usize = 20;

/// Returns the operations that the options name, or all; an error if there is none of one name.
pub(super) fn select<'a, 'd>(
    all: &'a [(String, Operation<'d>)],
    options: &ApiOptions,
    findings: &mut Findings,
) -> Option<Vec<(&'a str, &'a Operation<'d>)>> {
    let id = |name: &'a str, operation: &Operation<'d>| operation.node.text_of("operationId").unwrap_or(name);
    let is_called = |wished: &str, (name, operation): &'a (String, Operation<'d>)| {
        name == wished || id(name, operation) == wished
    };
    let known_tags: BTreeSet<&str> = all.iter().flat_map(|(_, operation)| tags(operation)).collect();
    let mut is_sound = true;
    for tag in options.tags.iter().filter(|tag| !known_tags.contains(tag.as_str())) {
        unknown("tag", tag, &known_tags.iter().copied().collect::<Vec<_>>(), findings);
        is_sound = false;
    }
    for path in options.paths.iter().filter(|path| !all.iter().any(|(_, one)| is_on(path, one.path))) {
        let known: Vec<&str> = all.iter().map(|(_, operation)| operation.path).collect();
        unknown("path", path, &known, findings);
        is_sound = false;
    }
    for wished in options.operations.iter().filter(|wished| !all.iter().any(|one| is_called(wished, one))) {
        let known: Vec<&str> = all.iter().map(|(name, operation)| id(name, operation)).collect();
        unknown("operation", wished, &known, findings);
        is_sound = false;
    }
    let is_all = options.tags.is_empty() && options.paths.is_empty() && options.operations.is_empty();
    let is_chosen = |one: &&'a (String, Operation<'d>)| {
        is_all
            || tags(&one.1).iter().any(|tag| options.tags.iter().any(|wished| wished == tag))
            || options.paths.iter().any(|wished| is_on(wished, one.1.path))
            || options.operations.iter().any(|wished| is_called(wished, one))
    };
    let chosen: Vec<_> =
        all.iter().filter(is_chosen).map(|(name, operation)| (name.as_str(), operation)).collect();
    if chosen.len() > MAX_TOOLS {
        let message =
            format!("these are {} operations: an ensemble has at most {MAX_TOOLS} tools", chosen.len());
        let mut hint = "choose with `--tag`, `--path` or `--operation`".to_owned();
        if !known_tags.is_empty() {
            let tags: Vec<&str> = known_tags.iter().copied().collect();
            hint.push_str(&format!("; tags of the document: {}", first_of(&tags)));
        }
        findings.whole(Code::TooMany, message, Some(hint));
        return None;
    }
    is_sound.then_some(chosen)
}

fn tags<'d>(operation: &Operation<'d>) -> Vec<&'d str> {
    operation.node.get("tags").map_or(&[][..], Node::items).iter().filter_map(Node::text).collect()
}

/// Whether the path is the one that the user named, or begins like it.
fn is_on(wished: &str, path: &str) -> bool {
    match wished.strip_suffix('*') {
        Some(start) => path.starts_with(start),
        None => path == wished,
    }
}

/// `option` is the name of the option, without its dashes.
fn unknown(option: &str, wished: &str, known: &[&str], findings: &mut Findings) {
    let hint = match nearest(wished, known.iter().copied()) {
        Some(near) => format!("did you mean {}?", quoted(near)),
        None if known.is_empty() => format!("the document has no {option}s: leave `--{option}` out"),
        None => format!("the document has: {}", first_of(known)),
    };
    let message = format!("the document has no {option} {}", quoted(wished));
    findings.option(Severity::Error, Code::OpenapiDocument, option, message, Some(hint));
}

fn first_of(names: &[&str]) -> String {
    let first = names.iter().take(MAX_NAMED).map(|name| quoted(name)).collect::<Vec<_>>().join(", ");
    let more = names.len().saturating_sub(MAX_NAMED);
    if more > 0 { format!("{first} and {more} more") } else { first }
}
