//! The view of a run on a terminal: answers, reasoning, a line for each invocation, warnings.
//!
//! `ViewState` turns the events of a turn into lines, some final and some not. The view writes final lines at once and
//! redraws the others below them. `converse ask` has a view on stderr, whose answers a renderer writes to stdout; the REPL
//! moves its view to stdout and has the answers there too. Painting happens as events come, and in [`TerminalView::during`]
//! as time passes. Questions use the same terminal while the view is suspended.

mod answer;
mod call;
mod calling;
mod calls;
mod changing;
mod echo;
mod frame;
mod keys;
mod models;
mod modes;
mod notices;
mod spending;
mod style;
mod thinking;
mod thoughts;
mod view_state;
mod words;

use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use converse_config::{Notify, Theme};
use converse_engine::{Event, Sink, SinkError};
use converse_ensemble::ModeSwitch;
use parking_lot::{Mutex, MutexGuard};
use tokio::time::{MissedTickBehavior, interval, sleep};
use tokio_util::sync::CancellationToken;

use crate::console::OutputStyle;
use crate::render::quoted::columns;
use converse_editor::{Above, Editor, Handover};
use converse_host::failure::{Failure, Kind as FailureKind};
use converse_host::secrets::Redactor;
use converse_host::world::{Input, World};
use converse_screen::{Line, Live, Look, Size, Tone};

use changing::FileWatch;
use frame::{Frame, Stderr, Stdout, Surface};
pub(crate) use keys::{end_of, mode_note, status};
pub use models::ModelView;
use modes::TerminalModes;
pub(crate) use modes::{QuestionKeys, keyboard, release_question};
pub(crate) use style::in_letters;
pub use style::{Answers, Detail, Style, answers, has_light_background, speaks_unicode};
use view_state::{Kind, ViewState, Wait};
pub(crate) use words::money;

/// Time between two frames.
const PICTURE: Duration = Duration::from_millis(33);
/// The least time between two paints, shorter than [`PICTURE`] because clocks may be early.
const BETWEEN: Duration = Duration::from_millis(28);
/// How long a paste may take that has begun before others read the keyboard.
const LONGEST_PASTE: Duration = Duration::from_secs(300);

/// The one writer of everything but answers to a terminal.
pub struct TerminalView {
    /// Stderr, unless a test gives something else.
    first: Output,
    /// Stdout, once the REPL draws there.
    stdout: OnceLock<Output>,
    redactor: Redactor,
    modes: Arc<TerminalModes>,
    reasoning: AtomicBool,
    /// Ensembles that are connected are reported.
    announces: AtomicBool,
    /// The background is light.
    light: AtomicBool,
    turn: Mutex<TurnSigns>,
    /// What Shift-Tab switches.
    mode: OnceLock<ModeSwitch>,
    /// When the person is called; never where it is not set.
    notify: OnceLock<Notify>,
    /// What calls change in files.
    files: Mutex<FileWatch>,
    /// The title of the terminal.
    title: OnceLock<String>,
    /// Held for a question together with its answer.
    floor: tokio::sync::Mutex<()>,
    state: Mutex<State>,
}

converse_host::opaque_debug!(TerminalView);

/// What a turn is broken off for. Each turn has its own, so that what comes at the end of one is not for the next.
#[derive(Debug, Default)]
struct TurnSigns {
    /// Esc was pressed.
    escape: CancellationToken,
    /// The terminal could not be written to.
    loss: CancellationToken,
}

/// Where a view writes, and how.
struct Output {
    surface: Box<dyn Surface>,
    style: Style,
    /// Keys can be pressed, and would be echoed.
    keyboard: bool,
}

#[derive(Default)]
struct State {
    main: ViewState,
    /// One of each model that is compared.
    models: Vec<ViewState>,
    live: Live,
    /// What else the run waits for, by number.
    waits: Vec<(u64, Wait)>,
    next_wait: u64,
    painted: Option<Instant>,
    /// Number of components writing to the terminal directly; painting pauses while it is not zero.
    away: usize,
    in_turn: bool,
    /// What reads a line now: all that is written comes above it.
    reader: Option<Reader>,
    /// Keys are for the next prompt, and not echoed.
    keeps_keys: bool,
    /// The entry that is read was sent while a turn ran.
    was_sent_ahead: bool,
    /// The answer on stdout, on the same terminal as stderr, ends in the middle of a line.
    line_open: bool,
}

/// A line editor that reads a line.
struct Reader {
    above: Above,
    handover: Handover,
}

impl State {
    fn of(&mut self, model: Option<usize>) -> &mut ViewState {
        let Self { main, models, .. } = self;
        model.and_then(|index| models.get_mut(index)).unwrap_or(main)
    }

