//! `$ref`: to nowhere, to another document, in a circle, and with company.
//!
//! No provider fetches anything. Anthropic and OpenAI take a schema with a reference that leads nowhere (no refusal is
//! known), and the model is left to guess; Gemini resolves references and refuses.
//!
//! Error text of Gemini: <https://github.com/google-gemini/gemini-cli/issues/13326> (undefined),
//! <https://github.com/anomalyco/opencode/issues/12295> (company); circles: google-genai 3.4.0, `response_json_schema`.
//! Checked 2026-11.

use std::collections::HashMap;

use serde_json::Value;

use super::walk::SchemaNode;
use super::{Effect, Fault, LintTarget};

/// References of one schema that are looked at: each may mean a walk through all of it.
const MAX_REFERENCES: usize = 200;
/// Steps from one reference to the next at the root.
const MAX_STEPS: usize = 8;

pub(super) fn faults(which: LintTarget, root: &Value, nodes: &[SchemaNode<'_>]) -> Vec<Fault> {
    let graph = Graph::of(root, nodes);
    let references =
        nodes.iter().enumerate().filter_map(|(at, node)| Some((at, node, node.get("$ref")?.as_str()?)));
    let mut faults = Vec::new();
    for (at, node, reference) in references.take(MAX_REFERENCES) {
        let mut fault = |kind, effect, says: String| {
            faults.push(Fault { kind, pointer: format!("{}/$ref", node.pointer), says, effect });
        };
        let gemini = which == LintTarget::Gemini;
        let lost = if gemini { Effect::Refused } else { Effect::Unheeded };
        let verb = if gemini { "refuses" } else { "does not follow" };
        match graph.target(reference) {
            Target::Elsewhere => {
                fault("remote-reference", lost, format!("{verb} a `$ref` to another document"));
            }
            Target::Nowhere => {
                fault("dangling-reference", lost, format!("{verb} a `$ref` whose target does not exist"))
            }
            Target::Within(target) if gemini && !node.is_root() => {
                match graph.circle(at, target) {
                    Cycle::None => {}
                    Cycle::Optional => fault(
                        "circle",
                        Effect::Unheeded,
                        "expands a `$ref` that refers to itself only a few times".to_owned(),
                    ),
                    Cycle::Required => fault(
                        "required-circle",
                        Effect::Refused,
                        "accepts a `$ref` that refers to itself only below a property that is not required"
                            .to_owned(),
                    ),
                }
                fault("reference", Effect::OtherField, "does not support `$ref` in `parameters`".to_owned());
            }
            Target::Within(_) => {}
        }
        if gemini && let Some(company) = company(node) {
            let says = format!("does not accept `{company}` next to a `$ref`");
            fault("reference-with-company", Effect::Refused, says);
        }
    }
    faults
}

/// Returns a keyword beside the reference that is not allowed there.
fn company<'a>(node: &SchemaNode<'a>) -> Option<&'a str> {
    let keys = node.schema.as_object()?.keys().map(String::as_str);
    keys.filter(|_| !node.is_root())
        .find(|key| !key.starts_with('$') && !["description", "default"].contains(key))
}

enum Target {
    /// The number of a site.
    Within(usize),
    Nowhere,
    Elsewhere,
}

#[derive(Debug, PartialEq, Eq)]
enum Cycle {
    None,
    /// It passes a property that may be left out.
    Optional,
    Required,
}

/// Sites and the ways from one to the next.
struct Graph<'a> {
    root: &'a Value,
    nodes: &'a [SchemaNode<'a>],
    numbers: HashMap<&'a str, usize>,
    /// For each node, the nodes that it leads to, and whether the value there is optional.
    ways: Vec<Vec<(usize, bool)>>,
}

impl<'a> Graph<'a> {
    fn of(root: &'a Value, nodes: &'a [SchemaNode<'a>]) -> Self {
        let numbers =
            nodes.iter().enumerate().map(|(number, node)| (node.pointer.as_str(), number)).collect();
        let mut graph = Self { root, nodes, numbers, ways: vec![Vec::new(); nodes.len()] };
        for (number, node) in nodes.iter().enumerate() {
            if let Some((parent, optional)) = graph.parent(node)
                && let Some(ways) = graph.ways.get_mut(parent)
            {
                ways.push((number, optional));
            }
            let reference = node.get("$ref").and_then(Value::as_str);
            if let Some(Target::Within(target)) = reference.map(|reference| graph.target(reference))
                && let Some(ways) = graph.ways.get_mut(number)
            {
                ways.push((target, false));
            }
        }
        graph
    }

    /// The schema around this one, unless it only keeps it for references.
    fn parent(&self, node: &SchemaNode<'_>) -> Option<(usize, bool)> {
        let (before, last) = node.pointer.rsplit_once('/')?;
        if let Some(parent) = self.numbers.get(before) {
            return Some((*parent, last == "additionalProperties"));
        }
        let (around, keyword) = before.rsplit_once('/')?;
        let parent = *self.numbers.get(around)?;
        match keyword {
            "$defs" | "definitions" => None,
            "properties" => {
                let name = last.replace("~1", "/").replace("~0", "~");
                let required = self.nodes.get(parent)?.get("required").and_then(Value::as_array);
                Some((parent, !required.is_some_and(|names| names.iter().any(|known| *known == name))))
            }
            keyword => Some((parent, keyword == "patternProperties")),
        }
    }

    fn target(&self, reference: &str) -> Target {
        let Some(fragment) = reference.strip_prefix('#') else { return Target::Elsewhere };
        let target = match fragment {
            "" => self.numbers.get(""),
            pointer if pointer.starts_with('/') => self.numbers.get(pointer),
            anchor => {
                let named = |node: &&SchemaNode<'_>| node.get("$anchor").is_some_and(|name| name == anchor);
                self.nodes.iter().find(named).and_then(|node| self.numbers.get(node.pointer.as_str()))
            }
        };
        match target {
            Some(number) => Target::Within(*number),
            // The target exists, but not where schemas are; other tools may use it.
            None if self.root.pointer(fragment).is_some() => Target::Within(0),
            None => Target::Nowhere,
        }
    }

    fn circle(&self, at: usize, target: usize) -> Cycle {
        match (self.leads(target, at, true), self.leads(target, at, false)) {
            (_, true) => Cycle::Required,
            (true, false) => Cycle::Optional,
            (false, false) => Cycle::None,
        }
    }

    fn leads(&self, from: usize, to: usize, through_optional: bool) -> bool {
        let mut seen = vec![false; self.nodes.len()];
        let mut waiting = vec![from];
        while let Some(number) = waiting.pop() {
            if number == to {
                return true;
            }
            if seen.get_mut(number).is_none_or(|seen| std::mem::replace(seen, true)) {
                continue;
            }
            let ways = self.ways.get(number).into_iter().flatten();
            waiting.extend(
                ways.filter(|(_, optional)| through_optional || !optional).map(|(number, _)| *number),
            );
        }
        false
    }
}

/// Returns the pointer in the author's schema for a pointer in the schema that is sent: the root may be a `$ref`, which
/// is replaced by its target.
pub(super) fn written_at(written: &Value, pointer: &str) -> String {
    let mut base = String::new();
    for _ in 0..MAX_STEPS {
        let at = format!("{base}{pointer}");
        if written.pointer(&at).is_some() {
            return at;
        }
        let reference = written.pointer(&base).and_then(|schema| schema.get("$ref")).and_then(Value::as_str);
        match reference.and_then(|reference| reference.strip_prefix('#')) {
            Some(next) => base = next.to_owned(),
            None => break,
        }
    }
    String::new()
}
