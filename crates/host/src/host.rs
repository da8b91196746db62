//! The front of the library: a model and connected tools, for conversations.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use converse_ensemble::Roster;

use crate::catalogue::Catalogue;
use crate::contents::Kept;
use crate::context::{Notices, RunContext};
use crate::conversation::{ConversationBuilder, HostParts};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::model;
use crate::options::TurnOptions;
use crate::own_tool::{OwnTool, OwnTools};
use crate::settings::{Files, Settings};
use crate::wiring::{Connected, Wiring};
use crate::world::World;
use converse_process::this_program;

/// What a host is made of; see [`Host::builder`].
#[derive(Default)]
pub struct HostBuilder {
    config_dir: Option<PathBuf>,
    data_dir: Option<PathBuf>,
    options: TurnOptions,
    tools: OwnTools,
    notices: Option<Arc<dyn Notices>>,
    starts_itself: bool,
}

impl fmt::Debug for HostBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostBuilder").field("options", &self.options).finish_non_exhaustive()
    }
}

impl HostBuilder {
    /// The directory of `config.toml` and `ensembles/`, instead of `~/.config/converse`.
    #[must_use]
    pub fn config_dir(mut self, directory: impl Into<PathBuf>) -> Self {
        self.config_dir = Some(directory.into());
        self
    }

    /// The directory of sessions, the audit log, tokens and caches, instead of those of the user.
    #[must_use]
    pub fn data_dir(mut self, directory: impl Into<PathBuf>) -> Self {
        self.data_dir = Some(directory.into());
        self
    }

    /// The model, as `provider/model`. `understudy` needs no key and no network.
    #[must_use]
    pub fn model(mut self, id: impl Into<String>) -> Self {
        self.options.model = vec![id.into()];
        self
    }

    /// Offers a tool of this program, as `own.NAME`.
    #[must_use]
    pub fn tool(mut self, tool: impl OwnTool) -> Self {
        self.tools.add(tool);
        self
    }

    /// All other choices of a conversation. Replaces the model too. Which session goes on is chosen for each conversation
    /// ([`ConversationBuilder::session`]): `session` and `continue_last` are not used.
    #[must_use]
    pub fn options(mut self, options: TurnOptions) -> Self {
        self.options = options;
        self
    }

    /// Where warnings go. Without it they are dropped.
    #[must_use]
    pub fn notices(mut self, notices: Arc<dyn Notices>) -> Self {
        self.notices = Some(notices);
        self
    }

    /// Lets the host start this program again: as the guardian that ends child processes when the program is killed, and
    /// to enter the sandbox of a command. `main` must begin with [`child_process`](crate::child_process).
    #[must_use]
    pub fn starts_itself(mut self) -> Self {
        self.starts_itself = true;
        self
    }

    /// Reads the environment and the settings, and connects the ensembles.
    ///
    /// # Errors
    ///
    /// Settings or descriptors with errors, an unknown model, a missing key, a `required` ensemble that cannot be
    /// connected.
    pub async fn build(self) -> Result<Host, Failure> {
        let (mut world, warning) = World::snapshot()?;
        (world.config, world.data) = (self.config_dir, self.data_dir);
        let mut context = RunContext::new(&world);
        // Each conversation decides whether a user can be asked.
        context.can_ask = true;
        context.program = self.starts_itself.then(this_program);
        if let Some(notices) = self.notices {
            context.notices = notices;
        }
        context.warn_all(warning.map(str::to_owned));
        let (files, warnings) = Files::read(&world).checked()?;
        context.warn_all(warnings);
        context.redactor.learn(model::keys(&files, &world)?);
        context.warn_all(context.cassette.load(&self.options, &context.redactor, &world)?);
        let settings = Settings::resolve(&self.options, None, None, &files, None, &world)?;
        if !settings.cassette.answers_for_models() {
            settings.model.require_key()?;
        }
        context.warn_all(settings.fallbacks.left_out.iter().cloned());
        let catalogue = Catalogue::find(&world, &self.options.directories);
        let chosen = catalogue.select(settings.ensembles.as_deref())?;
        context.warn_all(catalogue.lines());
        let (interrupt, contents) = (Interrupt::default(), Kept::rolling());
        let looking = Wiring::looking(&world, &context, &interrupt, &contents);
        let wiring =
            Wiring { protected: catalogue.protected(), lockfiles: &catalogue.lockfiles(), ..looking };
        let own = self.tools.ensemble()?.into_iter().collect();
        let connected = wiring.connect_with(&chosen, settings.rules.clone(), None, own).await?;
        connected.roster.searchable();
        context.warn_all(connected.errors().iter().map(|error| format!("warning: {error}")));
        Ok(Host { world, context, settings, contents, interrupt, connected })
    }
}

/// A model and connected tools. Conversations borrow it.
pub struct Host {
    world: World,
    context: RunContext,
    settings: Settings,
    contents: Kept,
    interrupt: Interrupt,
    connected: Connected,
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Host").field("model", &self.settings.model.id).finish_non_exhaustive()
    }
}

impl Host {
    #[must_use]
    pub fn builder() -> HostBuilder {
        HostBuilder::default()
    }

    /// Begins to describe a conversation.
    #[must_use]
    pub fn conversation(&self) -> ConversationBuilder<'_> {
        let Self { world, context, settings, contents, interrupt, connected } = self;
        HostParts { world, context, settings, contents, interrupt, connected }.conversation()
    }

    /// The model that is asked, as `provider/model`.
    pub fn model(&self) -> &str {
        &self.settings.model.id
    }

    /// The tools that are offered to models.
    pub fn roster(&self) -> &Roster {
        &self.connected.roster
    }

    /// Breaks off what runs and refuses what comes.
    pub fn cancel(&self) {
        self.interrupt.token.cancel();
    }

    /// Disconnects the servers. Bounded: they are asked to end, then made to.
    ///
    /// # Errors
    ///
    /// A recording that cannot be written.
    pub async fn close(self) -> Result<(), Failure> {
        self.connected.disconnect(&self.context).await;
        self.context.warn_all(self.context.cassette.eject(self.interrupt.token.is_cancelled())?);
        self.context.warn_all(self.context.telemetry.settle());
        Ok(())
    }
}
