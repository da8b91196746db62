//! `mcpServers`, the shape that most programs share.
//!
//! | program | file | its own keys | documented at (checked 2026-11) |
//! | --- | --- | --- | --- |
//! | Claude Desktop | `claude_desktop_config.json` | `command`, `args`, `env` | <https://modelcontextprotocol.io/docs/develop/connect-local-servers> |
//! | Claude Code | `.mcp.json`, `~/.claude.json` | `projects.PATH.mcpServers`, `type`, `url`, `headers`, `headersHelper`, `timeout`, [`oauth`]; `${VAR}`, `${VAR:-x}` | <https://code.claude.com/docs/en/mcp> |
//! | Cursor | `.cursor/mcp.json` | `url`, `headers`, `envFile`, `auth`; `${env:NAME}`, `${userHome}`, `${workspaceFolder}` | <https://cursor.com/docs/mcp> |
//! | Windsurf | `~/.codeium/windsurf/mcp_config.json` | `serverUrl`, `disabled`, `disabledTools` | <https://docs.windsurf.com/windsurf/cascade/mcp> |
//! | Cline, Roo | `cline_mcp_settings.json` | `disabled`, `autoApprove`, `alwaysAllow`, `timeout` | <https://docs.cline.bot/mcp/configuring-mcp-servers> |
//! | Copilot CLI | `~/.copilot/mcp-config.json` | `type = "local"`, `tools` | <https://docs.github.com/copilot> |
//! | Gemini CLI | `~/.gemini/settings.json` | `httpUrl`, `url` (SSE unless `type` says `http`), `timeout` (ms), `trust`, `includeTools`, `excludeTools`; `$NAME` | <https://geminicli.com/docs/tools/mcp-server> |

use serde_json::{Map, Value};

use super::{NO_ENV_FILE, NOT_ALLOWED, OLD_SSE, each, http, oauth, stdio, unreachable};
use crate::draft::{Draft, DraftReach};
use crate::entry::{Entry, Unit};
use crate::note::{Notes, quoted};
use crate::server::{Drafts, ForeignError, MAX_SERVERS};
use crate::text::Dialect;

pub(crate) fn drafts(
    root: &Map<String, Value>,
    gemini: bool,
    notes: &mut Notes,
) -> Result<Drafts, ForeignError> {
    let servers = root.get("mcpServers").and_then(Value::as_object);
    let has_projects = !gemini && projects(root).next().is_some();
    // A file may be nothing but what stands in `mcpServers`.
    let bare = servers.is_none() && !has_projects && root.values().all(Value::is_object) && !root.is_empty();
    let none = Map::new();
    let servers = match servers {
        Some(servers) => servers,
        None if bare => root,
        None if has_projects => &none,
        None => return Err(ForeignError::Missing { format: "mcp-servers", key: "mcpServers" }),
    };
    if !bare {
        of_the_file(root, notes);
    }
    let mut list = each(servers, notes, |entry| draft(entry, gemini))?;
    if has_projects {
        of_projects(root, servers, &mut list, notes)?;
    }
    if gemini {
        chosen(root, &mut list);
    }
    Ok(Drafts::of(list))
}

fn draft(mut entry: Entry<'_>, gemini: bool) -> Option<Draft> {
    let kind = entry.text("type").or_else(|| entry.text("transport"));
    entry.silent(&["transport"]);
    let (reach, old) = reach(&mut entry, kind.as_deref(), gemini);
    let Some(reach) = reach else { return unreachable(entry) };
    let dialect = if gemini { Dialect::Dollar } else { Dialect::Braces };
    let mut draft = Draft::new(entry.server, dialect, reach);
    if old {
        entry.note(OLD_SSE);
    }
    draft.enabled = !entry.boolean("disabled").unwrap_or(false) && entry.boolean("enabled").unwrap_or(true);
    draft.description = entry.text("description");
    draft.timeout = entry.duration("timeout", if gemini { Unit::Milliseconds } else { Unit::Guessed });
    // Gemini's list, and Copilot's, in which `*` is all of them.
    let tools = entry.allowed("tools").filter(|tools| !tools.iter().any(|tool| tool == "*"));
    draft.include = match (entry.allowed("includeTools"), tools) {
        (Some(included), Some(tools)) => {
            Some(included.into_iter().filter(|tool| tools.contains(tool)).collect())
        }
        (included, tools) => included.or(tools),
    };
    draft.exclude = entry.texts("excludeTools");
    draft.exclude.extend(entry.texts("disabledTools"));
    entry.ignored(&["trust", "autoApprove", "alwaysAllow", "autoApproveAll"], NOT_ALLOWED);
    draft.oauth = oauth::read(&mut entry, &["oauth", "auth", "authProviderType"], &draft.reach);
    let accounts = "a login with a Google account is not supported; put a token into `headers`";
    entry.ignored(&["targetAudience", "targetServiceAccount"], accounts);
    entry.ignored(&["envFile"], NO_ENV_FILE);
    entry.ignored(
        &["headersHelper"],
        "programs that print headers are not supported; write the headers into `headers`",
    );
    entry.silent(&["disabled", "enabled", "name", "extensionName"]);
    entry.finish();
    Some(draft)
}

