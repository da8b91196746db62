//! The rows themselves.
//!
//! How much of a row is known: "read 2026-11-21" means that a copy of that page (not the live one) was read then and
//! says so; "SDK" names the vendor's own client of that day, whose source says so. A link alone is where to look, and
//! what is under neither was not checked. No server was asked.

use super::ProviderRow;
use crate::{AuthScheme, Dialect, Quirks, ReasoningReplay, Structured};

/// An OpenAI-compatible server in the cloud.
const CLOUD: ProviderRow = ProviderRow {
    name: "",
    dialect: Dialect::OpenAiChat,
    base_url: "",
    base_url_env: &[],
    key_env: &[],
    auth: AuthScheme::Bearer,
    quirks: Quirks { stream_options: true, replay_reasoning: ReasoningReplay::Never, ..Quirks::CAUTIOUS },
    local: false,
    models: &[],
    default_model: None,
};

/// An OpenAI-compatible server on this machine. Whichever model it has loaded is its user's choice.
const LOCAL: ProviderRow = ProviderRow {
    auth: AuthScheme::None,
    local: true,
    quirks: Quirks { replay_reasoning: ReasoningReplay::InTurn, ..CLOUD.quirks },
    ..CLOUD
};

const OPENAI: ProviderRow = ProviderRow {
    name: "openai",
    base_url: "https://api.openai.com/v1",
    base_url_env: &["OPENAI_BASE_URL"],
    key_env: &["OPENAI_API_KEY"],
    quirks: Quirks::OPENAI,
    models: &["gpt-", "chatgpt-", "o1", "o3", "o4"],
    // Small, cheap, and what OpenAI names in the place of `gpt-4o-mini`, which it shuts down on 2027-01-14.
    // https://developers.openai.com/api/docs/deprecations (the date from reports of that page, read 2026-11-22)
    default_model: Some("gpt-6-luna"),
    ..CLOUD
};

