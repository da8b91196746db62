//! New descriptors from a command line or an address: short, valid, with comments that say what may be changed.

mod templates;

use converse_canister::{EnsembleName, InvokerName};

use crate::draft::{Draft, DraftReach, RawText};
use crate::finish::Finisher;
use crate::name::cleaned;
use crate::note::{Note, Notes};
use crate::server::{Reach, Server};
use crate::text::{Dialect, Inputs};
use crate::validate;
use crate::variables::Variables;

/// The kind of a new ensemble.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// An MCP server that is started: program and arguments.
    Server(Vec<String>),
    /// An MCP server at an address, with headers.
    Url(String, Vec<(String, String)>),
    /// A program as a tool; `{name}` in a word is an argument of the call.
    Command(Vec<String>),
    /// An HTTP request as a tool: method, URL with `{name}` for arguments, headers.
    Http(String, String, Vec<(String, String)>),
}

/// A new ensemble.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sketch {
    pub name: String,
    pub description: Option<String>,
    pub kind: Kind,
}

/// A file of a new ensemble.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SketchFile {
    /// Below the directory of ensembles, with `/` between its parts.
    pub path: String,
    pub text: String,
}

/// Why a sketch cannot be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadSketch {
    #[error("{0}")]
    Name(String),
    #[error("the program is missing")]
    NoProgram,
    /// The messages of `ensembles check`.
    #[error("the descriptor would not be valid: {}", .0.join("; "))]
    Unsound(Vec<String>),
}

impl Sketch {
    /// The files of the ensemble, the descriptor first, and notes. `ensembles check` finds no error in the files.
    ///
    /// What looks like a secret is replaced by a variable, which a note names.
    pub fn files(&self) -> Result<(Vec<SketchFile>, Vec<Note>), BadSketch> {
        EnsembleName::new(self.name.as_str()).map_err(|bad| BadSketch::Name(bad.to_string()))?;
        let mut notes = Notes::default();
        let server = self.server(&mut notes)?;
        let files = match &self.kind {
            Kind::Server(_) | Kind::Url(..) => vec![self.descriptor(&templates::server(&server))],
            Kind::Command(_) | Kind::Http(..) => self.tool(&server),
        };
        let problems = validate::errors(&files);
        if !problems.is_empty() {
            return Err(BadSketch::Unsound(problems));
        }
        Ok((files, notes.into_list()))
    }

    /// The server with its secrets replaced. A tool uses the same texts.
    fn server(&self, notes: &mut Notes) -> Result<Server, BadSketch> {
        let theirs = |texts: &[(String, String)]| -> Vec<(String, RawText)> {
            texts.iter().map(|(name, value)| (name.clone(), RawText::Foreign(value.clone()))).collect()
        };
        let reach = match &self.kind {
            Kind::Server(command) | Kind::Command(command) => {
                if command.first().is_none_or(|program| program.trim().is_empty()) {
                    return Err(BadSketch::NoProgram);
                }
                let command = command.iter().cloned().map(RawText::Foreign).collect();
                DraftReach::Stdio { command, environment: Vec::new(), cwd: None }
            }
            Kind::Url(url, headers) | Kind::Http(_, url, headers) => {
                DraftReach::Http { url: RawText::Foreign(url.clone()), headers: theirs(headers) }
            }
        };
        let mut draft = Draft::new(&self.name, Dialect::Braces, reach);
        draft.description.clone_from(&self.description);
        let (inputs, mut variables) = (Inputs::new(), Variables::default());
        let server = Finisher::new(&self.name, &draft, &inputs, &mut variables, notes).server();
        let server = server.ok_or(BadSketch::NoProgram)?;
        if !server.variables.is_empty() {
            let lifted = server.variables.join("`, `");
            notes.server(&self.name, format!("a possible secret is not written; set it in `{lifted}`"));
        }
        Ok(server)
    }

    fn descriptor(&self, text: &str) -> SketchFile {
        SketchFile { path: format!("{}.toml", self.name), text: text.to_owned() }
    }

    /// The descriptor, and the file of its tool.
    fn tool(&self, server: &Server) -> Vec<SketchFile> {
        let name = self.tool_name();
        let path = format!("{}/invokers/{name}.toml", self.name);
        let described =
            server.description.clone().unwrap_or_else(|| format!("What {} does, in a sentence", self.name));
        let tool = match (&self.kind, &server.reach) {
            (Kind::Http(method, ..), Reach::Http { url, headers }) => {
                templates::request(&name, &described, method, url, headers)
            }
            (_, Reach::Stdio { command, .. }) => templates::command(&name, &described, command),
            (_, Reach::Http { url, headers }) => templates::request(&name, &described, "GET", url, headers),
        };
        vec![
            self.descriptor(&templates::declared(&self.name, &described, &path)),
            SketchFile { path, text: tool },
        ]
    }

    /// The name of the tool: the program, or the method.
    fn tool_name(&self) -> String {
        let wished = match &self.kind {
            Kind::Command(argv) => {
                let program = argv.first().map_or("", String::as_str);
                program.rsplit('/').next().unwrap_or_default().to_owned()
            }
            Kind::Http(method, ..) => method.to_ascii_lowercase(),
            Kind::Server(_) | Kind::Url(..) => String::new(),
        };
        let name = cleaned(&wished);
        if InvokerName::new(name.as_str()).is_ok() && wished.starts_with(|c: char| c.is_ascii_alphanumeric())
        {
            name
        } else {
            "run".to_owned()
        }
    }
}
