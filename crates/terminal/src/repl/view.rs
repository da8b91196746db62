//! What a turn looks like, on stdout: the answer as Markdown, what the model thinks, a line for each invocation.
//!
//! What is final goes into the scrollback at once, and what still moves is drawn anew below it. All of it happens on the
//! thread that runs the turn: as events come, and in [`TerminalView::during`] as time goes by. Others that talk on the same
//! terminal do so while the view is away (`TerminalHost`).

mod answer;
mod call;
mod calls;
mod echo;
mod frame;
mod said;
mod spending;
mod style;
mod surface;
mod terminal_host;
mod thinking;
mod view_state;
mod wait;
mod words;

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};

use crate::screen::{Line, Look, Tone};
use converse_engine::{Event, Sink, SinkError};
use tokio::time::{MissedTickBehavior, interval};

use crate::console::Console;
use converse_host::failure::{Failure, Kind as FailureKind};
use converse_host::secrets::Redactor;
use converse_host::world::{Input, World};

use echo::Unechoed;
pub(crate) use echo::restore_terminal;
use frame::Frame;
use style::Style;
pub use style::{answers, speaks_unicode};
use surface::{Surface, Terminal};
use view_state::{Kind, ViewState};

/// Thirty pictures a second are as many as anybody sees.
const PICTURE: Duration = Duration::from_millis(33);
/// Less than that, for clocks that are early.
const BETWEEN: Duration = Duration::from_millis(28);

pub struct TerminalView {
    style: Style,
    redactor: Redactor,
    surface: Box<dyn Surface>,
    /// Keys can be pressed, and would be echoed.
    keyboard: bool,
    reasoning: AtomicBool,
    state: Mutex<State>,
}

converse_host::opaque_debug!(TerminalView);

#[derive(Default)]
struct State {
    view_state: ViewState,
    painted: Option<Instant>,
    /// So many talk on the terminal themselves.
    away: usize,
    in_turn: bool,
    echo: Option<Unechoed>,
    waits: u64,
}

impl TerminalView {
    pub fn new(console: &Console, world: &World, show_reasoning: bool) -> Arc<Self> {
        let mut view =
            Self::on(Box::new(Terminal), Style::of(console, world), console.context.redactor.clone());
        view.keyboard = world.stdin == Input::Terminal;
        view.show_reasoning(show_reasoning);
        Arc::new(view)
    }

    fn on(surface: Box<dyn Surface>, style: Style, redactor: Redactor) -> Self {
        let (reasoning, state) = (AtomicBool::new(false), Mutex::default());
        Self { style, redactor, surface, keyboard: false, reasoning, state }
    }

    /// Before the engine is called: forgets the calls of the last turn, and keys are not echoed any more.
    pub(crate) fn begin_turn(&self) {
        let mut state = self.lock();
        state.view_state.begin(&self.frame());
        state.in_turn = true;
        self.hold_echo(&mut state);
    }

    /// After it: tells the failure (`None`: it went well) and what the turn took, and the terminal is free.
    pub(crate) fn end_turn(&self, failure: Option<&Failure>) {
        let mut state = self.lock();
        let frame = self.frame();
        state.view_state.end(&frame);
        if let Some(failure) = failure {
            state.view_state.commit(Kind::Note, self.failed(failure), &frame);
        }
        if let Some(line) = state.view_state.spending.line(&frame) {
            state.view_state.tell(vec![line], &frame);
        }
        // Where nobody reads any more there is nobody to tell.
        let _ = self.show(&mut state);
        state.in_turn = false;
        self.free_echo(&mut state);
    }

