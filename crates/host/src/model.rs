//! Resolves a model: from `provider/model` to an endpoint and a key.

pub mod fallback;
mod from_settings;
mod lore;
mod reach;

use converse_canister::ProviderName;
use converse_config::SettingsPlan;
use converse_provider::{
    AuthScheme, Dialect, Endpoint, Facts, Price, ProviderRow, Quirks, row_for_bare_model, rows,
};

pub use lore::{Lore, today};
pub(crate) use reach::unlike;
pub use reach::{Reach, all, reach};

use crate::failure::{Failure, Kind};
use crate::secrets::{Credentials, Secret};
use crate::world::World;

pub const UNDERSTUDY: &str = "understudy";

/// A model with its endpoint and credentials.
#[derive(Debug, Clone)]
pub struct Model {
    /// `provider/model`.
    pub id: String,
    /// The provider's name of the model.
    pub name: String,
    pub endpoint: Endpoint,
    /// Known facts about the model.
    pub facts: Facts,
    pub credentials: Credentials,
    /// The known provider, or the one that it resembles.
    pub row: Option<&'static ProviderRow>,
    /// Whether nobody named it: it is the best that this machine has.
    pub automatic: bool,
    /// The variable that should contain a key but does not.
    missing_key: Option<String>,
}

impl Model {
    /// Checks the key before anything is sent or stored.
    pub fn require_key(&self) -> Result<(), Failure> {
        match &self.missing_key {
            Some(variable) => Err(no_key(&self.endpoint.provider, variable)),
            None => Ok(()),
        }
    }

    pub fn is_understudy(&self) -> bool {
        self.endpoint.provider.as_str() == UNDERSTUDY
    }

    /// Returns the failure of a run in which the understudy answered because there is no key, and found no tool to call.
    /// Nothing for a model that the user named.
    pub fn without_a_model(&self) -> Option<Failure> {
        (self.automatic && self.is_understudy()).then(|| {
            let message = "no model is configured, and the understudy found no tool for this";
            with_a_model(Failure::new(Kind::ProviderRefused, "no-model-configured", message))
        })
    }
}

/// Adds how to use a language model instead of the understudy.
pub(crate) fn with_a_model(failure: Failure) -> Failure {
    failure
        .hint("export ANTHROPIC_API_KEY=… (or OPENAI_API_KEY, GEMINI_API_KEY)")
        .hint("-m ollama/NAME for a local model")
}

/// The same for a provider.
pub fn require_key(reach: &Reach) -> Result<(), Failure> {
    match reach.missing_key() {
        Some(variable) => Err(no_key(&reach.endpoint.provider, variable)),
        None => Ok(()),
    }
}

fn no_key(provider: &ProviderName, variable: &str) -> Failure {
    let message = format!("no key for `{provider}`: {variable} is not set");
    Failure::new(Kind::ProviderRefused, "no-key", message)
        .hint(format!("export {variable}=…"))
        .hint("without a key: `-m understudy`")
}

/// Resolves the named model, or the best model available on this machine.
pub fn choose(named: Option<&str>, files: &SettingsPlan, world: &World) -> Result<Model, Failure> {
    match named {
        Some(id) => parse(id, files, world),
        None => Ok(Model { automatic: true, ..automatic(files, world)? }),
    }
}

/// Accepts `provider/model`, `provider:model`, a provider alone, or a well-known id.
fn parse(id: &str, files: &SettingsPlan, world: &World) -> Result<Model, Failure> {
    if id.trim().is_empty() {
        return Err(
            Failure::usage("no-model", "the name of the model is empty").hint("expected provider/model")
        );
    }
    if id.split(['/', ':']).next() == Some(UNDERSTUDY) {
        return understudy();
    }
    let (provider, name) = match id.split_once(['/', ':']) {
        Some((provider, name)) => (provider, Some(name).filter(|name| !name.is_empty())),
        None => (id, None),
    };
    let (provider, name, reach) = match (reach(provider, files, world), row_for_bare_model(id)) {
        (Some(reach), _) => (provider, name, reach),
        (None, Some(row)) => (row.name, Some(id), reach::of_row(row, files, world)),
        (None, None) => return Err(unknown(provider, files)),
    };
    reach.require_base_url()?;
    let name = name.map(str::to_owned).or_else(|| reach.default_model.clone());
    let name = name
        .ok_or_else(|| Failure::usage("no-model", format!("`{provider}` needs a model: {provider}/NAME")))?;
    Ok(usable(reach, name, files, world))
}

