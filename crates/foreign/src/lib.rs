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
//! [`Package`] is an `.mcpb` bundle or a plugin with its files, [`Client`] writes the entry for the
//! gateway, also into the text of a file.
//! [`read()`] converts the text of a file to descriptors, [`export()`] converts plans to JSON, [`Sketch`] writes new
//! descriptors, [`read_openapi()`] converts the operations of an OpenAPI document to tools. All of it is pure: the caller
//! reads and writes files and asks questions.
//!
//! ```text
//! text ── tree ──▶ JSON value ── format ──▶ drafts (as the other program means them)
//!      ── finish (references, secrets, names) ──▶ Server ── toml() ──▶ text that `ensembles check` accepts
//! ```
//!
//! **Invariant:** no descriptor, note or error contains a secret of the file, only the name of the variable that replaces
//! it. **Invariant:** what is not imported is noted.

mod address;
mod arguments;
mod client;
mod draft;
mod entry;
mod export;
mod finish;
mod format;
mod formats;
mod name;
mod note;
mod openapi;
mod package;
pub mod reports;
mod server;
mod sketch;
mod text;
mod toml_text;
mod tree;
mod validate;
mod variables;

#[cfg(test)]
mod tests;

pub use arguments::without_values;
pub use client::{Client, ClientPlace, GatewayAddress, MergeError, Merged};
pub use export::{Exported, export};
pub use format::Format;
pub use note::Note;
pub use openapi::{ApiOptions, ImportedApi, MAX_DOCUMENT, WRITTEN as API_FILE, read_openapi};
pub use package::{Package, PackageError, PackedFile, Source};
pub use server::{ForeignError, Imported, MAX_BYTES, MAX_SERVERS, Oauth, Reach, Server, read};
pub use sketch::{BadSketch, Kind as SketchKind, Sketch, SketchFile};
