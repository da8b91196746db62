//! A provider's endpoint and its differences from the wire. OpenAI-compatible servers are rows, not code.

use converse_canister::{Maker, ProviderName};

use crate::Patch;

/// Wire protocol of an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dialect {
    AnthropicMessages,
    OpenAiChat,
    OpenAiResponses,
    /// `generateContent` and `streamGenerateContent`.
    Gemini,
    /// Ollama's own `/api/chat`.
    Ollama,
}

impl Dialect {
    pub fn label(self) -> &'static str {
        match self {
            Self::AnthropicMessages => "anthropic-messages",
            Self::OpenAiChat => "openai-chat",
            Self::OpenAiResponses => "openai-responses",
            Self::Gemini => "gemini",
            Self::Ollama => "ollama",
        }
    }
}

impl Dialect {
    pub const ALL: [Self; 5] =
        [Self::AnthropicMessages, Self::OpenAiChat, Self::OpenAiResponses, Self::Gemini, Self::Ollama];
}

/// How a key is sent. The HTTP client adds the key itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuthScheme {
    None,
    Bearer,
    /// The key alone, in this header (`x-api-key`).
    Header(&'static str),
}

/// A provider's endpoint in this run.
#[derive(Debug, Clone, PartialEq)]
pub struct Endpoint {
    pub provider: ProviderName,
    pub dialect: Dialect,
    /// Base URL as in the official SDKs: Anthropic's without `/v1`, OpenAI's with it.
    pub base_url: String,
    pub auth: AuthScheme,
    pub quirks: Quirks,
    /// The version of the wire where it has several: Anthropic's `anthropic-version`, Azure's `api-version`.
    pub version: Option<String>,
    /// Sent with every request. Never a key.
    pub headers: Vec<(String, String)>,
    /// Changes to every request's body, for server differences without a flag.
    pub patches: Vec<Patch>,
    /// How tools are offered.
    pub tools: ToolProtocol,
}

/// How tools are declared to a model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ToolProtocol {
    /// By the wire's own declarations.
    #[default]
    Native,
    /// In the system text, for models without tool support; opt-in.
    Prompted,
}

impl Endpoint {
    /// Creates an endpoint without version, headers or patches.
    pub fn new(
        provider: ProviderName,
        dialect: Dialect,
        base_url: String,
        auth: AuthScheme,
        quirks: Quirks,
    ) -> Self {
        Self {
            provider,
            dialect,
            base_url,
            auth,
            quirks,
            version: None,
            headers: Vec::new(),
            patches: Vec::new(),
            tools: ToolProtocol::Native,
        }
    }

    /// Returns whether a request to this endpoint can force a call of a tool.
    pub fn forces_calls(&self) -> bool {
        self.tools == ToolProtocol::Native && self.dialect != Dialect::Ollama
    }

    /// Returns whether a request to this endpoint can limit a reply to one call.
    pub fn limits_calls(&self) -> bool {
        self.forces_calls() && self.dialect != Dialect::Gemini
    }

    /// Returns the origin stamp for replies of this endpoint.
    pub fn maker(&self, model: &str) -> Maker {
        Maker {
            provider: self.provider.clone(),
            dialect: self.dialect.label().to_owned(),
            model: model.to_owned(),
            endpoint: self.base_url.clone(),
        }
    }
}

/// Differences of compatible servers from the wire they claim. The default is OpenAI's own behaviour. What a model can
/// do, as opposed to its server, is [`crate::Facts`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quirks {
    /// `max_completion_tokens` (OpenAI) or `max_tokens` (nearly everybody else).
    pub max_tokens_key: &'static str,
    /// Whether it accepts `stream_options`.
    pub stream_options: bool,
    /// How reasoning is sent back with calls.
    pub replay_reasoning: ReasoningReplay,
    /// Mistral accepts only ids of exactly nine alphanumerics.
    pub nine_char_ids: bool,
    /// `reasoning_effort` is understood.
    pub effort: bool,
    /// An assistant message with calls and without text says `content: null`; else the empty text, which older
    /// templates want.
    pub null_content: bool,
    /// Whether a user message may follow a `tool` message. Mistral answers 400 unless an assistant message is between.
    pub user_after_tool: bool,
    /// A history with calls is refused where no tools are declared: proxies to Anthropic's models.
    pub retired_tools: bool,
    /// Support for answers in a JSON Schema.
    pub structured: Structured,
    /// Whether `response_format` and tools work together. Groq refuses a request with both; servers that apply it as a
    /// grammar to every token never call a tool.
    pub format_beside_tools: bool,
    /// Whether system texts of reasoning models use the role `developer`; otherwise `system`, which every server
    /// accepts.
    pub developer_role: bool,
    /// Responses: `include: ["reasoning.encrypted_content"]` is asked for. OpenAI gives it unasked by now; compatible
    /// servers may not know the word.
    pub include_encrypted: bool,
    /// Responses: replies may be kept there (`store: true`), and the next request names the last one instead of
    /// repeating it. Only if the user says so.
    pub stored: bool,
    /// Chat: `cache_control` on parts of the content is understood (OpenRouter, for Anthropic's models).
    pub cache_control: bool,
    /// Chat: `models`, others to try in order, is understood (OpenRouter).
    pub fallbacks: bool,
}

/// How reasoning that came with calls is sent back to the server that sent it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReasoningReplay {
    /// Never: strict servers refuse unknown keys.
    Never,
    /// Within the user's turn, under the key it came under (`reasoning_content` or `reasoning`). The templates of local
    /// models read it there, and leave it out of earlier turns. A server that sends no reasoning gets none.
    InTurn,
    /// In all later requests, under this key (`reasoning_content` for DeepSeek, `reasoning_details` for OpenRouter).
    Always(&'static str),
}

/// Support for `response_format`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Structured {
    /// Nothing.
    None,
    /// `json_object`: some JSON.
    JsonObject,
    /// `json_schema`.
    JsonSchema,
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
        replay_reasoning: ReasoningReplay::InTurn,
        nine_char_ids: false,
        effort: true,
        null_content: true,
        user_after_tool: true,
        retired_tools: false,
        structured: Structured::JsonSchema,
        format_beside_tools: true,
        developer_role: true,
        include_encrypted: true,
        stored: false,
        cache_control: false,
        fallbacks: false,
    };

    /// For an unknown server: the oldest keys, and nothing that might be refused.
    pub const CAUTIOUS: Self = Self {
        max_tokens_key: "max_tokens",
        stream_options: false,
        replay_reasoning: ReasoningReplay::InTurn,
        nine_char_ids: false,
        effort: false,
        null_content: true,
        user_after_tool: true,
        retired_tools: false,
        structured: Structured::None,
        format_beside_tools: false,
        developer_role: false,
        include_encrypted: false,
        stored: false,
        cache_control: false,
        fallbacks: false,
    };
}
