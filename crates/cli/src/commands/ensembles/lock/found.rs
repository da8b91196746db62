//! What ensembles are now: each is connected, looked at and ended again.

use std::collections::BTreeMap;

use converse_config::EnsemblePlan;
use converse_config::lock::{Pinned, PinnedTool, Server};
use converse_ensemble::{Tool, declared_ensemble};
use converse_mcp::Survey;
use serde_json::{Value, json};

use crate::commands::ensembles::looked;
use converse_host::failure::Failure;
use converse_host::secrets::Redactor;
use converse_host::wiring::Connected;
use converse_host::world::World;
use converse_terminal::console::Console;

/// By the names of the ensembles; of those that could not be connected the reason.
#[derive(Debug, Default)]
pub(in crate::commands::ensembles) struct DiscoveredTools(BTreeMap<String, Result<Pinned, String>>);

impl DiscoveredTools {
    pub(super) fn connect(
        plans: &[&EnsemblePlan],
        console: &Console,
        world: &World,
    ) -> Result<Self, Failure> {
        looked::look(plans, console, world, |connected| Self::of(connected, plans).discreet(console))
    }

    /// Of those that somebody else has connected.
    pub(in crate::commands::ensembles) fn of(connected: &Connected, plans: &[&EnsemblePlan]) -> Self {
        Self(plans.iter().map(|plan| (plan.name.to_string(), pinned(connected, plan))).collect())
    }

    /// A lockfile is there to be shared: a server that says a key again in what it declares is not written down.
    fn discreet(self, console: &Console) -> Self {
        let discreet = |found: Result<Pinned, String>| {
            found.and_then(|pinned| discreet(pinned, &console.context.redactor))
        };
        Self(self.0.into_iter().map(|(name, found)| (name, discreet(found))).collect())
    }

    /// `None` if it was not to be connected, or could not be.
    pub(super) fn get(&self, ensemble: &str) -> Option<&Pinned> {
        self.0.get(ensemble)?.as_ref().ok()
    }

    pub(super) fn unconnected(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().filter_map(|(name, found)| Some((name.as_str(), found.as_ref().err()?.as_str())))
    }

    pub(super) fn unconnected_json(&self) -> Vec<Value> {
        self.unconnected().map(|(name, reason)| json!({ "ensemble": name, "reason": reason })).collect()
    }
}

fn pinned(connected: &Connected, plan: &EnsemblePlan) -> Result<Pinned, String> {
    let name = plan.name.as_str();
    let Some(tools) = connected.roster.tools_of(name) else {
        let failure = connected.failures.iter().find(|failure| failure.ensemble == name);
        return Err(
            failure.map_or_else(|| "it was not connected".to_owned(), |failure| failure.reason.clone())
        );
    };
    let surveys = connected.surveys();
    let survey = surveys.iter().find(|(server, _)| server.as_str() == name);
    let tool = |tool: &Tool| (tool.invoker.to_string(), PinnedTool::new(tool.definition().value()));
    Ok(Pinned {
        declared: Some(declared_ensemble(plan)),
        server: survey.map(|(_, survey)| server(survey)),
        tools: tools.iter().map(|one| tool(one)).collect(),
    })
}

fn server(survey: &Survey) -> Server {
    Server {
        name: survey.server.clone(),
        version: survey.version.clone(),
        protocol: Some(survey.protocol.clone()).filter(|protocol| !protocol.is_empty()),
        instructions: survey.instructions_sha256,
    }
}

fn discreet(pinned: Pinned, redactor: &Redactor) -> Result<Pinned, String> {
    let tells = |value: &Value| {
        let mut clean = value.clone();
        redactor.clean_json(&mut clean);
        clean != *value
    };
    let told =
        |what: String| Err(format!("{what} holds what a secret variable is set to, and a lockfile must not"));
    if pinned.declared.as_ref().is_some_and(tells) {
        return told("its descriptor".to_owned());
    }
    let server = pinned.server.as_ref();
    if server.is_some_and(|server| tells(&json!([server.name, server.version, server.protocol]))) {
        return told("what its server says of itself".to_owned());
    }
    match pinned.tools.iter().find(|(name, tool)| tells(&json!(name)) || tells(tool.definition())) {
        Some((name, _)) => told(format!("the definition of its tool `{name}`")),
        None => Ok(pinned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use converse_host::secrets::Secret;

    #[test]
    fn a_key_stands_nowhere_in_what_is_written_down() {
        const KEY: &str = "canary-0123456789";
        let redactor = Redactor::default();
        redactor.learn([Secret::new(KEY)]);
        let server = |name: &str, version: &str| Server {
            name: name.to_owned(),
            version: version.to_owned(),
            protocol: None,
            instructions: None,
        };
        let tool = |name: &str, definition| [(name.to_owned(), PinnedTool::new(definition))].into();
        let none = Pinned::default;
        for (pinned, what) in [
            (Pinned { server: Some(server("a", "1")), tools: tool("t", json!({ "a": 1 })), ..none() }, None),
            (Pinned { server: Some(server(KEY, "1")), ..none() }, Some("what its server says")),
            (
                Pinned { server: Some(server("a", &format!("1+{KEY}"))), ..none() },
                Some("what its server says"),
            ),
            (
                Pinned { declared: Some(json!({ "connection": { "command": [KEY] } })), ..none() },
                Some("its descriptor"),
            ),
            (Pinned { tools: tool("t", json!({ "_meta": { KEY: 1 } })), ..none() }, Some("its tool `t`")),
            (Pinned { tools: tool(KEY, json!({})), ..none() }, Some("its tool")),
        ] {
            let said = discreet(pinned, &redactor).err();
            assert_eq!(said.is_some(), what.is_some(), "{what:?}");
            assert!(said.unwrap_or_default().contains(what.unwrap_or_default()), "{what:?}");
        }
    }
}
