//! A server's list of tools, read tool by tool so that an invalid tool does not affect the others.

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

/// Bytes of a description, and the mark of a longer one.
const MAX_DESCRIPTION: usize = 16 * 1024;
const CUT: &str = "… [the description is cut here]";

/// A valid tool declaration.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Declared {
    pub(crate) name: InvokerName,
    pub(crate) description: String,
    pub(crate) arguments: Value,
    pub(crate) output: Option<Arc<Value>>,
    /// The whole declaration as received.
    pub(crate) raw: Box<str>,
}

/// The result of reading a list.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Listed {
    pub(crate) offered: usize,
    /// In the server's order.
    pub(crate) tools: Vec<Declared>,
    /// Names and faults of the skipped tools, cleaned.
    pub(crate) skipped: Vec<(String, String)>,
}

/// The entries of a list as the server wrote them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Entries(Vec<Box<RawValue>>);

impl Entries {
    /// Parses a stored list; `None` if it is not valid.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let first: First<Box<RawValue>, MAX_ENTRIES> = serde_json::from_str(text).ok()?;
        (first.left == 0).then_some(Self(first.items))
    }

    pub(crate) fn written(&self) -> String {
        format!("[{}]", self.0.iter().map(|entry| entry.get()).collect::<Vec<_>>().join(","))
    }
}

/// Lists the tools of a server. The caller sets the time limit.
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

/// Tool annotations. They are untrusted, and only the title is used.
#[derive(Deserialize)]
struct Annotations {
    title: Option<String>,
}

/// Splits a list into valid and skipped tools.
pub(crate) fn sift(Entries(entries): Entries) -> Listed {
    let offered = entries.len();
    let (tools, skipped) = pages::sift(entries, declared);
    let mut listed = Listed { offered, tools, skipped };
    skip_duplicates(&mut listed);
    listed
}

fn declared(entry: &RawValue) -> Result<Declared, String> {
    let offered: ToolEntry = serde_json::from_str(entry.get()).map_err(|error| error.to_string())?;
    let name = InvokerName::new(offered.name).map_err(|error| format!("the name is not {}", error.rule))?;
    let mut arguments = offered.input_schema;
    match arguments.get("type") {
        Some(Value::String(kind)) if kind == "object" => {}
        None => {
            arguments.insert("type".to_owned(), json!("object"));
        }
        Some(_) => return Err("`inputSchema` is not of type object".to_owned()),
    }
    let arguments = Value::Object(arguments);
    ArgumentsSchema::weigh(&arguments).map_err(|error| format!("`inputSchema`: {error}"))?;
    let titles = [offered.title, offered.annotations.and_then(|annotations| annotations.title)];
    let texts = [offered.description].into_iter().chain(titles).flatten();
    let description = texts.into_iter().find(|text| !text.trim().is_empty()).unwrap_or_default();
    // An output schema that is too large to check results with is ignored.
    let is_usable = |schema: &Value| schema.is_object() && ArgumentsSchema::weigh(schema).is_ok();
    let output = offered.output_schema.filter(is_usable).map(Arc::new);
    Ok(Declared { name, description: cut(description), arguments, output, raw: entry.get().into() })
}

fn cut(mut description: String) -> String {
    if description.len() > MAX_DESCRIPTION {
        description.truncate(description.floor_char_boundary(MAX_DESCRIPTION - CUT.len()));
        description.push_str(CUT);
    }
    description
}

/// Skips all tools that share a name, because a call could reach any of them.
fn skip_duplicates(listed: &mut Listed) {
    let mut count: HashMap<InvokerName, usize> = HashMap::new();
    for tool in &listed.tools {
        *count.entry(tool.name.clone()).or_default() += 1;
    }
    count.retain(|_, count| *count > 1);
    if count.is_empty() {
        return;
    }
    listed.tools.retain(|tool| !count.contains_key(&tool.name));
    let mut duplicates: Vec<_> = count.into_iter().collect();
    duplicates.sort();
    for (name, count) in duplicates {
        listed.skipped.push((name.to_string(), format!("the server lists {count} tools with this name")));
    }
}

#[cfg(test)]
mod tests;
