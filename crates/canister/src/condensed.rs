//! The beginning of a conversation in fewer words.

use serde::{Deserialize, Serialize};

/// Stands, for a model, in the place of the first canisters of a transcript. The transcript keeps them all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Condensed {
    /// How many canisters, from the first.
    pub covers: usize,
    /// What they come to, in words for the model.
    pub summary: String,
    /// Who wrote the summary: `provider/model`.
    pub model: String,
}
