//! The tools as clients see them.
//!
//! Names, order and schemas are those of the roster's offer; what else a server says of its tool (title, annotations,
//! output schema, icons, `_meta`) goes through untouched.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use converse_ensemble::{Offer, Tool};
use rmcp::ErrorData;
use rmcp::model::{CacheScope, JsonObject, ListToolsResult, Tool as Shown, ToolAnnotations};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::promise::Promise;

/// Tools on a page of the list.
pub(crate) const PAGE: usize = 500;
/// How long a list may be kept by a client, in milliseconds: changes are announced besides.
const FRESH: u64 = 5_000;
/// Before the name of the last tool of the page before: a cursor holds in any replica, and when the list changes.
const AFTER: &str = "after:";

/// Two tools would be served by one name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{one}` and `{other}` would both be served as `{name}`")]
pub struct Clash {
    pub name: String,
    /// `ensemble.invoker`.
    pub one: String,
    pub other: String,
}

/// All that is served, of one offer.
#[derive(Debug)]
pub(crate) struct Shelf {
    offer: Arc<Offer>,
    /// By name.
    tools: Vec<Shown>,
    /// What the roster calls them, by the name they are served by.
    names: HashMap<String, Name>,
    /// Of those that are served, in order.
    ensembles: Vec<String>,
}

/// What the roster calls a tool.
#[derive(Debug)]
pub(crate) struct Name {
    pub(crate) shown: String,
    /// `ensemble.invoker`.
    pub(crate) qualified: String,
    /// Its results must have a structure that keeps to it.
    pub(crate) promise: Option<Promise>,
}

impl Shelf {
    /// Two of one name are both left out and reported.
    pub(crate) fn of(offer: Arc<Offer>, bare: bool) -> (Self, Vec<Clash>) {
        let (mut tools, mut names, mut clashes) = (Vec::new(), HashMap::<String, Name>::new(), Vec::new());
        for tool in offer.tools() {
            let name = served_as(tool, bare);
            if let Some(there) = names.get(&name) {
                clashes.push(Clash { name, one: there.qualified.clone(), other: tool.qualified.clone() });
                continue;
            }
            let shown = shown(tool, name.clone());
            let promise = shown.output_schema.clone().map(Promise::new);
            let roster_name = tool.declaration.name.to_string();
            names.insert(name, Name { shown: roster_name, qualified: tool.qualified.clone(), promise });
            tools.push(shown);
        }
        for clash in &clashes {
            names.remove(&clash.name);
        }
        tools.retain(|tool| names.contains_key(tool.name.as_ref()));
        tools.sort_by(|one, other| one.name.cmp(&other.name));
        let ensembles = ensembles(&names);
        (Self { offer, tools, names, ensembles }, clashes)
    }

    pub(crate) fn is_of(&self, offer: &Arc<Offer>) -> bool {
        Arc::ptr_eq(&self.offer, offer)
    }

    /// By the exact name it is served by.
    pub(crate) fn find(&self, name: &str) -> Option<&Name> {
        self.names.get(name)
    }

    /// Why a tool of this name is not served, if it is held back. What is accepted is read once, as a gateway begins.
    pub(crate) fn hold_reason(&self, name: &str, bare: bool) -> Option<String> {
        let why = self.offer.held().find(|tool| served_as(tool, bare) == name)?.hold_reason(name)?;
        Some(format!("{why}, and then restart this server"))
    }

    pub(crate) fn tool(&self, name: &str) -> Option<Shown> {
        let place = self.tools.binary_search_by(|tool| tool.name.as_ref().cmp(name)).ok()?;
        self.tools.get(place).cloned()
    }

    pub(crate) fn page(&self, cursor: Option<&str>) -> Result<ListToolsResult, ErrorData> {
        let unknown = || ErrorData::invalid_params("this cursor is not one of this server", None);
        let begin = match cursor {
            None => 0,
            Some(cursor) => {
                let last = cursor.strip_prefix(AFTER).ok_or_else(unknown)?;
                self.tools.partition_point(|tool| tool.name.as_ref() <= last)
            }
        };
        let rest = self.tools.get(begin..).unwrap_or_default();
        let page: Vec<Shown> = rest.iter().take(PAGE).cloned().collect();
        let more = rest.len() > page.len();
        let cursor = page.last().filter(|_| more).map(|last| format!("{AFTER}{}", last.name));
        let mut list = ListToolsResult::with_all_items(page);
        list.next_cursor = cursor;
        Ok(list)
    }

    pub(crate) fn len(&self) -> usize {
        self.tools.len()
    }

    /// The names of the ensembles that are served, in order.
    pub(crate) fn ensembles(&self) -> &[String] {
        &self.ensembles
    }
}

/// Once for each offer: every request over HTTP is told them.
fn ensembles(names: &HashMap<String, Name>) -> Vec<String> {
    let names = names.values().filter_map(|name| name.qualified.split('.').next());
    names.collect::<BTreeSet<_>>().into_iter().map(str::to_owned).collect()
}

/// Says how long it holds, to clients that want to know.
pub(crate) fn fresh(list: ListToolsResult) -> ListToolsResult {
    let mut list = list.with_ttl_ms(FRESH);
    list.cache_scope = Some(CacheScope::Private);
    list
}

fn served_as(tool: &Tool, bare: bool) -> String {
    if bare { tool.invoker.to_string() } else { tool.declaration.name.to_string() }
}

fn shown(tool: &Tool, name: String) -> Shown {
    let declaration = &tool.declaration;
    let said = match tool.definition().value() {
        Value::Object(said) => said,
        _ => Map::new(),
    };
    let mut shown = Shown::new(name, declaration.description.clone(), schema(&declaration.arguments));
    shown.title = read(&said, "title");
    shown.output_schema = read::<JsonObject>(&said, "outputSchema").map(Arc::new);
    shown.annotations = read(&said, "annotations").or_else(|| Some(annotations(tool)));
    shown.icons = read(&said, "icons");
    shown.meta = read(&said, "_meta");
    shown
}

/// What is not as it should be is left out.
fn read<T: DeserializeOwned>(said: &Map<String, Value>, key: &str) -> Option<T> {
    serde_json::from_value(said.get(key)?.clone()).ok()
}

/// The protocol wants the type to be said.
fn schema(arguments: &Value) -> Arc<JsonObject> {
    let mut schema = arguments.as_object().cloned().unwrap_or_default();
    schema.entry("type").or_insert_with(|| Value::from("object"));
    Arc::new(schema)
}

/// Of a tool whose descriptor says what it does.
fn annotations(tool: &Tool) -> ToolAnnotations {
    let effects = tool.policy.effects.as_str();
    let annotations = ToolAnnotations::new()
        .read_only(matches!(effects, "none" | "read"))
        .open_world(effects == "external");
    if tool.policy.idempotent { annotations.idempotent(true) } else { annotations }
}
