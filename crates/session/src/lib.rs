//! Durable sessions: a conversation is on disk before anything is done about it.
//!
//! ```text
//! <data>/sessions/<uuid v7>/
//!   journal.jsonl      the session: one JSON object a line, only ever appended to
//!   metadata.toml      name, tags, model: what people add; missing or broken, nothing is lost
//!   content/<sha256>   images, documents and long texts, by digest
//!   lock               held (flock) by the one process that may write; says who it is
//!   torn-<seq>         bytes of a last line that was never finished, kept when the journal was mended
//! ```
//! Directories are 0700 and files 0600, whatever the umask.
//!
//! **The journal, format 1.** Each line is `{"seq":n,"at":"<RFC 3339>","type":"…",…}`; `seq` is the number of the line,
//! from 1. The first is `opened` with the format; a newer format is refused untouched. A line is written by one call, so
//! a line can be torn only at the end of the file; a line of a type that this version does not know is kept and passed
//! over. See [`Body`] for the types.
//!
//! **The promise.** Whatever a crash left, what [`Store::open`] hands out can be sent to a provider: a torn last line is
//! cut off (and kept), every open invocation gets a result, and a reply that was cut while being saved is no longer
//! replayed in its native form. Nothing is run again. Damage that no crash explains is reported with its line, and the
//! files stay as they are.
//!
//! Beside the sessions there is the audit log, one for all of them: see [`AuditLog`].
//!
//! What this crate refuses to do: it reads no clock, no environment and no randomness (all handed in), touches no path
//! but the store's and the log's, and knows neither the loop nor any provider.

mod audit;
mod blob;
#[cfg(test)]
mod crash_tests;
mod entry;
mod error;
mod files;
mod journal;
mod lines;
mod lock;
mod metadata;
mod repair;
mod scan;
mod session;
mod store;
mod summary;

pub use audit::{AuditError, AuditLog, Broken, Happened, Record, Redact, Verified, VerifyError, verify};
pub use blob::{Contents, LARGE_TEXT, MAX_BLOB_BYTES, digest};
pub use entry::{BadLine, Body, Entry, Header};
pub use error::SessionError;
pub use journal::Journal;
pub use lock::{Holder, LOCK_PATIENCE, lock_within};
pub use metadata::Metadata;
pub use repair::{Loaded, Repair};
pub use session::{Session, new_id};
pub use store::Store;
pub use summary::Summary;
pub use uuid::Uuid;

/// The version of the journal's format.
pub const FORMAT: u32 = 1;
