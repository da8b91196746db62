//! The tables, as numbered changes. An applied one is never edited: a change is a new one.

use tokio_postgres::Client;

use crate::connection::Failed;

/// All changes, the first is number 1.
const MIGRATIONS: [&str; 6] = [
    include_str!("migrations/001.sql"),
    include_str!("migrations/002.sql"),
    include_str!("migrations/003.sql"),
    include_str!("migrations/004.sql"),
    include_str!("migrations/005.sql"),
    include_str!("migrations/006.sql"),
];

/// Any number: those who change the tables at the same time wait for each other.
const LOCK: i64 = 0x636f_6e76_6572_7365;

/// Brings the tables to this program's version, and refuses those of a later one.
pub(crate) async fn migrate(client: &mut Client) -> Result<(), Failed> {
    let known = MIGRATIONS.len() as i32;
    match version(client).await? {
        found if found == known => return Ok(()),
        found if found > known => return Err(Failed::Newer { found, known }),
        _ => {}
    }
    let transaction = client.transaction().await?;
    transaction.batch_execute(&format!("SELECT pg_advisory_xact_lock({LOCK})")).await?;
    transaction
        .batch_execute(
            "CREATE SCHEMA IF NOT EXISTS converse;
             CREATE TABLE IF NOT EXISTS converse.versions (
               version integer PRIMARY KEY, applied timestamptz NOT NULL DEFAULT clock_timestamp())",
        )
        .await?;
    let row = transaction.query_one("SELECT coalesce(max(version), 0) FROM converse.versions", &[]).await?;
    let found: i32 = row.try_get(0)?;
    if found > known {
        return Err(Failed::Newer { found, known });
    }
    for (number, sql) in (1..=known).zip(MIGRATIONS).skip(found.unsigned_abs() as usize) {
        transaction.batch_execute(sql).await?;
        let insert = "INSERT INTO converse.versions (version) VALUES ($1)";
        transaction.execute(insert, &[&number]).await?;
    }
    Ok(transaction.commit().await?)
}

/// Returns the version of the tables; 0 if there are none.
async fn version(client: &Client) -> Result<i32, Failed> {
    let row = client.query_one("SELECT to_regclass('converse.versions') IS NOT NULL", &[]).await?;
    if !row.try_get::<_, bool>(0)? {
        return Ok(0);
    }
    let row = client.query_one("SELECT coalesce(max(version), 0) FROM converse.versions", &[]).await?;
    Ok(row.try_get(0)?)
}