/// Chooses the first provider whose key is set, a local server from the settings, or the understudy.
fn automatic(files: &SettingsPlan, world: &World) -> Result<Model, Failure> {
    let mut nameless = None;
    for row in rows() {
        let reach = reach::of_row(row, files, world);
        match (&reach.credentials.key, reach.default_model.clone()) {
            (Some(_), Some(name)) => {
                reach.require_base_url()?;
                return Ok(usable(reach, name, files, world));
            }
            (Some(_), None) => nameless = nameless.or(Some(reach)),
            (None, _) => {}
        }
    }
    for (name, plan) in files.providers.iter().filter(|(_, plan)| plan.local) {
        if let (Some(reach), Some(model)) = (reach(name.as_str(), files, world), plan.default_model.clone()) {
            reach.require_base_url()?;
            return Ok(usable(reach, model, files, world));
        }
    }
    match nameless {
        // A user who set a key does not want the understudy.
        Some(reach) => Err(no_model(&reach.endpoint.provider)),
        None => understudy(),
    }
}

fn no_model(provider: &ProviderName) -> Failure {
    Failure::usage("no-model", format!("`{provider}` needs the name of a model"))
        .hint(format!("-m {provider}/NAME"))
}

fn usable(reach: Reach, name: String, files: &SettingsPlan, world: &World) -> Model {
    let facts = Lore::of(&reach, &name, files, world).facts();
    let missing_key = reach.missing_key().map(str::to_owned);
    let endpoint = Endpoint { dialect: spoken(&reach, &facts), ..reach.signed() };
    let id = format!("{}/{name}", endpoint.provider);
    let (credentials, row, automatic) = (reach.credentials, reach.row, false);
    Model { id, name, endpoint, facts, credentials, row, automatic, missing_key }
}

/// Chooses the wire: `openai` and compatible servers use Chat Completions, which all of them have. OpenAI itself serves
/// its newest models with tools only over the Responses API.
fn spoken(reach: &Reach, facts: &Facts) -> Dialect {
    let free = reach.row.is_some_and(ProviderRow::picks_its_wire) && !reach.dialect_said;
    if free && facts.needs_responses && reach.is_vendors_own() {
        return Dialect::OpenAiResponses;
    }
    reach.endpoint.dialect
}

/// Returns every key that this run could use.
pub fn keys(files: &SettingsPlan, world: &World) -> Result<Vec<Secret>, Failure> {
    Ok(reach::all_credentials(files, world).iter().flat_map(Credentials::secrets).cloned().collect())
}

fn understudy() -> Result<Model, Failure> {
    let base_url = "http://understudy.invalid/v1".to_owned();
    let provider = provider_name(UNDERSTUDY)?;
    let endpoint = Endpoint::new(provider, Dialect::OpenAiChat, base_url, AuthScheme::None, Quirks::CAUTIOUS);
    let (id, name) = (UNDERSTUDY.to_owned(), UNDERSTUDY.to_owned());
    let facts = Facts { price: Some(Price::NOTHING), tools: Some(true), ..Facts::default() };
    let credentials = Credentials::default();
    Ok(Model { id, name, endpoint, facts, credentials, row: None, automatic: false, missing_key: None })
}

fn provider_name(name: &str) -> Result<ProviderName, Failure> {
    ProviderName::new(name).map_err(|error| Failure::new(Kind::Internal, "internal", error.to_string()))
}

pub fn unknown(asked: &str, files: &SettingsPlan) -> Failure {
    let configured = files.providers.keys().map(ProviderName::as_str);
    let known = rows().iter().map(|row| row.name).chain(configured).chain([UNDERSTUDY]);
    Failure::usage("unknown-model", format!("no provider is known for `{asked}`"))
        .did_you_mean(asked, known, "`converse models list` shows the providers")
        .hint("expected provider/model")
}
