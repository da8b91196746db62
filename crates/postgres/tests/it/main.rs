//! The port of sessions on files and on PostgreSQL: one suite for both, and what only a database can do wrong.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test's helpers may panic")]

mod audit;
mod connection;
mod copying;
mod crash;
mod lease;
mod listing;
mod place;
mod replicas;
mod suite;
mod tls;

use std::sync::Arc;

use converse_postgres::Postgres;
use converse_session::storage::Storage;

#[test]
fn what_holds_everywhere_holds_on_postgresql() {
    let server = place::server();
    for (name, case) in suite::CASES {
        let url = server.database().unwrap();
        let storage: Arc<dyn Storage> = Arc::new(Postgres::new(place::address(&url)));
        eprintln!("{name}");
        case(&storage);
    }
}
