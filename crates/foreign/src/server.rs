//! Imported servers, and the import of a file.

use std::collections::BTreeSet;
use std::time::Duration;

use converse_config::shipped;

use crate::draft::{Draft, RawText};
use crate::finish::Finisher;
use crate::format::{self, Format};
use crate::name::Names;
use crate::note::{Note, Notes};
use crate::text::{Inputs, Piece};
use crate::validate;
use crate::variables::Variables;

/// The largest file, in bytes.
pub const MAX_BYTES: usize = 1024 * 1024;
/// The largest number of servers in a file.
pub const MAX_SERVERS: usize = 256;

/// Why a file cannot be imported. Holds no text of the file but names of keys.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ForeignError {
    #[error("the file is larger than {most} bytes")]
    TooLarge { most: usize },
    #[error("line {line}, column {column}: this is not {what}: {reason}")]
    Syntax { what: &'static str, line: usize, column: usize, reason: String },
    #[error(
        "this is neither JSON (as mcp-servers, gemini, vscode, opencode, zed and list are; it does not begin with `{{`) \
         nor TOML (as codex is; line {line}, column {column}: {reason})"
    )]
    Neither { line: usize, column: usize, reason: String },
    #[error("the file is empty")]
    Empty,
    #[error("no MCP servers were recognised in this file; name its format if it has some")]
    Unknown,
    #[error("the file has no `{key}` with servers in it, as the format `{format}` has")]
    Missing { format: &'static str, key: &'static str },
    #[error("the file has more than {most} servers")]
    TooMany { most: usize },
    #[error("this is the manifest of an `.mcpb` bundle: import the bundle itself")]
    NotTheBundle,
}

/// The servers of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Imported {
    pub format: Format,
    /// In the order of the file; no two of one name.
    pub servers: Vec<Server>,
    pub notes: Vec<Note>,
}

impl Imported {
    /// Keeps only the named servers, by their names in the file or here, and the notes about them. Keeps all without names.
    ///
    /// # Errors
    ///
    /// Returns the first name that is not in the file.
    pub fn select(&mut self, names: &[String]) -> Result<(), String> {
        if names.is_empty() {
            return Ok(());
        }
        let is_called = |server: &Server, name: &String| server.original == *name || server.name == *name;
        for name in names {
            let is_left_out = self.notes.iter().any(|note| note.server.as_ref() == Some(name));
            if !is_left_out && !self.servers.iter().any(|server| is_called(server, name)) {
                return Err(name.clone());
            }
        }
        self.servers.retain(|server| names.iter().any(|name| is_called(server, name)));
        let servers = &self.servers;
        self.notes.retain(|note| match &note.server {
            Some(about) => names.contains(about) || servers.iter().any(|server| server.original == *about),
            None => true,
        });
        Ok(())
    }
}

/// One server; its texts are written as descriptors write them (`env:NAME`, `${NAME}`), and hold no secret.
#[derive(Debug, Clone, PartialEq)]
pub struct Server {
    /// The name of the ensemble.
    pub name: String,
    /// The name in the file.
    pub original: String,
    pub description: Option<String>,
    pub enabled: bool,
    pub required: bool,
    pub reach: Reach,
    /// `auth = "oauth"`, and what stands in `[connection.oauth]`.
    pub oauth: Option<Oauth>,
    pub connect_timeout: Option<Duration>,
    pub timeout: Option<Duration>,
    /// Patterns over the names of tools.
    pub include: Vec<String>,
    pub exclude: Vec<String>,
    /// The environment variables that replace the secrets of the file.
    pub variables: Vec<String>,
}

