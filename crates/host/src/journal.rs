//! The session as an event sink: events are on disk before the loop continues.

use std::sync::{Mutex, MutexGuard};

use converse_canister::{Canister, Cost};
use converse_engine::{Event, Sink, SinkError};
use converse_session::{Body, Session, SessionError};
use jiff::Timestamp;

use crate::cassette::mode::CassetteMode;

type Clock = fn() -> Timestamp;

/// Writes the journal. Syncs it to disk before tools run and when a turn is complete.
pub struct JournalSink {
    book: Mutex<Book>,
    clock: Clock,
    cassette: CassetteMode,
}

crate::opaque_debug!(JournalSink);

struct Book {
    session: Session,
    /// The line of each canister of the conversation; canisters added by a repair have none.
    lines: Vec<Option<u64>>,
}

impl JournalSink {
    /// `canisters` is the current length of the conversation.
    pub fn new(session: Session, canisters: usize, clock: Clock) -> Self {
        let mut lines: Vec<_> = session.loaded.places.iter().map(|place| Some(place.seq)).collect();
        lines.resize(canisters, None);
        Self { book: Mutex::new(Book { session, lines }), clock, cassette: CassetteMode::default() }
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
        self.book()?.lines.truncate(canisters);
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
            if let Err(error) = session.save_metadata() {
                tracing::warn!(%error, "the session's metadata was not saved");
            }
        }
    }

    /// Marks a turn as replayed from a cassette, so that its answers do not count as new. Best effort.
    pub fn note_replay(&self) {
        if let Some(text) = self.cassette.told()
            && let Err(error) = self.append([Body::Note { text: text.to_owned() }], false)
        {
            tracing::warn!(%error, "that this is a replay was not noted");
        }
    }
}

impl Book {
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
        match event {
            Event::Appended(canister) => {
                self.append([Body::Canister { canister: Canister::clone(canister) }], false)
            }
            Event::Condensed { condensed, .. } => {
                self.append([Body::Condensed { condensed: (*condensed).clone() }], false)
            }
            Event::Decided { id, decision } => {
                let (id, decision) = ((*id).clone(), (*decision).clone());
                self.append([Body::Decided { id, decision }], false)
            }
            Event::Started(invocations) => {
                let bodies = invocations.iter().map(|invocation| Body::Started { id: invocation.id.clone() });
                self.append(bodies, true)
            }
            Event::Used { usage, cost, model, provider, .. } => {
                // A replayed reply costs nothing.
                let cost = if self.cassette.answers_for_models() { Some(Cost(0)) } else { *cost };
                let (model, provider) = ((*model).to_owned(), Some((*provider).to_owned()));
                self.append([Body::Used { usage: *usage, cost, model, provider }], false)
            }
            Event::Committed { .. } => self.append([], true),
            _ => Ok(()),
        }
    }
}
