//! What long sessions cost. `make` writes one of so many messages into a directory of its own and says its bytes;
//! `load` reads it once and says how many milliseconds that took. `shelf` writes many of them into one directory and says
//! how many messages those are; `search` looks for words in all of them and says how long that took and what was found.

mod story;

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use converse_session::{Query, Store, Uuid, Within, new_id};
use jiff::Timestamp;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

const USAGE: &str = "usage: sessions make|load DIR MESSAGES, shelf DIR SESSIONS MESSAGES, search DIR WORD…";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match run(&words.iter().map(String::as_str).collect::<Vec<_>>()) {
        Ok(said) => {
            println!("{said}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(words: &[&str]) -> Result<String> {
    match words {
        ["make", dir, messages] => Ok(make(Path::new(dir), messages.parse()?)?.to_string()),
        ["load", dir, messages] => Ok(format!("{:.3}", load(Path::new(dir), messages.parse()?)?)),
        ["shelf", dir, sessions, messages] => {
            Ok(shelf(Path::new(dir), sessions.parse()?, messages.parse()?)?.to_string())
        }
        ["search", dir, words @ ..] => search(Path::new(dir), words),
        _ => Err(USAGE.into()),
    }
}

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

fn id() -> Uuid {
    new_id(NOW, &[1; 10])
}

/// Bytes of the journal.
fn make(dir: &Path, messages: u64) -> Result<u64> {
    let mut session = Store::new(dir).create(id(), "sessions", NOW)?;
    story::tell(&mut session, messages, NOW)?;
    Ok(std::fs::metadata(session.dir().join("journal.jsonl"))?.len())
}

/// Milliseconds of reading a journal to the conversation that goes on, as `--continue` does. Of one process one counts: a
/// second one would find memory that is scattered by the first, and no program reads a session twice.
fn load(dir: &Path, messages: u64) -> Result<f64> {
    let began = Instant::now();
    let loaded = Store::new(dir).read(id())?;
    let took = began.elapsed();
    if loaded.transcript.as_slice().len() as u64 != messages || !loaded.repairs.is_empty() {
        return Err("what was read is not what was written".into());
    }
    Ok(took.as_secs_f64() * 1e3)
}

/// Makes so many sessions of so many messages each; returns how many messages that are.
fn shelf(dir: &Path, sessions: u64, messages: u64) -> Result<u64> {
    let store = Store::new(dir);
    for number in 0..sessions {
        let now = Timestamp::from_second(1_790_000_000 + i64::try_from(number)?)?;
        let mut session = store.create(new_id(now, &[1; 10]), "sessions", now)?;
        story::tell(&mut session, messages, now)?;
    }
    Ok(sessions * messages.div_ceil(story::OF_A_TURN) * story::OF_A_TURN)
}

/// Milliseconds of one search, and how many messages were found.
fn search(dir: &Path, words: &[&str]) -> Result<String> {
    let query = Query::new(words.iter().copied(), Within::All).ok_or("no words")?;
    let began = Instant::now();
    let found = Store::new(dir).search(&query, 20)?;
    let took = began.elapsed();
    if !found.unread.is_empty() {
        return Err("a session could not be read".into());
    }
    Ok(format!("{:.3} {}", took.as_secs_f64() * 1e3, found.total))
}
