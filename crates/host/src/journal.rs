//! The session as an event sink: events are on disk before the loop continues.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use converse_canister::{Canister, Cost, Invocation, TurnId};
use converse_engine::{Ending, Event, Sink, SinkError};
use converse_ensemble::holds_credentials;
use converse_provider::Delta;
use converse_session::{Body, Session, SessionError};
use jiff::Timestamp;
use tokio::time::Instant;

use crate::cassette::CassetteMode;
use crate::secrets::Redactor;

type Clock = fn() -> Timestamp;

/// Finds the file that an invocation writes.
type WrittenFile = Box<dyn Fn(&Invocation) -> Option<PathBuf> + Send + Sync>;

/// How files are kept before they are changed. Those that hold a key are not.
struct FileKeeper {
    written: WrittenFile,
    redactor: Redactor,
}

/// Time between two lines with the text of a reply that is arriving.
const PARTIAL_EVERY: Duration = Duration::from_secs(1);

/// Writes the journal. Syncs it to disk before tools with effects run, and when a turn ends. While a reply arrives, its
/// text is written about once a second without a sync, so that a kill loses little of what was shown.
pub struct JournalSink {
    book: Mutex<Book>,
    clock: Clock,
    cassette: CassetteMode,
    files: Mutex<Option<FileKeeper>>,
    settles_questions: AtomicBool,
}

crate::opaque_debug!(JournalSink);

struct Book {
    session: Session,
    /// The line of each canister of the conversation; canisters added by a repair have none.
    lines: Vec<Option<u64>>,
    arriving: Option<Arriving>,
}

/// The reply that is being received.
struct Arriving {
    turn: TurnId,
    /// The text that is not in the journal yet, and the bytes that are.
    rest: String,
    written: u64,
    /// Time of the first piece, or of the last line.
    since: Option<Instant>,
}

impl Arriving {
    fn new(turn: TurnId) -> Self {
        Self { turn, rest: String::new(), written: 0, since: None }
    }

    /// Returns the next line, if there is new text and the last line is not new.
    fn next_line(&mut self, now: Instant) -> Option<Body> {
        let since = *self.since.get_or_insert(now);
        if self.rest.is_empty() || now.duration_since(since) < PARTIAL_EVERY {
            return None;
        }
        let (turn, from, text) = (self.turn, self.written, std::mem::take(&mut self.rest));
        self.written += text.len() as u64;
        self.since = Some(now);
        Some(Body::Partial { turn, from, text })
    }

    /// Forgets the reply, which begins again. Returns the line that takes back earlier lines, if there are any.
    fn take_back(&mut self) -> Option<Body> {
        let Self { turn, written, .. } = std::mem::replace(self, Self::new(self.turn));
        (written > 0).then(|| Body::Partial { turn, from: 0, text: String::new() })
    }
}

impl JournalSink {
    /// `canisters` is the current length of the conversation.
    pub fn new(session: Session, canisters: usize, clock: Clock) -> Self {
        let mut lines: Vec<_> = session.loaded.places.iter().map(|place| Some(place.seq)).collect();
        lines.resize(canisters, None);
        Self {
            book: Mutex::new(Book { session, lines, arriving: None }),
            clock,
            cassette: CassetteMode::default(),
            files: Mutex::default(),
            settles_questions: AtomicBool::new(false),
        }
    }

    /// Whether messages of the user are synced to disk before later sinks hear of them.
    pub fn settles_questions(&self, settles: bool) {
        self.settles_questions.store(settles, Ordering::Relaxed);
    }

    /// From now on, files that invocations are about to write are kept, unless they hold credentials.
    pub fn keep_files(
        &self,
        written: impl Fn(&Invocation) -> Option<PathBuf> + Send + Sync + 'static,
        redactor: &Redactor,
    ) {
        if let Ok(mut files) = self.files.lock() {
            *files = Some(FileKeeper { written: Box::new(written), redactor: redactor.clone() });
        }
    }

