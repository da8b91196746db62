//! The search for tools, used if there are too many tools to show them all.
//!
//! [`SEARCH`] is a tool like any other (judged by the rules, journaled, bounded), but of no declared ensemble. It searches
//! the current offer and answers with names and the beginnings of descriptions. The tools that it found are read from its
//! results, so they follow from the transcript. The engine decides which tools are shown.

use std::sync::{Arc, Weak};

use converse_canister::{Arguments, Content, InvocationResult};
use converse_config::{Effects, EnsemblePlan, Origin, Policy, Scope};
use converse_text::ranking::{SearchText, ranked};
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

/// The name that models see.
pub const SEARCH: &str = "tools__search";
/// Maximum and default number of tools that one search finds.
const MOST: u64 = 20;
const USUAL: u64 = 8;
/// Bytes of a description in an answer, and number of ensembles that the declaration names.
const DESCRIPTION: usize = 240;
const NAMES: usize = 40;

/// Returns the names of tools in a result of the search, best first. Nothing for other results.
pub fn search_matches(result: &InvocationResult) -> impl Iterator<Item = &str> {
    let values = result.content.iter().filter_map(|content| match content {
        Content::Structured { value } => value.get("found")?.as_array(),
        _ => None,
    });
    values.flatten().filter_map(|tool| tool.get("name")?.as_str())
}

/// Makes the search tool, which searches the offer at the time of a call. `None` only if its name were invalid.
pub(crate) fn search(offer: &Arc<RwLock<Arc<Offer>>>, rules: &Rules) -> Option<Tool> {
    let origin = Origin { scope: Scope::Shipped, file: "converse".into(), line: 1 };
    let plan = EnsemblePlan::new("tools".to_owned().try_into().ok()?, origin);
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
    let ensemble = Ensemble::new(&plan, Box::new(NoTools));
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
    let shown = names.into_iter().take(NAMES).map(str::to_owned);
    shown.chain((more > 0).then(|| format!("{more} more"))).collect()
}

/// The connection of the search tool, which has no other tools.
struct NoTools;

impl Connection for NoTools {
    fn connect<'a>(&'a self, _: &'a Ensemble) -> BoxFuture<'a, Result<Vec<Tool>, ConnectError>> {
        std::future::ready(Ok(Vec::new())).boxed()
    }
}

struct Search {
    /// Weak, because the offer owns this tool.
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
        let can_run = self.rules.can_run();
        let tools: Vec<&Tool> = offer.tools().filter(|tool| can_run(tool)).collect();
        let texts: Vec<SearchText<'_>> = tools.iter().map(|tool| search_text(tool)).collect();
        let found = ranked(text("query"), &texts, usize::try_from(limit).unwrap_or(usize::MAX));
        let hits: Vec<Value> =
            found.iter().filter_map(|at| tools.get(*at)).map(|tool| summary(tool)).collect();
        Answer::structured(match hits.is_empty() {
            false => json!({ "found": hits, "of": tools.len() }),
            true => json!({
                "found": hits,
                "of": tools.len(),
                "hint": format!("use other words; there are tools of: {}", ensembles(&offer).join(", ")),
            }),
        })
    }
}

fn search_text(tool: &Tool) -> SearchText<'_> {
    let declaration = &tool.declaration;
    let properties = declaration.arguments.get("properties").and_then(Value::as_object);
    let arguments = properties.into_iter().flat_map(Map::keys).map(String::as_str).collect();
    SearchText { name: &tool.qualified, description: &declaration.description, arguments }
}

fn summary(tool: &Tool) -> Value {
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