/// How it is reached, and whether that is the old HTTP+SSE transport.
fn reach(entry: &mut Entry<'_>, kind: Option<&str>, gemini: bool) -> (Option<DraftReach>, bool) {
    let kind = kind.map(|kind| kind.to_ascii_lowercase().replace(['-', '_', ' '], ""));
    let streamable = entry.text("httpUrl");
    let address = entry.text("url").or_else(|| entry.text("serverUrl"));
    entry.silent(&["url", "serverUrl"]);
    let program = stdio(entry);
    let is_http =
        matches!(kind.as_deref(), Some("http" | "streamablehttp" | "sse" | "remote" | "ws" | "websocket"));
    if program.is_some() && (streamable.is_some() || address.is_some()) {
        let which = if is_http { "address" } else { "program" };
        entry.note(format!("it has a program and an address; the {which} counts"));
    }
    match program {
        Some(program) if !(is_http && (streamable.is_some() || address.is_some())) => {
            entry.silent(&["headers"]);
            return (Some(program), false);
        }
        _ => {}
    }
    if let Some(kind) = kind.as_deref().filter(|kind| matches!(*kind, "ws" | "websocket")) {
        entry.note(format!("the transport {} is not supported; it is imported as `http`", quoted(kind)));
    }
    if let Some(url) = streamable {
        return (Some(http(entry, url)), false);
    }
    let old = kind.as_deref() == Some("sse") || (gemini && kind.is_none());
    (address.map(|url| http(entry, url)), old)
}

/// The projects of a file that have servers of their own.
pub(crate) fn projects(root: &Map<String, Value>) -> impl Iterator<Item = (&String, &Map<String, Value>)> {
    let projects = root.get("projects").and_then(Value::as_object);
    projects.into_iter().flatten().filter_map(|(path, project)| {
        let servers = project.get("mcpServers").and_then(Value::as_object)?;
        (!servers.is_empty()).then_some((path, servers))
    })
}

/// Adds the servers of projects, which start in the directory of their project. A server that is the same everywhere is
/// imported once.
fn of_projects(
    root: &Map<String, Value>,
    global: &Map<String, Value>,
    list: &mut Vec<Draft>,
    notes: &mut Notes,
) -> Result<(), ForeignError> {
    let mut known: Vec<(&String, &Value)> = global.iter().collect();
    for (path, servers) in projects(root) {
        let fresh = |(name, server): &(&String, &Value)| !known.contains(&(*name, *server));
        let fresh: Map<String, Value> =
            servers.iter().filter(fresh).map(|(name, server)| (name.clone(), server.clone())).collect();
        let mut of_project = each(&fresh, notes, |entry| draft(entry, false))?;
        if list.len() + of_project.len() > MAX_SERVERS {
            return Err(ForeignError::TooMany { most: MAX_SERVERS });
        }
        for draft in &mut of_project {
            let starts = match &mut draft.reach {
                DraftReach::Stdio { cwd, .. } if cwd.is_none() => {
                    *cwd = Some(path.clone());
                    " and starts there"
                }
                _ => "",
            };
            let message = format!(
                "it belongs to the project {}{starts}; here every directory can use it",
                quoted(path)
            );
            notes.server(&draft.name, message);
        }
        list.extend(of_project);
        known.extend(servers);
    }
    Ok(())
}

/// What a file says of servers beside the servers themselves.
fn of_the_file(root: &Map<String, Value>, notes: &mut Notes) {
    for key in ["servers", "context_servers"].into_iter().filter(|key| root.contains_key(*key)) {
        notes.file(format!("{} is not read beside `mcpServers`; `--format` chooses another", quoted(key)));
    }
}

/// Gemini CLI's `mcp.allowed` and `mcp.excluded`: a server that it would not use is not enabled.
fn chosen(root: &Map<String, Value>, drafts: &mut [Draft]) {
    let names = |key: &str| -> Option<Vec<&str>> {
        let list = root.get("mcp")?.get(key)?.as_array()?;
        Some(list.iter().filter_map(Value::as_str).collect())
    };
    let (allowed, excluded) = (names("allowed"), names("excluded").unwrap_or_default());
    for draft in drafts {
        let name = draft.name.as_str();
        let used =
            allowed.as_ref().is_none_or(|allowed| allowed.contains(&name)) && !excluded.contains(&name);
        draft.enabled &= used;
    }
}
