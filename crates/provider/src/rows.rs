//! The providers that are known by name, as data: where each is reached, which variables name its key and base URL,
//! and in what it departs from the wire it speaks. A server that is not here needs no code either, only an
//! [`Endpoint`] of its own.
//!
//! The environment is not read here: the names are given, the program looks.

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

/// `OLLAMA_HOST` as Ollama's own client reads it: `host`, `host:port` or a URL, port 11434 if none is named (that of
/// the scheme if one is), and the address that a server listens on for "everywhere" means this machine. The
/// OpenAI-compatible endpoint is below `/v1`.
/// <https://github.com/ollama/ollama/blob/main/envconfig/config.go> (checked 2026-11-20).
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
    // Small, cheap, and takes function tools on this wire, which the newest generation does not everywhere.
    default_model: Some("gpt-4o-mini"),
    ..CLOUD
};

/// Above each row the vendor's page. Quirks lean to what is refused by nobody: a key that a server does not know costs a
/// 400, one that is left out costs a token count. Mistral's and Ollama's were checked on 2026-11-20.
const ROWS: &[ProviderRow] = &[
    // https://docs.anthropic.com/en/api/overview
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
        default_model: Some("claude-sonnet-4-5"),
    },
    // https://platform.openai.com/docs/api-reference/chat
    OPENAI,
    // The same wire, asked for by name: `openai` may come to mean the Responses API.
    ProviderRow { name: "openai-chat", models: &[], ..OPENAI },
    // https://openrouter.ai/docs/api-reference/chat-completion – usage always comes, so `stream_options` is not sent
    ProviderRow {
        name: "openrouter",
        base_url: "https://openrouter.ai/api/v1",
        base_url_env: &["OPENROUTER_BASE_URL"],
        key_env: &["OPENROUTER_API_KEY"],
        quirks: Quirks { replay_reasoning: Some("reasoning_details"), effort: true, ..Quirks::CAUTIOUS },
        default_model: Some("openai/gpt-4o-mini"),
        ..CLOUD
    },
    // https://console.groq.com/docs/api-reference#chat-create
    ProviderRow {
        name: "groq",
        base_url: "https://api.groq.com/openai/v1",
        base_url_env: &["GROQ_BASE_URL"],
        key_env: &["GROQ_API_KEY"],
        quirks: Quirks::OPENAI,
        default_model: Some("openai/gpt-oss-20b"),
        ..CLOUD
    },
    // https://docs.mistral.ai/api/endpoint/chat – 422 for `stream_options` and `max_completion_tokens`
    ProviderRow {
        name: "mistral",
        base_url: "https://api.mistral.ai/v1",
        base_url_env: &["MISTRAL_BASE_URL"],
        key_env: &["MISTRAL_API_KEY"],
        quirks: Quirks { nine_char_ids: true, ..Quirks::CAUTIOUS },
        default_model: Some("mistral-small-latest"),
        ..CLOUD
    },
    // https://api-docs.deepseek.com/api/create-chat-completion
    ProviderRow {
        name: "deepseek",
        base_url: "https://api.deepseek.com/v1",
        base_url_env: &["DEEPSEEK_BASE_URL"],
        key_env: &["DEEPSEEK_API_KEY"],
        quirks: Quirks {
            stream_options: true,
            replay_reasoning: Some("reasoning_content"),
            ..Quirks::CAUTIOUS
        },
        default_model: Some("deepseek-chat"),
        ..CLOUD
    },
    // https://docs.x.ai/docs/api-reference#chat-completions
    ProviderRow {
        name: "xai",
        base_url: "https://api.x.ai/v1",
        base_url_env: &["XAI_BASE_URL"],
        key_env: &["XAI_API_KEY"],
        quirks: Quirks::OPENAI,
        ..CLOUD
    },
    // https://docs.together.ai/reference/chat-completions-1
    ProviderRow {
        name: "together",
        base_url: "https://api.together.xyz/v1",
        base_url_env: &["TOGETHER_BASE_URL"],
        key_env: &["TOGETHER_API_KEY"],
        quirks: Quirks { effort: true, ..CLOUD.quirks },
        ..CLOUD
    },
    // https://docs.fireworks.ai/api-reference/post-chatcompletions
    ProviderRow {
        name: "fireworks",
        base_url: "https://api.fireworks.ai/inference/v1",
        base_url_env: &["FIREWORKS_BASE_URL"],
        key_env: &["FIREWORKS_API_KEY"],
        quirks: Quirks { effort: true, ..CLOUD.quirks },
        ..CLOUD
    },
    // https://huggingface.co/docs/inference-providers/tasks/chat-completion – a router: what is behind it differs
    ProviderRow {
        name: "huggingface",
        base_url: "https://router.huggingface.co/v1",
        base_url_env: &["HF_BASE_URL"],
        key_env: &["HF_TOKEN"],
        ..CLOUD
    },
    // https://docs.ollama.com/api/openai-compatibility
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
    // https://lmstudio.ai/docs/app/api/endpoints/openai
    ProviderRow {
        name: "lmstudio",
        base_url: "http://127.0.0.1:1234/v1",
        base_url_env: &["LMSTUDIO_BASE_URL"],
        ..LOCAL
    },
    // https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html
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
