//! The lockfile as data: JSON with sorted keys, so that text diffs of two files are readable.
//!
//! ```json
//! { "ensembles": { "weather": {
//!     "declared": { "connection": { "command": ["weather-server"], … }, … },
//!     "server": { "instructions": null, "name": "…", "protocol": "2025-11-25", "version": "1.2.0" },
//!     "tools": { "*prompts": { "definition": { "greet": { … } }, … },
//!                "forecast": { "definition": { … }, "sha256": "…", "tokens": "~123" } } } },
//!   "version": 1 }
//! ```

mod offer_list;
mod parse;
mod text;

use std::collections::BTreeMap;

use converse_canister::{Digest, canonical};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

pub use offer_list::OfferList;
pub use parse::LockError;

/// Limit on the bytes of a lockfile.
pub const MAX_BYTES: usize = 32 * 1024 * 1024;
/// Version of the format. A newer one is refused.
const VERSION: u64 = 1;
/// Bytes of text that are counted as one token: near enough for English and JSON.
const BYTES_PER_TOKEN: usize = 4;

/// The accepted state of all ensembles of one directory.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Lockfile {
    pub ensembles: BTreeMap<String, PinnedEnsemble>,
}

/// The accepted state of one ensemble.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PinnedEnsemble {
    /// The descriptor apart from its tools: connection and policies, without secrets.
    pub declared: Option<Value>,
    /// `None` for an ensemble without a server.
    pub server: Option<Server>,
    /// By the names of the invokers.
    pub tools: BTreeMap<String, PinnedTool>,
    /// What the server offers beside tools. A list that is not here was never pinned, so it is not held back.
    pub lists: BTreeMap<OfferList, PinnedTool>,
}

/// What a server announces about itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Server {
    pub name: String,
    pub version: String,
    /// The negotiated protocol version.
    pub protocol: Option<String>,
    /// SHA-256 of its instructions, if any. Models see only these instructions.
    pub instructions: Option<Digest>,
}

/// One tool, or one list, and its digest.
#[derive(Debug, Clone, PartialEq)]
pub struct PinnedTool {
    sha256: Digest,
    definition: Value,
}

impl PinnedTool {
    pub fn new(definition: Value) -> Self {
        Self { sha256: digest(&definition), definition }
    }

    pub fn sha256(&self) -> Digest {
        self.sha256
    }

    pub fn definition(&self) -> &Value {
        &self.definition
    }
}

/// Returns the SHA-256 of the canonical JSON of a definition, so the order of its keys does not matter. RFC 8785, checked
/// 2026-11: <https://www.rfc-editor.org/rfc/rfc8785>.
pub fn digest(definition: &Value) -> Digest {
    digest_of_text(&canonical(definition))
}

fn digest_of_text(canonical: &str) -> Digest {
    Digest(Sha256::digest(canonical).into())
}

/// Returns an estimate of the number of tokens: `~123`.
fn tokens(canonical: &str) -> String {
    format!("~{}", canonical.len() / BYTES_PER_TOKEN)
}

#[cfg(test)]
mod tests;
