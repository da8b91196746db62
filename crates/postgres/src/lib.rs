//! Sessions in a PostgreSQL database: an implementation of the port [`converse_session::storage`].
//!
//! ```text
//! converse.versions    the migrations that were applied; a later version than ours is refused
//! converse.sessions    one row per session: length, time and generation of the journal, and the lease of its writer
//! converse.entries     the journal: each line at its byte offset, with the epoch of its writer
//! converse.documents   metadata, pins, the search index, torn tails, earlier journals
//! converse.contents    content by digest, of each session by itself
//! converse.turns       the last turn of each session that a server ran, and the process that runs it
//! converse.processes   servers, with their heartbeats
//! converse.records     small values of an owner: idempotency keys, questions that wait
//! converse.audit       the audit log: the lines of each owner's chain
//! converse.audit_heads the end of each chain
//! ```
//! **One writer.** The lock of a session is a lease: an epoch and a time of expiry in the session's row. Whoever takes the
//! lease raises the epoch. Each write names the epoch and changes nothing if the row has another one, so a process that
//! was suspended, or cut off from the database, cannot write after another one has taken over. The clock of the database
//! decides, and held leases are renewed three times within their duration.
//!
//! **Durability.** A line is sent to the database when it is appended, in a transaction that does not wait for the disk.
//! A sync is a transaction that does, which also writes everything before it. It fails if the journal is shorter than what
//! was appended, as after a crash of the database.
//!
//! **Audit log.** An append is one durable statement that names the end that its lines follow, and changes nothing if the chain
//! has another one. So nobody holds a lock on a chain.
//!
//! **Owners.** Each client of a server owns sessions; others cannot find them. The command line is an owner too.
//!
//! **Connection.** One thread of its own runs the connection. Each call waits for its statement, with a timeout. A lost
//! connection is an error of the statement that noticed it; the next one connects again.

mod address;
mod audit;
mod connection;
mod file;
mod lease;
mod migrations;
mod passfile;
mod records;
mod replicas;
mod session;
mod storage;
mod tls;

pub use address::{Address, AddressError};
pub use storage::{Clock, Postgres};
