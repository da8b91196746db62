//! Many sessions beside each other, and words looked for in all of them.

use std::path::Path;
use std::time::Instant;

use converse_session::{Query, Store, Within, new_id};
use jiff::Timestamp;

use crate::{Result, story};

/// Makes so many sessions of so many messages each; returns how many messages that are.
pub(crate) fn make(dir: &Path, sessions: u64, messages: u64) -> Result<u64> {
    let store = Store::new(dir);
    for number in 0..sessions {
        let now = Timestamp::from_second(1_790_000_000 + i64::try_from(number)?)?;
        let mut session = store.create(new_id(now, &[1; 10]), "sessions", now)?;
        story::tell(&mut session, messages, now)?;
    }
    Ok(sessions * messages.div_ceil(story::OF_A_TURN) * story::OF_A_TURN)
}

/// Milliseconds of one search, and how many messages were found.
pub(crate) fn search(dir: &Path, words: &[&str]) -> Result<String> {
    let query = Query::new(words.iter().copied(), Within::All).ok_or("no words")?;
    let began = Instant::now();
    let found = Store::new(dir).search(&query, 20)?;
    let took = began.elapsed();
    if !found.unread.is_empty() {
        return Err("a session could not be read".into());
    }
    Ok(format!("{:.3} {}", took.as_secs_f64() * 1e3, found.total))
}
