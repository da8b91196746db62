//! What goes on, on stderr: a spinner while a model thinks, a line for each invocation. On a terminal only, unless the
//! user asked for more words (`-v`), which then are plain lines.

mod connecting;
mod several;
mod terminal_host;
mod thinking;

use std::collections::HashMap;
use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use converse_canister::{Canister, Invocation, InvocationId, InvocationResult, Outcome};
use converse_engine::{Event, Sink, SinkError};
use converse_ensemble::ToolProgress;
use converse_provider::Delta;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::render::output::{end_line, write_stderr};
use crate::render::thoughts::Thoughts;
use crate::render::{ended_for, result_text};
use converse_host::context::Notices;
use converse_host::secrets::Redactor;
use converse_host::wording::tool_name;
use converse_text::{safe, safe_line};

use several::Quiet;
use terminal_host::Away;
pub use terminal_host::TerminalHost;

/// What is told, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Spinners that become lines.
    pub live: bool,
    /// A line for each invocation.
    pub lines: bool,
    /// Not even warnings.
    pub quiet: bool,
    /// What the model thinks, as it comes.
    pub reasoning: bool,
    /// Of the terminal, for what is wrapped; `None` elsewhere.
    pub width: Option<usize>,
    pub colour: bool,
}

pub struct Progress {
    style: Style,
    /// [`Style::reasoning`], which the settings may ask for later than the flags.
    reasoning: AtomicBool,
    redactor: Redactor,
    bars: MultiProgress,
    /// Lines that wait while somebody talks on the terminal; `None` while nobody does.
    waiting: Arc<Mutex<Option<Vec<String>>>>,
    /// Who draws instead, if somebody does.
    terminal_host: Arc<OnceLock<Arc<dyn TerminalHost>>>,
    /// Who talks with the person: one at a time, a question and its answer together.
    floor: Arc<tokio::sync::Mutex<()>>,
    /// Whose progress it is, where several models are asked at once.
    label: Option<String>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    thinking: Option<ProgressBar>,
    /// Asked for and not answered yet.
    asked: HashMap<InvocationId, Invocation>,
    running: HashMap<InvocationId, ProgressBar>,
    /// Servers that are waited for and told.
    connecting: usize,
    thoughts: Thoughts,
    /// The current reply has thought aloud.
    thought: bool,
    /// What it thought, of one of several models: told when it is whole.
    aloud: String,
    /// Characters of the current reply, of one of several models.
    written: usize,
}

const TICK: Duration = Duration::from_millis(100);
const TICKS: &str = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏ ";
const ARGUMENTS_SHOWN: usize = 100;
const RESULT_SHOWN: usize = 80;

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Progress").field("style", &self.style).finish_non_exhaustive()
    }
}

impl Notices for Progress {
    fn show(&self, text: &str) {
        if !self.style.quiet && !self.told_to_host(text) {
            self.hush();
            write_stderr(&format!("{}\n", safe(text)));
        }
    }

    fn hush(&self) {
        Self::hush(self);
    }

    fn waiting<'a>(&'a self, what: &'a str) -> BoxFuture<'a, Infallible> {
        self.say_waiting(what).boxed()
    }
}

