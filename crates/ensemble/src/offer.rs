//! The offer: the tools that a model may be shown in one call.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use converse_canister::{Declaration, PreparedTools, ToolName};
use converse_config::Permission;
use serde_json::Map;

use crate::ensemble::ConnectError;
use crate::rules::Rules;
use crate::tool::Tool;

/// The tools that a model may be shown in one call: immutable, in a stable order (prompt caches depend on it).
#[derive(Debug, Default)]
pub struct Offer {
    pub declarations: Vec<Declaration>,
    /// The declarations as a wire sends them.
    pub prepared: PreparedTools,
    tools: HashMap<ToolName, Arc<Tool>>,
    /// Tools that are held back, because the lockfile does not have them as they are.
    held: Vec<Arc<Tool>>,
    /// The tool that searches the others; see [`Roster::searchable`](crate::Roster::searchable()).
    search: Option<Arc<Tool>>,
    /// Decide whether the search may run.
    rules: Rules,
    /// Computed at the first use.
    bytes: OnceLock<usize>,
}

impl Offer {
    /// Makes the offer from the tools of all ensembles. Two tools with the same shown name are both left out and reported.
    pub(crate) fn of(lists: &[Option<Vec<Arc<Tool>>>]) -> (Self, Vec<ConnectError>) {
        let tools = || lists.iter().flatten().flatten().filter(|tool| tool.held.is_none());
        let held = lists.iter().flatten().flatten().filter(|tool| tool.held.is_some());
        let mut count: HashMap<&ToolName, usize> = HashMap::new();
        for tool in tools() {
            *count.entry(&tool.declaration.name).or_default() += 1;
        }
        let mut offer = Self { held: held.cloned().collect(), ..Self::default() };
        let mut clashes = Vec::new();
        for tool in tools() {
            let name = &tool.declaration.name;
            if count.get(name) == Some(&1) {
                offer.declarations.push(tool.declaration.clone());
                offer.tools.insert(name.clone(), Arc::clone(tool));
            } else {
                let ensemble = tool.qualified.split('.').next().unwrap_or_default().to_owned();
                let reason = format!("`{}` and another tool would both be shown as `{name}`", tool.qualified);
                clashes.push(ConnectError { ensemble, reason });
            }
        }
        offer.declarations.sort_by(|a, b| a.name.cmp(&b.name));
        (offer, clashes)
    }

    pub fn tools(&self) -> impl Iterator<Item = &Tool> {
        self.declarations.iter().filter_map(|declaration| self.tools.get(&declaration.name).map(Arc::as_ref))
    }

    /// Returns the tools that are held back, in the order of their ensembles.
    pub fn held_back(&self) -> impl Iterator<Item = &Tool> {
        self.held.iter().map(Arc::as_ref)
    }

    /// Finds a tool by the exact name that models see.
    pub fn find(&self, shown: &str) -> Option<&Arc<Tool>> {
        let search = self.search.as_ref().filter(|search| search.declaration.name.as_str() == shown);
        search.or_else(|| self.tools.get(&ToolName::new(shown).ok()?))
    }

    /// Adds a tool that searches the others, unless its name is taken. It is not among the declarations.
    pub(crate) fn search_by(&mut self, search: Option<&Arc<Tool>>, rules: &Rules) {
        let free = search.filter(|search| !self.tools.contains_key(&search.declaration.name));
        self.search = free.cloned();
        self.rules = rules.clone();
    }

    /// Returns the tool that searches the others, if there is one.
    pub fn search(&self) -> Option<&Tool> {
        self.search.as_deref()
    }

    /// Returns whether the current rules allow the search, or a person can be asked about it.
    pub fn can_search(&self) -> bool {
        self.search.as_ref().is_some_and(|search| match self.rules.judge(search, &Map::new()).permission {
            Permission::Allow => true,
            Permission::Ask => self.rules.is_interactive(),
            Permission::Deny => false,
        })
    }

    /// Returns the size of all declarations in bytes.
    pub fn bytes(&self) -> usize {
        *self.bytes.get_or_init(|| self.tools().map(Tool::bytes).sum())
    }
}
