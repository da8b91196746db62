//! `/attach`, `/editor`, `/copy`: what goes in with the next message, and what is taken out.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use converse_canister::Canister;
use converse_editor::edited;

use crate::repl::clipboard::keep;
use crate::repl::session::ReplSession;
use crate::repl::{editor_command, internal, scratch};
use converse_host::attach::UserInput;
use converse_host::failure::Failure;

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
        let kept = tokio::task::spawn_blocking(move || keep(&bytes, &world)).await.map_err(internal)?;
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
