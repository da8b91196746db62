//! What one server says of itself, for `ensembles check --connect`.

use std::time::Duration;

use converse_canister::Digest;

use crate::{Era, UnmatchedSetting};

/// What was found when a server was connected. Texts are the server's own: foreign, bounded, not cleaned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Survey {
    pub era: Era,
    /// The protocol version in use, such as `2025-11-25`.
    pub protocol: String,
    /// The name it gives itself; not unique.
    pub server: String,
    pub version: String,
    /// What it declares that it can do, such as `tools` and `tools.listChanged`.
    pub capabilities: Vec<String>,
    /// Bytes of its instructions; they reach no model.
    pub instructions: usize,
    /// The SHA-256 of them, if there are any.
    pub instructions_sha256: Option<Digest>,
    /// Tools in its list.
    pub offered: usize,
    /// Tools of them that became tools here.
    pub kept: usize,
    /// Why others did not: `name: reason`.
    pub skipped: Vec<String>,
    /// What its descriptor says of tools that it does not have.
    pub unmatched: Vec<UnmatchedSetting>,
    /// From starting or reaching it to its list of tools.
    pub took: Duration,
}
