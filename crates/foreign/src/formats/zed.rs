//! Zed: `context_servers` of `settings.json`. <https://zed.dev/docs/ai/mcp> (checked 2026-11)

use serde_json::{Map, Value};

use super::{each, http, oauth, servers, stdio, unreachable};
use crate::draft::{Draft, DraftReach, RawText};
use crate::entry::{Entry, Unit};
use crate::note::Notes;
use crate::server::Drafts;
use crate::server::ForeignError;
use crate::text::Dialect;

pub(crate) fn drafts(root: &Map<String, Value>, notes: &mut Notes) -> Result<Drafts, ForeignError> {
    let servers = servers(root, "zed", "context_servers")?;
    each(servers, notes, draft).map(Drafts::of)
}

fn draft(mut entry: Entry<'_>) -> Option<Draft> {
    let reach = match entry.text("url") {
        Some(url) => Some(http(&mut entry, url)),
        None if entry.is_object("command") => older(&mut entry),
        None => stdio(&mut entry),
    };
    let Some(reach) = reach else {
        entry.note("it belongs to an extension of Zed, which defines how it starts");
        return unreachable(entry);
    };
    let mut draft = Draft::new(entry.server, Dialect::None, reach);
    draft.enabled = entry.boolean("enabled").unwrap_or(true);
    draft.timeout = entry.duration("timeout", Unit::Guessed);
    draft.oauth = oauth::read(&mut entry, &["oauth"], &draft.reach);
    entry.ignored(&["settings"], "they are an extension's");
    entry.silent(&["source", "headers", "env", "args", "cwd", "command", "remote"]);
    entry.finish();
    Some(draft)
}

/// `command` with `path`, `args` and `env` in it.
fn older(entry: &mut Entry<'_>) -> Option<DraftReach> {
    let server = entry.server;
    let inner = entry.object("command")?;
    let mut inner = Entry::new(server, inner, &mut *entry.notes);
    let program = inner.text("path")?;
    let command = std::iter::once(program).chain(inner.texts("args")).map(RawText::Foreign).collect();
    let reach = DraftReach::Stdio { command, environment: inner.table("env"), cwd: None };
    inner.finish();
    Some(reach)
}
