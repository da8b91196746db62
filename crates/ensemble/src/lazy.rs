//! Tools that are found by a search, where there are too many to show them all.
//!
//! [`SEARCH`] is a tool like any other (judged by the rules, journaled, bounded), of no ensemble that anybody declares.
//! It looks through the offer of now and answers with names and first words of descriptions; what it has found is read
//! from its results, so whoever has the transcript knows it. Which tools are shown, and when, is the engine's decision.

mod ranking;

use std::sync::{Arc, Weak};

use converse_canister::{Arguments, Content, InvocationResult};
use converse_config::{Effects, EnsemblePlan, Origin, Permission, Policy, Scope};
use converse_text::shorten;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use parking_lot::RwLock;
use serde_json::{Map, Value, json};

use crate::ensemble::{ConnectError, Connection, Ensemble};
use crate::offer::Offer;
use crate::rules::Rules;
use crate::tool::Tool;
use crate::{Answer, Context, Invocable, InvokeError};
use ranking::ranked;

/// The name that models see.
pub const SEARCH: &str = "tools__search";
/// Tools that one search finds, and how many of them if nobody says.
const MOST: u64 = 20;
const USUAL: u64 = 8;
/// Bytes of a description in an answer, and names of ensembles in a declaration.
const DESCRIPTION: usize = 240;
const NAMES: usize = 40;

/// The names that a search has found, best first; nothing of other results.
pub fn found(result: &InvocationResult) -> impl Iterator<Item = &str> {
    let values = result.content.iter().filter_map(|content| match content {
        Content::Structured { value } => value.get("found")?.as_array(),
        _ => None,
    });
    values.flatten().filter_map(|tool| tool.get("name")?.as_str())
}

/// The tool, over what is offered by the time it is called. `None` if its name is nobody's to give: never.
pub(crate) fn search(offer: &Arc<RwLock<Arc<Offer>>>, rules: &Rules) -> Option<Tool> {
    let origin = Origin { scope: Scope::Shipped, file: "converse".into(), line: 1 };
    let plan = EnsemblePlan::bare("tools".to_owned().try_into().ok()?, origin);
    let now = Arc::clone(&offer.read());
    let description = format!(
        "Finds tools. Only some of the tools that there are stand here; the others ({}) are found by what they do, in a \
         few English words, such as \"send mail\" or \"open issues\". What is found can be called by its name at once.",
        ensembles(&now).join(", ")
    );
    let arguments = json!({
        "type": "object",
        "properties": {
            "query": { "type": "string", "description": "What the tool shall do, or a part of its name" },
            "limit": { "type": "integer", "minimum": 1, "maximum": MOST, "default": USUAL },
        },
        "required": ["query"],
        "additionalProperties": false,
    });
    let policy = Policy { effects: Effects::None, ..Policy::default() };
    let invocable = Arc::new(Search { offer: Arc::downgrade(offer), rules: rules.clone() });
    let ensemble = Ensemble::new(&plan, Box::new(Nothing));
    Some(ensemble.tool(
        &"search".to_owned().try_into().ok()?,
        description,
        arguments,
        policy,
        true,
        invocable,
    ))
}

/// Their names, in order.
fn ensembles(offer: &Offer) -> Vec<String> {
    let mut names: Vec<&str> = offer.tools().filter_map(|tool| tool.qualified.split('.').next()).collect();
    names.sort_unstable();
    names.dedup();
    let more = names.len().saturating_sub(NAMES);
    let told = names.into_iter().take(NAMES).map(str::to_owned);
    told.chain((more > 0).then(|| format!("{more} more"))).collect()
}

/// It has no tools of its own to connect.
struct Nothing;

impl Connection for Nothing {
    fn connect<'a>(&'a self, _: &'a Ensemble) -> BoxFuture<'a, Result<Vec<Tool>, ConnectError>> {
        std::future::ready(Ok(Vec::new())).boxed()
    }
}

struct Search {
    /// Not held: the offer holds this.
    offer: Weak<RwLock<Arc<Offer>>>,
    rules: Rules,
}

impl Search {
    fn answer(&self, object: &Map<String, Value>) -> Answer {
        let text = |key| object.get(key).and_then(Value::as_str).unwrap_or_default();
        let limit = object.get("limit").and_then(Value::as_u64).unwrap_or(USUAL).clamp(1, MOST);
        let Some(offer) = self.offer.upgrade() else { return Answer::error("no tools are left") };
        let offer = Arc::clone(&offer.read());
        // What can never run is not worth knowing of.
        let barring = self.rules.only(|rule| rule.permission == Permission::Deny && rule.is_unconditional());
        let runs = |tool: &&Tool| barring.judge(tool, &Map::new()).permission != Permission::Deny;
        let tools: Vec<&Tool> = offer.tools().filter(runs).collect();
        let found = ranked(text("query"), &tools, usize::try_from(limit).unwrap_or(usize::MAX));
        let told: Vec<Value> = found.iter().map(|tool| told(tool)).collect();
        Answer::structured(match told.is_empty() {
            false => json!({ "found": told, "of": tools.len() }),
            true => json!({
                "found": told,
                "of": tools.len(),
                "hint": format!("use other words; there are tools of: {}", ensembles(&offer).join(", ")),
            }),
        })
    }
}

fn told(tool: &Tool) -> Value {
    let description = tool.declaration.description.trim();
    json!({ "name": tool.declaration.name, "description": shorten::bytes(description, DESCRIPTION) })
}

impl Invocable for Search {
    fn invoke<'a>(
        &'a self,
        _: Context,
        arguments: &'a Arguments,
    ) -> BoxFuture<'a, Result<Answer, InvokeError>> {
        std::future::ready(Ok(self.answer(&arguments.object))).boxed()
    }
}

#[cfg(test)]
mod tests;
