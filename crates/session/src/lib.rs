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
//!   journal.jsonl      the session: one JSON object per line, append-only
//!   metadata.toml      name, tags, model (from people), and totals for lists; may be missing or damaged
//!   metadata.broken    unreadable metadata, kept before new metadata was written
//!   content/<sha256>   images, documents, long texts and files before they were changed, by digest
//!   lock               held (flock) by the one process that may write; names that process
//!   index              the words of the messages for the search; derived, rebuilt if missing or outdated
//!   torn-<seq>         bytes that a crash left incomplete at the end, kept when the journal was repaired
//!   journal.v1.jsonl   the journal before its migration
//! ```
//! Directories are 0700 and files 0600, whatever the umask.
//!
//! **The journal, format 2.** Each line is `{"seq":n,"at":"<RFC 3339>","type":"…",…,"sum":"<8 hex digits>"}`. `seq` is the
//! number of the line, from 1; `sum` is the CRC-32 of the line's bytes before `,"sum"`. The first line is `opened` and
//! names the format. A newer format is refused; format 1, which has no checksums, is migrated when the session is opened
//! for writing. A line is written by one call, so a kill can tear only the last line. The first line after a sync
//! also has `"synced":<line>`: up to that line the journal was on disk. Lines of an unknown type are kept and skipped. See
//! [`Body`] for the types.
//!
//! **Guarantee.** Whatever a crash left, the conversation that [`Store::open`] returns can be sent to a provider: what
//! no sync covered is cut off from the first unreadable line on and kept, every open invocation gets a result, a reply
//! that was cut while it was saved is not replayed in its native form, and the text of a reply that was still arriving
//! becomes a reply that was cut. Nothing is run again. Damage that no crash explains is reported with its line, and the
//! files stay unchanged; [`Store::salvage`] makes a session of the lines before it.
//!
//! The audit log is shared by all sessions: see [`AuditLog`]. Recordings of runs are in [`cassette`].
//!
//! This crate reads no clock, environment or random numbers (they are passed in), uses no paths but the store, the
//! log and those that it is given, and knows neither the turn loop nor providers.

mod audit;
mod blob;
pub mod cassette;
mod changes;
mod check;
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
mod list_index;
mod lock;
mod loss;
mod metadata;
mod migrate;
mod name;
mod parse;
pub mod pinned;
#[cfg(test)]
mod power_tests;
mod redact_across;
mod references;
mod repair;
mod salvage;
mod scan;
mod search;
mod session;
pub mod stats;
pub mod storage;
mod store;
mod sum;
mod summary;
mod synced;
mod tally;
mod transfer;
mod walk;
mod witness;
mod zone;

pub use audit::{
    AuditChain, AuditError, AuditLog, Broken, Happened, Record, RedactText, Verified, VerifyError,
    chain_records, records, verify, verify_chain, verify_files,
};
pub use blob::{Contents, MAX_BLOB_BYTES, digest};
pub use changes::{FileChange, FileChanges, FileState, Restore, Standing, restores};
pub use check::{Checked, Fault};
pub use entry::{BadLine, Body, Entry, Header, Origin};
pub use error::SessionError;
pub use fork::{Fork, cuts};
pub use gc::{Cleared, Clearing, Removed};
pub use index::Who;
pub use journal::Journal;
pub use labels::{MOST_TAGS, drop_invalid_labels, is_reserved_tag, label_name, label_tag};
pub use lock::{Holder, LOCK_TIMEOUT, lock_within};
pub use metadata::{Metadata, Totals};
pub use name::name_from;
pub use redact_across::redact_across;
pub use references::{digests, digests_mut};
pub use repair::{Loaded, Place, Repair, Reply};
pub use salvage::Salvaged;
pub use search::{Hit, Query, SearchResults, Within};
pub use session::{Session, new_id};
pub use store::{Clean, Store};
pub use summary::Summary;
pub use transfer::{DOCUMENT_FORMAT, Decided, Document, ImportError, Kept, MAX_IMPORT_BYTES, Redact};
pub use uuid::Uuid;
pub use zone::Zone;

/// The version of the journal's format.
pub const FORMAT: u32 = 2;
