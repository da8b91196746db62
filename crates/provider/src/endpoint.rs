//! Where a model is reached and what is odd about the server there. OpenAI-compatible servers are rows, not code.

use converse_canister::{Maker, ProviderName};

/// Which wire is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dialect {
    AnthropicMessages,
    OpenAiChat,
}

impl Dialect {
    pub fn label(self) -> &'static str {
        match self {
            Self::AnthropicMessages => "anthropic-messages",
            Self::OpenAiChat => "openai-chat",
        }
    }
}

/// How a key is presented. The key itself is the wire's business.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuthScheme {
    None,
    Bearer,
    /// The key alone, in this header (`x-api-key`).
    Header(&'static str),
}

/// One provider as it is reached in this run.
#[derive(Debug, Clone, PartialEq)]
pub struct Endpoint {
    pub provider: ProviderName,
    pub dialect: Dialect,
    /// As the official SDKs read theirs: Anthropic's without `/v1`, OpenAI's with it.
    pub base_url: String,
    pub auth: AuthScheme,
    pub quirks: Quirks,
}

impl Endpoint {
    /// The stamp for what this endpoint makes.
    pub fn maker(&self, model: &str) -> Maker {
        Maker {
            provider: self.provider.clone(),
            dialect: self.dialect.label().to_owned(),
            model: model.to_owned(),
            endpoint: self.base_url.clone(),
        }
    }
}

/// Departures of compatible servers from the wire they claim. The default is OpenAI's own behaviour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quirks {
    /// `max_completion_tokens` (OpenAI) or `max_tokens` (nearly everybody else).
    pub max_tokens_key: &'static str,
    /// Does it know `stream_options`?
    pub stream_options: bool,
    /// The key under which reasoning must be sent back with calls, if any (`reasoning_content` for DeepSeek,
    /// `reasoning_details` for OpenRouter).
    pub replay_reasoning: Option<&'static str>,
    /// Mistral accepts only ids of exactly nine alphanumerics.
    pub nine_char_ids: bool,
    /// `reasoning_effort` is understood.
    pub effort: bool,
}

impl Default for Quirks {
    fn default() -> Self {
        Self::OPENAI
    }
}

impl Quirks {
    /// OpenAI's own behaviour.
    pub const OPENAI: Self = Self {
        max_tokens_key: "max_completion_tokens",
        stream_options: true,
        replay_reasoning: None,
        nine_char_ids: false,
        effort: true,
    };

    /// For a server nothing is known about: the oldest keys, and nothing that might be refused.
    pub const CAUTIOUS: Self = Self {
        max_tokens_key: "max_tokens",
        stream_options: false,
        replay_reasoning: None,
        nine_char_ids: false,
        effort: false,
    };
}
