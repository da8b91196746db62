//! The tools as clients see them, and their names.
//!
//! Names, order and schemas are those of the offer of the roster, or as a view changes them. Other fields of a server's
//! tool (title, annotations, output schema, icons, `_meta`) are passed on unchanged.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use converse_canister::Arguments;
use converse_config::{ViewPlan, fixed_fault, without_fixed};
use converse_ensemble::{Offer, Tool};
use rmcp::ErrorData;
use rmcp::model::{CacheScope, JsonObject, ListToolsResult, Tool as Shown, ToolAnnotations};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::output_schema::OutputSchema;
use crate::search::{CALL, FIND, search_tools};

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
    /// What clients see instead of the tools, in a view with a search.
    search: Option<[Shown; 2]>,
}

/// How the tools are named and chosen.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Naming<'a> {
    /// Without the prefix `ensemble__`.
    pub(crate) bare: bool,
    /// `None`: all tools.
    pub(crate) view: Option<&'a ViewPlan>,
}

/// A tool under one of its served names.
struct Entry<'a> {
    name: String,
    description: Option<&'a str>,
    fixed: Option<&'a Map<String, Value>>,
}

/// The names of a tool in the roster.
#[derive(Debug)]
pub(crate) struct Name {
    pub(crate) shown: String,
    /// `ensemble.invoker`.
    pub(crate) qualified: String,
    /// The schema that the structured content of its results must match.
    pub(crate) output_schema: Option<OutputSchema>,
    /// Arguments that every call gets and no client can give.
    pub(crate) fixed: Map<String, Value>,
}

/// Adds the fixed arguments to those of a client, or returns the name of one that the client gave.
pub(crate) fn with_fixed(
    mut arguments: Arguments,
    fixed: Option<&Map<String, Value>>,
) -> Result<Arguments, String> {
    let Some(fixed) = fixed.filter(|fixed| !fixed.is_empty() && arguments.malformed.is_none()) else {
        return Ok(arguments);
    };
    if let Some(given) = fixed.keys().find(|name| arguments.object.contains_key(*name)) {
        return Err(given.clone());
    }
    arguments.object.extend(fixed.clone());
    Ok(Arguments::from_object(arguments.object))
}

impl Naming<'_> {
    /// Returns the names under which a tool is served; none if it is not.
    fn entries(&self, tool: &Tool) -> Vec<Entry<'_>> {
        let own = || if self.bare { tool.invoker.to_string() } else { tool.declaration.name.to_string() };
        let plain = || Entry { name: own(), description: None, fixed: None };
        let Some(view) = self.view else { return vec![plain()] };
        let of_tool: Vec<_> = view.tools.iter().filter(|entry| entry.matches(&tool.qualified)).collect();
        let singles = of_tool.iter().filter(|entry| entry.is_single).map(|entry| Entry {
            name: entry.name.as_ref().map_or_else(own, ToString::to_string),
            description: entry.description.as_deref(),
            fixed: Some(&entry.arguments),
        });
        match singles.collect::<Vec<_>>() {
            none if none.is_empty() => of_tool.first().map(|_| plain()).into_iter().collect(),
            singles => singles,
        }
    }

    fn searches(&self) -> bool {
        self.view.is_some_and(|view| view.search)
    }

    /// Returns why a tool cannot be served under this name.
    fn fault(&self, tool: &Tool, entry: &Entry<'_>) -> Option<String> {
        let fault = fixed_fault(&tool.declaration.arguments, entry.fixed?)?;
        let (view, tool) = (&self.view?.name, &tool.qualified);
        let argument = fault.pointer.trim_start_matches('/');
        Some(format!(
            "the view `{view}` does not serve `{tool}`: its argument `{argument}` cannot be fixed: {}",
            fault.message
        ))
    }
}

