//! [`Reach`]: a provider as this run could reach it: its row in the table, overridden by the settings.

use converse_canister::ProviderName;
use converse_config::{Diagnostic, ProviderPlan, SettingsPlan, base_url_fault};
use converse_provider::{
    AuthScheme, Dialect, Endpoint, Patch, ProviderRow, Quirks, ToolProtocol, row, rows, same_base_url,
};
use converse_text::suggest::nearest;

use http::header::HeaderName;

use super::from_settings;
use crate::failure::{Failure, Kind};
use crate::secrets::Secret;
use crate::secrets::{Credentials, SecretHeader};
use crate::world::World;

/// A provider and how to reach it.
#[derive(Debug)]
pub struct Reach {
    /// The endpoint, without a base URL if none is configured or it is not usable.
    pub endpoint: Endpoint,
    pub default_model: Option<String>,
    /// The variables that may contain the key.
    pub key_variables: Vec<String>,
    pub credentials: Credentials,
    /// The provider's own row, or that of the provider that it resembles.
    pub row: Option<&'static ProviderRow>,
    /// Whether the user chose a wire.
    pub(crate) dialect_said: bool,
    /// The variables that may contain the base URL.
    base_url_variables: &'static [&'static str],
    /// The source of an unusable base URL and the reason. The URL itself is not stored, because it may contain a
    /// password.
    pub unusable: Option<(String, &'static str)>,
    /// Whether a key is required: the base URL is the vendor's own, or a variable is named for the key.
    pub(super) wants_key: bool,
    pub local: bool,
}

impl Reach {
    /// Returns whether the base URL is that of the row.
    pub(crate) fn is_vendors_own(&self) -> bool {
        self.row.is_some_and(|row| same_base_url(row.base_url, &self.endpoint.base_url))
    }

    /// Returns whether the user set it up: with a key, in the settings or with a base URL.
    pub fn is_configured(&self, files: &SettingsPlan) -> bool {
        let is_named = files.providers.contains_key(&self.endpoint.provider);
        self.credentials.key.is_some() || is_named || !self.is_vendors_own()
    }

    /// Checks the configuration before anything is sent.
    pub fn require_base_url(&self) -> Result<(), Failure> {
        if !self.endpoint.base_url.is_empty() {
            return Ok(());
        }
        let name = &self.endpoint.provider;
        if let Some((from, why)) = &self.unusable {
            let message = format!("{from} cannot be used as the base URL of `{name}`: {why}");
            return Err(Failure::new(Kind::Configuration, "bad-base-url", message));
        }
        let failure = Failure::new(Kind::Configuration, "no-base-url", format!("`{name}` has no base URL"));
        let failure = match self.base_url_variables.first() {
            Some(variable) => failure.hint(format!("export {variable}=https://…")),
            None => failure,
        };
        Err(failure.hint(format!("`base_url` in `[providers.{name}]` of your `config.toml`")))
    }

    /// Returns the endpoint for requests. An endpoint without a key is for servers that need none; a dry run shows the
    /// place of the key.
    pub fn signed(&self) -> Endpoint {
        let keyed = self.credentials.key.is_some() || self.needs_key();
        let auth = if keyed { self.endpoint.auth } else { AuthScheme::None };
        Endpoint { auth, ..self.endpoint.clone() }
    }

    /// Returns the place where the key should be.
    pub fn key_variable(&self) -> &str {
        self.key_variables.first().map_or("its key", String::as_str)
    }

    pub(crate) fn needs_key(&self) -> bool {
        self.endpoint.auth != AuthScheme::None && self.wants_key && !self.local
    }

    /// Returns the variable that should contain a key or header but does not.
    pub fn missing_key(&self) -> Option<&str> {
        let key = (self.needs_key() && self.credentials.key.is_none()).then(|| self.key_variable());
        key.or_else(|| self.credentials.unset())
    }
}

/// Returns `None` for an unknown provider.
pub fn reach(provider: &str, files: &SettingsPlan, world: &World) -> Option<Reach> {
    let name = ProviderName::new(provider).ok()?;
    let (row, plan) = (row(provider), files.providers.get(&name));
    (row.is_some() || plan.is_some()).then(|| made(name, row, plan, world))
}

/// Returns the provider of a row.
pub(super) fn of_row(row: &'static ProviderRow, files: &SettingsPlan, world: &World) -> Reach {
    let name = row.endpoint(None).provider;
    let plan = files.providers.get(&name);
    made(name, Some(row), plan, world)
}

/// Returns all providers, for a list.
pub fn all(files: &SettingsPlan, world: &World) -> Vec<Reach> {
    let known = rows().iter().map(|row| of_row(row, files, world));
    let own = files.providers.iter().filter(|(name, _)| row(name.as_str()).is_none());
    known.chain(own.map(|(name, plan)| made(name.clone(), None, Some(plan), world))).collect()
}

