//! Several models' answers to one question.

mod columns;
mod words;

use std::time::Duration;

use converse_engine::{Event, Sink, SinkError};
use serde_json::Value;

use crate::render::json::{Gist, JsonRenderer};
use crate::render::jsonl::{JsonlRenderer, Record};
use crate::render::{End, Renderer};
use crate::view::ModelView;
use converse_host::failure::Failure;

pub use columns::terminal;
pub use words::sections;

/// What is heard of one of them.
pub struct Compared {
    pub json: JsonRenderer,
    /// Records as things happen, if those are wanted.
    pub jsonl: Option<JsonlRenderer>,
    pub progress: ModelView,
}

converse_host::opaque_debug!(Compared);

/// How one of them ended.
#[derive(Debug, Clone)]
pub struct Report {
    /// As `provider/model`.
    pub model: String,
    pub gist: Gist,
    pub elapsed: Duration,
    pub failure: Option<Failure>,
}

impl Compared {
    /// The object of one model, with what a comparison adds.
    pub fn object(&self, end: End<'_>, elapsed: Duration) -> Result<Value, SinkError> {
        let path = self.path()?;
        let mut object = self.json.object(end)?;
        if let Some(object) = object.as_object_mut() {
            object.insert("time_ms".to_owned(), milliseconds(elapsed).into());
            object.insert("path".to_owned(), path.into());
        }
        Ok(object)
    }

    /// The last record of one model.
    pub fn record(&self, end: End<'_>, elapsed: Duration) -> Result<(), SinkError> {
        let Some(jsonl) = &self.jsonl else { return Ok(()) };
        let (End { exit, reason, session, .. }, path) = (end, self.path()?);
        let error = end.failure.map(Failure::json);
        jsonl.write(Record::ModelDone {
            exit,
            reason,
            session,
            error,
            time_ms: milliseconds(elapsed),
            path: &path,
        })
    }

    /// The tools, in the order of their invocations.
    fn path(&self) -> Result<Vec<String>, SinkError> {
        Ok(self.json.gist()?.path.into_iter().map(|passed| passed.tool).collect())
    }
}

fn milliseconds(elapsed: Duration) -> u64 {
    u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX)
}

impl Sink for Compared {
    fn emit(&self, event: &Event<'_>) -> Result<(), SinkError> {
        self.json.emit(event)?;
        self.jsonl.as_ref().map_or(Ok(()), |jsonl| jsonl.emit(event))
    }
}

impl Renderer for Compared {
    /// The last word is one for all.
    fn finish(&self, _: End<'_>) -> Result<(), SinkError> {
        Ok(())
    }
}
