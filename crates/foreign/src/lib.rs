//! Imports the tool configuration of other programs as ensembles, and exports ensembles as `mcpServers`.
//!
//! ```
//! use converse_foreign::read;
//!
//! let text = r#"{ "mcpServers": { "tickets": {
//!     "command": "tickets-server", "env": { "TICKETS_TOKEN": "s3cr3t-0123456789abcdef" } } } }"#;
//! let found = read(text, None)?;
//!
//! let descriptor = found.servers[0].toml();
//! assert!(descriptor.contains("tickets-server"));
//! // The secret is replaced by the name of a variable.
//! assert!(!descriptor.contains("s3cr3t"));
//! # Ok::<(), converse_foreign::ForeignError>(())
//! ```
//!
//! [`read()`] takes the text of a file and gives descriptors, [`export()`] takes plans and gives JSON, [`Sketch`] writes
//! a new descriptor from nothing. All of it is pure: the file, the directory and the questions are the caller's.
//!
//! ```text
//! text ── tree ──▶ JSON value ── format ──▶ drafts (as the other program means them)
//!      ── finish (references, secrets, names) ──▶ Server ── toml() ──▶ text that `ensembles check` accepts
//! ```
//!
//! **Invariant:** a secret that stands in the file stands in nothing that comes out: no descriptor, note or error holds
//! it, only the name of the variable that is to hold it. **Invariant:** what is not taken over is noted.

mod accepted;
mod address;
mod arguments;
mod draft;
mod entry;
mod error;
mod export;
mod finish;
mod format;
mod formats;
mod name;
mod note;
mod secret;
mod server;
mod sketch;
mod text;
mod tree;
mod variables;
mod written;

#[cfg(test)]
mod tests;

pub use error::ForeignError;
pub use export::{Exported, export};
pub use format::Format;
pub use note::Note;
pub use server::{Found, MAX_BYTES, MAX_SERVERS, Oauth, Reach, Server, read};
pub use sketch::{BadSketch, Kind as SketchKind, Sketch, SketchFile};
