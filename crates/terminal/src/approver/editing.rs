//! Other arguments than the model's: written by the person, checked like any others, and shown again before they run.

use std::path::PathBuf;

use converse_ensemble::Pending;
use serde_json::{Map, Value};

use super::reading::read_answer;
use crate::view::TerminalView;
use converse_host::world::World;
use converse_session::files::private_dir;

/// How arguments are edited here.
#[derive(Debug, Clone, Default)]
pub(super) struct Editing {
    /// The words of `$VISUAL` or `$EDITOR`.
    command: Option<Vec<String>>,
    /// Where its file lives meanwhile.
    state: Option<PathBuf>,
}

impl Editing {
    pub(super) fn of(world: &World) -> Self {
        Self { command: crate::repl::named_editor(world), state: world.state_dir() }
    }

    /// What the person makes of the arguments; an error in words.
    pub(super) async fn arguments(
        &self,
        progress: &TerminalView,
        pending: &Pending,
    ) -> Result<Map<String, Value>, String> {
        let text = match (&self.command, &self.state) {
            (Some(command), Some(state)) => self.in_editor(progress, pending, command, state).await?,
            _ => self.as_a_line(progress, pending).await?,
        };
        match serde_json::from_str(&text) {
            Ok(Value::Object(object)) => Ok(object),
            Ok(_) => Err("the arguments must be a JSON object".to_owned()),
            Err(error) => Err(format!("not JSON: {error}")),
        }
    }

    async fn in_editor(
        &self,
        progress: &TerminalView,
        pending: &Pending,
        command: &[String],
        state: &std::path::Path,
    ) -> Result<String, String> {
        private_dir(state).map_err(|error| format!("cannot create the editor's file: {error}"))?;
        let text =
            serde_json::to_string_pretty(pending.arguments()).map_err(|error| error.to_string())? + "\n";
        let (command, state) = (command.to_vec(), state.to_owned());
        let edit = move || converse_editor::edited(&command, &state, &text);
        let edited = progress.suspended(|| tokio::task::spawn_blocking(edit)).await;
        edited.map_err(|error| error.to_string())?
    }

    async fn as_a_line(&self, progress: &TerminalView, pending: &Pending) -> Result<String, String> {
        let now = Value::Object(pending.arguments().clone());
        let now = super::visible::visible(&now.to_string(), false);
        let question = format!("  now: {now}\n  the arguments as one line of JSON (empty = unchanged): ");
        let line = progress.suspended(|| read_answer(question)).await.ok_or("nobody answered")?;
        match line.trim() {
            // Not what was shown, in which some of it is made visible.
            "" => Ok(Value::Object(pending.arguments().clone()).to_string()),
            line => Ok(line.to_owned()),
        }
    }
}
