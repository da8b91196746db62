//! A new descriptor from nothing but a command line or an address: short, with comments that say what may be changed,
//! and sound as it is.

mod text;
mod tool;

use converse_canister::{EnsembleName, InvokerName};

use crate::accepted;
use crate::draft::{Draft, DraftReach, Written};
use crate::finish::Finisher;
use crate::name::cleaned;
use crate::note::{Note, Notes};
use crate::server::{Reach, Server};
use crate::text::{Dialect, Inputs};
use crate::variables::Variables;

/// What the new ensemble is.
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

/// An ensemble to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sketch {
    pub name: String,
    pub description: Option<String>,
    pub kind: Kind,
}

/// A file of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SketchFile {
    /// Below the directory of ensembles, with `/` between its parts.
    pub path: String,
    pub text: String,
}

/// Why there is nothing to write.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadSketch {
    #[error("{0}")]
    Name(String),
    #[error("there is no program to run")]
    NoProgram,
    /// As `ensembles check` would say it.
    #[error("the descriptor would not be valid: {}", .0.join("; "))]
    Unsound(Vec<String>),
}

impl Sketch {
    /// Its files, the descriptor first, and what is to be known of them. `ensembles check` finds no error in them.
    ///
    /// What looks like a secret is not written: a variable stands for it, and a note names it.
    pub fn files(&self) -> Result<(Vec<SketchFile>, Vec<Note>), BadSketch> {
        EnsembleName::new(self.name.as_str()).map_err(|bad| BadSketch::Name(bad.to_string()))?;
        let mut notes = Notes::default();
        let server = self.server(&mut notes)?;
        let files = match &self.kind {
            Kind::Server(_) | Kind::Url(..) => vec![self.descriptor(&text::server(&server))],
            Kind::Command(_) | Kind::Http(..) => self.tool(&server),
        };
        let problems = accepted::errors(&files);
        if !problems.is_empty() {
            return Err(BadSketch::Unsound(problems));
        }
        Ok((files, notes.into_list()))
    }

    /// What is reached, with references and secrets seen to. A tool is drawn from the same words.
    fn server(&self, notes: &mut Notes) -> Result<Server, BadSketch> {
        let theirs = |texts: &[(String, String)]| -> Vec<(String, Written)> {
            texts.iter().map(|(name, value)| (name.clone(), Written::Theirs(value.clone()))).collect()
        };
        let reach = match &self.kind {
            Kind::Server(command) | Kind::Command(command) => {
                if command.first().is_none_or(|program| program.trim().is_empty()) {
                    return Err(BadSketch::NoProgram);
                }
                let command = command.iter().cloned().map(Written::Theirs).collect();
                DraftReach::Stdio { command, environment: Vec::new(), cwd: None }
            }
            Kind::Url(url, headers) | Kind::Http(_, url, headers) => {
                DraftReach::Http { url: Written::Theirs(url.clone()), headers: theirs(headers) }
            }
        };
        let mut draft = Draft::new(&self.name, Dialect::Braces, reach);
        draft.description.clone_from(&self.description);
        let (inputs, mut variables) = (Inputs::new(), Variables::default());
        let server = Finisher::new(&self.name, &draft, &inputs, &mut variables, notes).server();
        let server = server.ok_or(BadSketch::NoProgram)?;
        if !server.lifted.is_empty() {
            let lifted = server.lifted.join("`, `");
            notes.server(
                &self.name,
                format!("what may be a secret is not written down; set `{lifted}` to it"),
            );
        }
        Ok(server)
    }

    fn descriptor(&self, text: &str) -> SketchFile {
        SketchFile { path: format!("{}.toml", self.name), text: text.to_owned() }
    }

    /// The descriptor, and the file of its one tool.
    fn tool(&self, server: &Server) -> Vec<SketchFile> {
        let name = self.tool_name();
        let path = format!("{}/invokers/{name}.toml", self.name);
        let described =
            server.description.clone().unwrap_or_else(|| format!("What {} does, in a sentence", self.name));
        let tool = match (&self.kind, &server.reach) {
            (Kind::Http(method, ..), Reach::Http { url, headers }) => {
                tool::request(&name, &described, method, url, headers)
            }
            (_, Reach::Stdio { command, .. }) => tool::command(&name, &described, command),
            (_, Reach::Http { url, headers }) => tool::request(&name, &described, "GET", url, headers),
        };
        vec![self.descriptor(&text::declared(&self.name, &described, &path)), SketchFile { path, text: tool }]
    }

    /// After the program, or the method.
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
