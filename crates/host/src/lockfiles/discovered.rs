//! The definitions that ensembles have now, to be compared with lockfiles.

use std::collections::BTreeMap;

use converse_config::EnsemblePlan;
use converse_config::lock::{PinnedEnsemble, PinnedTool, Server};
use converse_ensemble::{Tool, declared_ensemble};
use converse_mcp::Survey;
use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::context::RunContext;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::secrets::Redactor;
use crate::wiring::{Connected, inspect};
use crate::world::World;

/// The current definitions by ensemble, or the reason why an ensemble could not be connected.
#[derive(Debug, Default)]
pub struct DiscoveredTools(BTreeMap<String, Result<PinnedEnsemble, String>>);

impl DiscoveredTools {
    /// Connects the ensembles, reads their definitions and disconnects them.
    ///
    /// A definition that holds a secret counts as unconnected: a lockfile is there to be shared.
    pub fn connect(
        plans: &[&EnsemblePlan],
        context: &RunContext,
        interrupt: &Interrupt,
        world: &World,
    ) -> Result<Self, Failure> {
        let found =
            inspect(plans, context, interrupt, world, async |connected| Self::of(connected, plans).await)?;
        let checked = |found: Result<PinnedEnsemble, String>| {
            found.and_then(|pinned| without_secrets(pinned, &context.redactor))
        };
        Ok(Self(found.0.into_iter().map(|(name, found)| (name, checked(found))).collect()))
    }

    /// The definitions of ensembles that are connected already.
    pub(crate) async fn of(connected: &Connected, plans: &[&EnsemblePlan]) -> Self {
        let found = plans.iter().map(async |plan| (plan.name.to_string(), pinned(connected, plan).await));
        Self(join_all(found).await.into_iter().collect())
    }

    /// The current definitions of an ensemble; `None` if it is not connected.
    pub(super) fn get(&self, ensemble: &str) -> Option<&PinnedEnsemble> {
        self.0.get(ensemble)?.as_ref().ok()
    }

    /// Names and reasons of the ensembles that could not be connected.
    pub fn unconnected(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().filter_map(|(name, found)| Some((name.as_str(), found.as_ref().err()?.as_str())))
    }
}

async fn pinned(connected: &Connected, plan: &EnsemblePlan) -> Result<PinnedEnsemble, String> {
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
    Ok(PinnedEnsemble {
        declared: Some(declared_ensemble(plan)),
        server: survey.map(|(_, survey)| server(survey)),
        tools: tools.iter().map(|one| tool(one)).collect(),
        lists: match connected.server(name) {
            Some(server) => server.lists_to_pin().await,
            None => BTreeMap::new(),
        },
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

fn without_secrets(pinned: PinnedEnsemble, redactor: &Redactor) -> Result<PinnedEnsemble, String> {
    let holds_secret = |value: &Value| {
        let mut clean = value.clone();
        redactor.clean_json(&mut clean);
        clean != *value
    };
    let refused = |what: String| {
        Err(format!("{what} contains the value of a secret variable, which a lockfile must not"))
    };
    if pinned.declared.as_ref().is_some_and(holds_secret) {
        return refused("its descriptor".to_owned());
    }
    let server = pinned.server.as_ref();
    if server.is_some_and(|server| holds_secret(&json!([server.name, server.version, server.protocol]))) {
        return refused("the description of its server".to_owned());
    }
    if let Some((list, _)) = pinned.lists.iter().find(|(_, one)| holds_secret(one.definition())) {
        return refused(format!("the list of its {}", list.label()));
    }
    match pinned
        .tools
        .iter()
        .find(|(name, tool)| holds_secret(&json!(name)) || holds_secret(tool.definition()))
    {
        Some((name, _)) => refused(format!("the definition of its tool `{name}`")),
        None => Ok(pinned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secrets::Secret;

    #[test]
    fn a_definition_with_a_secret_is_refused() {
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
        let none = PinnedEnsemble::default;
        for (pinned, what) in [
            (
                PinnedEnsemble {
                    server: Some(server("a", "1")),
                    tools: tool("t", json!({ "a": 1 })),
                    ..none()
                },
                None,
            ),
            (
                PinnedEnsemble { server: Some(server(KEY, "1")), ..none() },
                Some("the description of its server"),
            ),
            (
                PinnedEnsemble { server: Some(server("a", &format!("1+{KEY}"))), ..none() },
                Some("the description of its server"),
            ),
            (
                PinnedEnsemble { declared: Some(json!({ "connection": { "command": [KEY] } })), ..none() },
                Some("its descriptor"),
            ),
            (
                PinnedEnsemble { tools: tool("t", json!({ "_meta": { KEY: 1 } })), ..none() },
                Some("its tool `t`"),
            ),
            (PinnedEnsemble { tools: tool(KEY, json!({})), ..none() }, Some("its tool")),
        ] {
            let refused = without_secrets(pinned, &redactor).err();
            assert_eq!(refused.is_some(), what.is_some(), "{what:?}");
            assert!(refused.unwrap_or_default().contains(what.unwrap_or_default()), "{what:?}");
        }
    }
}