/// Above each row: the vendor's page, and the source of each fact (see the module's head). Quirks prefer what no server
/// refuses: an unknown key costs a 400, a missing one only a token count. A `…_BASE_URL` holds what `base_url` holds,
/// path and all: the SDKs of Groq, Together and Fireworks read theirs without.
pub(super) const ROWS: &[ProviderRow] = &[
    // https://platform.claude.com/docs/en/api/overview – SDK 2.11.0: base URL and variables; it sends the key as a
    // bearer token, the API takes either header
    ProviderRow {
        name: "anthropic",
        dialect: Dialect::AnthropicMessages,
        base_url: "https://api.anthropic.com",
        base_url_env: &["ANTHROPIC_BASE_URL"],
        key_env: &["ANTHROPIC_API_KEY"],
        auth: AuthScheme::Header("x-api-key"),
        // None of them concerns this wire.
        quirks: Quirks::CAUTIOUS,
        local: false,
        models: &["claude-"],
        // Takes an effort and sampling parameters, and thinks only if asked. Its predecessor `claude-sonnet-4-5` is
        // retired on 2026-11-30; Sonnet 5 and later think unasked and take no temperature but
        // their own.
        // https://platform.claude.com/docs/en/build-with-claude/effort, …/docs/en/models/sonnet-4-5/overview,
        // …/docs/en/models/sonnet-5/overview (translations of these read 2026-11-21)
        default_model: Some("claude-sonnet-4-6"),
    },
    // https://platform.openai.com/docs/api-reference/chat – SDK 3.52.0: the keys of the request
    OPENAI,
    // The same wire, asked for by name: `openai` means the Responses API for models that need it.
    ProviderRow { name: "openai-chat", models: &[], ..OPENAI },
    // https://platform.openai.com/docs/api-reference/responses – SDK 3.52.0
    ProviderRow { name: "openai-responses", dialect: Dialect::OpenAiResponses, models: &[], ..OPENAI },
    // https://ai.google.dev/api – SDK (google-genai) 3.4.0: host, key, variables
    ProviderRow {
        name: "gemini",
        dialect: Dialect::Gemini,
        base_url: "https://generativelanguage.googleapis.com",
        base_url_env: &["GEMINI_BASE_URL", "GOOGLE_GEMINI_BASE_URL"],
        key_env: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        auth: AuthScheme::Header("x-goog-api-key"),
        models: &["gemini-"],
        // https://ai.google.dev/gemini-api/docs/models/gemini-3.8-flash (reports of it read 2026-11-22)
        default_model: Some("gemini-3.8-flash"),
        ..CLOUD
    },
    // https://learn.microsoft.com/azure/ai-foundry/openai/api-version-lifecycle – path, key header and that no
    // `api-version` is needed (read 2026-11-22). The model is the name of one's own deployment. The variable of the
    // resource is that of Microsoft's SDKs.
    ProviderRow {
        name: "azure",
        base_url: "",
        base_url_env: &["AZURE_OPENAI_BASE_URL", "AZURE_OPENAI_ENDPOINT"],
        key_env: &["AZURE_OPENAI_API_KEY"],
        auth: AuthScheme::Header("api-key"),
        models: &[],
        default_model: None,
        ..OPENAI
    },
    // https://openrouter.ai/docs/use-cases/usage-accounting – usage always comes and `stream_options` has no effect, so
    // it is not sent (read 2026-11-21). …/docs/api-reference/parameters: `response_format`;
    // …/docs/features/prompt-caching: `cache_control`; …/docs/features/model-routing: `models`
    ProviderRow {
        name: "openrouter",
        base_url: "https://openrouter.ai/api/v1",
        base_url_env: &["OPENROUTER_BASE_URL"],
        key_env: &["OPENROUTER_API_KEY"],
        quirks: Quirks {
            replay_reasoning: ReasoningReplay::Always("reasoning_details"),
            effort: true,
            structured: Structured::JsonSchema,
            format_beside_tools: true,
            cache_control: true,
            fallbacks: true,
            ..Quirks::CAUTIOUS
        },
        default_model: Some("openai/gpt-6-luna"),
        ..CLOUD
    },
    // https://console.groq.com/docs/api-reference#chat-create – SDK 1.7.0: base URL, key, `max_completion_tokens`, the
    // effort, `stream_options` (in its type of a chunk), `json_schema`, the role `developer` and the model. "json mode
    // cannot be combined with tool/function calling", a 400: https://github.com/vercel/ai/pull/16540 (read 2026-11-22)
    ProviderRow {
        name: "groq",
        base_url: "https://api.groq.com/openai/v1",
        base_url_env: &["GROQ_BASE_URL"],
        key_env: &["GROQ_API_KEY"],
        quirks: Quirks {
            format_beside_tools: false,
            replay_reasoning: ReasoningReplay::Never,
            ..Quirks::OPENAI
        },
        default_model: Some("openai/gpt-oss-20b"),
        ..CLOUD
    },
    // https://docs.mistral.ai/api/endpoint/chat – SDK 3.7.0: base URL, key, `max_tokens`, the effort,
    // `json_schema`; it knows neither `stream_options` nor `max_completion_tokens`, and unknown keys get a 422:
    // https://github.com/openai/openai-agents-python/issues/442 (read 2026-11-21). "Unexpected role 'user' after role
    // 'tool'", a 400: https://github.com/zed-industries/zed/pull/31736 (read 2026-11-22)
    ProviderRow {
        name: "mistral",
        base_url: "https://api.mistral.ai/v1",
        base_url_env: &["MISTRAL_BASE_URL"],
        key_env: &["MISTRAL_API_KEY"],
        quirks: Quirks {
            nine_char_ids: true,
            replay_reasoning: ReasoningReplay::Never,
            effort: true,
            user_after_tool: false,
            structured: Structured::JsonSchema,
            ..Quirks::CAUTIOUS
        },
        default_model: Some("mistral-small-latest"),
        ..CLOUD
    },
    // https://api-docs.deepseek.com/guides/thinking_mode – thinking is on unless it is turned off, and the effort is
    // understood; …/guides/json_mode: `json_object`; https://api-docs.deepseek.com/zh-cn/quick_start/pricing – host and
    // model, `deepseek-chat` is no longer among them (both read 2026-11-21)
    ProviderRow {
        name: "deepseek",
        base_url: "https://api.deepseek.com/v1",
        base_url_env: &["DEEPSEEK_BASE_URL"],
        key_env: &["DEEPSEEK_API_KEY"],
        quirks: Quirks {
            stream_options: true,
            effort: true,
            replay_reasoning: ReasoningReplay::Always("reasoning_content"),
            structured: Structured::JsonObject,
            ..Quirks::CAUTIOUS
        },
        default_model: Some("deepseek-flash"),
        ..CLOUD
    },
    // https://docs.x.ai/api – base URL, key and bearer token (read 2026-11-21). Some models refuse an effort, which is
    // sent only if asked for.
    ProviderRow {
        name: "xai",
        base_url: "https://api.x.ai/v1",
        base_url_env: &["XAI_BASE_URL"],
        key_env: &["XAI_API_KEY"],
        quirks: Quirks { developer_role: false, replay_reasoning: ReasoningReplay::Never, ..Quirks::OPENAI },
        ..CLOUD
    },
    // https://docs.together.ai/docs/inference/openai-compatibility – base URL and key (read 2026-11-21); SDK 3.1.1:
    // `max_tokens`, the effort, `json_schema`. Some models report usage only if `stream_options` asks for it:
    // https://github.com/vercel/ai/pull/17986 (read 2026-11-21)
    ProviderRow {
        name: "together",
        base_url: "https://api.together.ai/v1",
        base_url_env: &["TOGETHER_BASE_URL"],
        key_env: &["TOGETHER_API_KEY"],
        quirks: Quirks { effort: true, structured: Structured::JsonSchema, ..CLOUD.quirks },
        ..CLOUD
    },
    // https://docs.fireworks.ai/tools-sdks/openai-compatibility – base URL (read 2026-11-21); SDK 1.2.30: key,
    // `max_tokens`, the effort, `json_schema`
    ProviderRow {
        name: "fireworks",
        base_url: "https://api.fireworks.ai/inference/v1",
        base_url_env: &["FIREWORKS_BASE_URL"],
        key_env: &["FIREWORKS_API_KEY"],
        quirks: Quirks { effort: true, structured: Structured::JsonSchema, ..CLOUD.quirks },
        ..CLOUD
    },
    // https://huggingface.co/docs/inference-providers/tasks/chat-completion – a router: what is behind it differs. SDK
    // 2.4.0: host, key, `max_tokens`, `stream_options`, `json_schema`
    ProviderRow {
        name: "huggingface",
        base_url: "https://router.huggingface.co/v1",
        base_url_env: &["HF_BASE_URL"],
        key_env: &["HF_TOKEN"],
        quirks: Quirks { structured: Structured::JsonSchema, ..CLOUD.quirks },
        ..CLOUD
    },
    // https://docs.ollama.com/api/openai-compatibility – no key, `max_tokens`, `stream_options`, the effort,
    // `response_format` (read 2026-11-21), which keeps the model from calling tools:
    // https://github.com/ollama/ollama/issues/8095 (read 2026-11-22). Ollama's cloud wants a key:
    // https://docs.ollama.com/api/authentication (read 2026-11-23)
    ProviderRow {
        name: "ollama",
        base_url: "http://127.0.0.1:11434/v1",
        base_url_env: &["OLLAMA_HOST"],
        key_env: &["OLLAMA_API_KEY"],
        auth: AuthScheme::Bearer,
        quirks: Quirks { effort: true, structured: Structured::JsonSchema, ..LOCAL.quirks },
        ..LOCAL
    },
    // https://github.com/ollama/ollama/blob/main/docs/api.md
    ProviderRow {
        name: "ollama-native",
        dialect: Dialect::Ollama,
        base_url: "http://127.0.0.1:11434",
        base_url_env: &["OLLAMA_HOST"],
        key_env: &["OLLAMA_API_KEY"],
        auth: AuthScheme::Bearer,
        ..LOCAL
    },
    // https://github.com/ggml-org/llama.cpp/tree/master/tools/server – templates of older models fail at a `null`
    ProviderRow {
        name: "llamacpp",
        base_url: "http://127.0.0.1:8080/v1",
        base_url_env: &["LLAMACPP_BASE_URL"],
        quirks: Quirks { structured: Structured::JsonSchema, null_content: false, ..LOCAL.quirks },
        ..LOCAL
    },
    // https://lmstudio.ai/docs/api/openai-api – base URL (read 2026-11-21)
    ProviderRow {
        name: "lmstudio",
        base_url: "http://127.0.0.1:1234/v1",
        base_url_env: &["LMSTUDIO_BASE_URL"],
        quirks: Quirks { structured: Structured::JsonSchema, ..LOCAL.quirks },
        ..LOCAL
    },
    // https://docs.vllm.ai/en/v0.8.1/serving/openai_compatible_server.html – base URL (read 2026-11-21). With
    // `response_format` no tool is called: https://github.com/vllm-project/vllm/issues/39929 (read 2026-11-22)
    ProviderRow {
        name: "vllm",
        base_url: "http://127.0.0.1:8000/v1",
        base_url_env: &["VLLM_BASE_URL"],
        quirks: Quirks { structured: Structured::JsonSchema, ..LOCAL.quirks },
        ..LOCAL
    },
];
