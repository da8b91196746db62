//! Asks a question with options: by keys, or by lines where nothing is drawn.

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use converse_editor::{Choosing, Picked};
use converse_process::has_shell;
use converse_screen::Live;
use tokio::io::unix::AsyncFd;
use tokio::time::sleep;

use super::TerminalApprover;
use super::menu::Menu;
use super::question::flowing;
use super::reading::{continued, is_continued, read_answer};
use super::shown::fitted;
use crate::render::output::write_stderr;
use crate::signals::{next_of, stops_restored, suspends};
use crate::view::{QuestionKeys, keyboard};

/// How often it is looked whether the terminal has another size.
const LOOKS: Duration = Duration::from_millis(250);

impl TerminalApprover {
    /// Returns the answer; `None` if nobody gives one. `again`: the options were shown in full before.
    pub(super) async fn answer<A>(&self, text: &str, menu: &Menu<A>, again: bool) -> Option<A>
    where
        A: Clone + PartialEq,
    {
        match keyboard().filter(|_| self.progress.asks_by_key()) {
            Some(keyboard) => self.progress.suspended(|| self.by_key(text, menu, &keyboard)).await,
            None => self.by_line(text, menu, again).await,
        }
    }

    async fn by_line<A>(&self, text: &str, menu: &Menu<A>, again: bool) -> Option<A> {
        let options = if again { menu.reminder.clone() } else { flowing(&menu.legend) };
        let mut question = format!("{text}{options}");
        loop {
            let line = self.progress.suspended(|| read_answer(question.clone())).await?;
            match (menu.parse)(&line) {
                None => question.clone_from(&menu.reminder),
                answer => return answer,
            }
        }
    }

    /// If the program was stopped and continues, it asks again, as [`read_answer`] does.
    async fn by_key<A>(&self, text: &str, menu: &Menu<A>, keyboard: &AsyncFd<OwnedFd>) -> Option<A>
    where
        A: Clone + PartialEq,
    {
        stops_restored();
        let (mut goes_on, mut hint, mut is_shown) = (continued(), menu.hint.as_str(), false);
        loop {
            let keys = QuestionKeys::hold()?;
            if !is_shown {
                write_stderr(text);
            }
            let mut live = Live::new();
            let picked = tokio::select! {
                biased;
                () = next_of(&mut goes_on) => None,
                picked = self.picked(menu, hint, (&keys, keyboard), &mut live) => Some(picked?),
            };
            is_shown = false;
            match picked {
                Some(Picked::Suspend) => {
                    drop(keys);
                    suspends(&mut goes_on).await;
                }
                Some(picked) if !is_continued(&mut goes_on).await => {
                    let (answer, words) = menu.answer(&picked);
                    if let Some(answer) = answer {
                        *self.lettered.lock() = matches!(picked, Picked::Letter(_)).then(Instant::now);
                        self.leaves(menu, &answer, words, live);
                        return Some(answer);
                    }
                    (hint, is_shown) = (menu.reminder.trim().trim_end_matches(':'), true);
                }
                _ => {}
            }
        }
    }

    /// Draws the options until one is picked; `None` if the terminal is gone.
    async fn picked<A: Clone + PartialEq>(
        &self,
        menu: &Menu<A>,
        hint: &str,
        (keys, keyboard): (&QuestionKeys, &AsyncFd<OwnedFd>),
        live: &mut Live,
    ) -> Option<Picked> {
        let mut choosing = Choosing::new(menu.letters(), menu.careful(), self.lettered.lock().take());
        loop {
            let (look, size) = (self.look(), self.progress.question_size());
            let rows = menu.rows(&choosing, hint, &look, size.rows.saturating_sub(2));
            write_stderr(&live.paint(&[], &rows, &look, size));
            let wakes = choosing.wakes(Instant::now()).unwrap_or(LOOKS).min(LOOKS);
            tokio::select! {
                ready = keyboard.readable() => {
                    let mut ready = ready.ok()?;
                    if ready.ready().is_read_closed() {
                        return None;
                    }
                    ready.clear_ready();
                }
                () = sleep(wakes) => {}
            }
            let (bytes, now) = (keys.heard().await, Instant::now());
            let picked = if bytes.is_empty() { choosing.pauses(now) } else { choosing.hears(&bytes, now) };
            match picked {
                Some(Picked::Suspend) if !has_shell() => {}
                None => {}
                picked => return picked,
            }
        }
    }

    /// In the place of the options stays the answer.
    fn leaves<A: Clone + PartialEq>(&self, menu: &Menu<A>, answer: &A, words: &str, mut live: Live) {
        let (look, size) = (self.look(), self.progress.question_size());
        let said = menu.decision(answer, words).map(|line| fitted(&line, &look)).unwrap_or_default();
        write_stderr(&live.paint(&said, &[], &look, size));
    }
}