    /// Keeps the files that these invocations are about to write.
    fn keep_written(&self, invocations: &[Invocation]) -> Result<(), SinkError> {
        let Ok(files) = self.files.lock() else { return Ok(()) };
        let Some(FileKeeper { written, redactor }) = &*files else { return Ok(()) };
        for invocation in invocations {
            if let Some(file) = written(invocation)
                && let Some(path) = file.to_str()
            {
                let may_keep =
                    |text: &str| redactor.find_secret(text).is_none() && !holds_credentials(&file, text);
                let mut book = self.book()?;
                let kept = book.session.keep_file(&invocation.id, path, &may_keep, (self.clock)());
                kept.map_err(|error| save_failed(&error))?;
            }
        }
        Ok(())
    }

    /// For a run that may replay a cassette.
    pub fn with_cassette(self, cassette: &CassetteMode) -> Self {
        Self { cassette: cassette.clone(), ..self }
    }

    fn book(&self) -> Result<MutexGuard<'_, Book>, SinkError> {
        self.book.lock().map_err(|_| SinkError::Save("the writer of the journal crashed".to_owned()))
    }

    fn append(&self, bodies: impl IntoIterator<Item = Body>, durable: bool) -> Result<(), SinkError> {
        let mut book = self.book()?;
        let kept = bodies
            .into_iter()
            .try_for_each(|body| book.append(body, (self.clock)()))
            .and_then(|()| if durable { book.session.journal.commit() } else { Ok(()) });
        kept.map_err(|error| save_failed(&error))
    }

    /// Returns the conversation to its state with this many canisters. Durable.
    pub fn rewind(&self, canisters: usize) -> Result<(), SinkError> {
        let first = self.book()?.lines.get(canisters).copied().flatten();
        let unknown = || SinkError::Save("the position in the journal is unknown".to_owned());
        let to = first.and_then(|line| line.checked_sub(1)).ok_or_else(unknown)?;
        self.append([Body::Rewound { to }], true)?;
        let mut book = self.book()?;
        book.lines.truncate(canisters);
        book.session.changes.rewind(to);
        Ok(())
    }

    /// Syncs what is not on disk yet, as far as possible.
    pub fn settle(&self) -> Result<(), SinkError> {
        self.append([], true)
    }

    /// Reads or changes the metadata of the session.
    pub fn with<T>(&self, change: impl FnOnce(&mut Session) -> T) -> Result<T, SinkError> {
        Ok(change(&mut self.book()?.session))
    }

    /// Records the model of the turn, which a later `--continue` uses again even if a fallback answered. Best effort:
    /// the journal counts.
    pub fn note_model(&self, model: &str) {
        if let Ok(mut book) = self.book()
            && let session = &mut book.session
            && (session.metadata.model.as_deref() != Some(model) || session.metadata.model_imported)
        {
            session.metadata.model = Some(model.to_owned());
            session.metadata.model_imported = false;
            if let Err(error) = session.note_metadata() {
                tracing::warn!(%error, "the session's metadata was not saved");
            }
        }
    }

    /// Marks a turn as replayed from a cassette, so that its answers do not count as new. Best effort.
    pub fn note_replay(&self) {
        if let Some(text) = self.cassette.replay_note()
            && let Err(error) = self.append([Body::Note { text: text.to_owned() }], false)
        {
            tracing::warn!(%error, "that this is a replay was not noted");
        }
    }
}

impl Book {
    /// Takes note of an event of the reply that is being received. Returns the line to write.
    fn follow(&mut self, event: &Event<'_>) -> Option<Body> {
        match event {
            Event::Requested { turn, .. } => {
                let (taken_back, next) =
                    (self.arriving.as_mut().and_then(Arriving::take_back), Arriving::new(*turn));
                self.arriving = Some(next);
                taken_back
            }
            Event::Delta(delta) => {
                let arriving = self.arriving.as_mut()?;
                if let Delta::Text(text) = delta {
                    arriving.rest.push_str(text);
                }
                arriving.next_line(Instant::now())
            }
            Event::Stalled => self.arriving.as_mut()?.next_line(Instant::now()),
            Event::Restarted(restart) if restart.discard => self.arriving.as_mut()?.take_back(),
            Event::Appended(canister) if canister.turn().is_some() => {
                self.arriving = None;
                None
            }
            _ => None,
        }
    }

