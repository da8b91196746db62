//! The providers that are known by name, as data: where each is reached, which variables name its key and base URL,
//! and in what it departs from the wire it speaks. A server that is not here needs no code either, only an
//! [`Endpoint`] of its own.
//!
//! The environment is not read here: the names are given, the program looks.
//!
//! How much of a row is known: "read 2026-11-21" means that a copy of that page (not the live one) was read then and
//! says so; "SDK" names the vendor's own client of that day, whose source says so. A link alone is where to look, and
//! what is under neither was not checked. No server was asked.

use converse_canister::ProviderName;

use crate::{AuthScheme, Dialect, Endpoint, Quirks};

/// One known provider.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProviderRow {
    /// As written before the slash of a model id.
    pub name: &'static str,
    pub dialect: Dialect,
    /// The base URL without configuration: Anthropic's without `/v1`, all others with it.
    pub base_url: &'static str,
    /// Environment variables that name another base URL, the first one set wins.
    pub base_url_env: &'static [&'static str],
    /// Environment variables that hold the key, the first one set wins. Empty: no key is needed.
    pub key_env: &'static [&'static str],
    pub auth: AuthScheme,
    pub quirks: Quirks,
    /// Beginnings of model ids that are known without the provider's name.
    pub models: &'static [&'static str],
    /// The model for someone who names none; `None` where there is no sensible choice.
    pub default_model: Option<&'static str>,
}

impl ProviderRow {
    /// The endpoint of this provider, at its own base URL or at `base_url` (a value of one of `base_url_env`, or
    /// configured).
    pub fn endpoint(&self, base_url: Option<&str>) -> Endpoint {
        let base_url = base_url.map(str::trim).filter(|url| !url.is_empty());
        Endpoint {
            provider: self.provider(),
            dialect: self.dialect,
            base_url: match base_url {
                None => self.base_url.to_owned(),
                Some(host) if self.name == "ollama" => ollama_base_url(host),
                Some(url) => url.trim_end_matches('/').to_owned(),
            },
            auth: self.auth,
            quirks: self.quirks,
        }
    }

    fn provider(&self) -> ProviderName {
        // Every name of the table is valid (there is a test), so the loop ends at its first step.
        let mut name = self.name;
        loop {
            match ProviderName::new(name) {
                Ok(name) => return name,
                Err(_) => name = "unknown",
            }
        }
    }
}

/// `OLLAMA_HOST` as Ollama's own source reads it: `host`, `host:port` or a URL, port 11434 if none is named (that of
/// the scheme if one is). Our own addition: the address that a server listens on for "everywhere" means this machine,
/// since the same variable is set for the server. The OpenAI-compatible endpoint is below `/v1`.
/// <https://github.com/ollama/ollama/blob/main/envconfig/config.go> (an older version of it read 2026-11-21).
fn ollama_base_url(value: &str) -> String {
    let value = value.trim_matches(['"', '\'', ' ']);
    let (scheme, rest) = value.split_once("://").unwrap_or(("", value));
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let default_port = match scheme {
        "http" => "80",
        "https" => "443",
        _ => "11434",
    };
    let scheme = if scheme.is_empty() { "http" } else { scheme };
    let (host, port) = match authority.rsplit_once(':') {
        // A colon within brackets, or one of several without any, belongs to an IPv6 address.
        Some((host, port)) if !port.ends_with(']') && (!host.contains(':') || host.ends_with(']')) => {
            (host, port)
        }
        _ => (authority, default_port),
    };
    let host = match host {
        "" | "0.0.0.0" | "[::]" | "::" => "127.0.0.1".to_owned(),
        host if host.contains(':') && !host.starts_with('[') => format!("[{host}]"),
        host => host.to_owned(),
    };
    let path = path.trim_matches('/');
    let path = path.strip_suffix("v1").unwrap_or(path).trim_end_matches('/');
    let path = if path.is_empty() { String::new() } else { format!("/{path}") };
    format!("{scheme}://{host}:{port}{path}/v1")
}

/// All known providers, those first that are looked for first when nobody names a model.
pub fn rows() -> &'static [ProviderRow] {
    ROWS
}

/// The provider of that name.
pub fn row(name: &str) -> Option<&'static ProviderRow> {
    ROWS.iter().find(|row| row.name == name)
}

/// The provider of a model id that stands alone, if its beginning is well known.
pub fn row_for_bare_model(model: &str) -> Option<&'static ProviderRow> {
    ROWS.iter().find(|row| row.models.iter().any(|prefix| model.starts_with(prefix)))
}

