//! Invocations that a model wrote into its text instead of making them.
//!
//! A server whose template or parser does not know the model's own format returns it as text, and a weak model may
//! write a format that it has seen elsewhere. Such text is recognised only to warn the user. Nothing is run from it,
//! because text may also quote, explain or repeat the output of a tool.
//!
//! Only names of offered tools count. A format with its own marker is accepted anywhere. Plain JSON must be an
//! invocation and nothing else, and must end the text: a JSON answer with a `name` is not an invocation. Each form goes
//! through the text once, on stretches that do not overlap.
//!
//! The forms (checked 2026-11): <https://docs.vllm.ai/en/latest/features/tool_calling.html> and its parsers (Hermes,
//! Qwen, Mistral, Llama, Granite, DeepSeek, Kimi, GLM, Pythonic, Phi-4), `<function=…>`
//! <https://github.com/QwenLM/Qwen3-Coder> and <https://www.llama.com/docs/model-cards-and-prompt-formats/llama3_1/>,
//! `functools` <https://github.com/microsoft/PhiCookBook>, `tool_code`
//! <https://ai.google.dev/gemma/docs/capabilities/function-calling>, Harmony <https://github.com/openai/harmony>.

mod shape;
#[cfg(test)]
mod tests;

use converse_canister::Declaration;

use shape::{Trust, calls_in_json, calls_in_python, offered};

/// Limit on the calls that are searched for; one is enough to warn the user.
const MAX_CALLS: usize = 16;

/// An invocation that was written and not made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextCall {
    /// As it is offered.
    pub tool: String,
    /// The marker of the form: `<tool_call>`, `[TOOL_CALLS]`, `json`.
    pub form: &'static str,
}

/// The content after a marker.
#[derive(Clone, Copy)]
enum After {
    /// JSON, or the tool's name.
    JsonOrName,
    Name,
    /// JSON whose bracket is the marker's last character.
    JsonList,
}

/// Marker, what follows it, and what the form is called.
const MARKERS: &[(&str, After, &str)] = &[
    // Hermes, Qwen 2.5 and 3 (JSON), GLM (a name)
    ("<tool_call>", After::JsonOrName, "<tool_call>"),
    // Qwen3-Coder, Llama 3.1's custom functions
    ("<function=", After::Name, "<function=…>"),
    ("<function_call>", After::JsonOrName, "<function_call>"),
    // Granite
    ("<|tool_call|>", After::JsonOrName, "<|tool_call|>"),
    // Mistral, old (JSON) and new (a name, `[ARGS]`)
    ("[TOOL_CALLS]", After::JsonOrName, "[TOOL_CALLS]"),
    // Llama 3
    ("<|python_tag|>", After::JsonOrName, "<|python_tag|>"),
    // Phi-4, FireFunction
    ("functools[", After::JsonList, "functools[…]"),
    // DeepSeek V3.1 has the name before the separator, V3 and R1 after it, V3.2 in a tag
    ("<｜tool▁call▁begin｜>", After::Name, "<｜tool▁call▁begin｜>"),
    ("<｜tool▁sep｜>", After::Name, "<｜tool▁sep｜>"),
    ("<｜DSML｜invoke name=\"", After::Name, "<｜DSML｜invoke>"),
    // Kimi K2
    ("<|tool_call_begin|>", After::Name, "<|tool_call_begin|>"),
    // Claude's old form, MiniMax
    ("<invoke name=\"", After::Name, "<invoke>"),
    // gpt-oss
    ("to=functions.", After::Name, "to=functions.…"),
    // FunctionGemma
    ("<start_function_call>call:", After::Name, "<start_function_call>"),
    // Gemini and Gemma
    ("print(default_api.", After::Name, "print(default_api.…)"),
    // ReAct
    ("\nAction: ", After::Name, "Action:"),
];

/// Returns the invocations of offered tools in a text, ordered by format. Linear in the length of the text.
pub fn text_calls(text: &str, tools: &[Declaration]) -> Vec<TextCall> {
    if tools.is_empty() {
        return Vec::new();
    }
    let mut calls = marked(text, tools);
    if calls.is_empty() {
        calls = fenced(text, tools);
    }
    if calls.is_empty() {
        calls = bare(text.trim(), tools);
    }
    calls.truncate(MAX_CALLS);
    calls
}