    fn all(&mut self) -> impl Iterator<Item = &mut ViewState> {
        std::iter::once(&mut self.main).chain(&mut self.models)
    }
}

impl TerminalView {
    /// A view on stderr.
    pub fn new(style: Style, redactor: Redactor) -> Self {
        Self::on(Box::new(Stderr), style, redactor)
    }

    fn on(surface: Box<dyn Surface>, style: Style, redactor: Redactor) -> Self {
        Self {
            light: AtomicBool::new(style.light),
            first: Output { surface, style, keyboard: false },
            stdout: OnceLock::new(),
            redactor,
            modes: Arc::default(),
            reasoning: AtomicBool::new(false),
            announces: AtomicBool::new(false),
            turn: Mutex::default(),
            mode: OnceLock::new(),
            notify: OnceLock::new(),
            files: Mutex::default(),
            title: OnceLock::new(),
            floor: tokio::sync::Mutex::default(),
            state: Mutex::default(),
        }
    }

    /// Draws on stdout from now on, answers included.
    pub(crate) fn draw_on_stdout(&self, style: OutputStyle, world: &World) {
        let (style, keyboard) = (Style::of(style, world), world.stdin == Input::Terminal);
        let _ = self.stdout.set(Output { surface: Box::new(Stdout), style, keyboard });
    }

    fn output(&self) -> &Output {
        self.stdout.get().unwrap_or(&self.first)
    }

    fn style(&self) -> Style {
        self.output().style
    }

    /// How questions look: they are always asked on stderr.
    pub(crate) fn question_look(&self) -> Look {
        Look { light: self.is_light(), ..self.first.style.look(columns()) }
    }

    /// Takes over what the settings say about the background; with `auto`, it stays as it is known.
    pub fn follow_theme(&self, theme: Theme) {
        match theme {
            Theme::Auto => {}
            Theme::Dark => self.set_light(false),
            Theme::Light => self.set_light(true),
        }
    }

    pub(crate) fn set_light(&self, light: bool) {
        self.light.store(light, Ordering::Relaxed);
    }

    pub(crate) fn is_light(&self) -> bool {
        self.light.load(Ordering::Relaxed)
    }

    /// The size of the terminal on which questions are asked.
    pub(crate) fn question_size(&self) -> Size {
        self.first.surface.size()
    }

    /// Returns whether questions are drawn and answered by keys, not by lines.
    pub(crate) fn asks_by_key(&self) -> bool {
        self.first.style.live && self.style().live
    }

    pub(crate) fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// Restores the terminal; may be called from any thread.
    pub(crate) fn modes(&self) -> Arc<TerminalModes> {
        Arc::clone(&self.modes)
    }

    /// Before the engine is called: forgets the calls of the last turn and stops the echo of keys.
    pub(crate) fn begin_turn(&self) {
        let mut state = self.lock();
        state.main.begin(&self.frame());
        (state.in_turn, state.keeps_keys) = (true, true);
        if !std::mem::take(&mut state.was_sent_ahead) {
            self.acted();
        }
        *self.turn.lock() = TurnSigns::default();
        self.hold_echo(&state);
    }

    /// After the engine was called: shows the failure, if any, and what the turn took.
    pub(crate) fn end_turn(&self, failure: Option<&Failure>) {
        let mut state = self.lock();
        let frame = self.frame();
        state.main.end(&frame);
        if let Some(failure) = failure {
            state.main.commit(Kind::Note, self.failed(failure), &frame);
        }
        if let Some(line) = state.main.spending.line(&frame) {
            state.main.tell(vec![line], &frame);
        }
        self.forget_changes();
        // Keys are kept until a line is read.
        state.in_turn = false;
        self.modes.typed().ends_turn();
        // A closed terminal is reported by the next event.
        let _ = self.show(&mut state);
    }

