//! The input of a request: the visible part of the transcript, the tools, the controls.

use converse_canister::{Blobs, Canister, Declaration};
use serde_json::Value;

use crate::Facts;

/// Everything a request is made from. `view` is a projection of the transcript: it follows the same rules, but may leave
/// out old parts.
#[derive(Clone, Copy)]
pub struct Prompt<'a> {
    pub model: &'a str,
    pub view: &'a [Canister],
    pub tools: &'a [Declaration],
    pub controls: &'a Controls,
    pub facts: &'a Facts,
    pub blobs: &'a dyn Blobs,
}

impl std::fmt::Debug for Prompt<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Prompt").field("model", &self.model).field("view", &self.view).finish_non_exhaustive()
    }
}

/// Neutral request parameters. `None` means "not sent": providers differ in their defaults and in what they refuse.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Controls {
    pub stream: bool,
    pub temperature: Option<f64>,
    pub top_p: Option<f64>,
    pub stop: Vec<String>,
    pub max_output_tokens: Option<u32>,
    pub effort: Option<Effort>,
    /// Ask for readable reasoning where the wire sends it only on request: OpenAI's Responses sends a summary to verified
    /// organisations.
    pub show_reasoning: bool,
    /// Schema of the answer, if the reply's text must be JSON.
    pub answer: Option<AnswerFormat>,
    /// The call that the model must make. Without effect in a request without tools.
    pub forced: Option<ForcedCall>,
    /// Whether a reply may have at most one call. Without effect in a request without tools.
    pub single_call: bool,
    /// Models that the server may take instead, in order (OpenRouter's `models`).
    pub fallbacks: Vec<String>,
    /// Keys merged into the request's root as they are, for what has no neutral name.
    pub extra: serde_json::Map<String, Value>,
}

/// A call that a model must make before it answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ForcedCall {
    /// Of any tool.
    Any,
    /// Of the tool with this name.
    Tool(String),
}

/// Format of the final answer, which is checked against the schema afterwards in any case.
#[derive(Debug, Clone, PartialEq)]
pub struct AnswerFormat {
    /// `[a-zA-Z0-9_-]{1,64}`; wires want one.
    pub name: String,
    /// JSON Schema, as the user wrote it.
    pub schema: Value,
}

impl AnswerFormat {
    /// Returns a paragraph for the system text, for models for which the wire cannot enforce the schema.
    pub fn in_words(&self) -> String {
        format!(
            "When you give your final answer, write JSON and nothing else: no words around it, no code fence. It must \
             be valid by this JSON Schema: {}",
            self.schema
        )
    }
}

/// Reasoning effort of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    None,
    Minimal,
    Low,
    Medium,
    High,
    /// Where a wire has no such word: [`Effort::High`].
    XHigh,
    Max,
}

impl Effort {
    /// The words for each effort, on the command line and on the wires of OpenAI.
    pub const WORDS: [(&'static str, Self); 7] = [
        ("none", Self::None),
        ("minimal", Self::Minimal),
        ("low", Self::Low),
        ("medium", Self::Medium),
        ("high", Self::High),
        ("xhigh", Self::XHigh),
        ("max", Self::Max),
    ];

    /// Returns the effort that a word means.
    pub fn named(word: &str) -> Option<Self> {
        Self::WORDS.iter().find(|(name, _)| *name == word).map(|(_, effort)| *effort)
    }
}
