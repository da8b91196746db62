//! Agents: the models and presets that clients can name, each with its settings and tools.

use std::collections::HashMap;
use std::sync::Arc;

use converse_canister::{EnsembleName, InvokerName};
use converse_config::{Effects, EnsemblePlan, Origin, Permission, Policy, Rule, Scope, SettingsPlan};
use converse_ensemble::{
    Answer, ConnectError, Connection, Context, Ensemble, Invocable, InvokeError, NoArtefacts, Roster, Rules,
    Tool,
};
use converse_host::TurnOptions;
use converse_host::approvals;
use converse_host::failure::{Failure, Kind};
use converse_host::model::{self, Model};
use converse_host::routes::Wires;
use converse_host::settings::Settings;
use converse_host::world::World;
use converse_provider::known_models;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use parking_lot::{Mutex, RwLock};

use converse_openai::{ClientTool, ModelEntry};

/// Agents that are kept with their connections. More are made anew for each turn.
const MAX_KEPT: usize = 256;

/// The prefix of tools that a client brought, in rules and records.
const CLIENT: &str = "client";

/// All agents of a server.
pub(crate) struct Agents {
    /// What applies to every turn: rules of the command line.
    options: TurnOptions,
    world: Arc<World>,
    rules: Rules,
    /// Replaced as a whole when the configuration changes. A turn that runs keeps what it began with.
    configured: RwLock<Arc<Configured>>,
}

/// What the settings say, and the agents made of it.
pub(crate) struct Configured {
    files: SettingsPlan,
    roster: Roster,
    kept: Mutex<HashMap<String, Arc<Agent>>>,
}

/// The connections and the tools of a model or preset.
pub(crate) struct Agent {
    pub(crate) roster: Roster,
    pub(crate) wires: Wires,
}

impl Agents {
    /// `rules` has what all rules of this workspace share; its list is replaced. The kept answers among the rules of the
    /// settings and of the roster are left out: they are one user's, and each turn adds those of its principal.
    pub(crate) fn new(
        files: SettingsPlan,
        options: TurnOptions,
        world: Arc<World>,
        roster: &Roster,
        rules: Rules,
    ) -> Self {
        let configured = RwLock::new(Arc::new(Configured::new(files, roster)));
        Self { options, world, rules, configured }
    }

    /// Takes over other settings, and the rules of the roster as they are now, for turns that begin from now on.
    pub(crate) fn take_over(&self, files: SettingsPlan, roster: &Roster) {
        *self.configured.write() = Arc::new(Configured::new(files, roster));
    }

    fn configured(&self) -> Arc<Configured> {
        Arc::clone(&self.configured.read())
    }

    /// Returns the settings of a turn with this model or preset, and the configuration that they are of; `None` for the
    /// default model. `change` adds what the request says.
    ///
    /// # Errors
    ///
    /// The model is unknown, or its key is missing.
    pub(crate) fn settings(
        &self,
        name: Option<&str>,
        change: impl FnOnce(&mut TurnOptions),
    ) -> Result<(Settings, Arc<Configured>), Failure> {
        let (mut options, configured) = (self.options.clone(), self.configured());
        match name {
            Some(name) if configured.files.presets.contains_key(name) => {
                options.preset = Some(name.to_owned())
            }
            Some(name) => options.model = vec![name.to_owned()],
            None => {}
        }
        change(&mut options);
        let settings = Settings::resolve(&options, None, None, &configured.files, None, &self.world)?;
        if !settings.cassette.answers_for_models() {
            settings.model.require_key()?;
        }
        Ok((settings, configured))
    }

    /// Returns the connections and tools for these settings. They are kept with the configuration that the settings are
    /// of: another one may have been taken over since.
    ///
    /// # Errors
    ///
    /// The settings name an ensemble that is not connected.
    pub(crate) fn agent(&self, settings: &Settings, configured: &Configured) -> Result<Arc<Agent>, Failure> {
        let key = key(settings);
        if let Some(agent) = configured.kept.lock().get(&key) {
            return Ok(Arc::clone(agent));
        }
        if let Some(missing) =
            settings.ensembles.iter().flatten().find(|name| configured.roster.tools_of(name).is_none())
        {
            let message = format!("the ensemble `{missing}` is not connected to this server");
            return Err(Failure::new(Kind::Ensemble, "named-ensemble", message));
        }
        let rules = self.rules.with_list(settings.rules.clone());
        let roster = configured.roster.view(settings.ensembles.as_deref(), rules);
        roster.searchable();
        let agent = Arc::new(Agent { roster, wires: settings.wires() });
        let mut kept = configured.kept.lock();
        if kept.len() < MAX_KEPT {
            kept.insert(key, Arc::clone(&agent));
        }
        Ok(agent)
    }

