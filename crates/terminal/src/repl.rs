//! The conversation at the terminal: state across turns, input and output.

mod begin;
mod clipboard;
mod commands;
mod completing;
mod completion_sources;
mod connecting;
mod conversation;
mod dropped;
mod mentions;
mod pictures;
mod ran;
mod session;
mod slash;
mod status_line;
mod steering;
mod tally;
mod turn;

use std::path::PathBuf;

use converse_host::failure::{Failure, Kind};
use converse_host::settings::Settings;
use converse_host::world::World;
use converse_session::files::private_dir;

pub use begin::run;

fn internal(error: impl std::fmt::Display) -> Failure {
    Failure::new(Kind::Internal, "internal", error.to_string())
}

/// Returns whether the failure ends the conversation. A session that another program uses, or that cannot be read, does
/// not.
fn ends_all(failure: &Failure) -> bool {
    let unwritten = ["save-failed", "audit-failed", "output-failed"];
    matches!(failure.kind, Kind::Closed | Kind::Internal) || unwritten.contains(&failure.code)
}

/// Checked before anything is said: a replayed conversation needs none.
fn require_key(settings: &Settings) -> Result<(), Failure> {
    if settings.cassette.answers_for_models() { Ok(()) } else { settings.model.require_key() }
}

/// Editors that are used if none is set.
const EDITORS: [&str; 2] = ["vi", "nano"];

/// The words of `$VISUAL` or `$EDITOR`.
pub(crate) fn named_editor(world: &World) -> Option<Vec<String>> {
    let named = world.var("VISUAL").or_else(|| world.var("EDITOR"))?;
    let words: Vec<String> = named.split_whitespace().map(str::to_owned).collect();
    (!words.is_empty()).then_some(words)
}

/// The same, else an editor that is installed.
fn editor_command(world: &World) -> Option<Vec<String>> {
    named_editor(world).or_else(|| installed(&EDITORS, world))
}

/// The first of these programs that is installed.
fn installed(programs: &[&str], world: &World) -> Option<Vec<String>> {
    let directories = || std::env::split_paths(world.var("PATH").unwrap_or_default());
    let is_installed = |name: &str| directories().any(|dir| dir.is_absolute() && dir.join(name).is_file());
    programs.iter().find(|name| is_installed(name)).map(|name| vec![(*name).to_owned()])
}

/// A directory that only its owner can read, for files that live a moment.
fn scratch(world: &World) -> Option<PathBuf> {
    let dir = world.state_dir()?;
    private_dir(&dir).ok()?;
    Some(dir)
}

#[cfg(test)]
mod tests {
    use converse_engine::SinkError;
    use converse_session::SessionError;

    use super::*;

    #[test]
    fn only_what_cannot_be_kept_or_shown_ends_it() {
        let of_session = || Failure::from(SessionError::NotFound("x".to_owned()));
        let damaged = SessionError::Unsynced { path: "x".into() };
        for (failure, ends) in [
            (Failure::from(SinkError::Save("full".to_owned())), true),
            (Failure::from(SinkError::Audit("full".to_owned())), true),
            (Failure::from(SinkError::Output("full".to_owned())), true),
            (Failure::from(SinkError::Closed), true),
            (internal("x"), true),
            (of_session(), false),
            (Failure::from(damaged), false),
            (Failure::new(Kind::ProviderRefused, "auth", "x"), false),
        ] {
            assert_eq!(ends_all(&failure), ends, "{}", failure.code);
        }
    }
}
