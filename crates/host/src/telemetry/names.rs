//! Names of the semantic conventions for generative AI; they are in development and may change.
//!
//! <https://github.com/open-telemetry/semantic-conventions-genai/tree/main/docs/gen-ai>, checked 2026-11.

pub(super) const OPERATION: &str = "gen_ai.operation.name";
pub(super) const PROVIDER: &str = "gen_ai.provider.name";
pub(super) const AGENT: &str = "gen_ai.agent.name";
pub(super) const CONVERSATION: &str = "gen_ai.conversation.id";
pub(super) const REQUEST_MODEL: &str = "gen_ai.request.model";
pub(super) const RESPONSE_MODEL: &str = "gen_ai.response.model";
pub(super) const RESPONSE_ID: &str = "gen_ai.response.id";
pub(super) const FINISH_REASONS: &str = "gen_ai.response.finish_reasons";
pub(super) const INPUT_TOKENS: &str = "gen_ai.usage.input_tokens";
pub(super) const OUTPUT_TOKENS: &str = "gen_ai.usage.output_tokens";
pub(super) const CACHE_READ: &str = "gen_ai.usage.cache_read.input_tokens";
pub(super) const CACHE_WRITE: &str = "gen_ai.usage.cache_creation.input_tokens";
pub(super) const TOKEN_TYPE: &str = "gen_ai.token.type";
pub(super) const TOOL_NAME: &str = "gen_ai.tool.name";
pub(super) const TOOL_CALL_ID: &str = "gen_ai.tool.call.id";
pub(super) const TOOL_TYPE: &str = "gen_ai.tool.type";
pub(super) const ERROR_TYPE: &str = "error.type";

/// Ours: how a call ended, also where that is no error.
pub(super) const OUTCOME: &str = "converse.tool.outcome";
/// Ours: US dollars; missing where they are not known.
pub(super) const COST: &str = "converse.cost.usd";

/// Ours: spans of the turn that are not told, beyond the thousand that are.
pub(super) const DROPPED: &str = "converse.spans.dropped";

pub(super) const CHAT: &str = "chat";
pub(super) const INVOKE_AGENT: &str = "invoke_agent";
pub(super) const EXECUTE_TOOL: &str = "execute_tool";

pub(super) const TOKEN_USAGE: &str = "gen_ai.client.token.usage";
pub(super) const DURATION: &str = "gen_ai.client.operation.duration";
/// Bounds that the conventions ask for.
pub(super) const TOKEN_BOUNDS: [f64; 14] = [
    1.0,
    4.0,
    16.0,
    64.0,
    256.0,
    1024.0,
    4096.0,
    16384.0,
    65536.0,
    262_144.0,
    1_048_576.0,
    4_194_304.0,
    16_777_216.0,
    67_108_864.0,
];
pub(super) const SECOND_BOUNDS: [f64; 14] =
    [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];

/// The well-known name of a provider, or our own for it.
pub(super) fn provider(ours: &str) -> &str {
    match ours {
        "openai-chat" | "openai-responses" => "openai",
        "gemini" => "gcp.gemini",
        "azure" => "azure.ai.openai",
        "mistral" => "mistral_ai",
        "xai" => "x_ai",
        "ollama-native" => "ollama",
        ours => ours,
    }
}
