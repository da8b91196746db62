//! Which model answers: `provider/model` to an endpoint and a key.

use converse_canister::ProviderName;
use converse_config::{Dialect as ConfigDialect, ProviderPlan, SettingsPlan};
use converse_provider::{AuthScheme, Dialect, Endpoint, ProviderRow, Quirks, row, row_for_bare_model, rows};

use crate::adapters::secrets::Secret;
use crate::failure::{Failure, Kind};
use crate::world::World;

pub(crate) const UNDERSTUDY: &str = "understudy";

/// A model and the way to it.
#[derive(Debug)]
pub(crate) struct Model {
    /// As `provider/model`.
    pub(crate) id: String,
    /// The provider's own name for it.
    pub(crate) name: String,
    pub(crate) endpoint: Endpoint,
    pub(crate) key: Option<Secret>,
    /// The variable that should hold a key and does not.
    missing_key: Option<String>,
}

impl Model {
    /// Checked before anything is sent or kept.
    pub(crate) fn require_key(&self) -> Result<(), Failure> {
        let Some(variable) = &self.missing_key else { return Ok(()) };
        let message = format!("no key for `{}`: {variable} is not set", self.endpoint.provider);
        Err(Failure::new(Kind::ProviderRefused, "no-key", message)
            .hint(format!("export {variable}=…"))
            .hint("`-m understudy` answers without a key"))
    }

    pub(crate) fn is_understudy(&self) -> bool {
        self.endpoint.provider.as_str() == UNDERSTUDY
    }
}

/// A provider as this run could reach it: its row, if it has one, under what the user's settings say.
#[derive(Debug)]
pub(crate) struct Reach {
    pub(crate) provider: ProviderName,
    pub(crate) dialect: Dialect,
    pub(crate) base_url: String,
    pub(crate) auth: AuthScheme,
    pub(crate) quirks: Quirks,
    pub(crate) default_model: Option<String>,
    /// The variables a key is looked for in.
    pub(crate) key_variables: Vec<String>,
    pub(crate) key: Option<Secret>,
    /// It will want a key: the base URL is the vendor's own, or a variable is named for one.
    wants_key: bool,
    local: bool,
}

/// The model that is named, or the best that this machine has.
pub(crate) fn choose(named: Option<&str>, files: &SettingsPlan, world: &World) -> Result<Model, Failure> {
    match named {
        Some(id) => parse(id, files, world),
        None => automatic(files, world),
    }
}

/// `provider/model`, `provider:model`, a provider alone, or a well-known bare id.
fn parse(id: &str, files: &SettingsPlan, world: &World) -> Result<Model, Failure> {
    if id.trim().is_empty() {
        return Err(
            Failure::usage("no-model", "the model's name is empty").hint("models are written provider/model")
        );
    }
    if id.split(['/', ':']).next() == Some(UNDERSTUDY) {
        return understudy();
    }
    let (provider, name) = match id.split_once(['/', ':']) {
        Some((provider, name)) => (provider, Some(name).filter(|name| !name.is_empty())),
        None => (id, None),
    };
    let (provider, name, reach) = match (reach(provider, files, world)?, row_for_bare_model(id)) {
        (Some(reach), _) => (provider, name, reach),
        (None, Some(row)) => {
            (row.name, Some(id), from_row(row, files.providers.get(&provider_name(row.name)?), world))
        }
        (None, None) => return Err(unknown(provider, files)),
    };
    let name = name.map(str::to_owned).or_else(|| reach.default_model.clone());
    let name = name
        .ok_or_else(|| Failure::usage("no-model", format!("`{provider}` needs a model: {provider}/NAME")))?;
    Ok(usable(reach, name))
}

/// The first provider whose key is set, a local server of the settings, or the understudy.
fn automatic(files: &SettingsPlan, world: &World) -> Result<Model, Failure> {
    let mut nameless = None;
    for row in rows() {
        let reach = from_row(row, files.providers.get(&provider_name(row.name)?), world);
        match (&reach.key, reach.default_model.clone()) {
            (Some(_), Some(name)) => return Ok(usable(reach, name)),
            (Some(_), None) => nameless = nameless.or(Some(reach)),
            (None, _) => {}
        }
    }
    for (name, plan) in files.providers.iter().filter(|(_, plan)| plan.local) {
        if let (Some(reach), Some(model)) = (reach(name.as_str(), files, world)?, plan.default_model.clone())
        {
            return Ok(usable(reach, model));
        }
    }
    match nameless {
        // Somebody who set a key does not want the understudy.
        Some(reach) => Err(no_model(&reach.provider)),
        None => understudy(),
    }
}

fn no_model(provider: &ProviderName) -> Failure {
    Failure::usage("no-model", format!("`{provider}` needs a model to be named"))
        .hint(format!("-m {provider}/NAME"))
}

fn usable(reach: Reach, name: String) -> Model {
    let wants_key = reach.auth != AuthScheme::None && reach.wants_key && !reach.local;
    let variable = || reach.key_variables.first().cloned().unwrap_or_else(|| "its key".to_owned());
    let missing_key = (wants_key && reach.key.is_none()).then(variable);
    let endpoint = Endpoint {
        provider: reach.provider,
        dialect: reach.dialect,
        base_url: reach.base_url,
        // A request without a key is for servers that want none; a dry run shows where the key would go.
        auth: if reach.key.is_some() || wants_key { reach.auth } else { AuthScheme::None },
        quirks: reach.quirks,
    };
    Model { id: format!("{}/{name}", endpoint.provider), name, endpoint, key: reach.key, missing_key }
}

