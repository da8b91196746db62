//! codex: `[mcp_servers.NAME]` of `config.toml`.
//! <https://developers.openai.com/codex/mcp> and <https://developers.openai.com/codex/config-reference> (checked 2026-11)
//!
//! Nothing is filled in into its texts; what is secret it names by variable.

use serde_json::{Map, Value};

use super::{NOT_ALLOWED, each, oauth, servers, stdio, unreachable};
use crate::draft::{Draft, DraftReach, Named, RawText};
use crate::entry::{Entry, Unit};
use crate::name::is_variable;
use crate::note::{Notes, quoted};
use crate::server::Drafts;
use crate::server::ForeignError;
use crate::text::{Dialect, Piece};

pub(crate) fn drafts(root: &Map<String, Value>, notes: &mut Notes) -> Result<Drafts, ForeignError> {
    let servers = servers(root, "codex", "mcp_servers")?;
    each(servers, notes, draft).map(Drafts::of)
}

fn draft(mut entry: Entry<'_>) -> Option<Draft> {
    let reach = match entry.text("url") {
        Some(url) => Some(DraftReach::Http { url: RawText::Foreign(url), headers: headers(&mut entry) }),
        None => stdio(&mut entry),
    };
    let Some(mut reach) = reach else { return unreachable(entry) };
    if let DraftReach::Stdio { environment, .. } = &mut reach {
        handed_on(&mut entry, environment);
    }
    let mut draft = Draft::new(entry.server, Dialect::None, reach);
    draft.enabled = entry.boolean("enabled").unwrap_or(true);
    draft.required = entry.boolean("required").unwrap_or(false);
    draft.connect_timeout = entry
        .duration("startup_timeout_sec", Unit::Seconds)
        .or_else(|| entry.duration("startup_timeout_ms", Unit::Milliseconds));
    draft.timeout = entry.duration("tool_timeout_sec", Unit::Seconds);
    draft.include = entry.allowed("enabled_tools");
    draft.exclude = entry.texts("disabled_tools");
    entry.ignored(&["default_tools_approval_mode", "tools"], NOT_ALLOWED);
    draft.oauth = oauth::read(&mut entry, &["oauth", "auth"], &draft.reach);
    let scopes = entry.texts("scopes");
    if !scopes.is_empty() {
        match &mut draft.oauth {
            Some(oauth) => oauth.scopes = scopes,
            None => entry.note("`scopes` is not imported: it says nothing of `oauth`"),
        }
    }
    entry.ignored(&["oauth_resource"], "the server itself declares what a token is for");
    entry.silent(&["startup_timeout_ms", "env", "args", "cwd", "command"]);
    entry.silent(&["http_headers", "env_http_headers", "bearer_token_env_var", "bearer_token", "env_vars"]);
    entry.finish();
    Some(draft)
}

fn headers(entry: &mut Entry<'_>) -> Named {
    let mut headers = entry.table("http_headers");
    for (header, name) in entry.table("env_http_headers") {
        let RawText::Foreign(name) = name else { continue };
        match variable(&name) {
            Some(variable) => headers.push((header, RawText::Parsed(vec![variable]))),
            None => entry
                .note(format!("the variable of the header {} has no name; it is left out", quoted(&header))),
        }
    }
    let authorization = "Authorization".to_owned();
    let bearer = |rest| RawText::Parsed(vec![Piece::Plain("Bearer ".to_owned()), rest]);
    match entry.text("bearer_token_env_var").map(|name| variable(&name)) {
        Some(Some(variable)) => headers.push((authorization, bearer(variable))),
        Some(None) => entry.note("`bearer_token_env_var` does not name a variable and is left out"),
        // codex itself refuses a token that is written down; it is lifted like any other.
        None => {
            let token = entry.text("bearer_token");
            headers.extend(token.map(|token| (authorization, RawText::Foreign(format!("Bearer {token}")))));
        }
    }
    headers
}

/// Variables that the server gets from codex's own environment.
fn handed_on(entry: &mut Entry<'_>, environment: &mut Named) {
    for value in entry.list("env_vars") {
        let name = value.as_str().or_else(|| value.get("name").and_then(Value::as_str)).unwrap_or_default();
        match variable(name) {
            Some(_) if environment.iter().any(|(known, _)| known == name) => {}
            Some(variable) => environment.push((name.to_owned(), RawText::Parsed(vec![variable]))),
            None => entry.note("an entry of `env_vars` does not name a variable and is left out"),
        }
    }
}

fn variable(name: &str) -> Option<Piece> {
    is_variable(name).then(|| Piece::Variable { name: name.to_owned(), default: None })
}
