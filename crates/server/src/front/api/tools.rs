//! Models and tools over `/api`.

use converse_config::Scope;
use converse_ensemble::{Roster, Tool};
use http::StatusCode;
use serde_json::{Map, Value, json};

use super::Caller;
use crate::front::{Front, json_reply};
use crate::http_server::Reply;

impl Front {
    /// `GET /api/models`.
    pub(super) fn list_models(&self) -> Reply {
        let default = self.agents.default_id();
        let items = self.agents.list().into_iter().map(|entry| {
            let kind = if entry.owned_by == "preset" { "preset" } else { "model" };
            json!({
                "id": entry.id,
                "provider": entry.owned_by,
                "kind": kind,
                "default": default.as_deref() == Some(entry.id.as_str()),
                "description": entry.description,
            })
        });
        json_reply(StatusCode::OK, &json!({ "items": items.collect::<Vec<_>>() }))
    }

    /// `GET /api/ensembles`.
    pub(super) fn list_ensembles(&self, _: &Caller) -> Reply {
        let roster = self.agents.roster();
        let items: Vec<Value> =
            roster.ensembles().iter().map(|ensemble| of_ensemble(roster, ensemble)).collect();
        json_reply(StatusCode::OK, &json!({ "items": items }))
    }
}

fn of_ensemble(roster: &Roster, ensemble: &converse_ensemble::Ensemble) -> Value {
    let tools = roster.tools_of(ensemble.name.as_str());
    let held = tools.iter().flatten().any(|tool| tool.held.is_some());
    json!({
        "name": ensemble.name.as_str(),
        "origin": { "scope": scope(ensemble.origin.scope), "file": ensemble.origin.file, "line": ensemble.origin.line },
        "enabled": true,
        "connected": tools.is_some(),
        "trusted": ensemble.trusted,
        "lock": if held { "drifted" } else { "pinned" },
        // The panel offers neither calls by hand nor differences from the lockfile.
        "calls": false,
        "drift": false,
        "findings": [],
        "tools": tools.iter().flatten().map(|tool| of_tool(roster, tool)).collect::<Vec<_>>(),
    })
}

fn of_tool(roster: &Roster, tool: &Tool) -> Value {
    let judged = roster.rules().judge(tool, &Map::new());
    json!({
        "name": tool.invoker.as_str(),
        "description": tool.declaration.description,
        "schema": tool.declaration.arguments,
        "effects": tool.policy.effects.as_str(),
        "permission": judged.permission.as_str(),
        "rule": judged.rule,
        "held": tool.hold_reason(tool.declaration.name.as_str()),
    })
}

fn scope(scope: Scope) -> &'static str {
    match scope {
        Scope::Shipped => "shipped",
        Scope::User => "user",
        Scope::Project => "project",
        Scope::Explicit => "own",
    }
}