/// An OpenAI-compatible server in the cloud.
const CLOUD: ProviderRow = ProviderRow {
    name: "",
    dialect: Dialect::OpenAiChat,
    base_url: "",
    base_url_env: &[],
    key_env: &[],
    auth: AuthScheme::Bearer,
    quirks: Quirks { stream_options: true, ..Quirks::CAUTIOUS },
    models: &[],
    default_model: None,
};

/// An OpenAI-compatible server on this machine. Whichever model it has loaded is its user's choice.
const LOCAL: ProviderRow = ProviderRow { auth: AuthScheme::None, ..CLOUD };

const OPENAI: ProviderRow = ProviderRow {
    name: "openai",
    base_url: "https://api.openai.com/v1",
    base_url_env: &["OPENAI_BASE_URL"],
    key_env: &["OPENAI_API_KEY"],
    quirks: Quirks::OPENAI,
    models: &["gpt-", "chatgpt-", "o1", "o3", "o4"],
    // Small, cheap, and takes function tools on this wire, which the newest generation does not everywhere (seen in
    // recorded refusals). OpenAI shuts it down on 2027-01-14 and names `gpt-6-luna` in its place.
    // https://developers.openai.com/api/docs/deprecations (the date from reports of that page, read 2026-11-21)
    default_model: Some("gpt-4o-mini"),
    ..CLOUD
};

