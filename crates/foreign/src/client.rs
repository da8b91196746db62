//! The entry with which another program uses the gateway (`converse serve`).
//!
//! | program | file | documented at (checked 2026-11) |
//! | --- | --- | --- |
//! | Claude Code | `.mcp.json` | <https://code.claude.com/docs/en/mcp> |
//! | Claude Desktop | `claude_desktop_config.json` | <https://modelcontextprotocol.io/docs/develop/connect-local-servers> |
//! | codex | `~/.codex/config.toml` | <https://developers.openai.com/codex/mcp> |
//! | Cursor | `.cursor/mcp.json` | <https://cursor.com/docs/mcp> |
//! | Gemini CLI | `~/.gemini/settings.json` | <https://geminicli.com/docs/tools/mcp-server> |
//! | opencode | `opencode.json` | <https://opencode.ai/docs/mcp-servers> |
//! | VS Code | `.vscode/mcp.json` | <https://code.visualstudio.com/docs/reference/mcp-configuration> |
//! | Windsurf | `~/.codeium/windsurf/mcp_config.json` | <https://docs.windsurf.com/windsurf/cascade/mcp> |
//! | Zed | `~/.config/zed/settings.json` | <https://zed.dev/docs/ai/mcp> |

mod merge;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value, json};

use crate::toml_text::{list, quoted};

pub use merge::{MergeError, Merged};

/// The variable with the token of a gateway over HTTP.
const TOKEN: &str = "CONVERSE_TOKEN";

/// The name of the gateway in the file of a program.
const NAME: &str = "converse";

/// The variables that codex passes on to every server; `env_vars` names others.
const CODEX_PASSES: [&str; 11] = [
    "HOME",
    "LANG",
    "LC_ALL",
    "LOGNAME",
    "PATH",
    "SHELL",
    "TERM",
    "TMPDIR",
    "TZ",
    "USER",
    "__CF_USER_TEXT_ENCODING",
];

/// A program that can use the gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Client {
    ClaudeCode,
    ClaudeDesktop,
    Codex,
    Cursor,
    Gemini,
    OpenCode,
    VsCode,
    Windsurf,
    Zed,
}

/// How a program reaches the gateway.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GatewayAddress {
    /// The program starts it with these words, of which the first is the path of converse. The gateway needs these
    /// variables.
    Command { words: Vec<String>, variables: Vec<String> },
    /// It runs at this address.
    Url(String),
}

impl GatewayAddress {
    /// A gateway that the program at this path is, with these options of `serve`, each with its values.
    pub fn command(program: String, options: &[(&str, &[String])], variables: Vec<String>) -> Self {
        let mut words = vec![program, "serve".to_owned()];
        for (option, values) in options {
            words.extend(values.iter().flat_map(|value| [(*option).to_owned(), value.clone()]));
        }
        Self::Command { words, variables }
    }
}

