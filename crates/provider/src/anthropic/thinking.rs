//! Control of reasoning: `thinking` and `output_config.effort`.
//!
//! The form depends on the generation of the model. Older models need a budget (`enabled`). Newer ones refuse it and
//! need `adaptive` and an effort level. Models without reasoning refuse both. The known facts decide; without facts,
//! only the level is sent, and `disabled` for no reasoning. The reasoning of some models cannot be switched off, and
//! they refuse `disabled`: the server's message says so.
//!
//! Newer models omit the text of their reasoning unless `display` requests it. It is requested with every effort, so
//! that it can be shown later, and if the user wants to see it without setting an effort.
//!
//! Three things are incompatible with reasoning: a `tool_choice` that forces a tool (reasoning is switched off),
//! sampling parameters (an error: the user asked for both), and with a budget a tool loop whose turn does not begin
//! with reasoning because another model wrote it (reasoning resumes with the next turn).
//!
//! <https://platform.claude.com/docs/en/build-with-claude/adaptive-thinking>,
//! <https://platform.claude.com/docs/en/build-with-claude/extended-thinking>,
//! <https://platform.claude.com/docs/en/build-with-claude/effort> (translations and
//! <https://docs.aws.amazon.com/bedrock/latest/userguide/claude-messages-adaptive-thinking.html> checked 2026-11).

use serde_json::{Value, json};

use crate::controls::no_reasoning_error;
use crate::{Controls, Effort, Prompt, Thinking, TranslateError};

/// The least budget that is taken.
const LEAST: u32 = 1024;
/// Beyond it the vendor advises batches: such requests take too long for a connection.
const MOST: u32 = 32_000;

/// The keys of a request that control thinking.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Thought {
    pub(super) thinking: Option<Value>,
    pub(super) effort: Option<&'static str>,
}

/// `messages` are those of the request.
pub(super) fn thought(
    prompt: &Prompt<'_>,
    max_tokens: u32,
    messages: &[Value],
) -> Result<Thought, TranslateError> {
    let Some(effort) = prompt.controls.effort else { return Ok(default_thinking(prompt)) };
    let disabled = || Thought { thinking: Some(json!({ "type": "disabled" })), effort: None };
    let mut thought = match (prompt.facts.thinking, word(effort)) {
        (Some(Thinking::None), None) => Thought::default(),
        (Some(Thinking::None), Some(_)) => return Err(no_reasoning_error(prompt.model)),
        (_, None) => disabled(),
        (None, word) => Thought { thinking: None, effort: word },
        (Some(Thinking::Effort), word) => Thought { thinking: Some(adaptive()), effort: word },
        (Some(Thinking::Budget), Some(_)) => {
            let budget = budget(effort, max_tokens)?;
            let begun = begins_with_a_thought(messages);
            let enabled = json!({ "type": "enabled", "budget_tokens": budget });
            Thought { thinking: begun.then_some(enabled), effort: None }
        }
    };
    let thinks = thought.thinking.as_ref().is_some_and(|thinking| thinking["type"] != "disabled");
    if thinks && forces_a_tool(prompt.controls) {
        thought.thinking = None;
    } else if thinks {
        unsampled(prompt.controls)?;
    }
    Ok(thought)
}

fn adaptive() -> Value {
    json!({ "type": "adaptive", "display": "summarized" })
}

/// Without an effort the model decides; its thoughts are shown if the user wants to see them. What does not go with thinking
/// was asked for expressly, so it wins.
fn default_thinking(prompt: &Prompt<'_>) -> Thought {
    let controls = prompt.controls;
    let wanted = controls.show_reasoning && prompt.facts.thinking == Some(Thinking::Effort);
    let wanted = wanted && !forces_a_tool(controls) && unsampled(controls).is_ok();
    Thought { thinking: wanted.then(adaptive), effort: None }
}

fn word(effort: Effort) -> Option<&'static str> {
    match effort {
        Effort::None => None,
        Effort::Minimal | Effort::Low => Some("low"),
        Effort::Medium => Some("medium"),
        Effort::High => Some("high"),
        Effort::XHigh => Some("xhigh"),
        Effort::Max => Some("max"),
    }
}

/// A share of what may be written, so that something is left for the answer.
fn budget(effort: Effort, max_tokens: u32) -> Result<u32, TranslateError> {
    if max_tokens <= LEAST {
        let problem =
            format!("thinking needs more than {LEAST} output tokens, but the limit is {max_tokens}");
        return Err(TranslateError::Control(problem));
    }
    let percent = match effort {
        Effort::None | Effort::Minimal => 10,
        Effort::Low => 20,
        Effort::Medium => 50,
        Effort::High => 75,
        Effort::XHigh => 85,
        Effort::Max => 90,
    };
    Ok((max_tokens / 100 * percent).clamp(LEAST, MOST))
}

/// With a budget the last turn must begin with a thought while the results of its calls are what is answered.
fn begins_with_a_thought(messages: &[Value]) -> bool {
    let last = messages.iter().rev().find(|message| message["role"] == "assistant");
    let Some(blocks) = last.and_then(|message| message["content"].as_array()) else { return true };
    let calls = blocks.iter().any(|block| block["type"] == "tool_use");
    let first = blocks.first().and_then(|block| block["type"].as_str());
    !calls || matches!(first, Some("thinking" | "redacted_thinking"))
}

fn forces_a_tool(controls: &Controls) -> bool {
    let kind = controls.extra.get("tool_choice").and_then(|choice| choice["type"].as_str());
    controls.forced.is_some() || matches!(kind, Some("any" | "tool"))
}

fn unsampled(controls: &Controls) -> Result<(), TranslateError> {
    if controls.temperature.is_some_and(|temperature| temperature != 1.0) {
        let problem =
            "a thinking model does not accept a temperature: leave out the temperature or the effort";
        return Err(TranslateError::Control(problem.to_owned()));
    }
    if controls.top_p.is_some_and(|top_p| top_p < 0.95) {
        let problem = "a thinking model accepts a top_p from 0.95 to 1: leave out top_p or the effort";
        return Err(TranslateError::Control(problem.to_owned()));
    }
    Ok(())
}