fn marked(text: &str, tools: &[Declaration]) -> Vec<TextCall> {
    // ReAct's line may be the first.
    let padded = if text.starts_with("Action: ") { Some(format!("\n{text}")) } else { None };
    let text = padded.as_deref().unwrap_or(text);
    let mut calls = Vec::new();
    for (marker, after, form) in MARKERS {
        let mut segments = text.split(marker);
        let mut before = segments.next().unwrap_or_default();
        for segment in segments {
            // In inline code it is quoted.
            let quoted = before.ends_with('`') && !before.ends_with("```");
            if !quoted && calls.len() < MAX_CALLS {
                let names = names_after(*after, segment, tools);
                calls.extend(names.into_iter().map(|tool| TextCall { tool, form }));
            }
            before = segment;
        }
    }
    calls
}

fn names_after(after: After, segment: &str, tools: &[Declaration]) -> Vec<String> {
    let start = segment.trim_start();
    match after {
        After::JsonList => calls_in_json(&format!("[{start}"), tools, Trust::Marked),
        After::JsonOrName if start.starts_with(['{', '[']) => calls_in_json(start, tools, Trust::Marked),
        After::JsonOrName | After::Name => named(start, tools).into_iter().collect(),
    }
}

/// The name at the start, if what follows it is more than prose: `weather(`, `weather{`, `weather"`, a new line.
fn named(text: &str, tools: &[Declaration]) -> Option<String> {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && !"_-.:/".contains(c)).unwrap_or(text.len());
    let (name, rest) = text.split_at_checked(end)?;
    let goes_on = rest.is_empty() || rest.starts_with(['(', '{', '[', '<', '>', '"', '\n', '\r', ' ']);
    offered(name, tools).filter(|_| goes_on)
}

/// Fences whose label names calls; a fence that is labelled only as JSON must end the text.
fn fenced(text: &str, tools: &[Declaration]) -> Vec<TextCall> {
    let mut calls = Vec::new();
    let parts: Vec<&str> = text.split("```").collect();
    // The last prose: a fence behind it is the end of the text.
    let prose = parts.iter().enumerate().step_by(2).rfind(|(_, part)| !part.trim().is_empty());
    let prose = prose.map_or(0, |(place, _)| place);
    for (place, part) in parts.iter().enumerate().skip(1).step_by(2) {
        let (info, body) = part.split_once('\n').unwrap_or(("", part));
        let last = place > prose;
        let (names, form) = match info.trim() {
            "tool_call" | "tool_calls" | "function_call" | "tool" => {
                (calls_in_json(body.trim(), tools, Trust::Marked), "```tool_call")
            }
            "tool_code" => (calls_in_python(body, tools), "```tool_code"),
            "json" | "" if last => (calls_in_json(body.trim(), tools, Trust::Bare), "```json"),
            _ => continue,
        };
        calls.extend(names.into_iter().map(|tool| TextCall { tool, form }));
        if calls.len() >= MAX_CALLS {
            break;
        }
    }
    calls
}

/// JSON from some line to the end of the text, or nothing but calls as Python writes them.
fn bare(text: &str, tools: &[Declaration]) -> Vec<TextCall> {
    let form = |form| move |tool| TextCall { tool, form };
    let first = if text.starts_with(['{', '[']) { Some(0) } else { None };
    let first = first.or_else(|| [text.find("\n{"), text.find("\n[")].into_iter().flatten().min());
    let last = text.rfind("\n{").max(text.rfind("\n["));
    for start in first.into_iter().chain(last.filter(|last| Some(*last) != first)) {
        let names = calls_in_json(text.get(start..).unwrap_or_default().trim(), tools, Trust::Bare);
        if !names.is_empty() {
            return names.into_iter().map(form("json")).collect();
        }
    }
    let listed = text.strip_prefix('[').and_then(|inner| inner.strip_suffix(']'));
    let python = listed.or(Some(text).filter(|text| !text.contains('\n'))).filter(|text| text.ends_with(')'));
    let names = python.map(|text| calls_in_python(text, tools)).unwrap_or_default();
    names.into_iter().map(form("python")).collect()
}
