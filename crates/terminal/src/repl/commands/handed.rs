//! `/attach`, `/editor`, `/copy`: what goes in with the next message, and what is taken out.

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use converse_canister::Canister;
use converse_editor::edited;
use converse_process::INHERITED;

use crate::repl::session::ReplSession;
use crate::repl::{editor_command, internal, scratch};
use converse_host::attach::UserInput;
use converse_host::failure::Failure;
use converse_host::world::World;

/// Those who hold a clipboard, if one of them is here and has something to talk to.
const KEEPERS: [(&str, &[&str], &str); 3] = [
    ("wl-copy", &[], "WAYLAND_DISPLAY"),
    ("xclip", &["-selection", "clipboard"], "DISPLAY"),
    ("pbcopy", &[], ""),
];
const DESKTOP: [&str; 4] = ["DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR"];
const KEEPER_TIME: Duration = Duration::from_secs(2);
/// Bytes that a terminal is asked to keep; many take no more.
const MOST_BY_TERMINAL: usize = 74_994;

impl ReplSession<'_> {
    pub(super) async fn attach(&mut self, named: &[String]) -> Result<(), Failure> {
        if named.is_empty() {
            self.view.note(&match self.waiting.sizes() {
                none if none.is_empty() => {
                    "nothing is attached; /attach FILE, URL or mcp:ENSEMBLE:URI".to_owned()
                }
                sizes => format!("with the next message: {sizes}"),
            });
            return Ok(());
        }
        if named == ["-"] {
            self.waiting = UserInput::default();
            self.view.note("nothing is attached");
            return Ok(());
        }
        let read = self.handed_over(String::new(), named.to_vec()).await?;
        self.waiting = self.waiting.clone().and(read)?;
        self.view.note(&format!("with the next message: {}", self.waiting.sizes()));
        Ok(())
    }

    /// The next message, written in the user's editor.
    pub(super) async fn compose(&mut self) -> Result<(), Failure> {
        match self.composed("").await? {
            Some(text) => {
                self.view.echo(&text);
                self.says(&text, None).await
            }
            None => Ok(()),
        }
    }

    /// What the user makes of a text in their editor; `None` if nothing is left, or nothing was changed.
    pub(super) async fn composed(&self, text: &str) -> Result<Option<String>, Failure> {
        let no_editor =
            || Failure::usage("no-editor", "no editor is set or installed: set $VISUAL or $EDITOR");
        let command = editor_command(self.world).ok_or_else(no_editor)?;
        let scratch = scratch(self.world)
            .ok_or_else(|| Failure::usage("no-editor", "there is no directory for the editor's file"))?;
        // Ctrl-C is the editor's while it runs.
        let _attended = self.attention.to_program();
        let before = text.to_owned();
        let editing = tokio::task::spawn_blocking(move || edited(&command, &scratch, &before));
        let after = editing.await.map_err(internal)?.map_err(|why| Failure::usage("editor", why))?;
        if after.trim().is_empty() || after.trim() == text.trim() {
            self.view.note("the editor returned no text");
            return Ok(None);
        }
        Ok(Some(after))
    }

    /// The last answer, or one before it, into the clipboard.
    pub(super) async fn copy(&self, back: u32) -> Result<(), Failure> {
        let none = || Failure::usage("no-answer", "there is no such answer");
        let back = back.saturating_sub(1) as usize;
        let answer = answers(self.conversation.transcript().as_slice()).nth(back).ok_or_else(none)?;
        let (bytes, world) = (answer.clone().into_bytes(), self.world.clone());
        let kept = tokio::task::spawn_blocking(move || keeper(&bytes, &world)).await.map_err(internal)?;
        let how = match kept {
            Some(name) => format!("by {name}"),
            None if self.view.is_plain() => {
                return Err(Failure::usage(
                    "no-clipboard",
                    "no clipboard program found: install wl-copy, xclip or pbcopy",
                ));
            }
            None if answer.len() > MOST_BY_TERMINAL => {
                return Err(Failure::usage(
                    "no-clipboard",
                    "the answer is too long for the terminal's clipboard",
                ));
            }
            None => {
                // Our own sequence around nothing but letters of base64.
                crate::render::output::write_stdout(&format!("\x1b]52;c;{}\x07", STANDARD.encode(&answer)))?;
                "by the terminal, if it takes it".to_owned()
            }
        };
        self.view.note(&format!("copied: {} characters, {how}", answer.chars().count()));
        Ok(())
    }
}

/// The texts of replies that have some, the last one first.
pub(super) fn answers(canisters: &[Canister]) -> impl Iterator<Item = String> {
    canisters.iter().rev().filter_map(|one| match one {
        Canister::Assistant(assistant) => Some(assistant.words()).filter(|words| !words.trim().is_empty()),
        _ => None,
    })
}

/// Hands it to the first of those who takes it.
fn keeper(bytes: &[u8], world: &World) -> Option<&'static str> {
    let here = |variable: &str| variable.is_empty() || world.var(variable).is_some();
    KEEPERS
        .iter()
        .filter(|(_, _, variable)| here(variable))
        .find(|(name, words, _)| takes(name, words, bytes, world))
        .map(|(name, ..)| *name)
}

/// A program of the desktop; it gets nothing of ours but what it finds the desktop by.
fn takes(program: &str, words: &[&str], bytes: &[u8], world: &World) -> bool {
    let own = |name: &str| INHERITED.contains(&name) || DESKTOP.contains(&name);
    let mut command = Command::new(program);
    command.args(words).env_clear().envs(world.env.iter().filter(|(name, _)| own(name)));
    let begun = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let Ok(mut child) = begun else { return false };
    let written = child.stdin.take().is_some_and(|mut stdin| stdin.write_all(bytes).is_ok());
    let until = Instant::now() + KEEPER_TIME;
    // It puts itself into the background when it has everything.
    while Instant::now() < until {
        match child.try_wait() {
            Ok(Some(status)) => return written && status.success(),
            Ok(None) => std::thread::sleep(Duration::from_millis(10)),
            Err(_) => return false,
        }
    }
    let _ = child.kill();
    let _ = child.wait();
    false
}