impl Progress {
    pub fn new(style: Style, redactor: Redactor) -> Self {
        let target = if style.live { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let state = State { thoughts: Thoughts::new(style.width), ..State::default() };
        let bars = MultiProgress::with_draw_target(target);
        let reasoning = AtomicBool::new(style.reasoning);
        let state = Mutex::new(state);
        let (waiting, terminal_host, floor) = Default::default();
        Self { style, reasoning, redactor, bars, waiting, terminal_host, floor, label: None, state }
    }

    /// What the model thinks is told too, unless nothing is.
    pub fn show_reasoning(&self) {
        self.reasoning.store(!self.style.quiet, Ordering::Relaxed);
    }

    fn shows_reasoning(&self) -> bool {
        self.reasoning.load(Ordering::Relaxed)
    }

    /// Takes the spinner away, because something else is about to be written.
    pub fn hush(&self) {
        let Ok(mut state) = self.state.lock() else { return };
        if let Some(bar) = state.thinking.take() {
            bar.finish_and_clear();
        }
        let rest = state.thoughts.end(|word| self.clean(word));
        self.write_thoughts(&rest);
    }

    /// Runs something that talks on the terminal itself.
    pub(crate) async fn suspended<T, F: Future<Output = T>>(&self, talk: impl FnOnce() -> F) -> T {
        if let Some(terminal_host) = self.terminal_host() {
            let mut away = Away::from(terminal_host);
            let said = talk().await;
            away.ended = true;
            return said;
        }
        self.hush();
        let _ = self.bars.clear();
        let _quiet = Quiet::of(self);
        talk().await
    }

    /// Waits until nobody else talks with the person.
    pub(crate) async fn floor(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.floor.lock().await
    }

    /// Stderr may be coloured.
    pub fn is_coloured(&self) -> bool {
        self.style.colour
    }

    fn line(&self, text: &str) {
        if self.style.lines {
            self.say(format!("{}\n", self.labelled(text)));
        }
    }

    /// Above what moves; or later, if somebody talks.
    fn say(&self, text: String) {
        if self.told_to_host(text.trim_end()) {
            return;
        }
        if self.label.is_none() {
            self.hush();
        }
        if let Ok(mut waiting) = self.waiting.lock()
            && let Some(lines) = waiting.as_mut()
        {
            lines.push(text);
            return;
        }
        self.bars.suspend(|| write_stderr(&text));
    }

    /// Told everywhere but where nothing is to be told.
    fn warn(&self, message: &str) {
        if !self.style.quiet {
            self.say(format!("warning: {}\n", self.labelled(&self.brief(message, 600))));
        }
    }

    fn note(&self, message: &str) {
        if !self.style.quiet {
            self.say(format!("note: {}\n", self.labelled(&self.brief(message, 600))));
        }
    }

    /// Short enough for a line. Cleaned before it is cut: half a key is no less a secret.
    fn brief(&self, text: &str, most: usize) -> String {
        safe_line(&self.redactor.clean(text.trim()), most)
    }

    /// `ensemble.invoker {arguments}`, short.
    fn call(&self, invocation: &Invocation) -> String {
        let tool = self.brief(&tool_name(&invocation.tool), 64);
        format!("{tool} {}", self.brief(&invocation.arguments.raw, ARGUMENTS_SHOWN)).trim_end().to_owned()
    }

    fn painted(&self, text: &str, code: &str) -> String {
        if self.style.colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    fn spinner(&self, message: String) -> Option<ProgressBar> {
        if !self.style.live {
            return None;
        }
        end_line();
        let template = if self.style.colour {
            "{spinner:.cyan} {msg} {elapsed:.dim}"
        } else {
            "{spinner} {msg} {elapsed}"
        };
        let style = ProgressStyle::with_template(template).ok()?.tick_chars(TICKS);
        let bar = self.bars.add(ProgressBar::new_spinner().with_style(style).with_message(message));
        bar.enable_steady_tick(TICK);
        Some(bar)
    }

    fn think(&self, model: &str) {
        if let Ok(mut state) = self.state.lock() {
            state.written = 0;
        }
        self.wait_for(match &self.label {
            Some(label) => format!("asking {label}"),
            None => format!("asking {}", self.brief(model, 60)),
        });
    }

    /// Words of the answer: they take the place of the spinner, unless they are shown later.
    fn write(&self, text: &str) {
        let Some(label) = &self.label else { return self.hush() };
        let Ok(mut state) = self.state.lock() else { return };
        state.written += text.chars().count();
        if let Some(bar) = &state.thinking {
            bar.set_message(format!("{label} writes · {} characters", state.written));
        }
    }

    fn wait_for(&self, what: String) {
        self.hush();
        let bar = self.spinner(what);
        if let Ok(mut state) = self.state.lock() {
            state.thinking = bar;
        }
    }

    fn remember(&self, invocation: &Invocation) {
        if let Ok(mut state) = self.state.lock() {
            state.asked.insert(invocation.id.clone(), invocation.clone());
        }
    }

    fn start(&self, invocation: &Invocation) {
        self.hush();
        let Some(bar) = self.spinner(self.labelled(&self.call(invocation))) else { return };
        if let Ok(mut state) = self.state.lock() {
            state.running.insert(invocation.id.clone(), bar);
        }
    }

    fn word(&self, id: &InvocationId, word: &ToolProgress) {
        let Ok(state) = self.state.lock() else { return };
        let Some(bar) = state.running.get(id) else { return };
        let told = match word {
            ToolProgress::Progress { message: Some(message), .. }
            | ToolProgress::Log { message }
            | ToolProgress::Output { line: message } => self.brief(message, 60),
            ToolProgress::Progress { done, total: Some(total), .. } if *total > 0.0 => {
                format!("{:.0} %", done / total * 100.0)
            }
            ToolProgress::Progress { done, .. } => format!("{done}"),
        };
        let message = bar.message();
        let base = message.split(" · ").next().unwrap_or_default();
        bar.set_message(format!("{base} · {told}"));
    }

    fn finish(&self, invocation: &Invocation, result: &InvocationResult, elapsed: Duration) {
        if let Ok(mut state) = self.state.lock() {
            state.asked.remove(&invocation.id);
            if let Some(bar) = state.running.remove(&invocation.id) {
                bar.finish_and_clear();
            }
        }
        self.tell(invocation, result, &format!(" ({})", short(elapsed)));
    }

    /// What was run is told by `finish`; what was not has its line here.
    fn answered(&self, result: &InvocationResult) {
        let unrun = self.state.lock().ok().and_then(|mut state| state.asked.remove(&result.id));
        if let Some(invocation) = unrun {
            self.tell(&invocation, result, "");
        }
    }

    fn tell(&self, invocation: &Invocation, result: &InvocationResult, time: &str) {
        let brief = self.brief(&result_text(result), RESULT_SHOWN);
        let (mark, colour, told) = match result.outcome {
            Outcome::Success => ("✓", "32", brief),
            outcome => {
                let (word, why) = ended_for(outcome, &brief);
                ("✗", "31", word + &why)
            }
        };
        self.line(&format!("{} {} → {told}{time}", self.painted(mark, colour), self.call(invocation)));
    }
}

fn short(elapsed: Duration) -> String {
    match elapsed.as_millis() {
        ms if ms < 1000 => format!("{ms} ms"),
        _ => format!("{:.1} s", elapsed.as_secs_f64()),
    }
}

impl Sink for Progress {
    fn emit(&self, event: &Event<'_>) -> Result<(), SinkError> {
        if self.terminal_host().is_some() {
            return Ok(());
        }
        match event {
            Event::Requested { model, .. } => self.think(model),
            Event::Delta(Delta::Reasoning(text)) => self.reason(text),
            Event::Delta(Delta::Text(text)) => self.write(text),
            Event::Deciding(_) | Event::Done(_) => self.hush(),
            Event::Warned(message) => self.warn(message),
            Event::Noted(message) => self.note(message),
            Event::Condensed { before, after, .. } => self
                .note(&format!("the older part was summarised for the model: ~{before} → ~{after} tokens")),
            Event::Restarted(restart) => {
                self.forget_thoughts();
                let (reason, wait) = (self.brief(restart.reason, 160), short(restart.delay));
                self.line(&format!("… {reason}; trying again in {wait}"));
            }
            Event::Started(invocations) => invocations.iter().for_each(|invocation| self.start(invocation)),
            Event::ToolProgress { id, word } => self.word(id, word),
            Event::Finished { invocation, result, elapsed } => self.finish(invocation, result, *elapsed),
            Event::Appended(Canister::Invocation(invocation)) => self.remember(invocation),
            Event::Appended(Canister::Assistant(assistant)) => self.replied(assistant),
            Event::Appended(Canister::Result(result)) => self.answered(result),
            _ => {}
        }
        Ok(())
    }
}
