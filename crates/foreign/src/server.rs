//! A server as converse would have it, and the way from a file to all of its servers.

use std::collections::BTreeSet;
use std::time::Duration;

use converse_config::shipped;

use crate::accepted;
use crate::draft::{Draft, Written};
use crate::error::ForeignError;
use crate::finish::Finisher;
use crate::format::{self, Format};
use crate::name::Names;
use crate::note::{Note, Notes};
use crate::text::{Inputs, Piece};
use crate::variables::Variables;

/// Bytes of a file.
pub const MAX_BYTES: usize = 1024 * 1024;
/// Servers of a file.
pub const MAX_SERVERS: usize = 256;

/// What a file holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    pub format: Format,
    /// In the order of the file; no two of one name.
    pub servers: Vec<Server>,
    pub notes: Vec<Note>,
}

/// One server; its texts are written as descriptors write them (`env:NAME`, `${NAME}`), and hold no secret.
#[derive(Debug, Clone, PartialEq)]
pub struct Server {
    /// As an ensemble.
    pub name: String,
    /// As the file has it.
    pub theirs: String,
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
    /// The variables that are to hold what stood in the file and is not taken over.
    pub lifted: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Reach {
    Stdio { command: Vec<String>, environment: Vec<(String, String)>, cwd: Option<String> },
    Http { url: String, headers: Vec<(String, String)> },
}

/// How tokens are had.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Oauth {
    pub client_id: Option<String>,
    pub client_secret: Option<String>,
    pub scopes: Vec<String>,
    pub client_metadata_url: Option<String>,
    pub redirect_port: Option<u16>,
}

/// What a format's reader gives.
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
pub fn read(text: &str, hint: Option<Format>) -> Result<Found, ForeignError> {
    if text.len() > MAX_BYTES {
        return Err(ForeignError::TooLarge { most: MAX_BYTES });
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut notes = Notes::default();
    let drafts = format::drafts(text, hint, &mut notes)?;
    let servers = finished(&drafts, &mut notes);
    Ok(Found { format: drafts.format, servers, notes: notes.into_list() })
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
        if let Err(why) = accepted::server(&server) {
            notes.server(&draft.name, format!("it is left out: {why}"));
            continue;
        }
        told(&server, notes);
        servers.push(server);
    }
    servers
}

fn told(server: &Server, notes: &mut Notes) {
    if !server.lifted.is_empty() {
        let names: Vec<String> = server.lifted.iter().map(|name| format!("`{name}`")).collect();
        let names = names.join(", ");
        let message = format!("values that are or may be secret are not taken over; set {names} to them");
        notes.server(&server.theirs, message);
    }
    if server.oauth.is_some() {
        let message =
            format!("it is spoken to over OAuth: `converse ensembles login {}` logs in", server.name);
        notes.server(&server.theirs, message);
    }
    if shipped().iter().any(|(path, _)| path.strip_suffix(".toml") == Some(&server.name)) {
        notes.server(
            &server.theirs,
            format!("it replaces the ensemble `{}` that converse has itself", server.name),
        );
    }
}

/// The variables that the file refers to and does not define.
fn referred(drafts: &Drafts) -> BTreeSet<String> {
    let names = |draft: &Draft, written: &Written| -> Vec<String> {
        let text = match written {
            Written::Theirs(text) => draft.dialect.parse(text, &drafts.inputs),
            Written::Ours(text) => text.clone(),
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