    /// Does the work, and repaints meanwhile. For everything that takes time, inside a turn or not.
    pub async fn during<T>(&self, work: impl Future<Output = T>) -> T {
        if self.is_plain() {
            return work.await;
        }
        let mut work = pin!(work);
        let keyboard = self.output().keyboard.then(modes::keyboard).flatten();
        let mut pictures = interval(PICTURE);
        pictures.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                done = &mut work => return done,
                () = modes::pressed(keyboard.as_ref()) => self.show_keys(),
                _ = pictures.tick() => self.tick(),
            }
        }
    }

    /// The same before a prompt, outside a turn: what is typed meanwhile is for the prompt.
    pub(crate) async fn before_prompt<T>(&self, work: impl Future<Output = T>) -> T {
        {
            let mut state = self.lock();
            state.keeps_keys = true;
            self.hold_echo(&state);
        }
        let done = self.during(work).await;
        self.free_keyboard().await;
        done
    }

    /// A line editor reads the keyboard now, which restores the modes of the terminal.
    pub(crate) async fn hand_over_keyboard(&self) {
        self.keys_end().await;
        let mut state = self.lock();
        state.keeps_keys = false;
        if self.modes.hand_over().is_some() {
            self.end_reports();
        }
        let _ = self.show(&mut state);
    }

    /// Others read the keyboard now. What was typed by then is in [`TerminalView::next_draft`].
    pub(crate) async fn free_keyboard(&self) {
        self.keys_end().await;
        let mut state = self.lock();
        state.keeps_keys = false;
        if self.modes.hand_over_and_restore() {
            self.end_reports();
        }
        let _ = self.show(&mut state);
    }

    /// Waits for the end of a key or paste that has begun, for its rest would be keys for those who read next. Nothing is
    /// locked meanwhile.
    async fn keys_end(&self) {
        let began = Instant::now();
        self.hear_keys();
        while self.modes.awaits_keys() && began.elapsed() < LONGEST_PASTE {
            let _ = self.show(&mut self.lock());
            sleep(PICTURE).await;
            self.hear_keys();
        }
    }

    /// Takes in the keys that were pressed. Esc ends the turn.
    fn hear_keys(&self) {
        if self.modes.hear_keys() {
            self.turn.lock().escape.cancel();
        }
        self.switch_mode();
        self.tell_refusal();
    }

    /// A line editor reads until the result is dropped.
    pub(crate) fn reading(&self, editor: &Editor) -> Reading<'_> {
        self.lock().reader = Some(Reader { above: editor.above(), handover: editor.handover() });
        Reading { view: self }
    }

    /// Shows a key at once: it does not wait for the next frame.
    fn show_keys(&self) {
        self.hear_keys();
        let mut state = self.lock();
        if state.keeps_keys {
            let _ = self.show(&mut state);
        }
    }

    /// Shows what has come since the last paint, and the next frame of what moves.
    pub(crate) fn tick(&self) {
        self.hear_keys();
        let mut state = self.lock();
        if !self.is_just_painted(&state) {
            // The next event reports what cannot be written.
            let _ = self.show(&mut state);
        }
    }

    /// Shows lines of our own, escaped and redacted.
    pub fn say(&self, text: &str) {
        self.say_as(Tone::Plain, text);
    }

    /// Shows dim lines, unless the output is quiet.
    pub fn note(&self, text: &str) {
        if self.style().detail != Detail::Nothing {
            self.say_as(Tone::Dim, text);
        }
    }

    /// Shows the parts of a line, dim and with dots between them; nothing if there are none.
    pub(crate) fn note_parts(&self, parts: &[String]) {
        if !parts.is_empty() {
            self.note(&parts.join(&format!(" {} ", self.style().signs().dot)));
        }
    }

    fn say_as(&self, tone: Tone, text: &str) {
        let text = self.style().spelt(&self.frame().clean(text.trim_end_matches('\n')));
        self.print(text.split('\n').map(|line| Line::toned(tone, line)).collect());
    }

    /// Shows lines that are redacted already.
    pub fn print(&self, lines: Vec<Line>) {
        let mut state = self.lock();
        state.main.commit(Kind::Note, lines, &self.frame());
        let _ = self.show(&mut state);
    }

    /// Shows an empty line, between a question and its answer.
    pub(crate) fn breathe(&self) {
        if !self.is_plain() {
            self.print(vec![Line::new()]);
        }
    }

    pub fn markdown(&self, text: &str) {
        let text = self.redactor.clean(text);
        match self.style().answers {
            Answers::Markdown => self.print(converse_screen::markdown(&text, &self.look())),
            Answers::Text | Answers::Elsewhere => self.say(&text),
        }
    }

    pub fn show_reasoning(&self, shown: bool) {
        self.reasoning.store(shown, Ordering::Relaxed);
    }

    /// Whether each ensemble that is connected is reported from now on.
    pub(crate) fn announce_connections(&self, announced: bool) {
        self.announces.store(announced, Ordering::Relaxed);
    }

    pub fn shows_reasoning(&self) -> bool {
        self.reasoning.load(Ordering::Relaxed)
    }

    /// Returns whether nothing is redrawn.
    pub fn is_plain(&self) -> bool {
        !self.style().live
    }

    /// Returns the look at the current width of the terminal.
    pub fn look(&self) -> Look {
        self.frame().look
    }

    /// Called by the renderer that writes the answer to the same terminal.
    pub(crate) fn set_line_open(&self, open: bool) {
        self.lock().line_open = open;
    }

    pub(crate) fn is_line_open(&self) -> bool {
        self.lock().line_open
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
        let Output { surface, style, .. } = self.output();
        // Some terminals wrap what is written into the last column.
        let columns = surface.size().columns.saturating_sub(1).max(1);
        Frame {
            style: *style,
            look: Look { light: self.is_light(), ..style.look(columns) },
            now: surface.now(),
            redactor: &self.redactor,
            reasoning: self.shows_reasoning(),
        }
    }

    /// Writes what has become final and draws the region of what has not.
    fn show(&self, state: &mut State) -> Result<(), SinkError> {
        if state.away > 0 {
            return Ok(());
        }
        let plain: String = state.all().map(ViewState::take_plain).collect();
        if self.is_plain() {
            return self.write(state, &plain);
        }
        let (frame, size) = (self.frame(), self.output().surface.size());
        let above = state.main.take_above();
        let region = if state.reader.is_some() { Vec::new() } else { self.region(state, size, &frame) };
        let mut bytes = if plain.is_empty() { String::new() } else { state.live.leave() + &plain };
        bytes += &state.live.paint(&above, &region, &frame.look, size);
        self.modes.set_cursor_hidden(!region.is_empty() && self.hides_cursor());
        state.painted = Some(frame.now);
        self.write(state, &bytes)
    }

    /// The lines that are not final.
    fn region(&self, state: &mut State, size: Size, frame: &Frame<'_>) -> Vec<Line> {
        let mut region = state.main.region(&state.waits, size.rows, frame);
        region.extend(state.models.iter_mut().flat_map(|model| model.region(&[], size.rows, frame)));
        region.extend(self.keys_rows(state, frame));
        region
    }

    fn write(&self, state: &mut State, bytes: &str) -> Result<(), SinkError> {
        if bytes.is_empty() {
            return Ok(());
        }
        if let Some(reader) = &state.reader {
            reader.above.write(bytes);
            return Ok(());
        }
        let surface = &self.output().surface;
        if std::mem::take(&mut state.line_open) {
            surface.write("\n")?;
        }
        if self.hides_cursor() {
            surface.write(bytes)
        } else {
            surface.write(&bytes.replace("\x1b[?25l", ""))
        }
    }

    /// Only where something shows the cursor again, however the program ends.
    fn hides_cursor(&self) -> bool {
        self.style().answers != Answers::Elsewhere
    }

    fn is_just_painted(&self, state: &State) -> bool {
        let now = self.output().surface.now();
        state.painted.is_some_and(|painted| now.saturating_duration_since(painted) < BETWEEN)
    }

    fn hold_echo(&self, state: &State) {
        let Output { style, keyboard, .. } = self.output();
        if *keyboard && style.live && state.keeps_keys && self.modes.hold_echo() {
            self.begin_reports();
        }
    }

    /// Where lines are not drawn, a question would drop what was typed before it.
    fn keep_typed(&self, state: &State) {
        let Output { style, keyboard, .. } = self.output();
        if *keyboard && !style.live && state.in_turn && self.modes.hold_echo() {
            self.modes.free_echo();
        }
    }

    fn free_echo(&self) {
        if self.modes.free_echo() {
            self.end_reports();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    fn hear(&self, model: Option<usize>, event: &Event<'_>) -> Result<(), SinkError> {
        let edit = self.follow_files(model, event);
        let mut state = self.lock();
        let frame = self.frame();
        if let (Some(edit), Event::Finished { result, .. }) = (edit, event) {
            state.of(model).calls.changed(&result.id, edit);
        }
        state.of(model).hear(event, &frame);
        // These come in bursts.
        let many = matches!(event, Event::Delta(_) | Event::ToolProgress { .. });
        if many && self.is_just_painted(&state) { Ok(()) } else { self.show(&mut state) }
    }
}

/// As long as it lives, what is written comes above the line that is read.
pub(crate) struct Reading<'a> {
    view: &'a TerminalView,
}

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        let mut state = self.view.lock();
        if let Some(reader) = state.reader.take() {
            let _ = self.view.write(&mut state, &reader.above.take());
        }
    }
}

impl Sink for TerminalView {
    fn emit(&self, event: &Event<'_>) -> Result<(), SinkError> {
        let heard = self.hear(None, event);
        if heard.is_err() && self.output().keyboard && self.lock().in_turn {
            // The turn is broken off, which records the results of calls that run; an error here would not.
            self.turn.lock().loss.cancel();
            return Ok(());
        }
        heard
    }
}

impl Drop for TerminalView {
    fn drop(&mut self) {
        let mut state = self.lock();
        let bytes = state.live.leave();
        let _ = self.write(&mut state, &bytes);
        self.modes.set_cursor_hidden(false);
        drop(state);
        self.free_echo();
        self.restore_title();
    }
}

#[cfg(test)]
mod tests;
