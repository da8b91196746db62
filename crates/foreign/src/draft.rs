//! A server as the other program means it, before names, references and secrets are looked at.
//!
//! It may hold secrets, so nothing here can be printed.

use std::time::Duration;

use crate::text::{Dialect, Text};

/// A text of the file, or one that is converse's already.
#[derive(Clone)]
pub(crate) enum Written {
    Theirs(String),
    Ours(Text),
}

/// Values by the names of their keys.
pub(crate) type Named = Vec<(String, Written)>;

pub(crate) enum DraftReach {
    Stdio { command: Vec<Written>, environment: Named, cwd: Option<String> },
    Http { url: Written, headers: Named },
}

/// How tokens are had; everything may be missing.
#[derive(Default)]
pub(crate) struct DraftOauth {
    pub(crate) client_id: Option<Written>,
    pub(crate) client_secret: Option<Written>,
    pub(crate) scopes: Vec<String>,
    pub(crate) client_metadata_url: Option<String>,
    pub(crate) redirect_port: Option<u16>,
}

pub(crate) struct Draft {
    /// As the file has it.
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
    /// Names of tools, no patterns. All if nothing is said, none if the list is empty.
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

    /// Of one over stdio.
    pub(crate) fn words(&self) -> &[Written] {
        match &self.reach {
            DraftReach::Stdio { command, .. } => command,
            DraftReach::Http { .. } => &[],
        }
    }

    /// Does it give its program a variable of this name?
    pub(crate) fn defines(&self, variable: &str) -> bool {
        match &self.reach {
            DraftReach::Stdio { environment, .. } => environment.iter().any(|(name, _)| name == variable),
            DraftReach::Http { .. } => false,
        }
    }

    /// Everything but its words that may refer to variables.
    pub(crate) fn texts(&self) -> Vec<&Written> {
        let mut texts: Vec<&Written> = match &self.reach {
            DraftReach::Stdio { environment, .. } => environment.iter().map(|(_, value)| value).collect(),
            DraftReach::Http { url, headers } => {
                std::iter::once(url).chain(headers.iter().map(|(_, value)| value)).collect()
            }
        };
        texts.extend(self.oauth.iter().flat_map(|oauth| oauth.client_id.iter().chain(&oauth.client_secret)));
        texts
    }
}
