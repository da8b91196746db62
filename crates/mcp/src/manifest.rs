//! [`Manifest`]: the tools of a server when it was last connected, read without connecting to it.

use std::path::Path;

use converse_canister::InvokerName;
use converse_config::{ConnectionPlan, EnsemblePlan};
use serde_json::Value;

use crate::ToolListStore;
use crate::key::Keys;
use crate::listing::{Entries, sift};
use crate::selection::Selection;

/// The stored tool list of a server. Texts are foreign and bounded but not cleaned.
#[derive(Debug, Clone, PartialEq)]
pub struct Manifest {
    /// The key in the [`ToolListStore`].
    pub key: String,
    /// The tools that the descriptor keeps, in the server's order.
    pub tools: Vec<RememberedTool>,
}

/// A tool of a [`Manifest`].
#[derive(Debug, Clone, PartialEq)]
pub struct RememberedTool {
    pub name: InvokerName,
    pub description: String,
    /// The JSON Schema of its arguments.
    pub arguments: Value,
}

impl Manifest {
    /// Returns `None` if the server was never connected with this configuration. `workspace` is the working directory of
    /// stdio servers.
    pub fn of(
        plan: &EnsemblePlan,
        connection: &ConnectionPlan,
        workspace: &Path,
        lists: &dyn ToolListStore,
    ) -> Option<Self> {
        let key = Keys::of(&connection.transport, workspace).list;
        let listed = sift(Entries::read(&lists.get(&key)?)?);
        let selection = Selection::new(&plan.filter).ok()?;
        let kept = listed.tools.into_iter().filter(|tool| selection.keeps(&tool.name));
        let remembered = kept.map(|tool| RememberedTool {
            name: tool.name,
            description: tool.description,
            arguments: tool.arguments,
        });
        Some(Self { key, tools: remembered.collect() })
    }
}
