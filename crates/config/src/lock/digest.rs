//! A definition in 32 bytes, and how much of a model's attention it takes.

use converse_canister::{Digest, canonical};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// Bytes of text that are counted as one token: near enough for English and JSON.
const BYTES_PER_TOKEN: usize = 4;

/// The SHA-256 of the canonical JSON of a definition: the order of its keys does not count. RFC 8785, checked 2026-11:
/// <https://www.rfc-editor.org/rfc/rfc8785>.
pub fn digest(definition: &Value) -> Digest {
    of_text(&canonical(definition))
}

pub(crate) fn of_text(canonical: &str) -> Digest {
    Digest(Sha256::digest(canonical).into())
}

/// About how many tokens: `~123`.
pub(crate) fn tokens(canonical: &str) -> String {
    format!("~{}", canonical.len() / BYTES_PER_TOKEN)
}
