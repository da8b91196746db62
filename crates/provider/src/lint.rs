//! Checks tools against the providers' rules before anything is sent: one bad tool fails the whole request.
//!
//! Known faults are in tables ([`rows`], [`shapes`], [`references`]). To find out whether converse adapts a fault, the
//! tool is translated as for a request and checked again; a fault that is gone was adapted. So the lint cannot promise
//! more than the processors do.
//!
//! No vendor reserves names of arguments (checked 2026-11), so there is no row for that. What a server makes of a schema
//! that is merely unusual cannot be known without asking it; where sources say nothing, nothing is reported.

mod finds;
mod name;
mod references;
mod rows;
mod shapes;
mod walk;

#[cfg(test)]
mod tests;

use converse_canister::Declaration;
use serde_json::Value;

use crate::request::tool_values;
use crate::{TranslateError, anthropic, gemini, openai_chat};

pub use name::lint_name;

/// The provider whose rules a tool is checked against.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LintTarget {
    Anthropic,
    /// Chat Completions with `strict` off, as converse sends it.
    OpenAi,
    /// With the schema under `parametersJsonSchema`, as converse sends it.
    Gemini,
}

impl LintTarget {
    pub const ALL: [Self; 3] = [Self::Anthropic, Self::OpenAi, Self::Gemini];

    /// Returns the provider's name as its documentation writes it.
    pub fn label(self) -> &'static str {
        match self {
            Self::Anthropic => "Anthropic",
            Self::OpenAi => "OpenAI",
            Self::Gemini => "Gemini",
        }
    }
}

/// What converse or the provider does about an objection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Remedy {
    /// converse sends the tool in a form that the provider accepts.
    Adapted,
    /// The request would be refused, or converse does not offer the tool.
    MustChange,
    /// The provider accepts it without effect, or does not enforce the documented limit.
    Ignored,
}

/// One fault of a tool by one provider's rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Objection {
    /// Stable, kebab-case.
    pub kind: &'static str,
    /// JSON pointer into the schema of the arguments; empty for its root and for what is not in the schema.
    pub pointer: String,
    /// What the provider does, and what converse does. Names from the schema are quoted but not yet escaped.
    pub message: String,
    pub remedy: Remedy,
}

/// What happens to a fault that reaches the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effect {
    /// 400, for all tools of the request.
    Refused,
    Unheeded,
    /// Gemini's older `parameters` refuses it, `parametersJsonSchema` does not.
    OtherField,
}

/// Something in a schema that a provider rejects or ignores.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Fault {
    kind: &'static str,
    pointer: String,
    says: String,
    effect: Effect,
}

/// Characters of a description that OpenAI documents as the most. Its own servers have taken longer ones since 2025-05
/// (<https://github.com/run-llama/llama_index/pull/18784>); Azure's and others' refused them long after
/// (<https://github.com/getsentry/sentry-mcp/issues/106>). Checked 2026-11.
const OPENAI_DESCRIPTION: usize = 1024;
/// Most objections that are reported for one tool.
const MAX_OBJECTIONS: usize = 64;

/// Returns the objections of `which` against the tool, in the order of the schema.
pub fn lint(which: LintTarget, tool: &Declaration) -> Vec<Objection> {
    let mut objections = lint_description(which, &tool.description);
    match sent(which, tool) {
        Ok(sent) => objections.extend(compared(which, &tool.arguments, &sent)),
        Err(error) => objections.push(untranslatable(tool, &error)),
    }
    let mut merged = merge(objections);
    merged.truncate(MAX_OBJECTIONS);
    merged
}

fn lint_description(which: LintTarget, description: &str) -> Vec<Objection> {
    let ignored =
        |kind, message: String| Objection { kind, pointer: String::new(), message, remedy: Remedy::Ignored };
    if description.trim().is_empty() {
        return vec![ignored(
            "no-description",
            "accepts it without a description, but models choose tools by their descriptions".into(),
        )];
    }
    let length = description.chars().count();
    if which == LintTarget::OpenAi && length > OPENAI_DESCRIPTION {
        let message = format!(
            "documents descriptions of at most {OPENAI_DESCRIPTION} characters; this one has {length}: its own servers \
             accept that, but compatible servers may reject it"
        );
        return vec![ignored("long-description", message)];
    }
    Vec::new()
}