impl ServedTools {
    /// Tools with the same name are left out and reported.
    pub(crate) fn of(offer: Arc<Offer>, naming: Naming<'_>) -> (Self, Vec<NameConflict>) {
        let (mut tools, mut names, mut conflicts) = (Vec::new(), HashMap::<String, Name>::new(), Vec::new());
        for (tool, entry) in
            offer.tools().flat_map(|tool| naming.entries(tool).into_iter().map(move |entry| (tool, entry)))
        {
            if let Some(fault) = naming.fault(tool, &entry) {
                tracing::warn!("{fault}");
                continue;
            }
            let name = entry.name.clone();
            let reserved = naming.searches().then_some([CALL, FIND]).filter(|names| names.contains(&&*name));
            if let Some(one) =
                names.get(&name).map(|there| there.qualified.clone()).or(reserved.map(|_| name.clone()))
            {
                conflicts.push(NameConflict { name, one, other: tool.qualified.clone() });
                continue;
            }
            let shown = shown(tool, &entry);
            let output_schema = shown.output_schema.clone().map(OutputSchema::new);
            let roster_name = tool.declaration.name.to_string();
            let (qualified, fixed) = (tool.qualified.clone(), entry.fixed.cloned().unwrap_or_default());
            names.insert(name, Name { shown: roster_name, qualified, output_schema, fixed });
            tools.push(shown);
        }
        for conflict in &conflicts {
            names.remove(&conflict.name);
        }
        tools.retain(|tool| names.contains_key(tool.name.as_ref()));
        tools.sort_by(|one, other| one.name.cmp(&other.name));
        let ensembles = ensembles(&names);
        let search = naming.searches().then(|| search_tools(&ensembles, tools.len()));
        (Self { offer, tools, names, ensembles, search }, conflicts)
    }

    fn listed(&self) -> &[Shown] {
        self.search.as_ref().map_or(&self.tools, |search| search)
    }

    /// Returns whether clients see a search instead of the tools.
    pub(crate) fn searches(&self) -> bool {
        self.search.is_some()
    }

    /// All tools, sorted by name.
    pub(crate) fn all(&self) -> &[Shown] {
        &self.tools
    }

    pub(crate) fn is_from(&self, offer: &Arc<Offer>) -> bool {
        Arc::ptr_eq(&self.offer, offer)
    }

    /// Returns whether clients see the same list.
    pub(crate) fn lists_the_same_as(&self, other: &Self) -> bool {
        self.listed() == other.listed()
    }

    /// Finds a tool by its exact served name.
    pub(crate) fn find(&self, name: &str) -> Option<&Name> {
        self.names.get(name)
    }

    /// Why a tool of this name is held back, if it is.
    pub(crate) fn hold_reason(&self, name: &str, naming: Naming<'_>) -> Option<String> {
        let is_named = |tool: &&Tool| naming.entries(tool).iter().any(|entry| entry.name == name);
        self.offer.held_back().find(is_named)?.hold_reason(name)
    }

    pub(crate) fn tool(&self, name: &str) -> Option<Shown> {
        let find = |tools: &[Shown]| {
            let place = tools.binary_search_by(|tool| tool.name.as_ref().cmp(name)).ok()?;
            tools.get(place).cloned()
        };
        find(self.listed()).or_else(|| find(&self.tools))
    }

    pub(crate) fn page(&self, cursor: Option<&str>) -> Result<ListToolsResult, ErrorData> {
        let unknown = || ErrorData::invalid_params("the cursor is not from this server", None);
        let begin = match cursor {
            None => 0,
            Some(cursor) => {
                let last = cursor.strip_prefix(CURSOR_PREFIX).ok_or_else(unknown)?;
                self.listed().partition_point(|tool| tool.name.as_ref() <= last)
            }
        };
        let rest = self.listed().get(begin..).unwrap_or_default();
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

fn shown(tool: &Tool, entry: &Entry<'_>) -> Shown {
    let declaration = &tool.declaration;
    let definition = match tool.definition().value() {
        Value::Object(definition) => definition,
        _ => Map::new(),
    };
    let description = entry.description.map_or_else(|| declaration.description.clone(), str::to_owned);
    let arguments = match entry.fixed.filter(|fixed| !fixed.is_empty()) {
        Some(fixed) => schema(&without_fixed(&declaration.arguments, fixed)),
        None => schema(&declaration.arguments),
    };
    let mut shown = Shown::new(entry.name.clone(), description, arguments);
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
