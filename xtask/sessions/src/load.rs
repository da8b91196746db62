//! Reading a journal to the conversation that goes on, as `--continue` does.

use std::path::Path;
use std::time::Instant;

use converse_session::{Store, Uuid, new_id};
use jiff::Timestamp;

use crate::{Result, story};

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

fn id() -> Uuid {
    new_id(NOW, &[1; 10])
}

/// Bytes of the journal.
pub(crate) fn make(dir: &Path, messages: u64) -> Result<u64> {
    let mut session = Store::new(dir).create(id(), "sessions", NOW)?;
    story::tell(&mut session, messages, NOW)?;
    Ok(std::fs::metadata(session.dir().join("journal.jsonl"))?.len())
}

/// Milliseconds of one reading. Of one process one counts: a second one would find memory that is scattered by the
/// first, and no program reads a session twice.
pub(crate) fn load(dir: &Path, messages: u64) -> Result<f64> {
    let began = Instant::now();
    let loaded = Store::new(dir).read(id())?;
    let took = began.elapsed();
    if loaded.transcript.as_slice().len() as u64 != messages || !loaded.repairs.is_empty() {
        return Err("what was read is not what was written".into());
    }
    Ok(took.as_secs_f64() * 1e3)
}