impl Server {
    /// Replaces a text in the command, the environment and the directory.
    pub(crate) fn place(&mut self, from: &str, to: &str) {
        let Reach::Stdio { command, environment, cwd } = &mut self.reach else { return };
        let values = environment.iter_mut().map(|(_, value)| value);
        command.iter_mut().chain(values).chain(cwd).for_each(|text| *text = text.replace(from, to));
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum Reach {
    Stdio { command: Vec<String>, environment: Vec<(String, String)>, cwd: Option<String> },
    Http { url: String, headers: Vec<(String, String)> },
}

/// The OAuth client of a server.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Oauth {
    pub client_id: Option<String>,
    pub client_secret: Option<String>,
    pub scopes: Vec<String>,
    pub client_metadata_url: Option<String>,
    pub redirect_port: Option<u16>,
}

/// The result of the reader of a format.
pub(crate) struct Drafts {
    pub(crate) format: Format,
    pub(crate) list: Vec<Draft>,
    pub(crate) inputs: Inputs,
}

impl Drafts {
    /// The format is filled in by whoever chose the reader.
    pub(crate) fn of(list: Vec<Draft>) -> Self {
        Self { format: Format::McpServers, list, inputs: Inputs::new() }
    }
}

/// Reads the configuration file of another program; `hint` says of which, if it is known.
///
/// A server that converse could not use is left out with a note; each one that is given is a descriptor without errors.
pub fn read(text: &str, hint: Option<Format>) -> Result<Imported, ForeignError> {
    if text.len() > MAX_BYTES {
        return Err(ForeignError::TooLarge { most: MAX_BYTES });
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut notes = Notes::default();
    let drafts = format::drafts(text, hint, &mut notes)?;
    Ok(imported(&drafts, notes))
}

pub(crate) fn imported(drafts: &Drafts, mut notes: Notes) -> Imported {
    let servers = finished(drafts, &mut notes);
    Imported { format: drafts.format, servers, notes: notes.into_list() }
}

fn finished(drafts: &Drafts, notes: &mut Notes) -> Vec<Server> {
    let mut variables = Variables::referring(referred(drafts));
    let mut names = Names::of(drafts.list.iter().map(|draft| draft.name.as_str()));
    let mut seen = BTreeSet::new();
    let mut servers = Vec::new();
    for draft in &drafts.list {
        let name = names.give(&draft.name, seen.insert(draft.name.to_ascii_lowercase()));
        if name != draft.name {
            notes.server(&draft.name, format!("it is called `{name}` here"));
        }
        let mut finisher = Finisher::new(&name, draft, &drafts.inputs, &mut variables, notes);
        let Some(server) = finisher.server() else { continue };
        if let Err(why) = validate::server(&server) {
            notes.server(&draft.name, format!("it is left out: {why}"));
            continue;
        }
        note_next_steps(&server, notes);
        servers.push(server);
    }
    servers
}

fn note_next_steps(server: &Server, notes: &mut Notes) {
    if !server.variables.is_empty() {
        let names: Vec<String> = server.variables.iter().map(|name| format!("`{name}`")).collect();
        let names = names.join(", ");
        let message = format!("possible secrets are not imported; set them in {names}");
        notes.server(&server.original, message);
    }
    if server.oauth.is_some() {
        let message = format!("it uses OAuth: run `converse ensembles login {}`", server.name);
        notes.server(&server.original, message);
    }
    if shipped().iter().any(|(path, _)| path.strip_suffix(".toml") == Some(&server.name)) {
        notes.server(&server.original, format!("it replaces the built-in ensemble `{}`", server.name));
    }
}

/// The variables that the file refers to and does not define.
fn referred(drafts: &Drafts) -> BTreeSet<String> {
    let names = |draft: &Draft, written: &RawText| -> Vec<String> {
        let text = match written {
            RawText::Foreign(text) => draft.dialect.parse(text, &drafts.inputs),
            RawText::Parsed(text) => text.clone(),
        };
        let name = |piece| if let Piece::Variable { name, .. } = piece { Some(name) } else { None };
        text.into_iter().filter_map(name).collect()
    };
    let of_draft = |draft: &Draft| -> Vec<String> {
        let of_words = draft.words().iter().flat_map(|word| names(draft, word));
        let mut all: Vec<String> = of_words.filter(|name| !draft.defines(name)).collect();
        all.extend(draft.texts().into_iter().flat_map(|written| names(draft, written)));
        all
    };
    drafts.list.iter().flat_map(of_draft).collect()
}
