//! Detects the program that a file belongs to, by its shape: files are renamed and piped.

use serde_json::{Map, Value};

use crate::formats::{codex, listed, mcp_servers, opencode, registry, vscode, zed};
use crate::note::Notes;
use crate::server::Drafts;
use crate::server::ForeignError;
use crate::tree;

/// A shape of configuration file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// `mcpServers`: Claude Desktop, Claude Code's `.mcp.json`, Cursor, Windsurf, Cline and others.
    McpServers,
    /// `mcpServers` of Gemini CLI's `settings.json`.
    Gemini,
    /// `servers` and `inputs`: VS Code's `mcp.json`.
    VsCode,
    /// `[mcp_servers.NAME]`: codex's `config.toml`.
    Codex,
    /// `mcp`: opencode's `opencode.json`.
    OpenCode,
    /// `context_servers`: Zed's `settings.json`.
    Zed,
    /// `{"servers": [{"id": …}]}`: `mcp-servers.json`.
    List,
    /// `server.json` of the MCP registry.
    Registry,
    /// An `.mcpb` bundle; its manifest alone is not enough.
    Bundle,
}

impl Format {
    /// The formats of one file of text.
    pub const ALL: [Self; 8] = [
        Self::McpServers,
        Self::Gemini,
        Self::VsCode,
        Self::Codex,
        Self::OpenCode,
        Self::Zed,
        Self::List,
        Self::Registry,
    ];

    /// The file in which a format is, for help.
    pub fn about(self) -> &'static str {
        match self {
            Self::McpServers => "`mcpServers`: Claude Desktop, Claude Code, Cursor, Windsurf and others",
            Self::Gemini => "Gemini CLI's `settings.json`",
            Self::VsCode => "VS Code's `mcp.json`",
            Self::Codex => "codex's `config.toml`",
            Self::OpenCode => "`opencode.json`",
            Self::Zed => "Zed's `settings.json`",
            Self::List => "`{\"servers\": [{\"id\": …}]}`",
            Self::Registry => "`server.json` of the MCP registry",
            Self::Bundle => "an `.mcpb` bundle",
        }
    }

    /// The name in messages and flags.
    pub fn name(self) -> &'static str {
        match self {
            Self::McpServers => "mcp-servers",
            Self::Gemini => "gemini",
            Self::VsCode => "vscode",
            Self::Codex => "codex",
            Self::OpenCode => "opencode",
            Self::Zed => "zed",
            Self::List => "list",
            Self::Registry => "server-json",
            Self::Bundle => "mcpb",
        }
    }
}

/// The servers of a file. `hint` is the format that the user named.
pub(crate) fn drafts(text: &str, hint: Option<Format>, notes: &mut Notes) -> Result<Drafts, ForeignError> {
    if text.trim().is_empty() {
        return Err(ForeignError::Empty);
    }
    let as_json = hint.map_or_else(|| tree::looks_like_json(text), |format| format != Format::Codex);
    let root = match (as_json, hint) {
        (true, _) => tree::json(text, notes)?,
        (false, Some(_)) => tree::toml(text)?,
        (false, None) => tree::toml(text).map_err(neither)?,
    };
    let format = match hint {
        Some(format) => format,
        None if !as_json => Format::Codex,
        None => detected(&root).ok_or(ForeignError::Unknown)?,
    };
    let drafts = match format {
        Format::McpServers => mcp_servers::drafts(&root, false, notes),
        Format::Gemini => mcp_servers::drafts(&root, true, notes),
        Format::VsCode => vscode::drafts(&root, notes),
        Format::Codex => codex::drafts(&root, notes),
        Format::OpenCode => opencode::drafts(&root, notes),
        Format::Zed => zed::drafts(&root, notes),
        Format::List => listed::drafts(&root, notes),
        Format::Registry => registry::drafts(&root, notes),
        Format::Bundle => Err(ForeignError::NotTheBundle),
    };
    drafts.map(|drafts| Drafts { format, ..drafts })
}

/// The error for a text that is TOML only because it does not begin like JSON.
fn neither(error: ForeignError) -> ForeignError {
    match error {
        ForeignError::Syntax { line, column, reason, .. } => ForeignError::Neither { line, column, reason },
        error => error,
    }
}

fn detected(root: &Map<String, Value>) -> Option<Format> {
    let object = |key: &str| root.get(key).and_then(Value::as_object);
    if let Some(servers) = object("mcpServers") {
        return Some(if is_gemini(root, servers) { Format::Gemini } else { Format::McpServers });
    }
    if is_registry(root) {
        return Some(Format::Registry);
    }
    if root.contains_key("manifest_version") || root.contains_key("dxt_version") {
        return Some(Format::Bundle);
    }
    if object("context_servers").is_some() {
        return Some(Format::Zed);
    }
    match root.get("servers") {
        Some(Value::Array(_)) => return Some(Format::List),
        Some(Value::Object(_)) => return Some(Format::VsCode),
        _ => {}
    }
    if let Some(mcp) = object("mcp") {
        let inner = mcp.get("servers").and_then(Value::as_object);
        let opencode = inner.unwrap_or(mcp).values().any(is_opencode) || (inner.is_none() && !mcp.is_empty());
        return Some(if opencode { Format::OpenCode } else { Format::VsCode });
    }
    if mcp_servers::projects(root).next().is_some() {
        return Some(Format::McpServers);
    }
    // `mcpServers` without the word around it.
    let bare = |value: &Value| value.get("command").or_else(|| value.get("url")).is_some();
    (!root.is_empty() && root.values().all(bare)).then_some(Format::McpServers)
}

/// A named server with packages or addresses, also as the registry's API returns it.
fn is_registry(root: &Map<String, Value>) -> bool {
    let inner = root.get("server").and_then(Value::as_object).unwrap_or(root);
    let is_list = |key: &str| inner.get(key).is_some_and(Value::is_array);
    inner.get("name").is_some_and(Value::is_string) && (is_list("packages") || is_list("remotes"))
}

/// Keys that only Gemini CLI has.
fn is_gemini(root: &Map<String, Value>, servers: &Map<String, Value>) -> bool {
    const OF_SERVERS: [&str; 5] = ["httpUrl", "includeTools", "excludeTools", "trust", "authProviderType"];
    const OF_SETTINGS: [&str; 6] =
        ["selectedAuthType", "general", "security", "ui", "tools", "contextFileName"];
    let has_one = |server: &Value| OF_SERVERS.iter().any(|key| server.get(key).is_some());
    OF_SETTINGS.iter().any(|key| root.contains_key(*key)) || servers.values().any(has_one)
}

fn is_opencode(server: &Value) -> bool {
    let kind = server.get("type").and_then(Value::as_str);
    server.get("command").is_some_and(Value::is_array) || matches!(kind, Some("local" | "remote"))
}
