//! The ensembles of the session: connected when it begins, and anew when the user chooses others.

use std::sync::Arc;

use converse_config::Rule;
use converse_mcp::{Responders, Sampler};
use futures_util::FutureExt as _;

use super::session::ReplSession;
use crate::console::Console;
use crate::person::somebody;
use converse_host::catalogue::Catalogue;
use converse_host::contents::Kept;
use converse_host::failure::Failure;
use converse_host::interrupt::Interrupt;
use converse_host::sampler::Models;
use converse_host::settings::Settings;
use converse_host::wiring::{Connected, Wiring};
use converse_host::world::World;

/// What they are connected with.
pub(super) struct Connecting<'a> {
    pub(super) settings: &'a Settings,
    pub(super) catalogue: &'a Catalogue,
    pub(super) contents: &'a Kept,
    pub(super) models: &'a Arc<Models>,
    pub(super) console: &'a Console,
    pub(super) world: &'a World,
}

impl Connecting<'_> {
    pub(super) async fn connect(
        &self,
        rules: Vec<Rule>,
        interrupt: &Interrupt,
    ) -> Result<Connected, Failure> {
        let Self { settings, catalogue, contents, models, console, world } = *self;
        let chosen = catalogue.select(settings.ensembles.as_deref())?;
        let sampler = Some(Arc::clone(models) as Arc<dyn Sampler>);
        let responders = Responders { elicitor: somebody(console), sampler, ..Responders::default() };
        let (protected, lockfiles) = (catalogue.protected(), &catalogue.lockfiles());
        let wiring = Wiring {
            world,
            context: &console.context,
            interrupt,
            deadline: None,
            contents,
            protected,
            lockfiles,
            responders,
        };
        let connected = wiring.connect(&chosen, rules).boxed_local().await?;
        connected.roster.searchable();
        console.warn_all(connected.errors().iter().map(|error| format!("warning: {error}")));
        Ok(connected)
    }
}

impl ReplSession<'_> {
    /// Connects what the settings say now; if that cannot be, all stays as it is. What was allowed and denied in this
    /// run still is.
    pub(super) async fn reconnect(&mut self) -> Result<(), Failure> {
        let attended = self.attention.to_turn();
        let connecting = Connecting {
            settings: &self.settings,
            catalogue: &self.catalogue,
            contents: &self.contents,
            models: &self.models,
            console: self.console,
            world: self.world,
        };
        let rules = self.connected.roster.rules().all();
        let connected = self.view.before_prompt(connecting.connect(rules, &attended.interrupt)).await?;
        let before = std::mem::replace(&mut self.connected, connected);
        before.disconnect(&self.console.context).await;
        self.clear_known_prompts();
        self.update_known_tools();
        Ok(())
    }
}