    /// Lists presets, and known models of providers that can be used here.
    pub(crate) fn list(&self) -> Vec<ModelEntry> {
        let configured = self.configured();
        let files = &configured.files;
        let presets = files.presets.iter().map(|(name, preset)| ModelEntry {
            id: name.clone(),
            created: 0,
            owned_by: "preset".to_owned(),
            description: preset.description.clone(),
        });
        let entry = |id: String| {
            let owned_by = id.split_once('/').map_or_else(|| id.clone(), |(provider, _)| provider.to_owned());
            ModelEntry { id, created: 0, owned_by, description: None }
        };
        let mut ids: Vec<String> = self.default_model().map(|model| model.id).into_iter().collect();
        let usable = model::all(files, &self.world);
        let usable = usable.iter().filter(|reach| reach.missing_key().is_none());
        let today = model::today();
        let of = |provider: &str| {
            let ids = known_models(provider, &today).map(|model| format!("{provider}/{}", model.name));
            ids.collect::<Vec<_>>()
        };
        ids.extend(usable.flat_map(|reach| of(reach.endpoint.provider.as_str())));
        // Models that the settings describe are usable by intent.
        ids.extend(files.models.keys().map(ToString::to_string));
        ids.push("understudy".to_owned());
        let mut seen = std::collections::HashSet::new();
        ids.retain(|id| seen.insert(id.clone()));
        presets.chain(ids.into_iter().map(entry)).collect()
    }

    /// Returns the id of the model that answers if none is named.
    pub(crate) fn default_id(&self) -> Option<String> {
        self.default_model().map(|model| model.id)
    }

    /// Returns all tools of the server.
    pub(crate) fn roster(&self) -> Roster {
        self.configured().roster.for_caller(0)
    }

    /// Returns whether calls are recorded in the audit log.
    pub(crate) fn audits(&self) -> bool {
        self.configured().files.audit.unwrap_or(true)
    }

    fn default_model(&self) -> Option<Model> {
        self.settings(None, |_| {}).ok().map(|(settings, _)| settings.model)
    }
}

impl Configured {
    fn new(mut files: SettingsPlan, roster: &Roster) -> Self {
        files.rules.retain(|rule| !rule.is_bound());
        let shared = roster.rules().only(|rule| !rule.is_bound());
        let roster = roster.for_caller(0).judged_by(shared);
        Self { files, roster, kept: Mutex::default() }
    }
}

/// Returns the rules of a turn: those that all turns share, and the answers "always" of its principal as they are now.
pub(crate) fn rules_of(world: &World, shared: &Rules) -> Vec<Rule> {
    let (kept, unusable) = approvals::rules(world);
    if let Some(warning) = unusable {
        tracing::warn!("{warning}");
    }
    let mut rules = shared.all();
    rules.extend(kept);
    rules
}

/// Returns the tools of one turn with its own rules: answers in it reach no other turn.
pub(crate) fn tools_of(world: &World, shared: &Roster) -> Roster {
    shared.judged_by(shared.rules().with_list(rules_of(world, shared.rules())))
}

/// Identifies what connections and tools depend on: not the sampling of one request.
fn key(settings: &Settings) -> String {
    let models = [&settings.model].into_iter().chain(&settings.fallbacks.models);
    let models: Vec<&str> = models.map(|model| model.id.as_str()).collect();
    format!("{models:?} {:?} {:?}", settings.ensembles, settings.preset)
}

/// Returns a roster of tools that the client runs itself. Every call waits for the client.
///
/// # Errors
///
/// A name that no tool can have.
pub(crate) async fn client_roster(tools: Vec<ClientTool>) -> Result<Roster, Failure> {
    let name = EnsembleName::try_from(CLIENT.to_owned())
        .map_err(|_| Failure::new(Kind::Internal, "internal", "no name for the tools of a client"))?;
    let origin = Origin { scope: Scope::Explicit, file: "the request".to_owned(), line: 1 };
    let ensemble = Ensemble::new(&EnsemblePlan::new(name, origin), Box::new(ClientTools(tools)));
    let rules = Rules::new(Vec::new()).interactive(true);
    let (roster, failures) = Roster::connect(vec![ensemble], rules, Arc::new(NoArtefacts)).await;
    match failures.first() {
        Some(failure) => Err(Failure::usage("bad-tool", failure.to_string())),
        None => Ok(roster),
    }
}

struct ClientTools(Vec<ClientTool>);

impl Connection for ClientTools {
    fn connect<'a>(&'a self, ensemble: &'a Ensemble) -> BoxFuture<'a, Result<Vec<Tool>, ConnectError>> {
        let tool = |tool: &ClientTool| {
            let declaration = tool.declaration.clone();
            let failed =
                |reason: &str| ConnectError { ensemble: CLIENT.to_owned(), reason: reason.to_owned() };
            let name = InvokerName::try_from(declaration.name.to_string())
                .map_err(|_| failed("the name of a tool"))?;
            let policy = Policy { effects: Effects::External, ..Policy::default() };
            let own = (Permission::Ask, "a tool of the client".to_owned());
            Ok(Tool::new(ensemble, &name, declaration, policy, own, Arc::new(RunsElsewhere)))
        };
        std::future::ready(self.0.iter().map(tool).collect()).boxed()
    }
}

/// The client runs the tool; here it never runs.
struct RunsElsewhere;

impl Invocable for RunsElsewhere {
    fn invoke<'a>(
        &'a self,
        _: Context,
        _: &'a converse_canister::Arguments,
    ) -> BoxFuture<'a, Result<Answer, InvokeError>> {
        std::future::ready(Ok(Answer::error("this tool runs at the client"))).boxed()
    }
}
