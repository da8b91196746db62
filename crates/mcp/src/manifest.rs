//! The tools of a server as they were when it was last connected, without starting or contacting anything.

use std::path::Path;

use converse_canister::InvokerName;
use converse_config::{ConnectionPlan, EnsemblePlan};
use serde_json::Value;

use crate::ToolListStore;
use crate::key::Keys;
use crate::listing::{Entries, sift};
use crate::selection::Selection;

/// What an earlier run has written down of a server. Texts are the server's own: foreign, bounded, not cleaned.
#[derive(Debug, Clone, PartialEq)]
pub struct Manifest {
    /// What it is kept under, for whoever keeps it.
    pub key: String,
    /// Those that its descriptor keeps, in the server's order.
    pub tools: Vec<RememberedTool>,
}

/// One tool of it.
#[derive(Debug, Clone, PartialEq)]
pub struct RememberedTool {
    pub name: InvokerName,
    pub description: String,
    /// The JSON Schema of its arguments.
    pub arguments: Value,
}

impl Manifest {
    /// `None`, if it was never connected as it is declared now. `connection` is the plan's, as it would be connected;
    /// `workspace` is where stdio servers run.
    pub fn of(
        plan: &EnsemblePlan,
        connection: &ConnectionPlan,
        workspace: &Path,
        lists: &dyn ToolListStore,
    ) -> Option<Self> {
        let key = Keys::of(&connection.way, workspace).list;
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