    /// Runs it, and what moves moves meanwhile. For everything that takes time, inside a turn or not.
    pub async fn during<T>(&self, work: impl Future<Output = T>) -> T {
        if self.is_plain() {
            return work.await;
        }
        let mut work = pin!(work);
        let mut pictures = interval(PICTURE);
        pictures.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                done = &mut work => return done,
                _ = pictures.tick() => self.tick(),
            }
        }
    }

    /// What has come and is not shown yet, and the next picture of what moves; [`TerminalView::during`] does it.
    pub fn tick(&self) {
        let mut state = self.lock();
        if !self.is_just_painted(&state) {
            // The next event tells that it cannot be written.
            let _ = self.show(&mut state);
        }
    }

    /// A line of our own, or several; made safe, and secrets are taken out.
    pub fn say(&self, text: &str) {
        self.say_as(Tone::Plain, text);
    }

    /// The same, dim; not where nothing but answers is asked for.
    pub fn note(&self, text: &str) {
        if !self.style.quiet {
            self.say_as(Tone::Dim, text);
        }
    }

    fn warn(&self, message: &str) {
        let mut state = self.lock();
        state.view_state.warn(message, &self.frame());
        let _ = self.show(&mut state);
    }

    fn say_as(&self, tone: Tone, text: &str) {
        let text = self.style.spelt(&self.frame().clean(text.trim_end_matches('\n')));
        self.print(text.split('\n').map(|line| Line::toned(tone, line)).collect());
    }

    /// Lines as they are: whoever made them has taken the secrets out.
    pub fn print(&self, lines: Vec<Line>) {
        let mut state = self.lock();
        state.view_state.commit(Kind::Note, lines, &self.frame());
        let _ = self.show(&mut state);
    }

    /// An empty line between what somebody said and what is answered, for the eyes.
    pub(crate) fn breathe(&self) {
        if !self.is_plain() {
            self.print(vec![Line::new()]);
        }
    }

    pub fn markdown(&self, text: &str) {
        let text = self.redactor.clean(text);
        match self.style.rich {
            true => self.print(crate::screen::markdown(&text, &self.look())),
            false => self.say(&text),
        }
    }

    pub fn show_reasoning(&self, shown: bool) {
        self.reasoning.store(shown, Ordering::Relaxed);
    }

    pub fn shows_reasoning(&self) -> bool {
        self.reasoning.load(Ordering::Relaxed)
    }

    /// Lines one below the other, nothing that moves.
    pub fn is_plain(&self) -> bool {
        !self.style.rich
    }

    /// For the terminal as wide as it is now.
    pub fn look(&self) -> Look {
        self.frame().look
    }

    fn failed(&self, failure: &Failure) -> Vec<Line> {
        match failure.kind {
            FailureKind::Closed => Vec::new(),
            FailureKind::Signal(2) => vec![Line::toned(Tone::Dim, "interrupted")],
            _ => {
                let text = self.redactor.clean(&failure.lines());
                let tone = |index| if index == 0 { Tone::Error } else { Tone::Plain };
                text.lines().enumerate().map(|(index, line)| Line::toned(tone(index), line)).collect()
            }
        }
    }

    fn frame(&self) -> Frame<'_> {
        // Some terminals wrap what is written into the last column.
        let columns = self.surface.size().columns.saturating_sub(1).max(1);
        Frame {
            style: self.style,
            look: self.style.look(columns),
            now: self.surface.now(),
            redactor: &self.redactor,
            reasoning: self.shows_reasoning(),
        }
    }

    /// Writes what has become final and, where things move, draws what has not.
    fn show(&self, state: &mut State) -> Result<(), SinkError> {
        if state.away > 0 {
            return Ok(());
        }
        if self.is_plain() {
            let text = state.view_state.take_plain();
            return if text.is_empty() { Ok(()) } else { self.surface.write(&text) };
        }
        let (frame, size) = (self.frame(), self.surface.size());
        let (above, region) = (state.view_state.take_above(), state.view_state.region(size.rows, &frame));
        let bytes = state.view_state.live.paint(&above, &region, &frame.look, size);
        echo::note_cursor(!region.is_empty());
        state.painted = Some(frame.now);
        if bytes.is_empty() { Ok(()) } else { self.surface.write(&bytes) }
    }

    fn is_just_painted(&self, state: &State) -> bool {
        let now = self.surface.now();
        state.painted.is_some_and(|painted| now.saturating_duration_since(painted) < BETWEEN)
    }

    fn hold_echo(&self, state: &mut State) {
        if self.keyboard && self.style.rich && state.in_turn && state.echo.is_none() {
            state.echo = Unechoed::begin();
            if state.echo.is_some() {
                let _ = self.surface.write(echo::BRACKET_PASTES);
            }
        }
    }

    fn free_echo(&self, state: &mut State) {
        if state.echo.take().is_some() {
            let _ = self.surface.write(echo::PASTES_AS_KEYS);
        }
    }

    /// It is broken only if a view panicked, and then the terminal still has to be left.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

impl Sink for TerminalView {
    fn emit(&self, event: &Event<'_>) -> Result<(), SinkError> {
        let mut state = self.lock();
        let frame = self.frame();
        state.view_state.hear(event, &frame);
        // These come many at once.
        let many = matches!(event, Event::Delta(_) | Event::ToolProgress { .. });
        if many && self.is_just_painted(&state) { Ok(()) } else { self.show(&mut state) }
    }
}

impl Drop for TerminalView {
    fn drop(&mut self) {
        let mut state = self.lock();
        let bytes = state.view_state.live.leave();
        if !bytes.is_empty() {
            let _ = self.surface.write(&bytes);
            echo::note_cursor(false);
        }
        self.free_echo(&mut state);
    }
}

#[cfg(test)]
mod tests;
