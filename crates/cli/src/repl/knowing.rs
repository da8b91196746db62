//! What there is to be completed. All but prompts of servers is at hand; those are asked for while a line is typed.

use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use converse_provider::known_models;
use converse_session::Summary;
use tokio::time::timeout;

use super::completing::{KnownPrompt, Named};
use super::sitting::Sitting;
use crate::model::{self, UNDERSTUDY};
use crate::turn::sessions;
use crate::world::World;

/// Sessions that are offered: the last ones.
const SESSIONS: usize = 50;
/// For the prompts of one server.
const ASKING: Duration = Duration::from_secs(5);
const PROMPTS: usize = 500;

/// Is what servers have known as well?
#[derive(Debug, Default)]
pub(super) struct Asked(AtomicBool);

impl Sitting<'_> {
    /// What has changed in a turn or by a command.
    pub(super) fn knows_tools(&self) {
        let offer = self.connected.roster.offer();
        let first_line = |text: &str| text.lines().next().unwrap_or_default().trim().to_owned();
        let tools = offer
            .tools()
            .map(|tool| Named::new(tool.qualified.as_str(), first_line(&tool.declaration.description)));
        let tools = tools.collect();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.tools = tools;
    }

    /// What is the same as long as the program runs.
    pub(super) fn knows_all(&self) {
        let today = model::today();
        let usable =
            model::all(&self.files, self.world).into_iter().filter(|reach| reach.missing_key().is_none());
        let models = usable.flat_map(|reach| {
            let provider = reach.endpoint.provider.to_string();
            let default = reach.default_model.clone().map(|name| format!("{provider}/{name}"));
            let listed = known_models(&provider, &today).map(|one| format!("{provider}/{}", one.name));
            let mut names: Vec<String> = listed.chain(default).collect();
            names.dedup();
            names
        });
        let models = models.chain([UNDERSTUDY.to_owned()]).map(|id| Named::new(id, "")).collect();
        let ensembles = self.catalogue.plans.iter();
        let ensembles =
            ensembles.map(|plan| Named::new(plan.name.as_str(), plan.description.as_str())).collect();
        {
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            (known.models, known.ensembles) = (models, ensembles);
            (known.cwd, known.home) = (self.world.cwd.clone(), self.world.home());
        }
        self.knows_tools();
    }

    /// What takes its time, once: the sessions there are, and the prompts of the servers that are connected. A server
    /// that does not answer is not asked again.
    pub(super) async fn asks_around(&self) {
        if self.asked.0.swap(true, Ordering::Relaxed) {
            return;
        }
        let world = self.world.clone();
        if let Ok(sessions) = tokio::task::spawn_blocking(move || last_sessions(&world)).await {
            self.known.lock().unwrap_or_else(PoisonError::into_inner).sessions = sessions;
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
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            let room = PROMPTS.saturating_sub(known.prompts.len());
            known.prompts.extend(prompts.take(room));
        }
    }

    /// Servers are others now.
    pub(super) fn forgets_prompts(&self) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).prompts.clear();
        self.asked.0.store(false, Ordering::Relaxed);
    }
}

fn last_sessions(world: &World) -> Vec<Named> {
    let listed = sessions::store(world).and_then(|store| store.list().ok()).unwrap_or_default();
    let named = |one: Summary| {
        let name = one.metadata.name.unwrap_or_else(|| one.id.to_string());
        Named::new(name, one.updated.strftime("%Y-%m-%d %H:%M").to_string())
    };
    listed.into_iter().filter(|one| one.canisters > 0).take(SESSIONS).map(named).collect()
}
