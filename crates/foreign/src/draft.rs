//! A server as read from a file, before names, references and secrets are converted.
//!
//! It may contain secrets, so nothing here implements `Debug`.

use std::time::Duration;

use crate::text::{Dialect, Text};

/// A text of the file, or one that is parsed already.
#[derive(Clone)]
pub(crate) enum RawText {
    Foreign(String),
    Parsed(Text),
}

/// Values by the names of their keys.
pub(crate) type Named = Vec<(String, RawText)>;

pub(crate) enum DraftReach {
    Stdio { command: Vec<RawText>, environment: Named, cwd: Option<String> },
    Http { url: RawText, headers: Named },
}

/// The OAuth client; everything is optional.
#[derive(Default)]
pub(crate) struct DraftOauth {
    pub(crate) client_id: Option<RawText>,
    pub(crate) client_secret: Option<RawText>,
    pub(crate) scopes: Vec<String>,
    pub(crate) client_metadata_url: Option<String>,
    pub(crate) redirect_port: Option<u16>,
}

pub(crate) struct Draft {
    /// The name in the file.
    pub(crate) name: String,
    pub(crate) dialect: Dialect,
    pub(crate) description: Option<String>,
    pub(crate) enabled: bool,
    pub(crate) required: bool,
    pub(crate) reach: DraftReach,
    /// Only of one over HTTP.
    pub(crate) oauth: Option<DraftOauth>,
    pub(crate) connect_timeout: Option<Duration>,
    pub(crate) timeout: Option<Duration>,
    /// Names of tools, not patterns. `None`: all tools; an empty list: no tool.
    pub(crate) include: Option<Vec<String>>,
    pub(crate) exclude: Vec<String>,
}

impl Draft {
    pub(crate) fn new(name: &str, dialect: Dialect, reach: DraftReach) -> Self {
        Self {
            name: name.to_owned(),
            dialect,
            description: None,
            enabled: true,
            required: false,
            reach,
            oauth: None,
            connect_timeout: None,
            timeout: None,
            include: None,
            exclude: Vec::new(),
        }
    }

    /// The command line of a server over stdio.
    pub(crate) fn words(&self) -> &[RawText] {
        match &self.reach {
            DraftReach::Stdio { command, .. } => command,
            DraftReach::Http { .. } => &[],
        }
    }

    /// Whether the server is given a variable of this name.
    pub(crate) fn defines(&self, variable: &str) -> bool {
        match &self.reach {
            DraftReach::Stdio { environment, .. } => environment.iter().any(|(name, _)| name == variable),
            DraftReach::Http { .. } => false,
        }
    }

    /// All texts with references, except the command line.
    pub(crate) fn texts(&self) -> Vec<&RawText> {
        let mut texts: Vec<&RawText> = match &self.reach {
            DraftReach::Stdio { environment, .. } => environment.iter().map(|(_, value)| value).collect(),
            DraftReach::Http { url, headers } => {
                std::iter::once(url).chain(headers.iter().map(|(_, value)| value)).collect()
            }
        };
        texts.extend(self.oauth.iter().flat_map(|oauth| oauth.client_id.iter().chain(&oauth.client_secret)));
        texts
    }
}
