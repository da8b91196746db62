//! One module for each format, and what the formats share.

pub(crate) mod codex;
pub(crate) mod listed;
pub(crate) mod mcp_servers;
pub(crate) mod oauth;
pub(crate) mod opencode;
pub(crate) mod registry;
pub(crate) mod vscode;
pub(crate) mod zed;

use serde_json::{Map, Value};

use crate::draft::{Draft, DraftReach, RawText};
use crate::entry::Entry;
use crate::note::Notes;
use crate::server::ForeignError;
use crate::server::MAX_SERVERS;

/// The note on `trust`, `autoApprove` and similar keys.
pub(crate) const NOT_ALLOWED: &str =
    "approvals of another program are not imported; set `permission` in the descriptor";
pub(crate) const OLD_SSE: &str = "it uses the old HTTP+SSE transport, which converse finds out itself; if the server has a newer \
    address, often with `/mcp` at its end, put that into `url`";
pub(crate) const NO_ENV_FILE: &str =
    "files with variables are not read; set the variables before converse starts";

/// Reads every entry of a map of servers.
pub(crate) fn each(
    servers: &Map<String, Value>,
    notes: &mut Notes,
    mut read: impl FnMut(Entry<'_>) -> Option<Draft>,
) -> Result<Vec<Draft>, ForeignError> {
    if servers.len() > MAX_SERVERS {
        return Err(ForeignError::TooMany { most: MAX_SERVERS });
    }
    let mut drafts = Vec::new();
    for (name, server) in servers {
        match server {
            Value::Object(map) => drafts.extend(read(Entry::new(name, map, notes))),
            _ => notes.server(name, "it is not an object and is left out"),
        }
    }
    Ok(drafts)
}

/// The object with the servers that a format must have.
pub(crate) fn servers<'r>(
    root: &'r Map<String, Value>,
    format: &'static str,
    key: &'static str,
) -> Result<&'r Map<String, Value>, ForeignError> {
    root.get(key).and_then(Value::as_object).ok_or(ForeignError::Missing { format, key })
}

/// A program and its arguments, as most have them.
pub(crate) fn command(entry: &mut Entry<'_>) -> Option<Vec<RawText>> {
    let arguments = entry.texts("args");
    let program = entry.text("command").filter(|program| !program.trim().is_empty())?;
    Some(std::iter::once(program).chain(arguments).map(RawText::Foreign).collect())
}

/// Notes a server without a program and an address.
pub(crate) fn unreachable(mut entry: Entry<'_>) -> Option<Draft> {
    entry.note("it has neither a program nor an address and is left out");
    None
}

/// A program with `command`, `args`, `env` and `cwd`.
pub(crate) fn stdio(entry: &mut Entry<'_>) -> Option<DraftReach> {
    let command = command(entry)?;
    Some(DraftReach::Stdio { command, environment: entry.table("env"), cwd: entry.text("cwd") })
}

/// An address with `headers`.
pub(crate) fn http(entry: &mut Entry<'_>, url: String) -> DraftReach {
    DraftReach::Http { url: RawText::Foreign(url), headers: entry.table("headers") }
}
