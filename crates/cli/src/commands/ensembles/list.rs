//! `converse ensembles list`: all ensembles. Nothing is started: the tools of servers are those of an earlier run.

use std::time::Duration;

use converse_config::{Code, EnsemblePlan};
use converse_mcp::Manifest;
use serde_json::{Value, json};

use super::{ensemble_row, scope};
use crate::args::Places;
use converse_host::catalogue::Catalogue;
use converse_host::failure::Failure;
use converse_host::lockfiles::{Locked, State};
use converse_host::tool_lists::ListFiles;
use converse_host::wiring::at_home;
use converse_host::world::World;
use converse_terminal::console::Console;
use converse_terminal::render::output::{write_json, write_stdout};
use converse_terminal::render::table::{headed, table};
use converse_text::safe_line;
use converse_text::wording::{ago, counted};

/// The length of a description in a line, in characters.
const DESCRIPTION: usize = 100;

pub(super) struct List<'a> {
    pub(super) places: &'a Places,
    pub(super) tools: bool,
    pub(super) as_json: bool,
    pub(super) console: &'a Console,
    pub(super) world: &'a World,
}

/// The known tools of an ensemble.
struct KnownTools {
    /// Names and descriptions; `None` if the server was never connected.
    tools: Option<Vec<(String, String)>>,
    /// The time since the server was connected.
    age: Option<Duration>,
}

impl List<'_> {
    pub(super) fn run(&self) -> Result<(), Failure> {
        let catalogue = Catalogue::find(self.world, &self.places.ensembles);
        self.console.warn_all(catalogue.lines());
        self.console.warn_all(catalogue.lockfiles().iter().filter_map(damaged));
        match (self.as_json, self.tools) {
            (true, _) => {
                let rows = catalogue.plans.iter().map(|plan| self.row(plan)).collect();
                write_json(&Value::Array(rows))?;
            }
            (false, true) => {
                let texts: Vec<String> = catalogue.plans.iter().map(|plan| self.text(plan)).collect();
                write_stdout(&texts.join("\n"))?;
            }
            (false, false) => {
                let heading = ["ensemble", "tools", "from", "file", "description"];
                write_stdout(&headed(&heading, catalogue.plans.iter().map(cells)))?;
            }
        }
        catalogue.stop_for_own_errors()
    }

    fn row(&self, plan: &EnsemblePlan) -> Value {
        let mut row = ensemble_row(plan);
        if self.tools {
            let known = self.known(plan);
            let tool = |(name, description): &(String, String)| json!({ "invoker": name, "description": description });
            row["invokers"] = json!(known.tools.map(|tools| tools.iter().map(tool).collect::<Vec<_>>()));
            row["seen_s_ago"] = json!(known.age.map(|age| age.as_secs()));
        }
        row
    }

    fn text(&self, plan: &EnsemblePlan) -> String {
        let off = if plan.enabled { "" } else { " (not enabled)" };
        let untrusted = if plan.trusted { "" } else { " (not trusted)" };
        let name = format!("{}{off}{untrusted}", plan.name);
        let known = self.known(plan);
        let Some(tools) = known.tools else {
            return format!("{name}: not seen yet: `converse ensembles show {} --connect`\n", plan.name);
        };
        let seen = known.age.map(|age| format!(", seen {}", ago(age))).unwrap_or_default();
        let cells = |(name, description): &(String, String)| {
            let description = description.lines().next().unwrap_or_default();
            vec![format!("  {name}"), safe_line(description.trim(), DESCRIPTION)]
        };
        let rows: Vec<Vec<String>> = tools.iter().map(cells).collect();
        format!("{name}: {}{seen}\n{}", counted(tools.len(), "tool"), table(&rows))
    }

    fn known(&self, plan: &EnsemblePlan) -> KnownTools {
        let Some(connection) = &plan.connection else {
            let tools = plan.invokers.iter();
            let tools = tools.map(|tool| (tool.name.to_string(), tool.description.clone())).collect();
            return KnownTools { tools: Some(tools), age: None };
        };
        let lists = ListFiles::new(self.world.cache_dir(), self.console.context.redactor.clone());
        let connection = at_home(plan, connection, self.world);
        let manifest = Manifest::of(plan, &connection, &self.world.cwd, &lists);
        let age = manifest.as_ref().and_then(|manifest| lists.age(&manifest.key));
        let tools = manifest.map(|manifest| {
            manifest.tools.into_iter().map(|tool| (tool.name.to_string(), tool.description)).collect()
        });
        KnownTools { tools, age }
    }
}

/// A warning about a damaged lockfile.
fn damaged(locked: &Locked) -> Option<String> {
    let State::Damaged(why) = &locked.state else { return None };
    let (file, code) = (&locked.shown, Code::LockDamaged);
    Some(format!(
        "{file}: warning[{code}]: it is damaged, so all tools of its ensembles are held back: {why}"
    ))
}

fn cells(plan: &EnsemblePlan) -> Vec<String> {
    let count = if plan.connection.is_some() { "?".to_owned() } else { plan.invokers.len().to_string() };
    let place = plan.origin.to_string();
    let off = if plan.enabled { "" } else { "(not enabled) " };
    let untrusted = if plan.trusted { "" } else { "(not trusted) " };
    let description = format!("{off}{untrusted}{}", plan.description);
    vec![plan.name.to_string(), count, scope(plan.origin.scope).to_owned(), place, description]
}
