//! Lists of many sessions, and of one that cannot be read.

use std::collections::BTreeSet;
use std::sync::Arc;

use converse_postgres::Postgres;
use converse_session::storage::Storage;
use converse_session::{Query, SessionError, Within};
use converse_testkit::postgres::PostgresServer;

use crate::place::{address, id, server, session, store};

/// An empty database with its tables: its name and its sessions.
fn tables(server: &PostgresServer) -> (String, Arc<dyn Storage>) {
    let url = server.database().unwrap();
    let name = url.split(['/', '?']).find(|part| part.starts_with("test")).unwrap().to_owned();
    let storage: Arc<dyn Storage> = Arc::new(Postgres::new(address(&url)));
    assert!(storage.ids().unwrap().is_empty());
    (name, storage)
}

/// Inserts so many sessions with empty journals, each later than all others.
fn insert(server: &PostgresServer, database: &str, count: usize) {
    let sql = format!(
        "INSERT INTO converse.sessions (id, published, has_journal, modified)
         SELECT gen_random_uuid(), true, true, clock_timestamp() + make_interval(days => n)
         FROM generate_series(1, {count}) AS n"
    );
    server.sql(database, &sql).unwrap();
}

#[test]
fn sessions_are_listed_in_pages_each_once() {
    let server = server();
    let (database, storage) = tables(&server);
    insert(&server, &database, 1_203);
    // By its id in the middle, by its time behind more than a page of others.
    session(&storage, id(1), &["hello"]);
    let store = store(&storage);
    store.describe(id(1), |metadata| metadata.name = Some("taxes".to_owned())).unwrap();
    let listed = store.list().unwrap();
    let ids: BTreeSet<_> = listed.iter().map(|one| one.id).collect();
    assert_eq!((listed.len(), ids.len()), (1_204, 1_204));
    assert!(listed.is_sorted_by(|one, next| one.updated >= next.updated));
    assert_eq!(listed.last().unwrap().metadata.name.as_deref(), Some("taxes"));
    assert_eq!((store.latest().unwrap(), store.resolve("taxes").unwrap()), (id(1), id(1)));
    let page = storage.listed(None).unwrap().unwrap();
    assert_eq!(page.len(), 500);
    assert!(storage.listed(ids.last().copied()).unwrap().unwrap().is_empty());

    insert(&server, &database, 60_000);
    let all = store.all().unwrap();
    assert!(all.len() == 61_204 && all.is_sorted_by(|one, next| one < next));
}

#[test]
fn metadata_that_cannot_be_read_hides_no_other_session() {
    let server = server();
    let (database, storage) = tables(&server);
    let store = store(&storage);
    for number in 1..4 {
        session(&storage, id(number), &["hello"]);
        store.describe(id(number), |metadata| metadata.name = Some(format!("name {number}"))).unwrap();
    }
    // As a damaged page of the disk.
    let damage = format!(
        "CREATE FUNCTION converse.damaged() RETURNS bytea VOLATILE LANGUAGE plpgsql
             AS 'BEGIN RAISE EXCEPTION ''invalid page in block 7''; END';
         ALTER TABLE converse.documents RENAME TO kept;
         CREATE VIEW converse.documents AS SELECT session, name, xmin,
             CASE WHEN session = '{}' THEN converse.damaged() ELSE bytes END AS bytes FROM converse.kept",
        id(2)
    );
    server.sql(&database, &damage).unwrap();
    let listed = store.list().unwrap();
    for one in &listed {
        assert_eq!(one.problem.is_some(), one.id == id(2), "{one:?}");
        assert_eq!(one.metadata.name.is_some(), one.id != id(2), "{one:?}");
    }
    assert_eq!(listed.len(), 3);
    let problem = listed.iter().find_map(|one| one.problem.clone()).unwrap();
    assert!(problem.contains("invalid page in block 7"), "{problem}");
    assert_eq!(store.resolve("name 3").unwrap(), id(3));
    assert_eq!(store.resolve(&id(2).to_string()).unwrap(), id(2));
    // It may have the name, or the tag.
    assert!(matches!(store.resolve("name 2"), Err(SessionError::Io { .. })));
    assert!(matches!(store.tagged("odd"), Err(SessionError::Io { .. })));
    // A time that is none of ours.
    let sql = "UPDATE converse.sessions SET modified = 'infinity'";
    server.sql(&database, sql).unwrap();
    assert!(store.list().unwrap().iter().all(|one| one.updated.as_second() > 4_000_000_000));
}

#[test]
fn a_search_reads_many_sessions_at_once_and_those_without_an_index_too() {
    let server = server();
    let (database, storage) = tables(&server);
    let store = store(&storage);
    let long = format!("needle {}", "hay ".repeat(40_000));
    for (number, text) in [(1, "a needle"), (2, "hay"), (3, long.as_str()), (4, "the last needle")] {
        session(&storage, id(number), &[text]);
    }
    let query = Query::new(["needle"], Within::All).unwrap();
    let found = || {
        let found = store.search(&query, 10).unwrap();
        assert!(found.unread.is_empty(), "{:?}", found.unread);
        let mut ids: Vec<_> = found.hits.iter().map(|hit| hit.session).collect();
        ids.sort_unstable();
        assert_eq!(found.hits.len(), found.total);
        ids
    };
    // The first search writes the indexes, and the next ones read them.
    for _ in 0..2 {
        assert_eq!(found(), [id(1), id(3), id(4)]);
    }
    let page = storage.indexed(None).unwrap().unwrap();
    let has_index: Vec<_> = page.into_iter().map(|one| one.document.unwrap().is_some()).collect();
    assert_eq!(has_index, [true, true, false, true], "a large index is read by itself");
    // An index of another journal is not used.
    let other = format!(
        "UPDATE converse.documents SET bytes = (SELECT bytes FROM converse.documents WHERE name = 'index'
         AND session = '{}') WHERE name = 'index'",
        id(2)
    );
    server.sql(&database, &other).unwrap();
    assert_eq!(found(), [id(1), id(3), id(4)]);
}
