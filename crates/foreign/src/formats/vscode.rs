//! VS Code: `servers` and `inputs` of `mcp.json`, or `mcp` of an older `settings.json`.
//! <https://code.visualstudio.com/docs/agents/reference/mcp-configuration> (checked 2026-11)
//!
//! `${input:id}` is asked for by VS Code; here it is a variable called like the input.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{NO_ENV_FILE, OLD_SSE, each, http, oauth, servers, stdio, unreachable};
use crate::draft::{Draft, RawText};
use crate::entry::Entry;
use crate::name::variable;
use crate::note::{Notes, quoted};
use crate::server::Drafts;
use crate::server::ForeignError;
use crate::text::{Dialect, Inputs, Piece};

pub(crate) fn drafts(root: &Map<String, Value>, notes: &mut Notes) -> Result<Drafts, ForeignError> {
    let inner = root.get("mcp").and_then(Value::as_object).filter(|_| !root.contains_key("servers"));
    let root = inner.unwrap_or(root);
    let servers = servers(root, "vscode", "servers")?;
    let list = each(servers, notes, draft)?;
    let inputs = inputs(root, &list, notes);
    Ok(Drafts { inputs, ..Drafts::of(list) })
}

fn draft(mut entry: Entry<'_>) -> Option<Draft> {
    let kind = entry.text("type");
    let url = entry.text("url");
    let reach = match (url, kind.as_deref()) {
        (Some(url), Some("http" | "sse") | None) => Some(http(&mut entry, url)),
        _ => stdio(&mut entry),
    };
    let Some(reach) = reach else { return unreachable(entry) };
    let mut draft = Draft::new(entry.server, Dialect::Braces, reach);
    if kind.as_deref() == Some("sse") {
        entry.note(OLD_SSE);
    }
    entry.ignored(&["envFile"], NO_ENV_FILE);
    draft.oauth = oauth::read(&mut entry, &["oauth", "auth"], &draft.reach);
    entry.ignored(&["sandbox", "sandboxEnabled"], "servers are not run in a sandbox");
    entry.silent(&["gallery", "version", "dev", "headers", "env", "args", "cwd", "command"]);
    entry.finish();
    Some(draft)
}

/// One variable for each input; its name is not one that the file refers to as `${env:…}`.
fn inputs(root: &Map<String, Value>, drafts: &[Draft], notes: &mut Notes) -> Inputs {
    let none = Inputs::new();
    let referred: BTreeSet<String> = drafts
        .iter()
        .flat_map(|draft| draft.texts())
        .filter_map(|written| match written {
            RawText::Foreign(text) => Some(Dialect::Braces.parse(text, &none)),
            RawText::Parsed(_) => None,
        })
        .flatten()
        .filter_map(|piece| if let Piece::Variable { name, .. } = piece { Some(name) } else { None })
        .collect();
    let mut inputs = Inputs::new();
    let mut taken = referred;
    let listed = root.get("inputs").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    for input in listed {
        let Some(id) = input.get("id").and_then(Value::as_str) else {
            notes.file("an entry of `inputs` has no `id` and is left out");
            continue;
        };
        let mut name = variable(&[id]);
        let mut number = 1_usize;
        while !taken.insert(name.clone()) {
            number += 1;
            name = variable(&["input", id, &number.to_string()]);
        }
        if inputs.insert(id.to_owned(), Piece::Variable { name: name.clone(), default: None }).is_none() {
            notes.file(format!(
                "VS Code asks for the input {}; set the variable `{name}` instead",
                quoted(id)
            ));
        }
    }
    inputs
}
