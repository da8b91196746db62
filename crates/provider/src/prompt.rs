//! What a model is asked: the part of the transcript it shall see, the tools, the controls.

use converse_canister::{Blobs, Canister, Declaration};
use serde_json::Value;

/// Everything a request is made from. `view` is a projection of the transcript: it obeys the same law, but may leave
/// out old parts.
#[derive(Clone, Copy)]
pub struct Prompt<'a> {
    pub model: &'a str,
    pub view: &'a [Canister],
    pub tools: &'a [Declaration],
    pub controls: &'a Controls,
    pub blobs: &'a dyn Blobs,
}

impl std::fmt::Debug for Prompt<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Prompt").field("model", &self.model).field("view", &self.view).finish_non_exhaustive()
    }
}

/// Neutral request parameters. `None` is "not sent": providers differ in their defaults and in what they refuse.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Controls {
    pub stream: bool,
    pub temperature: Option<f64>,
    pub max_output_tokens: Option<u32>,
    pub effort: Option<Effort>,
    /// Keys merged into the request's root as they are, for what has no neutral name.
    pub extra: serde_json::Map<String, Value>,
}

/// How hard a reasoning model shall think.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    None,
    Minimal,
    Low,
    Medium,
    High,
    Max,
}
