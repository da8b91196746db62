//! The editor as the rest of the program sees it: a thread of its own that reads when asked to.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use parking_lot::Mutex;
use rustix::process::Signal as Kill;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

use crate::above::Above;
use crate::entry::{Typing, one_paste};
use crate::handover::Handover;
use crate::history::Kept;
use crate::plain::Plain;
use crate::prompt::Prompt;
use crate::rich::{Outcome, Rich};
use crate::terminal::{Modes, SelfReport, hung_up, says};
use crate::{Draft, EditorError, Read, Setup};

/// How long the thread may take to leave the terminal as it was. It is never waited for longer: a terminal that hangs
/// does not keep the program.
const LEAVING: Duration = Duration::from_millis(500);

/// A program that was asked to stop has stopped after this time, or never will.
const STOPS_WITHIN: Duration = Duration::from_secs(2);

type Answer = Result<Read, EditorError>;

struct Request {
    prompt: Prompt,
    before: Option<Draft>,
    answer: oneshot::Sender<Answer>,
}

/// Reads entries. One at a time: two waits at once are answered one after the other.
pub struct Editor {
    requests: Option<Sender<Request>>,
    ended: Receiver<()>,
    stop: Arc<AtomicBool>,
    before: Mutex<Option<Draft>>,
    typing: Arc<Typing>,
    modes: Modes,
    handover: Handover,
    above: Above,
    is_plain: bool,
    is_light: bool,
    note: Option<String>,
}

impl Editor {
    /// Looks at the terminal, which may take a second where it does not answer; nothing is shown yet.
    pub fn start(setup: Setup) -> Result<Self, EditorError> {
        let modes = Modes::of_now();
        let asked = setup.asks_background && setup.colour;
        let SelfReport { draws, light, typed } =
            if setup.plain { SelfReport::default() } else { modes.answers(asked) };
        let is_light = light.unwrap_or(setup.light);
        let setup = Setup { light: is_light, ..setup };
        let (stop, typing) = (Arc::<AtomicBool>::default(), Arc::<Typing>::default());
        let (setup, handover) = (Arc::new(setup), Handover::new(Arc::clone(&stop)));
        let above = Above::default();
        setup.inserted.stops(&stop);
        let clean = Arc::clone(&setup.clean);
        let (history, note) = match draws {
            true => Kept::open(setup.history.as_deref(), Arc::clone(&typing), setup.safe, clean),
            false => Kept::open(None, Arc::clone(&typing), setup.safe, clean),
        };
        let rich = draws.then(|| Rich {
            setup: Arc::clone(&setup),
            typing: Arc::clone(&typing),
            history,
            stop: Arc::clone(&stop),
            handover: handover.clone(),
            modes: modes.clone(),
            above: above.clone(),
            line: None,
        });
        let asks = Arc::clone(&setup.asks);
        let status = Arc::clone(&setup.status);
        let (safe, acts) = (setup.safe, setup.meaning.acts);
        let plain =
            Plain { safe, asks, status, acts, above: above.clone(), ahead: Vec::new(), follows: false };
        let reader = Reader {
            rich,
            plain,
            above: above.clone(),
            stop: Arc::clone(&stop),
            handover: handover.clone(),
            can_stop: setup.can_stop,
        };
        let (requests, asked) = channel();
        let (ends, ended) = channel();
        let work = move || {
            reader.serve(asked);
            drop(ends);
        };
        std::thread::Builder::new().name("editor".to_owned()).spawn(work).map_err(EditorError::Thread)?;
        let before = Mutex::new(Some(typed).filter(|typed| !typed.is_empty()).map(Draft::of));
        Ok(Self {
            requests: Some(requests),
            ended,
            stop,
            before,
            typing,
            modes,
            handover,
            above,
            is_plain: !draws,
            is_light,
            note,
        })
    }

    /// The next entry. A wait that is dropped ends the reading; what was typed by then is there at the next one.
    pub async fn read(&self, prompt: &Prompt) -> Answer {
        let (answer, heard) = oneshot::channel();
        let before = self.before.lock().take();
        let request = Request { prompt: prompt.clone(), before, answer };
        let requests = self.requests.as_ref().ok_or(EditorError::Gone)?;
        requests.send(request).map_err(|_| EditorError::Gone)?;
        let mut waiting = Waiting { heard, stop: &self.stop };
        tokio::select! {
            answer = &mut waiting.heard => answer.map_err(|_| EditorError::Gone)?,
            // The library would read its end for ever.
            () = hung_up(), if !self.is_plain => Ok(Read::End),
        }
    }

    /// The next entry begins with this text. Read plainly, it is shown above the prompt instead. Text of several lines
    /// counts as a paste.
    pub fn prefill(&self, text: &str) {
        *self.before.lock() = Some(recalled(text.to_owned()));
    }

    /// The next entry begins with this draft, or is it if it was sent; unless it begins with something already.
    pub fn begin_with(&self, draft: impl FnOnce() -> Option<Draft>) {
        let mut before = self.before.lock();
        if before.is_none() {
            *before = draft();
        }
    }

