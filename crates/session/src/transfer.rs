//! A session as one JSON document, to be handed to others and taken in again.
//!
//! ```text
//! { "format": 1, "program": "converse 0.1.0", "session": "<uuid>", "created": "<RFC 3339>", "name": …, "tags": […],
//!   "model": …, "usage": {…}, "cost": <millionths of a US dollar>, "settings": {…}, "condensed": {…},
//!   "canisters": [{ "number": 1, "at": "<RFC 3339>", "canister": {…} }, …],
//!   "decisions": [{ "id": "inv_1_0", "decision": {…} }, …],
//!   "contents": [{ "digest": "<sha256>", "base64": "…" }, …] }
//! ```
//! Keys that this version does not know are passed over; a later `format` is refused. What is wrong is said with its
//! place. Content that was missing when the document was made may be missing in it.

mod document;
mod export;
mod import;
mod reading;

pub use document::{Decided, Document, Kept};
pub use reading::ImportError;

/// The version of the document.
pub const DOCUMENT_FORMAT: u32 = 1;

/// Bytes of a document; more is not taken in.
pub const MAX_IMPORT_BYTES: usize = 100 * 1024 * 1024;
