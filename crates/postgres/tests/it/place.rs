//! Places for sessions, and what tests do with them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use converse_canister::{Canister, User};
use converse_postgres::{Address, Clock, Postgres};
use converse_session::storage::{SessionStorage, Storage};
use converse_session::{Body, Session, Store, Uuid, new_id};
use converse_testkit::postgres::PostgresServer;
use jiff::Timestamp;

pub(crate) fn now() -> Timestamp {
    "2026-11-20T10:11:12.345Z".parse().unwrap()
}

pub(crate) fn id(dice: u8) -> Uuid {
    new_id(now(), &[dice; 10])
}

pub(crate) fn server() -> PostgresServer {
    PostgresServer::start().unwrap_or_else(|error| panic!("{error}"))
}

pub(crate) fn address(url: &str) -> Address {
    Address::parse(url, None).unwrap()
}

pub(crate) fn store(storage: &Arc<dyn Storage>) -> Store {
    Store::on(storage.clone())
}

pub(crate) fn user(text: &str) -> Body {
    Canister::User(User::text(text)).into()
}

pub(crate) fn say(session: &mut Session, text: &str) {
    session.append(user(text), now()).unwrap();
    session.journal.commit().unwrap();
}

/// A new session with these messages.
pub(crate) fn session(storage: &Arc<dyn Storage>, id: Uuid, texts: &[&str]) {
    let mut session = store(storage).create(id, "test 1", now()).unwrap();
    texts.iter().for_each(|text| say(&mut session, text));
}

pub(crate) fn read(at: &dyn SessionStorage, name: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut at.open(name).unwrap(), &mut bytes).unwrap();
    bytes
}

/// A clock that tests move.
#[derive(Debug, Clone)]
pub(crate) struct TestClock(Arc<AtomicU64>);

impl TestClock {
    pub(crate) fn new() -> Self {
        Self(Arc::new(AtomicU64::new(1_000_000)))
    }

    pub(crate) fn advance(&self, seconds: u64) {
        self.0.fetch_add(seconds, Ordering::Relaxed);
    }

    /// Another process's view of the database.
    pub(crate) fn storage(&self, url: &str) -> Arc<dyn Storage> {
        let seconds = self.0.clone();
        let now = move || SystemTime::UNIX_EPOCH + Duration::from_secs(seconds.load(Ordering::Relaxed));
        Arc::new(Postgres::with_clock(address(url), Clock::new(now)))
    }
}