    /// Returns the pastes of several lines that are in the last entry, as they are sent. Earlier entries of several lines
    /// that were recalled are among them.
    pub fn pastes(&self) -> Vec<String> {
        self.typing.pastes()
    }

    /// Returns whether lines are read as the terminal gives them, without drawing.
    pub fn is_plain(&self) -> bool {
        self.is_plain
    }

    /// Returns whether the background is light, as the terminal says, else as the setup does.
    pub fn is_light(&self) -> bool {
        self.is_light
    }

    /// Why what is typed is not kept in the history's file, if it is not.
    pub fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// For those who stop the program.
    pub fn handover(&self) -> Handover {
        self.handover.clone()
    }

    /// For those who have something to say while an entry is read.
    pub fn above(&self) -> Above {
        self.above.clone()
    }

    /// For those who end the program without dropping this.
    pub fn modes(&self) -> Modes {
        self.modes.clone()
    }
}

impl fmt::Debug for Editor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Editor").finish_non_exhaustive()
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        self.requests = None;
        self.stop.store(true, Ordering::SeqCst);
        // Only ever ends by an error: the thread is over, or the time is.
        let _ = self.ended.recv_timeout(LEAVING);
        self.modes.restore();
    }
}

/// A waiter for an entry.
struct Waiting<'a> {
    heard: oneshot::Receiver<Answer>,
    stop: &'a AtomicBool,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        // In this order: the thread takes the sign back only before it looks whether anybody waits.
        self.heard.close();
        self.stop.store(true, Ordering::SeqCst);
    }
}

/// A draft of text that was there before: which part of it was pasted is not known any more.
fn recalled(text: String) -> Draft {
    Draft { pastes: one_paste(&text), ..Draft::of(text) }
}

/// As Ctrl-Z does elsewhere; over when the shell says that it goes on. The terminal's modes are as they were.
///
/// Until then nothing is drawn: another thread may take the signal, and this one stops a moment later, and an answer of
/// the terminal that comes after that is typed into the shell.
fn suspend() -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut goes_on = signal(SignalKind::from_raw(Kill::CONT.as_raw()))?;
        rustix::process::kill_current_process_group(Kill::TSTP)?;
        let _ = tokio::time::timeout(STOPS_WITHIN, goes_on.recv()).await;
        Ok(())
    })
}

/// The thread's side.
struct Reader {
    rich: Option<Rich>,
    plain: Plain,
    above: Above,
    stop: Arc<AtomicBool>,
    handover: Handover,
    can_stop: fn() -> bool,
}

impl Reader {
    fn serve(mut self, requests: Receiver<Request>) {
        let mut typed: Option<Draft> = None;
        for Request { prompt, before, answer } in requests {
            typed = self.serves(&prompt, before.or(typed), answer);
        }
    }

    /// What was typed and was not wanted.
    fn serves(
        &mut self,
        prompt: &Prompt,
        mut before: Option<Draft>,
        answer: oneshot::Sender<Answer>,
    ) -> Option<Draft> {
        loop {
            self.stop.store(false, Ordering::SeqCst);
            if answer.is_closed() {
                return before;
            }
            says(&self.above.take());
            self.handover.begins();
            let outcome = self.read(prompt, before.as_ref());
            self.handover.leaves();
            before = match outcome {
                Ok(Outcome::Stopped(draft)) => Some(draft),
                Ok(Outcome::Suspended(draft)) => {
                    // Where it cannot be stopped, it goes on.
                    let _ = (self.can_stop)().then(suspend);
                    Some(draft)
                }
                Ok(Outcome::Read(read)) => {
                    return match answer.send(Ok(read)) {
                        Err(Ok(Read::Line(text))) => Some(recalled(text)),
                        _ => None,
                    };
                }
                Err(error) => {
                    let _ = answer.send(Err(error.into()));
                    return None;
                }
            };
        }
    }

    fn read(&mut self, prompt: &Prompt, before: Option<&Draft>) -> std::io::Result<Outcome> {
        if before.is_some_and(Draft::is_end) {
            return Ok(Outcome::Read(Read::End));
        }
        let Some(rich) = &mut self.rich else { return self.plain.read(prompt, before, &self.stop) };
        match catch_unwind(AssertUnwindSafe(|| rich.read(prompt, before))) {
            Ok(outcome) => outcome,
            // The drawing code has a bug; reading continues without it.
            Err(_) => {
                rich.modes.restore();
                self.rich = None;
                says("\nthe line editor failed; lines are read plainly from now on\n");
                self.plain.read(prompt, before, &self.stop)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_comes_again_counts_as_a_paste() {
        for (text, pastes) in [("see @a", &[][..]), ("see\n@a", &["see\n@a"])] {
            let draft = recalled(text.to_owned());
            assert_eq!((draft.text.as_str(), draft.is_sent), (text, false));
            assert_eq!(draft.pastes, pastes);
        }
    }
}
