//! Words that are completed: models, ensembles, tools, sessions, and prompts of servers. Prompts are requested while a line
//! is typed; everything else is known before.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use converse_config::SettingsPlan;
use converse_provider::known_models;
use converse_session::Summary;
use tokio::time::timeout;

use super::completing::{KnownPrompt, Named};
use super::session::ReplSession;
use converse_host::model::{self, Reach, UNDERSTUDY};
use converse_host::turn::sessions;
use converse_host::world::World;
use converse_text::safe_line;

/// Number of sessions that are completed, the latest first.
const SESSIONS: usize = 50;
/// Time limit for listing the prompts of one server.
const ASKING: Duration = Duration::from_secs(5);
const PROMPTS: usize = 500;
/// Characters about a command of a file.
const ABOUT: usize = 160;

/// Whether the prompts of the connected servers were requested.
#[derive(Debug, Default)]
pub(super) struct PromptsLoaded(AtomicBool);

impl ReplSession<'_> {
    /// Updates what a turn or a command may have changed.
    pub(super) fn update_known_tools(&self) {
        let offer = self.connected.roster.offer();
        let first_line = |text: &str| text.lines().next().unwrap_or_default().trim().to_owned();
        let tools = offer
            .tools()
            .map(|tool| Named::new(tool.qualified.as_str(), first_line(&tool.declaration.description)));
        let tools = tools.collect();
        let mut known = self.known.lock();
        known.tools = tools;
    }

    /// Updates everything, including what does not change while the program runs.
    pub(super) fn update_known(&self) {
        let today = model::today();
        let usable =
            model::all(&self.files, self.world).into_iter().filter(|reach| reach.missing_key().is_none());
        let models = usable.flat_map(|reach| models_of(&reach, &self.files, &today));
        let models = models.chain([UNDERSTUDY.to_owned()]).map(|id| Named::new(id, "")).collect();
        let ensembles = self.catalogue.plans.iter();
        let ensembles =
            ensembles.map(|plan| Named::new(plan.name.as_str(), plan.description.as_str())).collect();
        let own = self.own_commands().map(|command| {
            (
                Named::new(&command.name, safe_line(&command.description, ABOUT)),
                safe_line(&command.hint, ABOUT),
            )
        });
        let own = own.collect();
        {
            let mut known = self.known.lock();
            known.commands = own;
            (known.models, known.ensembles) = (models, ensembles);
            (known.cwd, known.home) = (self.world.cwd.clone(), self.world.home());
        }
        self.update_known_tools();
    }

    /// Loads what takes time, once: the sessions, and the prompts of the connected servers. A server that does not answer is
    /// not asked again.
    pub(super) async fn load_slow_completions(&self) {
        if self.prompts_loaded.0.swap(true, Ordering::Relaxed) {
            return;
        }
        let world = self.world.clone();
        if let Ok(sessions) = tokio::task::spawn_blocking(move || last_sessions(&world)).await {
            self.known.lock().sessions = sessions;
        }
        let names: Vec<String> = self.connected.surveys().iter().map(|(name, _)| name.to_string()).collect();
        for name in names {
            let Some(server) = self.connected.server(&name) else { continue };
            let Ok(Ok(listed)) = timeout(ASKING, server.prompts()).await else { continue };
            let prompts = listed.items.into_iter().map(|prompt| KnownPrompt {
                name: format!("{name}.{}", prompt.name),
                about: prompt.description.or(prompt.title).unwrap_or_default(),
                arguments: prompt
                    .arguments
                    .into_iter()
                    .map(|argument| Named::new(argument.name, argument.description.unwrap_or_default()))
                    .collect(),
            });
            let mut known = self.known.lock();
            let room = PROMPTS.saturating_sub(known.prompts.len());
            known.prompts.extend(prompts.take(room));
        }
    }

    /// Forgets the prompts, because other servers are connected.
    pub(super) fn clear_known_prompts(&self) {
        self.known.lock().prompts.clear();
        self.prompts_loaded.0.store(false, Ordering::Relaxed);
    }
}

/// Returns the models of a provider that the program's table or the user's settings name, each once.
fn models_of(reach: &Reach, files: &SettingsPlan, today: &str) -> Vec<String> {
    let provider = &reach.endpoint.provider;
    let listed = known_models(provider.as_str(), today).map(|one| one.name.to_owned());
    let prefix = format!("{provider}/");
    let own = files.models.keys().filter_map(|id| id.strip_prefix(&prefix)).map(str::to_owned);
    let mut seen = HashSet::new();
    let names = listed.chain(reach.default_model.clone()).chain(own);
    names.filter(|name| seen.insert(name.clone())).map(|name| format!("{prefix}{name}")).collect()
}

fn last_sessions(world: &World) -> Vec<Named> {
    let listed = sessions::store(world).and_then(|store| store.list().ok()).unwrap_or_default();
    let named = |one: Summary| {
        let name = one.metadata.name.unwrap_or_else(|| one.id.to_string());
        Named::new(name, one.updated.strftime("%Y-%m-%d %H:%M").to_string())
    };
    listed.into_iter().filter(|one| one.canisters > 0).take(SESSIONS).map(named).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use converse_canister::ProviderName;

    use super::*;
    use converse_host::world::Input;

    #[test]
    fn models_of_the_users_settings_are_completed_too() {
        let world = World {
            words: vec![],
            env: BTreeMap::default(),
            cwd: "/".into(),
            config: None,
            data: None,
            database: None,
            stdin: Input::Terminal,
            stdout_tty: true,
            stderr_tty: true,
        };
        let mut files = SettingsPlan::default();
        files.providers.insert(ProviderName::new("stub").unwrap(), Default::default());
        for id in ["stub/m2", "stub/m1", "other/m3", "openai/gpt-mine", "openai/gpt-5"] {
            files.models.insert(id.to_owned(), Default::default());
        }
        let all = model::all(&files, &world);
        let of = |name: &str| {
            let reach = all.iter().find(|reach| reach.endpoint.provider.as_str() == name).unwrap();
            models_of(reach, &files, "2026-11-22")
        };
        assert_eq!(of("stub"), ["stub/m1", "stub/m2"]);
        let openai = of("openai");
        for id in ["openai/gpt-mine", "openai/gpt-5"] {
            assert_eq!(openai.iter().filter(|one| *one == id).count(), 1, "{id} in {openai:?}");
        }
    }
}