    fn append(&mut self, body: Body, at: Timestamp) -> Result<(), SessionError> {
        let is_said = matches!(body, Body::Canister { .. });
        let line = self.session.append(body, at)?;
        if is_said {
            self.lines.push(Some(line));
        }
        Ok(())
    }
}

fn save_failed(error: &SessionError) -> SinkError {
    SinkError::Save(error.to_string())
}

impl Sink for JournalSink {
    fn emit(&self, event: &Event<'_>) -> Result<(), SinkError> {
        let partial = self.book()?.follow(event);
        self.append(partial, false)?;
        match event {
            Event::Appended(canister) => {
                let settles =
                    matches!(canister, Canister::User(_)) && self.settles_questions.load(Ordering::Relaxed);
                self.append([Body::Canister { canister: Canister::clone(canister) }], settles)
            }
            Event::Condensed { condensed, .. } => {
                self.append([Body::Condensed { condensed: (*condensed).clone() }], false)
            }
            Event::Decided { id, decision } => {
                let (id, decision) = ((*id).clone(), (*decision).clone());
                self.append([Body::Decided { id, decision }], false)
            }
            Event::Started { invocations, has_effects } => {
                if *has_effects {
                    self.keep_written(invocations)?;
                }
                let bodies = invocations.iter().map(|invocation| Body::Started { id: invocation.id.clone() });
                self.append(bodies, *has_effects)
            }
            Event::Finished { invocation, .. } => {
                let noted = self.book()?.session.note_files(&invocation.id, (self.clock)());
                noted.map_err(|error| save_failed(&error))
            }
            Event::Used { usage, cost, model, provider, .. } => {
                // A replayed reply costs nothing.
                let cost = if self.cassette.answers_for_models() { Some(Cost(0)) } else { *cost };
                let (model, provider) = ((*model).to_owned(), Some((*provider).to_owned()));
                self.append([Body::Used { usage: *usage, cost, model, provider }], false)
            }
            Event::Done(Ending::Postponed { ids }) => self.append([Body::Waiting { ids: ids.clone() }], true),
            // A turn that a limit or the user ends has no durable commit before.
            Event::Committed { durable: true, .. } | Event::Done(_) => self.append([], true),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use converse_canister::User;
    use converse_engine::Restart;
    use converse_session::{FileChange, FileState, Repair, Store};

    use super::*;

    struct Desk {
        sink: JournalSink,
        dir: tempfile::TempDir,
    }

    impl Desk {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let now = Timestamp::UNIX_EPOCH;
            let session = Store::new(dir.path()).create(Default::default(), "p", now).unwrap();
            let desk = Self { sink: JournalSink::new(session, 0, || Timestamp::UNIX_EPOCH), dir };
            desk.hears(&Event::Appended(&Canister::User(User::text("go"))));
            desk.hears(&Event::Requested { turn: TurnId(1), iteration: 1, model: "m", tools: &[] });
            desk
        }

        fn hears(&self, event: &Event<'_>) {
            self.sink.emit(event).unwrap();
        }

        fn says(&self, text: &str) {
            self.hears(&Event::Delta(&Delta::Text(text.to_owned())));
        }

        fn pieces(&self) -> Vec<(u64, String)> {
            let mut pieces = Vec::new();
            let store = Store::new(self.dir.path());
            let walked = store.walk(Default::default(), |_, entry| {
                if let Body::Partial { from, text, .. } = entry.body {
                    pieces.push((from, text));
                }
            });
            walked.unwrap();
            pieces
        }

        /// What is left if the process is killed now.
        fn kept(&self) -> Option<String> {
            let loaded = Store::new(self.dir.path()).read(Default::default()).unwrap();
            loaded.repairs.into_iter().find_map(|repair| match repair {
                Repair::PartialReply { text, .. } => Some(text),
                _ => None,
            })
        }
    }

    fn invocation() -> Invocation {
        Invocation {
            turn: TurnId(1),
            id: converse_canister::InvocationId::of(TurnId(1), 0),
            wire_id: None,
            tool: "t".into(),
            arguments: converse_canister::Arguments::parse("{}"),
            seal: None,
        }
    }

    #[test]
    fn only_what_has_effects_is_on_disk_before_it_runs_and_the_end_of_a_turn() {
        let desk = Desk::new();
        let is_on_disk = || desk.sink.with(|session| session.journal.is_committed()).unwrap();
        let (turn, call) = (TurnId(1), invocation());
        for has_effects in [false, true, false] {
            desk.hears(&Event::Started { invocations: std::slice::from_ref(&call), has_effects });
            assert_eq!(is_on_disk(), has_effects);
            desk.hears(&Event::Appended(&Canister::User(User::text("more"))));
            desk.hears(&Event::Committed { turn, durable: false });
            assert!(!is_on_disk());
        }
        desk.hears(&Event::Done(&Ending::Cancelled));
        assert!(is_on_disk());
        desk.hears(&Event::Appended(&Canister::User(User::text("more"))));
        desk.hears(&Event::Committed { turn, durable: true });
        assert!(is_on_disk());
        desk.hears(&Event::Appended(&Canister::User(User::text("more"))));
        desk.sink.settle().unwrap();
        assert!(is_on_disk());
    }

    #[test]
    fn a_file_that_holds_credentials_is_not_kept() {
        let desk = Desk::new();
        let token = format!("ghp_{}", "a1B2c3D4".repeat(5));
        for (name, text, is_kept) in [
            ("notes.txt", "to do".to_owned(), true),
            (".env", "COLOUR=blue".to_owned(), false),
            ("deploy.sh", format!("curl -H 'Authorization: Bearer {token}'"), false),
            ("id", "-----BEGIN OPENSSH PRIVATE KEY-----\n".to_owned(), false),
        ] {
            let file = desk.dir.path().join(name);
            std::fs::write(&file, text).unwrap();
            desk.sink.keep_files(move |_| Some(file.clone()), &Redactor::default());
            desk.sink.keep_written(std::slice::from_ref(&invocation())).unwrap();
            let before = |change: &FileChange| change.path.ends_with(name).then_some(change.before);
            let changes = desk.sink.with(|session| session.changes.of(|_| true)).unwrap();
            let state = changes.iter().find_map(before).unwrap();
            assert!(
                matches!(state, FileState::File { kept, .. } if kept.is_some() == is_kept),
                "{name}: {state:?}"
            );
        }
    }

    async fn pass(milliseconds: u64) {
        tokio::time::advance(Duration::from_millis(milliseconds)).await;
    }

    #[tokio::test(start_paused = true)]
    async fn the_text_of_a_reply_is_written_at_most_once_a_second() {
        let desk = Desk::new();
        for _ in 0..25 {
            desk.says("ж ");
            pass(100).await;
        }
        let second = |pieces| "ж ".repeat(pieces);
        assert_eq!(desk.pieces(), [(0, second(11)), (33, second(10))]);
        assert_eq!(desk.kept(), Some(second(21)));
        pass(1_000).await;
        desk.hears(&Event::Stalled);
        desk.hears(&Event::Stalled);
        assert_eq!((desk.pieces().len(), desk.kept()), (3, Some(second(25))));
    }

    #[tokio::test(start_paused = true)]
    async fn a_quick_reply_is_written_once() {
        let desk = Desk::new();
        desk.says("all of it");
        pass(999).await;
        desk.says(", at once");
        let reply = Canister::Assistant(converse_canister::Assistant {
            turn: TurnId(1),
            content: vec![converse_canister::Content::text("all of it, at once")],
            native: None,
            stop: converse_canister::Stop::End,
            response_id: None,
        });
        desk.hears(&Event::Appended(&reply));
        pass(5_000).await;
        desk.hears(&Event::Stalled);
        assert_eq!((desk.pieces(), desk.kept()), (vec![], None));
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_taken_back_on_the_screen_is_not_kept() {
        let desk = Desk::new();
        desk.says("half of");
        pass(1_000).await;
        desk.hears(&Event::Stalled);
        assert_eq!(desk.kept().as_deref(), Some("half of"));
        let restart = Restart { reason: "", attempt: 1, delay: Duration::ZERO, discard: true };
        desk.hears(&Event::Restarted(restart));
        assert_eq!(desk.kept(), None);
        desk.says("again");
        pass(1_000).await;
        desk.hears(&Event::Stalled);
        assert_eq!(desk.kept().as_deref(), Some("again"));
    }
}
