//! The tools as clients see them, and their names.
//!
//! Names, order and schemas are those of the offer of the roster. Other fields of a server's tool (title, annotations,
//! output schema, icons, `_meta`) are passed on unchanged.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use converse_ensemble::{Offer, Tool};
use rmcp::ErrorData;
use rmcp::model::{CacheScope, JsonObject, ListToolsResult, Tool as Shown, ToolAnnotations};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::output_schema::OutputSchema;

/// Tools per page of the list.
pub(crate) const PAGE: usize = 500;
/// Time for which a client may cache a list, in milliseconds. Changes are also announced.
const TTL_MS: u64 = 5_000;
/// A cursor is this prefix and the last tool name of the previous page, so it is valid in any replica and after changes.
const CURSOR_PREFIX: &str = "after:";

/// Two tools that would have the same name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{one}` and `{other}` would both be served as `{name}`")]
pub struct NameConflict {
    pub name: String,
    /// `ensemble.invoker`.
    pub one: String,
    pub other: String,
}

/// The served tools of one offer.
#[derive(Debug)]
pub(crate) struct ServedTools {
    offer: Arc<Offer>,
    /// Sorted by name.
    tools: Vec<Shown>,
    /// The names in the roster, by the served name.
    names: HashMap<String, Name>,
    /// The ensembles of the served tools, sorted.
    ensembles: Vec<String>,
}

/// The names of a tool in the roster.
#[derive(Debug)]
pub(crate) struct Name {
    pub(crate) shown: String,
    /// `ensemble.invoker`.
    pub(crate) qualified: String,
    /// The schema that the structured content of its results must match.
    pub(crate) output_schema: Option<OutputSchema>,
}

impl ServedTools {
    /// Tools with the same name are left out and reported.
    pub(crate) fn of(offer: Arc<Offer>, bare: bool) -> (Self, Vec<NameConflict>) {
        let (mut tools, mut names, mut conflicts) = (Vec::new(), HashMap::<String, Name>::new(), Vec::new());
        for tool in offer.tools() {
            let name = served_as(tool, bare);
            if let Some(there) = names.get(&name) {
                conflicts.push(NameConflict {
                    name,
                    one: there.qualified.clone(),
                    other: tool.qualified.clone(),
                });
                continue;
            }
            let shown = shown(tool, name.clone());
            let output_schema = shown.output_schema.clone().map(OutputSchema::new);
            let roster_name = tool.declaration.name.to_string();
            names.insert(name, Name { shown: roster_name, qualified: tool.qualified.clone(), output_schema });
            tools.push(shown);
        }
        for conflict in &conflicts {
            names.remove(&conflict.name);
        }
        tools.retain(|tool| names.contains_key(tool.name.as_ref()));
        tools.sort_by(|one, other| one.name.cmp(&other.name));
        let ensembles = ensembles(&names);
        (Self { offer, tools, names, ensembles }, conflicts)
    }

    pub(crate) fn is_from(&self, offer: &Arc<Offer>) -> bool {
        Arc::ptr_eq(&self.offer, offer)
    }

    /// Finds a tool by its exact served name.
    pub(crate) fn find(&self, name: &str) -> Option<&Name> {
        self.names.get(name)
    }

    /// Why a tool of this name is held back, if it is. The lockfile is read only when a gateway starts.
    pub(crate) fn hold_reason(&self, name: &str, bare: bool) -> Option<String> {
        let why = self.offer.held_back().find(|tool| served_as(tool, bare) == name)?.hold_reason(name)?;
        Some(format!("{why}, and then restart this server"))
    }

    pub(crate) fn tool(&self, name: &str) -> Option<Shown> {
        let place = self.tools.binary_search_by(|tool| tool.name.as_ref().cmp(name)).ok()?;
        self.tools.get(place).cloned()
    }

    pub(crate) fn page(&self, cursor: Option<&str>) -> Result<ListToolsResult, ErrorData> {
        let unknown = || ErrorData::invalid_params("the cursor is not from this server", None);
        let begin = match cursor {
            None => 0,
            Some(cursor) => {
                let last = cursor.strip_prefix(CURSOR_PREFIX).ok_or_else(unknown)?;
                self.tools.partition_point(|tool| tool.name.as_ref() <= last)
            }
        };
        let rest = self.tools.get(begin..).unwrap_or_default();
        let page: Vec<Shown> = rest.iter().take(PAGE).cloned().collect();
        let more = rest.len() > page.len();
        let cursor = page.last().filter(|_| more).map(|last| format!("{CURSOR_PREFIX}{}", last.name));
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

/// Computed once per offer, because every HTTP request needs the names.
fn ensembles(names: &HashMap<String, Name>) -> Vec<String> {
    let names = names.values().filter_map(|name| name.qualified.split('.').next());
    names.collect::<BTreeSet<_>>().into_iter().map(str::to_owned).collect()
}

/// Adds the time for which a client may cache the list, for the newer era.
pub(crate) fn with_ttl(list: ListToolsResult) -> ListToolsResult {
    let mut list = list.with_ttl_ms(TTL_MS);
    list.cache_scope = Some(CacheScope::Private);
    list
}

fn served_as(tool: &Tool, bare: bool) -> String {
    if bare { tool.invoker.to_string() } else { tool.declaration.name.to_string() }
}

fn shown(tool: &Tool, name: String) -> Shown {
    let declaration = &tool.declaration;
    let definition = match tool.definition().value() {
        Value::Object(definition) => definition,
        _ => Map::new(),
    };
    let mut shown = Shown::new(name, declaration.description.clone(), schema(&declaration.arguments));
    shown.title = read(&definition, "title");
    shown.output_schema = read::<JsonObject>(&definition, "outputSchema").map(Arc::new);
    shown.annotations = read(&definition, "annotations").or_else(|| Some(annotations(tool)));
    shown.icons = read(&definition, "icons");
    shown.meta = read(&definition, "_meta");
    shown
}

/// Returns a field; `None` if it is missing or not valid.
fn read<T: DeserializeOwned>(definition: &Map<String, Value>, key: &str) -> Option<T> {
    serde_json::from_value(definition.get(key)?.clone()).ok()
}

/// Adds `type`, which the protocol requires.
fn schema(arguments: &Value) -> Arc<JsonObject> {
    let mut schema = arguments.as_object().cloned().unwrap_or_default();
    schema.entry("type").or_insert_with(|| Value::from("object"));
    Arc::new(schema)
}

/// The annotations of a tool without annotations from a server, derived from its policy.
fn annotations(tool: &Tool) -> ToolAnnotations {
    let effects = tool.policy.effects.as_str();
    let annotations = ToolAnnotations::new()
        .read_only(matches!(effects, "none" | "read"))
        .open_world(effects == "external");
    if tool.policy.idempotent { annotations.idempotent(true) } else { annotations }
}
