//! The table of known providers: base URL, environment variables of its key and base URL, and its differences from the
//! wire it speaks. A server that is not listed needs no code either, only an [`Endpoint`].
//!
//! The environment is not read here; the rows only name the variables.

use converse_canister::ProviderName;

use crate::{AuthScheme, Dialect, Endpoint, Quirks};

mod table;

use table::ROWS;

/// One known provider.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProviderRow {
    /// As written before the slash of a model id.
    pub name: &'static str,
    pub dialect: Dialect,
    /// The base URL without configuration: Anthropic's without `/v1`, all others with it. Empty: everybody has their own.
    pub base_url: &'static str,
    /// Environment variables that name another base URL, the first one set wins.
    pub base_url_env: &'static [&'static str],
    /// Environment variables that hold the key, the first one set wins. A local server needs none.
    pub key_env: &'static [&'static str],
    /// Whether this is a server that users run themselves.
    pub local: bool,
    pub auth: AuthScheme,
    pub quirks: Quirks,
    /// Prefixes of model ids that are recognised without the provider's name.
    pub models: &'static [&'static str],
    /// Default model; `None` where there is no sensible choice.
    pub default_model: Option<&'static str>,
}

impl ProviderRow {
    /// Returns whether every reply reports its cost. OpenRouter's do: <https://openrouter.ai/docs/use-cases/usage-accounting> (a
    /// copy read 2026-11-21).
    pub fn reports_cost(&self) -> bool {
        self.name == "openrouter"
    }

    /// Returns whether the model list is public, so that reading it does not verify a key.
    /// <https://openrouter.ai/docs/models>, <https://huggingface.co/docs/inference-providers> (2026-11)
    pub fn has_open_list(&self) -> bool {
        matches!(self.name, "openrouter" | "huggingface")
    }

    /// Returns whether the name covers both of OpenAI's wires, whichever a model needs. Two more names force either.
    pub fn picks_its_wire(&self) -> bool {
        self.name == "openai"
    }

    /// Returns the endpoint of this provider, at its own base URL or at `base_url` (a value of one of `base_url_env`, or
    /// configured).
    pub fn endpoint(&self, base_url: Option<&str>) -> Endpoint {
        let base_url = base_url.map(str::trim).filter(|url| !url.is_empty());
        Endpoint {
            base_url: match base_url {
                None => self.base_url.to_owned(),
                Some(host) if self.name == "ollama" => ollama_base_url(host) + "/v1",
                Some(host) if self.name == "ollama-native" => ollama_base_url(host),
                Some(url) if self.name == "azure" => azure_base_url(url),
                Some(url) => url.trim_end_matches('/').to_owned(),
            },
            ..Endpoint::new(self.provider(), self.dialect, String::new(), self.auth, self.quirks)
        }
    }

    /// Returns the vendor's name in the catalogue; OpenAI's rows share one.
    pub fn vendor(&self) -> &'static str {
        if self.name.starts_with("openai-") { "openai" } else { self.name }
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

/// Returns all known providers, in the order in which a default model is chosen.
pub fn rows() -> &'static [ProviderRow] {
    ROWS
}

/// Returns the provider of that name.
pub fn row(name: &str) -> Option<&'static ProviderRow> {
    ROWS.iter().find(|row| row.name == name)
}

/// Returns the provider of a model id without a provider's name, if its prefix is well known.
pub fn row_for_bare_model(model: &str) -> Option<&'static ProviderRow> {
    ROWS.iter().find(|row| row.models.iter().any(|prefix| model.starts_with(prefix)))
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
    format!("{scheme}://{host}:{port}{path}")
}

/// `AZURE_OPENAI_ENDPOINT` as Microsoft's SDKs read it is the resource alone; its API is below `/openai/v1`, which takes
/// the request as OpenAI does and needs no `api-version`. A URL with a path of Azure's own stays as it is.
/// <https://learn.microsoft.com/azure/ai-foundry/openai/api-version-lifecycle> (a copy read 2026-11-22)
fn azure_base_url(url: &str) -> String {
    let url = url.trim_end_matches('/');
    match url.contains("/openai") {
        true => url.to_owned(),
        false => format!("{url}/openai/v1"),
    }
}

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
            assert!(row.local || !row.key_env.is_empty(), "{}", row.name);
            let versioned = row.base_url.ends_with("/v1");
            let openai = matches!(row.dialect, Dialect::OpenAiChat | Dialect::OpenAiResponses);
            assert_eq!(versioned, openai && row.name != "azure", "{}", row.name);
        }
    }

    #[test]
    fn a_bare_model_finds_its_provider() {
        for (model, provider) in [
            ("claude-sonnet-4-5", Some("anthropic")),
            ("gpt-4o", Some("openai")),
            ("o3-mini", Some("openai")),
            ("chatgpt-4o-latest", Some("openai")),
            ("gemini-3", Some("gemini")),
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
        for (resource, url) in [
            ("https://r.openai.azure.com/", "https://r.openai.azure.com/openai/v1"),
            ("https://r.openai.azure.com/openai/v1/", "https://r.openai.azure.com/openai/v1"),
            (
                "https://r.openai.azure.com/openai/deployments/d",
                "https://r.openai.azure.com/openai/deployments/d",
            ),
        ] {
            assert_eq!(base("azure", resource), url, "{resource}");
        }
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