/// Every key that this run could use.
pub(crate) fn keys(files: &SettingsPlan, world: &World) -> Result<Vec<Secret>, Failure> {
    Ok(all(files, world)?.into_iter().filter_map(|reach| reach.key).collect())
}

/// `None` if nobody knows such a provider.
fn reach(provider: &str, files: &SettingsPlan, world: &World) -> Result<Option<Reach>, Failure> {
    let Ok(name) = ProviderName::new(provider) else { return Ok(None) };
    let plan = files.providers.get(&name);
    if let Some(row) = row(provider) {
        return Ok(Some(from_row(row, plan, world)));
    }
    plan.map(|plan| from_settings(name, plan, world)).transpose()
}

/// All providers, for a list.
pub(crate) fn all(files: &SettingsPlan, world: &World) -> Result<Vec<Reach>, Failure> {
    let mut all = Vec::new();
    for row in rows() {
        all.push(from_row(row, files.providers.get(&provider_name(row.name)?), world));
    }
    for (name, plan) in files.providers.iter().filter(|(name, _)| row(name.as_str()).is_none()) {
        all.push(from_settings(name.clone(), plan, world)?);
    }
    Ok(all)
}

fn from_row(row: &'static ProviderRow, plan: Option<&ProviderPlan>, world: &World) -> Reach {
    let configured = plan.and_then(|plan| plan.base_url.clone());
    let given = row.base_url_env.iter().find_map(|name| world.var(name)).map(str::to_owned).or(configured);
    let own = plan.and_then(|plan| plan.key_env.clone());
    let key_variables: Vec<String> =
        own.into_iter().chain(row.key_env.iter().map(|name| (*name).to_owned())).collect();
    let endpoint = row.endpoint(given.as_deref());
    Reach {
        provider: endpoint.provider,
        dialect: plan.and_then(|plan| plan.dialect).map_or(endpoint.dialect, dialect),
        base_url: endpoint.base_url,
        auth: endpoint.auth,
        quirks: endpoint.quirks,
        default_model: plan.and_then(|p| p.default_model.clone()).or(row.default_model.map(str::to_owned)),
        key: key(&key_variables, world),
        key_variables,
        wants_key: given.is_none(),
        local: plan.is_some_and(|plan| plan.local),
    }
}

fn from_settings(provider: ProviderName, plan: &ProviderPlan, world: &World) -> Result<Reach, Failure> {
    let base_url = plan.base_url.clone().ok_or_else(|| {
        let message = format!("the provider `{provider}` of the settings has no `base_url`");
        Failure::new(Kind::Configuration, "no-base-url", message)
    })?;
    let dialect = plan.dialect.map_or(Dialect::OpenAiChat, dialect);
    let auth = match dialect {
        Dialect::AnthropicMessages => AuthScheme::Header("x-api-key"),
        Dialect::OpenAiChat => AuthScheme::Bearer,
    };
    let key_variables: Vec<String> = plan.key_env.iter().cloned().collect();
    let (default_model, key) = (plan.default_model.clone(), key(&key_variables, world));
    let quirks = Quirks::CAUTIOUS;
    // Somebody's own server: whether it wants a key is theirs to say, by naming a variable for it.
    let (wants_key, local) = (plan.key_env.is_some(), plan.local);
    Ok(Reach {
        provider,
        dialect,
        base_url,
        auth,
        quirks,
        default_model,
        key_variables,
        key,
        wants_key,
        local,
    })
}

fn dialect(written: ConfigDialect) -> Dialect {
    match written {
        ConfigDialect::Anthropic => Dialect::AnthropicMessages,
        ConfigDialect::OpenAiChat => Dialect::OpenAiChat,
    }
}

fn key(variables: &[String], world: &World) -> Option<Secret> {
    variables.iter().find_map(|name| world.var(name)).map(Secret::new)
}

fn understudy() -> Result<Model, Failure> {
    let endpoint = Endpoint {
        provider: provider_name(UNDERSTUDY)?,
        dialect: Dialect::OpenAiChat,
        base_url: "http://understudy.invalid/v1".to_owned(),
        auth: AuthScheme::None,
        quirks: Quirks::CAUTIOUS,
    };
    let (id, name) = (UNDERSTUDY.to_owned(), UNDERSTUDY.to_owned());
    Ok(Model { id, name, endpoint, key: None, missing_key: None })
}

fn provider_name(name: &str) -> Result<ProviderName, Failure> {
    ProviderName::new(name).map_err(|error| Failure::new(Kind::Internal, "internal", error.to_string()))
}

fn unknown(asked: &str, files: &SettingsPlan) -> Failure {
    let configured = files.providers.keys().map(ProviderName::as_str);
    let known = rows().iter().map(|row| row.name).chain(configured).chain([UNDERSTUDY]);
    Failure::usage("unknown-model", format!("no provider is known for `{asked}`"))
        .did_you_mean(asked, known, "`converse models list` shows the providers")
        .hint("models are written provider/model")
}
