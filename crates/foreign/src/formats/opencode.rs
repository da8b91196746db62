//! opencode: `mcp` of `opencode.json` or `opencode.jsonc`, and `mcp.servers` of its second version.
//! <https://opencode.ai/v1/docs/mcp-servers/> and <https://opencode.ai/v2/docs/mcp-servers/> (checked 2026-11)

use serde_json::{Map, Value};

use super::{each, http, oauth, servers, unreachable};
use crate::draft::{Draft, DraftReach, RawText};
use crate::entry::{Entry, Unit};
use crate::note::Notes;
use crate::server::Drafts;
use crate::server::ForeignError;
use crate::text::Dialect;

pub(crate) fn drafts(root: &Map<String, Value>, notes: &mut Notes) -> Result<Drafts, ForeignError> {
    let mcp = servers(root, "opencode", "mcp")?;
    // A server may be called `servers`; then it has a `type` like all others.
    let inner = mcp.get("servers").and_then(Value::as_object).filter(|inner| !inner.contains_key("type"));
    let Some(inner) = inner else { return each(mcp, notes, draft).map(Drafts::of) };
    let beside: Map<String, Value> = mcp
        .iter()
        .filter(|(name, value)| *name != "servers" && value.get("type").is_some())
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let mut list = each(inner, notes, draft)?;
    list.extend(each(&beside, notes, draft)?);
    Ok(Drafts::of(list))
}

fn draft(mut entry: Entry<'_>) -> Option<Draft> {
    entry.silent(&["type", "command", "url", "cwd", "environment", "env", "headers"]);
    let reach = match entry.text("url") {
        Some(url) => Some(http(&mut entry, url)),
        None => program(&mut entry),
    };
    let Some(reach) = reach else {
        // Without its parts it only switches a server on that an organisation hands out.
        return unreachable(entry);
    };
    let mut draft = Draft::new(entry.server, Dialect::Curly, reach);
    draft.enabled = entry.boolean("enabled").unwrap_or(true) && !entry.boolean("disabled").unwrap_or(false);
    if entry.is_object("timeout") {
        let server = entry.server;
        if let Some(limits) = entry.object("timeout") {
            let mut limits = Entry::new(server, limits, &mut *entry.notes);
            draft.connect_timeout = limits.duration("startup", Unit::Milliseconds);
            draft.timeout = limits.duration("request", Unit::Milliseconds);
            limits.finish();
        }
    } else {
        draft.connect_timeout = entry.duration("timeout", Unit::Milliseconds);
    }
    draft.oauth = oauth::read(&mut entry, &["oauth"], &draft.reach);
    entry.silent(&["disabled", "enabled"]);
    entry.finish();
    Some(draft)
}

fn program(entry: &mut Entry<'_>) -> Option<DraftReach> {
    let command = if entry.is_list("command") {
        entry.texts("command").into_iter().map(RawText::Foreign).collect()
    } else {
        super::command(entry)?
    };
    if command.is_empty() {
        return None;
    }
    let key = if entry.has("environment") { "environment" } else { "env" };
    Some(DraftReach::Stdio { command, environment: entry.table(key), cwd: entry.text("cwd") })
}
