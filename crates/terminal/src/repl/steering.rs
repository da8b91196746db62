//! What the user says to a turn that runs.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use converse_canister::User;
use converse_engine::Steering;

use super::mentions;
use super::pictures::Pictures;
use super::slash::{Slash, parse};
use crate::console::Console;
use crate::view::TerminalView;
use converse_host::turn::key_warning;
use converse_host::world::World;

/// Returns the words of an entry for a turn that runs. Nothing can be attached to one, and commands are for the prompt.
pub(super) fn words(
    entry: &str,
    pictures: &Pictures,
    cwd: &Path,
    home: Option<&Path>,
) -> Result<String, &'static str> {
    let found = pictures.of(entry);
    if !found.pictures.is_empty() || !found.unknown.is_empty() {
        return Err("it has a picture");
    }
    let words = match parse(entry) {
        Slash::Text(words) => words,
        _ => return Err("it is a command"),
    };
    match mentions::resolve(&words, cwd, home).files.is_empty() {
        true => Ok(words),
        false => Err("it attaches a file"),
    }
}

/// Takes what was typed for the turn of a session.
pub(super) struct TypedSteering<'a> {
    pub(super) view: &'a TerminalView,
    pub(super) console: &'a Console,
    pub(super) world: &'a World,
    pub(super) is_kept: bool,
    /// The user heard that a key was said.
    pub(super) told_of_key: &'a AtomicBool,
}

impl TypedSteering<'_> {
    /// Warns once if the words contain a key.
    pub(super) fn warn_of_key(&self, words: &str) {
        if !self.told_of_key.load(Ordering::Relaxed)
            && let Some(told) = key_warning(words, self.is_kept, &self.console.context, self.world)
        {
            self.told_of_key.store(true, Ordering::Relaxed);
            self.console.warn(&told);
        }
    }
}

impl Steering for TypedSteering<'_> {
    fn take(&self) -> Option<User> {
        let words = self.view.take_steering()?;
        self.warn_of_key(&words);
        Some(User::text(words))
    }
}