/// Where the file of a program is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientPlace {
    /// In the directory of a project.
    Project(&'static str),
    /// In the home of the user.
    Home(&'static str),
}

impl Client {
    pub const ALL: [Self; 9] = [
        Self::ClaudeCode,
        Self::ClaudeDesktop,
        Self::Codex,
        Self::Cursor,
        Self::Gemini,
        Self::OpenCode,
        Self::VsCode,
        Self::Windsurf,
        Self::Zed,
    ];

    /// The name of its flag.
    pub fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::ClaudeDesktop => "claude-desktop",
            Self::Codex => "codex",
            Self::Cursor => "cursor",
            Self::Gemini => "gemini",
            Self::OpenCode => "opencode",
            Self::VsCode => "vscode",
            Self::Windsurf => "windsurf",
            Self::Zed => "zed",
        }
    }

    /// The file that the entry belongs to.
    pub fn file(self) -> &'static str {
        match self {
            Self::ClaudeCode => "`.mcp.json` of a project",
            Self::ClaudeDesktop => "`claude_desktop_config.json`",
            Self::Codex => "`~/.codex/config.toml`",
            Self::Cursor => "`.cursor/mcp.json` of a project, or `~/.cursor/mcp.json`",
            Self::Gemini => "`.gemini/settings.json` of a project, or `~/.gemini/settings.json`",
            Self::OpenCode => "`opencode.json` of a project",
            Self::VsCode => "`.vscode/mcp.json` of a project",
            Self::Windsurf => "`~/.codeium/windsurf/mcp_config.json`",
            Self::Zed => "`~/.config/zed/settings.json`",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|client| client.name() == name)
    }

    /// Where its file is by default.
    pub fn place(self) -> ClientPlace {
        match self {
            Self::ClaudeCode => ClientPlace::Project(".mcp.json"),
            Self::ClaudeDesktop => ClientPlace::Home(".config/Claude/claude_desktop_config.json"),
            Self::Codex => ClientPlace::Home(".codex/config.toml"),
            Self::Cursor => ClientPlace::Project(".cursor/mcp.json"),
            Self::Gemini => ClientPlace::Project(".gemini/settings.json"),
            Self::OpenCode => ClientPlace::Project("opencode.json"),
            Self::VsCode => ClientPlace::Project(".vscode/mcp.json"),
            Self::Windsurf => ClientPlace::Home(".codeium/windsurf/mcp_config.json"),
            Self::Zed => ClientPlace::Home(".config/zed/settings.json"),
        }
    }

    /// The text of a file with the gateway as its only server. The token of a gateway at an address is read from
    /// `CONVERSE_TOKEN`, in the form of the program.
    ///
    /// # Errors
    ///
    /// Why the program cannot use the gateway in this way.
    pub fn entry(self, gateway: &GatewayAddress) -> Result<String, String> {
        let entry = self.server(gateway)?;
        Ok(match self {
            Self::Codex => entry.as_str().unwrap_or_default().to_owned(),
            _ => format!("{:#}\n", Value::Object(self.file_of(entry, gateway))),
        })
    }

    /// Adds the entry to the text of the program's file, and leaves everything else as it is. With `force` it replaces
    /// another entry of that name.
    ///
    /// # Errors
    ///
    /// The file cannot be read, has another entry of that name, or has a form to which nothing can be added.
    pub fn merged(self, text: &str, gateway: &GatewayAddress, force: bool) -> Result<Merged, MergeError> {
        let entry = self.server(gateway).map_err(MergeError::Unusable)?;
        if self != Self::Codex && text.trim().is_empty() {
            return self.entry(gateway).map(Merged::Added).map_err(MergeError::Unusable);
        }
        match &entry {
            Value::String(table) => merge::toml(text, table, ["mcp_servers", NAME]),
            _ => merge::json(text, &self.file_of(entry, gateway), force),
        }
    }

    /// The file of a program with this server alone.
    fn file_of(self, entry: Value, gateway: &GatewayAddress) -> Map<String, Value> {
        let key = match self {
            Self::OpenCode => "mcp",
            Self::VsCode => "servers",
            Self::Zed => "context_servers",
            _ => "mcpServers",
        };
        let mut file = Map::from_iter([(key.to_owned(), json!({ NAME: entry }))]);
        if self == Self::VsCode && matches!(gateway, GatewayAddress::Url(_)) {
            let input = json!([{
                "type": "promptString", "id": "converse-token", "description": "Token of the gateway", "password": true,
            }]);
            file.insert("inputs".to_owned(), input);
        }
        file
    }

    /// The value of the entry; for TOML, its text.
    fn server(self, gateway: &GatewayAddress) -> Result<Value, String> {
        match gateway {
            GatewayAddress::Command { words, variables } => Ok(self.command(words, variables)),
            GatewayAddress::Url(url) => self.address(url),
        }
    }

    fn command(self, words: &[String], variables: &[String]) -> Value {
        let (program, arguments) = words.split_first().map_or(("", &[][..]), |(first, rest)| (first, rest));
        match self {
            Self::Codex => {
                let (program, arguments) = (quoted(program), list(arguments));
                let passed: Vec<String> =
                    variables.iter().filter(|name| !CODEX_PASSES.contains(&name.as_str())).cloned().collect();
                let passed = match passed.is_empty() {
                    true => String::new(),
                    false => format!("env_vars = {}\n", list(&passed)),
                };
                format!("[mcp_servers.converse]\ncommand = {program}\nargs = {arguments}\n{passed}").into()
            }
            Self::OpenCode => json!({ "type": "local", "command": words }),
            Self::VsCode => json!({ "type": "stdio", "command": program, "args": arguments }),
            _ => json!({ "command": program, "args": arguments }),
        }
    }

    fn address(self, url: &str) -> Result<Value, String> {
        let bearer = |reference: String| json!({ "Authorization": format!("Bearer {reference}") });
        Ok(match self {
            Self::ClaudeCode => {
                json!({ "type": "http", "url": url, "headers": bearer(format!("${{{TOKEN}}}")) })
            }
            Self::Codex => {
                let url = quoted(url);
                format!("[mcp_servers.converse]\nurl = {url}\nbearer_token_env_var = \"{TOKEN}\"\n").into()
            }
            Self::Cursor => json!({ "url": url, "headers": bearer(format!("${{env:{TOKEN}}}")) }),
            Self::Gemini => json!({ "httpUrl": url, "headers": bearer(format!("${TOKEN}")) }),
            Self::OpenCode => {
                json!({ "type": "remote", "url": url, "headers": bearer(format!("{{env:{TOKEN}}}")) })
            }
            Self::VsCode => {
                json!({ "type": "http", "url": url, "headers": bearer("${input:converse-token}".to_owned()) })
            }
            Self::Windsurf => json!({ "serverUrl": url, "headers": bearer(format!("${{env:{TOKEN}}}")) }),
            Self::ClaudeDesktop => {
                return Err("Claude Desktop starts servers only as programs: leave `--url` out".to_owned());
            }
            Self::Zed => {
                return Err(
                    "Zed reads no token from a variable: leave `--url` out, or write the entry by hand"
                        .to_owned(),
                );
            }
        })
    }
}
