//! A server's list of tools, read tool by tool: one bad tool costs itself only.

use std::collections::HashMap;
use std::sync::Arc;

use converse_canister::InvokerName;
use converse_config::ArgumentsSchema;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::error::Failure;
use crate::link::Link;
use crate::pages::{self, Kind, MAX_ENTRIES};
use crate::raw::First;
use crate::sanitize;

/// Of one tool, before any of it is read.
const MAX_ENTRY: usize = 256 * 1024;
const MAX_DESCRIPTION: usize = 16 * 1024;
const CUT: &str = "… [the description is cut here]";

/// A tool as a server declares it, fit to be offered.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Declared {
    pub(crate) name: InvokerName,
    pub(crate) description: String,
    pub(crate) arguments: Value,
    pub(crate) output: Option<Arc<Value>>,
    /// All of it, as it came.
    pub(crate) raw: Box<str>,
}

/// What a list came to.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Listed {
    pub(crate) offered: usize,
    /// In the server's order.
    pub(crate) tools: Vec<Declared>,
    /// The names of the others, cleaned, and what is wrong with them.
    pub(crate) skipped: Vec<(String, String)>,
}

/// The entries of a list as the server wrote them.
#[derive(Debug, Default)]
pub(crate) struct Entries(Vec<Box<RawValue>>);

impl Entries {
    /// Those that an earlier run has written down; `None` if that is no list.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let first: First<Box<RawValue>, MAX_ENTRIES> = serde_json::from_str(text).ok()?;
        (first.left == 0).then_some(Self(first.items))
    }

    pub(crate) fn written(&self) -> String {
        format!("[{}]", self.0.iter().map(|entry| entry.get()).collect::<Vec<_>>().join(","))
    }
}

/// Everything the server offers. Bounded in time by whoever asks.
pub(crate) async fn list(link: &Link) -> Result<Entries, Failure> {
    pages::all(link, Kind::Tools).await.map(Entries)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToolEntry {
    name: String,
    title: Option<String>,
    description: Option<String>,
    input_schema: Map<String, Value>,
    output_schema: Option<Value>,
    annotations: Option<Annotations>,
}

/// Hints of the server's. Nothing here believes more of them than a title.
#[derive(Deserialize)]
struct Annotations {
    title: Option<String>,
}

/// Tool by tool: what can be offered and what cannot.
pub(crate) fn sift(Entries(entries): Entries) -> Listed {
    let mut listed = Listed { offered: entries.len(), ..Listed::default() };
    for (place, entry) in entries.into_iter().enumerate() {
        match offered(&entry).and_then(|offered| declared(offered, &entry)) {
            Ok(tool) => listed.tools.push(tool),
            Err(reason) => {
                let name = name_of(&entry).unwrap_or_else(|| format!("#{}", place + 1));
                listed.skipped.push((sanitize::clean(&name, 128), sanitize::clean(&reason, 300)));
            }
        }
    }
    without_twins(&mut listed);
    listed
}

fn offered(entry: &RawValue) -> Result<ToolEntry, String> {
    let bytes = entry.get().len();
    if bytes > MAX_ENTRY {
        return Err(format!("its declaration has {bytes} bytes, more than {MAX_ENTRY}"));
    }
    serde_json::from_str(entry.get()).map_err(|error| error.to_string())
}

fn name_of(entry: &RawValue) -> Option<String> {
    #[derive(Deserialize)]
    struct Named {
        name: String,
    }
    serde_json::from_str(entry.get()).ok().map(|named: Named| named.name)
}

fn declared(offered: ToolEntry, entry: &RawValue) -> Result<Declared, String> {
    let name = InvokerName::new(offered.name).map_err(|error| format!("its name is not {}", error.rule))?;
    let mut arguments = offered.input_schema;
    match arguments.get("type") {
        Some(Value::String(kind)) if kind == "object" => {}
        None => {
            arguments.insert("type".to_owned(), json!("object"));
        }
        Some(_) => return Err("the schema of its arguments is not of type object".to_owned()),
    }
    let arguments = Value::Object(arguments);
    ArgumentsSchema::weigh(&arguments).map_err(|error| format!("the schema of its arguments: {error}"))?;
    let titles = [offered.title, offered.annotations.and_then(|annotations| annotations.title)];
    let said = [offered.description].into_iter().chain(titles).flatten();
    let description = said.into_iter().find(|text| !text.trim().is_empty()).unwrap_or_default();
    // A promise that is too heavy to be held against results is none.
    let promise = |schema: &Value| schema.is_object() && ArgumentsSchema::weigh(schema).is_ok();
    let output = offered.output_schema.filter(promise).map(Arc::new);
    Ok(Declared { name, description: cut(description), arguments, output, raw: entry.get().into() })
}

fn cut(mut description: String) -> String {
    if description.len() > MAX_DESCRIPTION {
        description.truncate(description.floor_char_boundary(MAX_DESCRIPTION - CUT.len()));
        description.push_str(CUT);
    }
    description
}

/// Of tools with the same name nobody can say which one a call would reach: all of them are left out.
fn without_twins(listed: &mut Listed) {
    let mut count: HashMap<InvokerName, usize> = HashMap::new();
    for tool in &listed.tools {
        *count.entry(tool.name.clone()).or_default() += 1;
    }
    count.retain(|_, count| *count > 1);
    if count.is_empty() {
        return;
    }
    listed.tools.retain(|tool| !count.contains_key(&tool.name));
    let mut twins: Vec<_> = count.into_iter().collect();
    twins.sort();
    for (name, count) in twins {
        listed.skipped.push((name.to_string(), format!("the server lists {count} tools of this name")));
    }
}

#[cfg(test)]
mod tests;