/// Returns the schema as a request contains it, made by the code that makes requests.
fn sent(which: LintTarget, tool: &Declaration) -> Result<Value, TranslateError> {
    let tool = std::slice::from_ref(tool);
    let (tools, pointer) = match which {
        LintTarget::Anthropic => (tool_values(tool, anthropic::prepare_tool)?, "/0/input_schema"),
        LintTarget::OpenAi => (tool_values(tool, openai_chat::prepare_tool)?, "/0/function/parameters"),
        LintTarget::Gemini => (tool_values(tool, gemini::prepare_tool)?, "/0/parametersJsonSchema"),
    };
    Ok(Value::Array(tools).pointer(pointer).cloned().unwrap_or_default())
}

fn untranslatable(tool: &Declaration, error: &TranslateError) -> Objection {
    let pointer = ["/$ref", "/type"].into_iter().find(|pointer| tool.arguments.pointer(pointer).is_some());
    let reason = match error {
        TranslateError::Tool { reason, .. } => reason.clone(),
        other => other.to_string(),
    };
    Objection {
        kind: "not-an-object",
        pointer: pointer.unwrap_or_default().to_owned(),
        message: format!(
            "accepts only an object as arguments, so converse does not offer the tool: {reason}"
        ),
        remedy: Remedy::MustChange,
    }
}

fn compared(which: LintTarget, written: &Value, sent: &Value) -> Vec<Objection> {
    let (before, after) = (faults(which, written), faults(which, sent));
    let is_in = |faults: &[Fault], kind, pointer: &str| {
        faults.iter().any(|fault: &Fault| fault.kind == kind && fault.pointer == pointer)
    };
    let mut objections = Vec::new();
    for fault in &before {
        let (remedy, message) = match fault.effect {
            Effect::OtherField => (
                Remedy::Adapted,
                format!(
                    "{}; converse sends the schema as `parametersJsonSchema`, which accepts it",
                    fault.says
                ),
            ),
            _ if !is_in(&after, fault.kind, &fault.pointer) && !has_moved(fault, &after) => {
                (Remedy::Adapted, format!("{}; converse sends the tool without this fault", fault.says))
            }
            Effect::Refused => (Remedy::MustChange, fault.says.clone()),
            Effect::Unheeded => (Remedy::Ignored, fault.says.clone()),
        };
        objections.push(Objection { kind: fault.kind, pointer: fault.pointer.clone(), message, remedy });
    }
    // Faults that appear only after a `$ref` at the root is resolved.
    for fault in after.iter().filter(|fault| fault.effect == Effect::Refused) {
        let pointer = references::written_at(written, &fault.pointer);
        if !is_in(&before, fault.kind, &fault.pointer) && !is_in(&before, fault.kind, &pointer) {
            let message = fault.says.clone();
            objections.push(Objection { kind: fault.kind, pointer, message, remedy: Remedy::MustChange });
        }
    }
    objections
}

/// Returns whether a fault in a definition occurs elsewhere after references are resolved.
fn has_moved(fault: &Fault, after: &[Fault]) -> bool {
    let of_a_definition = ["/$defs/", "/definitions/"].iter().any(|place| fault.pointer.starts_with(place));
    of_a_definition && after.iter().any(|other| other.kind == fault.kind && other.says == fault.says)
}

fn faults(which: LintTarget, schema: &Value) -> Vec<Fault> {
    let nodes = walk::nodes(schema);
    let mut faults = rows::faults(which, &nodes);
    faults.extend(shapes::faults(which, &nodes));
    faults.extend(references::faults(which, schema, &nodes));
    faults
}

/// Merges equal objections into the first of them.
fn merge(objections: Vec<Objection>) -> Vec<Objection> {
    let mut merged: Vec<(Objection, usize)> = Vec::new();
    for objection in objections {
        let same = |(known, _): &&mut (Objection, usize)| {
            known.kind == objection.kind
                && known.message == objection.message
                && known.remedy == objection.remedy
        };
        match merged.iter_mut().find(same) {
            Some((known, more)) => *more += usize::from(known.pointer != objection.pointer),
            None => merged.push((objection, 0)),
        }
    }
    let with_count = |(objection, more): (Objection, usize)| match more {
        0 => objection,
        more => Objection { message: format!("{} (and {more} more)", objection.message), ..objection },
    };
    merged.into_iter().map(with_count).collect()
}
