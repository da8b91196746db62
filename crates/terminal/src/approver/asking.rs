//! Asks a question with options: by keys, or by lines where nothing is drawn.

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use converse_editor::{Choosing, Picked};
use converse_process::has_shell;
use converse_screen::{Line, Live, Look};
use parking_lot::Mutex;
use tokio::io::unix::AsyncFd;
use tokio::time::sleep;

use super::menu::Menu;
use super::question::flowing;
use super::reading::{continued, is_continued, read_answer};
use super::shown::fitted;
use crate::render::output::write_stderr;
use crate::signals::{next_of, stops_restored, suspends};
use crate::view::{QuestionKeys, TerminalView, keyboard};

/// How often it is looked whether the terminal has another size.
const LOOKS: Duration = Duration::from_millis(250);

/// When a letter alone was the last answer. There is one keyboard.
static LETTERED: Mutex<Option<Instant>> = Mutex::new(None);

/// What is drawn below a question, and what is picked there.
pub(super) trait Options {
    type Answer;

    /// `after`: when the question before was answered by a letter alone.
    fn choosing(&mut self, after: Option<Instant>) -> Choosing;

    /// At most `most` rows.
    fn rows(&mut self, choosing: &mut Choosing, look: &Look, most: usize) -> Vec<Line>;

    /// The answer, with the line that stays for it; `None` if it is not clear, which the rows say then.
    fn answer(&mut self, picked: &Picked) -> Option<(Self::Answer, Option<Line>)>;
}

/// Returns the answer; `None` if nobody gives one. `again`: the options were shown in full before.
pub(super) async fn answer<A>(view: &TerminalView, text: &str, mut menu: Menu<A>, again: bool) -> Option<A>
where
    A: Clone + PartialEq,
{
    match keyboard_of(view) {
        Some(keyboard) => view.suspended(|| by_key(view, text, &mut menu, &keyboard)).await,
        None => by_line(view, text, &menu, again).await,
    }
}

/// The keyboard, if questions are answered by its keys.
pub(super) fn keyboard_of(view: &TerminalView) -> Option<AsyncFd<OwnedFd>> {
    keyboard().filter(|_| view.asks_by_key())
}

async fn by_line<A>(view: &TerminalView, text: &str, menu: &Menu<A>, again: bool) -> Option<A> {
    let options = if again { menu.reminder.clone() } else { flowing(&menu.legend) };
    let mut question = format!("{text}{options}");
    loop {
        let line = view.suspended(|| read_answer(question.clone())).await?;
        match (menu.parse)(&line) {
            None => question.clone_from(&menu.reminder),
            answer => return answer,
        }
    }
}

/// If the program was stopped and continues, it asks again, as [`read_answer`] does.
pub(super) async fn by_key<O: Options>(
    view: &TerminalView,
    text: &str,
    options: &mut O,
    keyboard: &AsyncFd<OwnedFd>,
) -> Option<O::Answer> {
    stops_restored();
    let (mut goes_on, mut is_shown) = (continued(), false);
    loop {
        let keys = QuestionKeys::hold()?;
        if !is_shown {
            write_stderr(text);
        }
        let mut live = Live::new();
        let picked = tokio::select! {
            biased;
            () = next_of(&mut goes_on) => None,
            picked = picked(view, options, (&keys, keyboard), &mut live) => Some(picked?),
        };
        is_shown = false;
        match picked {
            Some(Picked::Suspend) => {
                drop(keys);
                suspends(&mut goes_on).await;
            }
            Some(picked) if !is_continued(&mut goes_on).await => {
                if let Some((answer, stays)) = options.answer(&picked) {
                    *LETTERED.lock() = matches!(picked, Picked::Letter(_)).then(Instant::now);
                    // In the place of the options.
                    let (look, size) = (view.question_look(), view.question_size());
                    let stays = stays.map(|line| fitted(&line, &look)).unwrap_or_default();
                    write_stderr(&live.paint(&stays, &[], &look, size));
                    return Some(answer);
                }
                is_shown = true;
            }
            _ => {}
        }
    }
}

/// Draws the options until one is picked; `None` if the terminal is gone.
async fn picked<O: Options>(
    view: &TerminalView,
    options: &mut O,
    (keys, keyboard): (&QuestionKeys, &AsyncFd<OwnedFd>),
    live: &mut Live,
) -> Option<Picked> {
    let mut choosing = options.choosing(LETTERED.lock().take());
    loop {
        let (look, size) = (view.question_look(), view.question_size());
        let rows = options.rows(&mut choosing, &look, size.rows.saturating_sub(2));
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
