//! A session as one JSON document, for export and import.
//!
//! ```text
//! { "format": 1, "program": "converse 0.1.0", "session": "<uuid>", "created": "<RFC 3339>", "name": …, "tags": […],
//!   "model": …, "usage": {…}, "cost": <millionths of a US dollar>, "settings": {…}, "condensed": {…},
//!   "canisters": [{ "number": 1, "at": "<RFC 3339>", "canister": {…} }, …],
//!   "decisions": [{ "id": "inv_1_0", "decision": {…} }, …],
//!   "contents": [{ "digest": "<sha256>", "base64": "…" }, …] }
//! ```
//! Unknown keys are ignored; a later `format` is refused. Errors name the place in the document. Content that was missing
//! at the export may be missing in the document.

mod document;
mod export;
mod import;
mod lines;
mod reading;
mod redact;

pub use document::{Decided, Document, Kept};
pub use reading::ImportError;
pub use redact::Redact;

/// Version of the document format.
pub const DOCUMENT_FORMAT: u32 = 1;

/// Limit on the bytes of an imported document.
pub const MAX_IMPORT_BYTES: usize = 100 * 1024 * 1024;
