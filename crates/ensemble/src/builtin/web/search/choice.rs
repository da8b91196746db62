//! Which service is asked, where, and with which key.

use converse_config::Environment;

use crate::builtin::{BuildError, Settings};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Backend {
    Tavily,
    SerpApi,
    Brave,
    SearXng,
}

impl Backend {
    /// In the order in which they are looked for.
    const ALL: [Self; 4] = [Self::Tavily, Self::SerpApi, Self::Brave, Self::SearXng];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Tavily => "tavily",
            Self::SerpApi => "serpapi",
            Self::Brave => "brave",
            Self::SearXng => "searxng",
        }
    }

    /// The variable it needs: its key, or where it is.
    pub(super) fn variable(self) -> &'static str {
        match self {
            Self::Tavily => "TAVILY_API_KEY",
            Self::SerpApi => "SERPAPI_API_KEY",
            Self::Brave => "BRAVE_API_KEY",
            Self::SearXng => "SEARXNG_URL",
        }
    }

    /// `None`: everybody runs their own.
    fn home(self) -> Option<&'static str> {
        match self {
            Self::Tavily => Some("https://api.tavily.com"),
            Self::SerpApi => Some("https://serpapi.com"),
            Self::Brave => Some("https://api.search.brave.com"),
            Self::SearXng => None,
        }
    }
}

/// What `[configuration]` says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Choice {
    /// The first whose variable is set, if `None`.
    backend: Option<Backend>,
    /// In place of the service's own address.
    base: Option<String>,
}

/// A service that can be asked.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Chosen {
    pub(super) backend: Backend,
    /// Without a slash at its end.
    pub(super) base: String,
    /// Empty for a service that takes none.
    pub(super) key: String,
}

/// Without the key.
impl std::fmt::Debug for Chosen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Chosen")
            .field("backend", &self.backend)
            .field("base", &self.base)
            .finish_non_exhaustive()
    }
}

impl Choice {
    pub(super) fn new(settings: &Settings<'_>) -> Result<Self, BuildError> {
        let backend = match settings.text("backend")? {
            None | Some("auto") => None,
            Some(name) => {
                let known = Backend::ALL.into_iter().find(|backend| backend.name() == name);
                let names = Backend::ALL.map(|backend| format!("`{}`", backend.name())).join(", ");
                let reason = format!("it is one of {names} or `auto`");
                Some(known.ok_or(BuildError { key: "backend", reason })?)
            }
        };
        let base = settings.text("url")?.map(|url| base(settings.trusted, backend, url)).transpose();
        Ok(Self { backend, base: base.map_err(|reason| BuildError { key: "url", reason })? })
    }

    /// The error is for the model, and through it for the user.
    pub(super) fn choose(&self, environment: &Environment) -> Result<Chosen, String> {
        // A variable that is set to nothing is how one is taken away.
        let set = |backend: &Backend| {
            environment.get(backend.variable()).map(str::trim).filter(|value| !value.is_empty())
        };
        let backend = match self.backend {
            Some(backend) => backend,
            None => {
                Backend::ALL.into_iter().find(|backend| set(backend).is_some()).ok_or_else(nothing_set)?
            }
        };
        let value = set(&backend);
        if backend == Backend::SearXng {
            let url = self.base.clone().or_else(|| value.map(str::to_owned));
            let url =
                url.ok_or_else(|| format!("{} is not set: where is the instance?", backend.variable()))?;
            let base = address(&url).map_err(|reason| format!("{}: {reason}", backend.variable()))?;
            return Ok(Chosen { backend, base, key: String::new() });
        }
        let key = value.ok_or_else(|| format!("the key {} is not set", backend.variable()))?.to_owned();
        let base = self.base.clone().or_else(|| backend.home().map(str::to_owned)).unwrap_or_default();
        Ok(Chosen { backend, base, key })
    }
}

fn nothing_set() -> String {
    let names = Backend::ALL.map(Backend::variable).join(", ");
    format!("no search service is configured: one of {names} must be set in the environment")
}

/// `url` of `[configuration]`.
fn base(trusted: bool, backend: Option<Backend>, url: &str) -> Result<String, String> {
    if !trusted {
        // Or a stranger's file would have the user's key sent to its author.
        return Err("it needs a project that is trusted".to_owned());
    }
    if backend.is_none() {
        return Err("it needs a `backend` that is not `auto`".to_owned());
    }
    address(url)
}

fn address(url: &str) -> Result<String, String> {
    let parsed = url::Url::parse(url.trim()).map_err(|_| "not a URL".to_owned())?;
    if !matches!(parsed.scheme(), "http" | "https") {
        return Err("it begins with http:// or https://".to_owned());
    }
    // They would show up in messages.
    if !parsed.username().is_empty() || parsed.password().is_some() {
        return Err("it contains a user name or a password".to_owned());
    }
    if parsed.query().is_some() || parsed.fragment().is_some() {
        return Err("it ends before any `?` or `#`".to_owned());
    }
    Ok(parsed.as_str().trim_end_matches('/').to_owned())
}
