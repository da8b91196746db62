//! `mcp-servers.json`: `{"servers": [{"id", "enabled", "transport", "command", "args", "env"}]}`.

use serde_json::{Map, Value};

use super::{OLD_SSE, http, stdio, unreachable};
use crate::draft::Draft;
use crate::entry::{Entry, Unit};
use crate::note::Notes;
use crate::server::ForeignError;
use crate::server::{Drafts, MAX_SERVERS};
use crate::text::Dialect;

pub(crate) fn drafts(root: &Map<String, Value>, notes: &mut Notes) -> Result<Drafts, ForeignError> {
    let missing = ForeignError::Missing { format: "list", key: "servers" };
    let servers = root.get("servers").and_then(Value::as_array).ok_or(missing)?;
    if servers.len() > MAX_SERVERS {
        return Err(ForeignError::TooMany { most: MAX_SERVERS });
    }
    let mut list = Vec::new();
    for server in servers {
        let named = server.get("id").or_else(|| server.get("name")).and_then(Value::as_str);
        match (server, named) {
            (Value::Object(map), Some(name)) => list.extend(draft(Entry::new(name, map, notes))),
            _ => notes.file("an entry of `servers` has no `id` and is left out"),
        }
    }
    Ok(Drafts::of(list))
}

fn draft(mut entry: Entry<'_>) -> Option<Draft> {
    let transport = entry.text("transport").unwrap_or_default().to_ascii_lowercase();
    let url = entry.text("url").filter(|_| transport != "stdio");
    let reach = match url {
        Some(url) => Some(http(&mut entry, url)),
        None => stdio(&mut entry),
    };
    let Some(reach) = reach else { return unreachable(entry) };
    let mut draft = Draft::new(entry.server, Dialect::Braces, reach);
    draft.enabled = entry.boolean("enabled").unwrap_or(true);
    if transport == "sse" {
        entry.note(OLD_SSE);
    }
    draft.description = entry.text("description");
    draft.timeout = entry.duration("timeout", Unit::Guessed);
    entry.silent(&["id", "name", "headers", "env", "args", "cwd", "command"]);
    entry.finish();
    Some(draft)
}
