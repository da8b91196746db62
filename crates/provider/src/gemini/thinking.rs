//! Control of reasoning: by a level (`thinkingLevel`, Gemini 3 and later) or by a budget of tokens
//! (`thinkingBudget`, Gemini 2.5), never by both, which is a 400.
//!
//! Summaries of the reasoning are always requested, because they cost nothing extra.
//!
//! Levels: <https://ai.google.dev/gemini-api/docs/thinking#thinking-levels>; not every model accepts every level
//! (probed by others: <https://github.com/bolna-ai/bolna/pull/956>,
//! <https://github.com/egoist/chatwise-releases/issues/1206>), and reasoning cannot be switched off. Budgets: those of
//! Google's own table for `reasoning_effort`, <https://ai.google.dev/gemini-api/docs/openai#thinking>. Checked 2026-11.

use serde_json::{Value, json};

use super::model::{THREE, bare, generation};
use crate::controls::no_reasoning_error;
use crate::{Effort, Facts, Thinking, TranslateError};

/// Prefixes of the models that accept `minimal`; the lowest level of others is `low`.
const MINIMAL: [&str; 3] = ["gemini-3-flash", "gemini-3.1-flash-lite", "gemini-3.5-flash"];
/// A model that accepts only `low` and `high`.
const NO_MEDIUM: &str = "gemini-3-pro";
/// A model whose reasoning cannot be switched off, and its smallest budget.
const ALWAYS_THINKS: (&str, u32) = ("gemini-2.5-pro", 128);
/// Models for images and audio have other controls, if any.
const OTHERS: [&str; 5] = ["image", "tts", "live", "audio", "embedding"];

/// Returns `thinkingConfig`, if it has any key.
pub(super) fn config(
    model: &str,
    facts: &Facts,
    effort: Option<Effort>,
) -> Result<Option<Value>, TranslateError> {
    let known = facts.thinking.or_else(|| usual(model));
    Ok(match (known, effort) {
        (None | Some(Thinking::None), None) | (Some(Thinking::None), Some(Effort::None)) => None,
        (Some(Thinking::None), Some(_)) => return Err(no_reasoning_error(model)),
        (Some(Thinking::Budget | Thinking::Effort), None) => Some(json!({ "includeThoughts": true })),
        (Some(Thinking::Budget), Some(effort)) => Some(by_budget(model, effort)),
        (None | Some(Thinking::Effort), Some(effort)) => {
            Some(json!({ "includeThoughts": true, "thinkingLevel": level(model, effort) }))
        }
    })
}

/// By its name, where nothing is known of it.
fn usual(model: &str) -> Option<Thinking> {
    let is = generation(model)?;
    if OTHERS.iter().any(|other| bare(model).contains(other)) {
        None
    } else if is >= THREE {
        Some(Thinking::Effort)
    } else if is >= (2, 5) {
        Some(Thinking::Budget)
    } else {
        Some(Thinking::None)
    }
}

fn level(model: &str, effort: Effort) -> &'static str {
    match effort {
        Effort::None | Effort::Minimal if MINIMAL.iter().any(|name| bare(model).starts_with(name)) => {
            "minimal"
        }
        Effort::None | Effort::Minimal | Effort::Low => "low",
        Effort::Medium if !bare(model).starts_with(NO_MEDIUM) => "medium",
        Effort::Medium | Effort::High | Effort::XHigh | Effort::Max => "high",
    }
}

fn by_budget(model: &str, effort: Effort) -> Value {
    let tokens = match effort {
        Effort::None if bare(model).starts_with(ALWAYS_THINKS.0) => ALWAYS_THINKS.1,
        Effort::None => return json!({ "thinkingBudget": 0 }),
        Effort::Minimal | Effort::Low => 1024,
        Effort::Medium => 8192,
        Effort::High | Effort::XHigh | Effort::Max => 24_576,
    };
    json!({ "includeThoughts": true, "thinkingBudget": tokens })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(model: &str, thinking: Option<Thinking>, effort: Option<Effort>) -> String {
        let facts = Facts { thinking, ..Facts::default() };
        match config(model, &facts, effort) {
            Ok(None) => "-".to_owned(),
            Ok(Some(config)) => config.to_string().replace(['"', '{', '}'], ""),
            Err(_) => "refused".to_owned(),
        }
    }

    #[test]
    fn a_model_is_told_to_think_in_its_own_way() {
        let (shown, level, budget) = (
            "includeThoughts:true",
            "includeThoughts:true,thinkingLevel:",
            "includeThoughts:true,thinkingBudget:",
        );
        for (model, thinking, effort, expected) in [
            ("gemini-3.1-pro-preview", None, None, shown.to_owned()),
            ("gemini-3.1-pro-preview", None, Some(Effort::None), format!("{level}low")),
            ("gemini-3-flash-preview", None, Some(Effort::None), format!("{level}minimal")),
            ("gemini-3.8-flash", None, Some(Effort::Minimal), format!("{level}low")),
            ("gemini-3-pro-preview", None, Some(Effort::Medium), format!("{level}high")),
            ("models/gemini-3.1-pro", None, Some(Effort::Medium), format!("{level}medium")),
            ("gemini-flash-latest", None, Some(Effort::XHigh), format!("{level}high")),
            ("gemini-2.5-flash", None, None, shown.to_owned()),
            ("gemini-2.5-flash", None, Some(Effort::None), "thinkingBudget:0".to_owned()),
            ("gemini-2.5-pro", None, Some(Effort::None), format!("{budget}128")),
            ("gemini-2.5-pro", None, Some(Effort::Max), format!("{budget}24576")),
            ("gemini-2.0-flash", None, None, "-".to_owned()),
            ("gemini-2.0-flash", None, Some(Effort::None), "-".to_owned()),
            ("gemini-2.0-flash", None, Some(Effort::Low), "refused".to_owned()),
            ("gemini-2.5-flash-image", None, None, "-".to_owned()),
            ("model-1", None, None, "-".to_owned()),
            ("model-1", None, Some(Effort::Low), format!("{level}low")),
            ("model-1", Some(Thinking::Budget), Some(Effort::Medium), format!("{budget}8192")),
            ("gemini-3-pro", Some(Thinking::None), None, "-".to_owned()),
        ] {
            assert_eq!(of(model, thinking, effort), expected, "{model} {effort:?}");
        }
    }
}
