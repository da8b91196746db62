//! Durable sessions: a conversation is on disk before anything is done about it.
//!
//! ```
//! use converse_canister::{Canister, User};
//! use converse_session::{Body, Store, new_id};
//! use jiff::Timestamp;
//!
//! let directory = tempfile::tempdir()?;
//! let (store, now) = (Store::new(directory.path()), Timestamp::UNIX_EPOCH);
//! let mut session = store.create(new_id(now, &[7; 10]), "example 1.0", now)?;
//! let (id, message) = (session.id, Canister::User(User::text("Good morning!")));
//! session.append(Body::Canister { canister: message.clone() }, now)?;
//! session.journal.commit()?; // From here on a crash loses nothing.
//! drop(session);
//!
//! assert_eq!(store.read(id)?.transcript.as_slice(), [message]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! ```text
//! <data>/sessions/<uuid v7>/
//!   journal.jsonl      the session: one JSON object a line, only ever appended to
//!   metadata.toml      name, tags, model: what people add; totals for lists; missing or broken, nothing is lost
//!   metadata.broken    one that could not be read, kept before another was written
//!   content/<sha256>   images, documents and long texts, by digest
//!   lock               held (flock) by the one process that may write; says who it is
//!   index              the words of the messages, for a search: derived, and made anew when it is missing or old
//!   torn-<seq>         bytes of a last line that was never finished, kept when the journal was mended
//!   journal.v1.jsonl   the journal as it was before it was migrated
//! ```
//! Directories are 0700 and files 0600, whatever the umask.
//!
//! **The journal, format 2.** Each line is `{"seq":n,"at":"<RFC 3339>","type":"…",…,"sum":"<8 hex digits>"}`; `seq` is the
//! number of the line, from 1, `sum` the CRC-32 of the line's bytes before `,"sum"`. The first is `opened` with the
//! format; a newer format is refused untouched, an older one (1, which has no sums) is migrated when it is opened for
//! writing. A line is written by one call, so a line can be torn only at the end of the file; a line of a type that this
//! version does not know is kept and passed over. See [`Body`] for the types.
//!
//! **The promise.** Whatever a crash left, what [`Store::open`] hands out can be sent to a provider: a torn last line is
//! cut off (and kept), every open invocation gets a result, and a reply that was cut while being saved is no longer
//! replayed in its native form. Nothing is run again. Damage that no crash explains is reported with its line, and the
//! files stay as they are; [`Store::salvage`] makes a session of what stands before it.
//!
//! Beside the sessions there is the audit log, one for all of them: see [`AuditLog`].
//!
//! What this crate refuses to do: it reads no clock, no environment and no randomness (all handed in), touches no path
//! but the store's and the log's, and knows neither the loop nor any provider.

mod audit;
mod blob;
mod check;
mod clean;
mod course;
#[cfg(test)]
mod crash_tests;
mod entry;
mod error;
pub mod files;
mod fork;
mod gc;
mod index;
mod journal;
mod labels;
mod lines;
mod lock;
mod loss;
mod metadata;
mod migrate;
mod name;
mod parse;
#[cfg(test)]
mod power_tests;
mod references;
mod repair;
mod salvage;
mod scan;
mod search;
mod session;
pub mod stats;
mod store;
mod sum;
mod summary;
mod tally;
mod transfer;
mod walk;
mod witness;
mod zone;

pub use audit::{AuditError, AuditLog, Broken, Happened, Record, Redact, Verified, VerifyError, verify};
pub use blob::{Contents, LARGE_TEXT, MAX_BLOB_BYTES, digest};
pub use check::{Checked, Fault};
pub use clean::Clean;
pub use entry::{BadLine, Body, Entry, Header, Origin};
pub use error::SessionError;
pub use fork::{Fork, cuts};
pub use gc::{Cleared, Clearing, Removed};
pub use index::Who;
pub use journal::Journal;
pub use labels::{MOST_TAGS, drop_invalid_labels, is_reserved_tag, label_name, label_tag};
pub use lock::{Holder, LOCK_PATIENCE, lock_within};
pub use metadata::{Metadata, Totals};
pub use name::name_from;
pub use references::{digests, digests_mut};
pub use repair::{Loaded, Place, Repair};
pub use search::{Found, Hit, Query, Within};
pub use session::{Session, new_id};
pub use store::Store;
pub use summary::Summary;
pub use transfer::{DOCUMENT_FORMAT, Decided, Document, ImportError, Kept, MAX_IMPORT_BYTES};
pub use uuid::Uuid;
pub use zone::Zone;

/// The version of the journal's format.
pub const FORMAT: u32 = 2;
