//! The ensembles of the session: connected behind the first prompt, and anew when the user chooses others.

use std::sync::Arc;

use converse_config::{EnsemblePlan, Rule};
use converse_mcp::{Responders, Sampler};
use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;

use super::session::ReplSession;
use super::turn::with_stop_notice;
use crate::console::Console;
use crate::person::somebody;
use converse_host::catalogue::Catalogue;
use converse_host::contents::Kept;
use converse_host::failure::Failure;
use converse_host::interrupt::Interrupt;
use converse_host::options::TurnOptions;
use converse_host::sampler::Models;
use converse_host::settings::Settings;
use converse_host::skills::skills;
use converse_host::wiring::{Connected, Wiring};
use converse_host::world::World;

/// What they are connected with.
pub(super) struct Connecting<'s, 'a> {
    pub(super) options: &'s TurnOptions,
    pub(super) settings: &'s Settings,
    pub(super) catalogue: &'s Catalogue,
    pub(super) contents: &'s Kept,
    pub(super) models: &'s Arc<Models>,
    pub(super) console: &'a Console,
    pub(super) world: &'a World,
}

/// Connections that are made when this is polled. It borrows nothing of a session.
pub(super) struct Pending<'a> {
    /// The ensembles that have a server, which may take its time.
    pub(super) servers: Vec<String>,
    work: LocalBoxFuture<'a, Result<Connected, Failure>>,
}

impl Pending<'_> {
    pub(super) async fn finish(&mut self) -> Result<Connected, Failure> {
        (&mut self.work).await
    }
}

impl<'a> Connecting<'_, 'a> {
    /// Connects what the settings say.
    pub(super) fn begin(&self, rules: Vec<Rule>, interrupt: &Interrupt) -> Result<Pending<'a>, Failure> {
        let chosen = self.catalogue.select(self.settings.ensembles.as_deref())?;
        Ok(self.begin_with(chosen.into_iter().cloned().collect(), rules, interrupt))
    }

    /// Connects these; none at all is done at once.
    pub(super) fn begin_with(
        &self,
        chosen: Vec<EnsemblePlan>,
        rules: Vec<Rule>,
        interrupt: &Interrupt,
    ) -> Pending<'a> {
        let Self { options, settings, catalogue, contents, models, console, world } = *self;
        let has_tools = settings.ensembles.as_ref().is_none_or(|named| !named.is_empty());
        let own = skills(&options.instructions, &console.context.redactor).filter(|_| has_tools);
        let replays = console.context.cassette.answers_for_tools();
        let served = chosen.iter().filter(|plan| plan.connection.is_some() && !replays);
        let servers = served.map(|plan| plan.name.to_string()).collect();
        let sampler = Some(Arc::clone(models) as Arc<dyn Sampler>);
        let responders = Responders { elicitor: somebody(console), sampler, ..Responders::default() };
        let (protected, lockfiles) = (catalogue.protected().to_vec(), catalogue.lockfiles());
        let (contents, interrupt) = (contents.clone(), interrupt.clone());
        let work = async move {
            let looking = Wiring::looking(world, &console.context, &interrupt, &contents);
            let wiring = Wiring { protected: &protected, lockfiles: &lockfiles, responders, ..looking };
            let plans: Vec<&EnsemblePlan> = chosen.iter().collect();
            let own = own.into_iter().collect();
            let connected = wiring.connect_with(&plans, rules, None, own).boxed_local().await?;
            connected.roster.searchable();
            console.warn_all(connected.errors().iter().map(|error| format!("warning: {error}")));
            Ok(connected)
        };
        Pending { servers, work: work.boxed_local() }
    }
}

impl ReplSession<'_> {
    /// Connects what the settings say now; if that cannot be, all stays as it is. What was allowed and denied in this
    /// run still is.
    pub(super) async fn reconnect(&mut self) -> Result<(), Failure> {
        let attended = self.attention.to_turn();
        let connecting = Connecting {
            options: &self.options,
            settings: &self.settings,
            catalogue: &self.catalogue,
            contents: &self.contents,
            models: &self.models,
            console: self.console,
            world: self.world,
        };
        let rules = self.connected.roster.rules().all();
        let mut pending = connecting.begin(rules, &attended.interrupt)?;
        let connected = self.view.before_prompt(pending.finish()).await?;
        let before = std::mem::replace(&mut self.connected, connected);
        before.disconnect(&self.console.context).await;
        self.clear_known_prompts();
        self.update_known_tools();
        Ok(())
    }

    /// Waits for the servers that are connected behind the prompt. They go on if that is interrupted.
    pub(super) async fn await_servers(&mut self, interrupt: &Interrupt) -> Result<(), Failure> {
        let Some(pending) = &mut self.pending else { return Ok(()) };
        let connected = tokio::select! {
            biased;
            () = interrupt.token.cancelled() => return Err(interrupt.failure()),
            connected = pending.finish() => connected,
        };
        self.take_over(connected)
    }

    /// The same, outside a turn.
    pub(super) async fn await_servers_first(&mut self) -> Result<(), Failure> {
        if self.pending.is_none() {
            return Ok(());
        }
        let attended = self.attention.to_turn();
        let view = Arc::clone(&self.view);
        view.begin_turn();
        let waiting = self.await_servers(&attended.interrupt).boxed_local();
        let waited = view.during(with_stop_notice(&view, &attended, waiting)).await;
        view.end_turn(None);
        waited
    }

    /// The servers are connected, or one that is required is not.
    pub(super) fn take_over(&mut self, connected: Result<Connected, Failure>) -> Result<(), Failure> {
        self.pending = None;
        self.view.announce_connections(false);
        self.is_unconnected = connected.is_err();
        self.connected = connected?;
        self.clear_known_prompts();
        self.update_known_tools();
        Ok(())
    }
}