fn made(
    name: ProviderName,
    own: Option<&'static ProviderRow>,
    plan: Option<&ProviderPlan>,
    world: &World,
) -> Reach {
    let nothing = ProviderPlan::default();
    let plan = plan.unwrap_or(&nothing);
    let like = plan.like.as_ref().and_then(|like| row(&like.value)).or(own);
    let base_url_variables = own.map(|row| row.base_url_env).unwrap_or_default();
    let variable = base_url_variables.iter().find_map(|name| Some((name, world.var(name)?)));
    let (from, given) = match variable {
        Some((variable, value)) => ((*variable).to_owned(), Some(value.to_owned())),
        None => (format!("`base_url` of `[providers.{name}]`"), plan.base_url.clone()),
    };
    let mut base = match like {
        Some(row) => row.endpoint(given.as_deref()),
        None => bare(&name, plan, given.clone().unwrap_or_default()),
    };
    let unusable =
        given.as_ref().and_then(|_| base_url_fault(&base.base_url)).map(|fault| (from, fault.message));
    if unusable.is_some() {
        base.base_url.clear();
    }
    let vendors_url = given.is_none() || like.is_some_and(|row| same_base_url(row.base_url, &base.base_url));
    let default_model = plan.default_model.clone();
    Reach {
        wants_key: match own {
            // A local server takes a key if there is one.
            Some(row) => (row.base_url.is_empty() || vendors_url) && (!row.local || plan.key_env.is_some()),
            // A server of the user needs a key only if the settings name a variable for it.
            None => {
                let of_vendor = like.is_some_and(|row| !row.local) && vendors_url;
                plan.key_env.is_some() || (of_vendor && plan.secret_headers.is_empty())
            }
        },
        default_model: default_model.or_else(|| own.and_then(|row| row.default_model).map(str::to_owned)),
        credentials: credentials(own, plan, world),
        key_variables: key_variables(own, plan).map(str::to_owned).collect(),
        row: like,
        dialect_said: plan.dialect.is_some(),
        base_url_variables,
        unusable,
        local: plan.local,
        endpoint: with_settings(Endpoint { provider: name, ..base }, plan),
    }
}

/// Returns the credentials of all providers, without how to reach them.
pub(super) fn all_credentials(files: &SettingsPlan, world: &World) -> Vec<Credentials> {
    let nothing = ProviderPlan::default();
    let plan = |row: &ProviderRow| files.providers.iter().find(|(name, _)| name.as_str() == row.name);
    let known = rows().iter().map(|row| {
        let plan = plan(row).map_or(&nothing, |(_, plan)| plan);
        credentials(Some(row), plan, world)
    });
    let own = files.providers.iter().filter(|(name, _)| row(name.as_str()).is_none());
    known.chain(own.map(|(_, plan)| credentials(None, plan, world))).collect()
}

fn credentials(own: Option<&ProviderRow>, plan: &ProviderPlan, world: &World) -> Credentials {
    let key = key_variables(own, plan).find_map(|name| world.var(name)).map(Secret::new);
    Credentials { key, headers: secret_headers(plan, world) }
}

/// A vendor's key is for the vendor. A provider that only resembles it has a key of its own.
fn key_variables<'a>(own: Option<&'a ProviderRow>, plan: &'a ProviderPlan) -> impl Iterator<Item = &'a str> {
    let vendors = own.map(|row| row.key_env).unwrap_or_default();
    plan.key_env.iter().map(String::as_str).chain(vendors.iter().copied())
}

/// The names are checked when the settings are parsed.
fn secret_headers(plan: &ProviderPlan, world: &World) -> Vec<SecretHeader> {
    let header = |(name, variable): &(String, String)| {
        Some(SecretHeader {
            name: HeaderName::from_bytes(name.as_bytes()).ok()?,
            variable: variable.clone(),
            value: world.var(variable).map(Secret::new),
        })
    };
    plan.secret_headers.iter().filter_map(header).collect()
}

/// Builds a server that is known only from the settings.
fn bare(name: &ProviderName, plan: &ProviderPlan, base_url: String) -> Endpoint {
    let dialect = plan.dialect.map_or(Dialect::OpenAiChat, from_settings::dialect);
    let auth = match dialect {
        Dialect::AnthropicMessages => AuthScheme::Header("x-api-key"),
        Dialect::Gemini => AuthScheme::Header("x-goog-api-key"),
        Dialect::OpenAiChat | Dialect::OpenAiResponses | Dialect::Ollama => AuthScheme::Bearer,
    };
    let base_url = base_url.trim().trim_end_matches('/').to_owned();
    Endpoint::new(name.clone(), dialect, base_url, auth, Quirks::CAUTIOUS)
}

fn with_settings(endpoint: Endpoint, plan: &ProviderPlan) -> Endpoint {
    let auth = match (&plan.auth, endpoint.auth) {
        (Some(auth), _) => from_settings::auth(auth),
        // A server of the table that needs no key but is run with one.
        (None, AuthScheme::None) if plan.key_env.is_some() => AuthScheme::Bearer,
        (None, auth) => auth,
    };
    let quirks = from_settings::quirks(endpoint.quirks, plan);
    Endpoint {
        dialect: plan.dialect.map_or(endpoint.dialect, from_settings::dialect),
        auth,
        quirks,
        version: plan.version.clone().or(endpoint.version),
        headers: plan.headers.clone(),
        patches: plan.patches.iter().flat_map(from_settings::patches).collect::<Vec<Patch>>(),
        tools: plan.tools.map_or(ToolProtocol::Native, from_settings::tools),
        ..endpoint
    }
}

/// Reports `like` with an unknown provider, because the settings parser has no table.
pub(crate) fn unlike(files: &SettingsPlan) -> Vec<Diagnostic> {
    let likes = files.providers.values().filter_map(|plan| plan.like.as_ref());
    let unknown = likes.filter(|like| row(&like.value).is_none());
    let told = unknown.map(|like| {
        let message = "`like` must name a known provider; `converse models list` shows them";
        let hint = match nearest(&like.value, rows().iter().map(|row| row.name)) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "for a server with OpenAI's API, write `dialect = \"openai-chat\"` instead of `like`"
                .to_owned(),
        };
        Diagnostic::bad_value(like.span, message, hint)
    });
    told.collect()
}