/// Above each row the vendor's page and what is known from where (see the module's head). Quirks lean to what is
/// refused by nobody: a key that a server does not know costs a 400, one that is left out costs a token count. A
/// `…_BASE_URL` holds what `base_url` holds, path and all: the SDKs of Groq, Together and Fireworks read theirs without.
const ROWS: &[ProviderRow] = &[
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
    // The same wire, asked for by name: `openai` may come to mean the Responses API.
    ProviderRow { name: "openai-chat", models: &[], ..OPENAI },
    // https://openrouter.ai/docs/use-cases/usage-accounting – usage always comes and `stream_options` has no effect, so
    // it is not sent (read 2026-11-21)
    ProviderRow {
        name: "openrouter",
        base_url: "https://openrouter.ai/api/v1",
        base_url_env: &["OPENROUTER_BASE_URL"],
        key_env: &["OPENROUTER_API_KEY"],
        quirks: Quirks { replay_reasoning: Some("reasoning_details"), effort: true, ..Quirks::CAUTIOUS },
        default_model: Some("openai/gpt-4o-mini"),
        ..CLOUD
    },
    // https://console.groq.com/docs/api-reference#chat-create – SDK 1.7.0: base URL, key, `max_completion_tokens`, the
    // effort, `stream_options` (in its type of a chunk) and the model
    ProviderRow {
        name: "groq",
        base_url: "https://api.groq.com/openai/v1",
        base_url_env: &["GROQ_BASE_URL"],
        key_env: &["GROQ_API_KEY"],
        quirks: Quirks::OPENAI,
        default_model: Some("openai/gpt-oss-20b"),
        ..CLOUD
    },
    // https://docs.mistral.ai/api/endpoint/chat – SDK 3.7.0: base URL, key, `max_tokens`; it knows neither
    // `stream_options` nor `max_completion_tokens`, and unknown keys get a 422:
    // https://github.com/openai/openai-agents-python/issues/442 (read 2026-11-21)
    ProviderRow {
        name: "mistral",
        base_url: "https://api.mistral.ai/v1",
        base_url_env: &["MISTRAL_BASE_URL"],
        key_env: &["MISTRAL_API_KEY"],
        quirks: Quirks { nine_char_ids: true, ..Quirks::CAUTIOUS },
        default_model: Some("mistral-small-latest"),
        ..CLOUD
    },
    // https://api-docs.deepseek.com/guides/thinking_mode – thinking is on unless it is turned off, and the effort is
    // understood; https://api-docs.deepseek.com/zh-cn/quick_start/pricing – host and model, `deepseek-chat` is no longer
    // among them (both read 2026-11-21)
    ProviderRow {
        name: "deepseek",
        base_url: "https://api.deepseek.com/v1",
        base_url_env: &["DEEPSEEK_BASE_URL"],
        key_env: &["DEEPSEEK_API_KEY"],
        quirks: Quirks {
            stream_options: true,
            effort: true,
            replay_reasoning: Some("reasoning_content"),
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
        quirks: Quirks::OPENAI,
        ..CLOUD
    },
    // https://docs.together.ai/docs/inference/openai-compatibility – base URL and key (read 2026-11-21); SDK 3.1.1:
    // `max_tokens`, the effort. Some models report usage only if `stream_options` asks for it:
    // https://github.com/vercel/ai/pull/17986 (read 2026-11-21)
    ProviderRow {
        name: "together",
        base_url: "https://api.together.ai/v1",
        base_url_env: &["TOGETHER_BASE_URL"],
        key_env: &["TOGETHER_API_KEY"],
        quirks: Quirks { effort: true, ..CLOUD.quirks },
        ..CLOUD
    },
    // https://docs.fireworks.ai/tools-sdks/openai-compatibility – base URL (read 2026-11-21); SDK 1.2.30: key,
    // `max_tokens`, the effort
    ProviderRow {
        name: "fireworks",
        base_url: "https://api.fireworks.ai/inference/v1",
        base_url_env: &["FIREWORKS_BASE_URL"],
        key_env: &["FIREWORKS_API_KEY"],
        quirks: Quirks { effort: true, ..CLOUD.quirks },
        ..CLOUD
    },
    // https://huggingface.co/docs/inference-providers/tasks/chat-completion – a router: what is behind it differs. SDK
    // 2.4.0: host, key, `max_tokens`, `stream_options`
    ProviderRow {
        name: "huggingface",
        base_url: "https://router.huggingface.co/v1",
        base_url_env: &["HF_BASE_URL"],
        key_env: &["HF_TOKEN"],
        ..CLOUD
    },
    // https://docs.ollama.com/api/openai-compatibility – no key, `max_tokens`, `stream_options`, the effort (read
    // 2026-11-21)
    ProviderRow {
        name: "ollama",
        base_url: "http://127.0.0.1:11434/v1",
        base_url_env: &["OLLAMA_HOST"],
        quirks: Quirks { effort: true, ..CLOUD.quirks },
        ..LOCAL
    },
    // https://github.com/ggml-org/llama.cpp/tree/master/tools/server
    ProviderRow {
        name: "llamacpp",
        base_url: "http://127.0.0.1:8080/v1",
        base_url_env: &["LLAMACPP_BASE_URL"],
        ..LOCAL
    },
    // https://lmstudio.ai/docs/api/openai-api – base URL (read 2026-11-21)
    ProviderRow {
        name: "lmstudio",
        base_url: "http://127.0.0.1:1234/v1",
        base_url_env: &["LMSTUDIO_BASE_URL"],
        ..LOCAL
    },
    // https://docs.vllm.ai/en/v0.8.1/serving/openai_compatible_server.html – base URL (read 2026-11-21)
    ProviderRow {
        name: "vllm",
        base_url: "http://127.0.0.1:8000/v1",
        base_url_env: &["VLLM_BASE_URL"],
        ..LOCAL
    },
];

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn the_table_is_sound() {
        let names: HashSet<&str> = rows().iter().map(|row| row.name).collect();
        assert_eq!(names.len(), rows().len(), "names are unique");
        for row in rows() {
            assert_eq!(row.endpoint(None).provider.as_str(), row.name);
            assert_eq!(row.key_env.is_empty(), row.auth == AuthScheme::None, "{}", row.name);
            let versioned = row.base_url.ends_with("/v1");
            assert_eq!(versioned, row.dialect == Dialect::OpenAiChat, "{}", row.name);
        }
    }

    #[test]
    fn a_bare_model_finds_its_provider() {
        for (model, provider) in [
            ("claude-sonnet-4-5", Some("anthropic")),
            ("gpt-4o", Some("openai")),
            ("o3-mini", Some("openai")),
            ("chatgpt-4o-latest", Some("openai")),
            ("gemini-3", None),
            ("qwen3", None),
        ] {
            assert_eq!(row_for_bare_model(model).map(|row| row.name), provider, "{model}");
        }
    }

    #[test]
    fn a_base_url_can_be_replaced() {
        let base = |name: &str, url| row(name).unwrap().endpoint(Some(url)).base_url;
        assert_eq!(base("openai", "http://127.0.0.1:9/v1/"), "http://127.0.0.1:9/v1");
        assert_eq!(base("anthropic", " "), "https://api.anthropic.com");
        for (host, url) in [
            ("example.com", "http://example.com:11434/v1"),
            ("example.com:80", "http://example.com:80/v1"),
            ("http://example.com", "http://example.com:80/v1"),
            ("https://example.com/ollama/", "https://example.com:443/ollama/v1"),
            ("http://127.0.0.1:11434/v1", "http://127.0.0.1:11434/v1"),
            ("0.0.0.0", "http://127.0.0.1:11434/v1"),
            ("'example.com:80'", "http://example.com:80/v1"),
            (":9", "http://127.0.0.1:9/v1"),
            ("[::1]:9", "http://[::1]:9/v1"),
            ("[::1]", "http://[::1]:11434/v1"),
            ("::1", "http://[::1]:11434/v1"),
        ] {
            assert_eq!(base("ollama", host), url, "{host}");
        }
    }
}
