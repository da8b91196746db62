//! The gate between what an ensemble offers and what was accepted of it.
//!
//! Every list of tools passes it: the first one, one from an earlier run, one that changed in mid-session. What is held
//! back stays known, so that whoever asks for it can be told why it is not there.

use std::collections::BTreeMap;
use std::path::Path;

use converse_canister::{Digest, InvokerName};
use converse_config::{Origin, Scope};

use crate::Tool;

/// What the tools of an ensemble must be.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Pins {
    /// Whatever they are.
    #[default]
    Free,
    /// Exactly these; others are held back.
    Accepted(BTreeMap<InvokerName, Digest>),
    /// It cannot be told what was accepted: all are held back.
    Unknown,
}

/// Why a tool is held back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum HoldReason {
    /// It is not what it was when it was accepted.
    Changed,
    /// It was never accepted.
    New,
    /// Nobody knows what was accepted.
    Unknown,
}

impl Pins {
    pub(crate) fn hold(&self, mut tools: Vec<Tool>, origin: &Origin) -> Vec<Tool> {
        for tool in &mut tools {
            tool.held = self.hold_reason(&tool.invoker, || Some(tool.digest()));
            tool.accepting = tool.held.map(|_| accepting(origin));
        }
        tools
    }

    /// Why a tool of this name would not be offered. A definition that nobody knows yet is held back by its name only.
    pub fn hold_reason(
        &self,
        invoker: &InvokerName,
        digest: impl FnOnce() -> Option<Digest>,
    ) -> Option<HoldReason> {
        match self {
            Self::Free => None,
            Self::Unknown => Some(HoldReason::Unknown),
            Self::Accepted(accepted) => match accepted.get(invoker) {
                None => Some(HoldReason::New),
                Some(accepted) => digest().filter(|digest| digest != accepted).map(|_| HoldReason::Changed),
            },
        }
    }
}

/// What a person must type for a tool that is held back.
pub fn accepting(origin: &Origin) -> String {
    let directory = Path::new(&origin.file).parent().map(Path::to_string_lossy).unwrap_or_default();
    format!("converse ensembles lock{} --accept", lock_flag(origin.scope, &directory))
}

/// What `converse ensembles lock` must be told to mean this directory of ensembles; nothing, if it finds it itself.
pub fn lock_flag(scope: Scope, directory: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/._-+:@%,".contains(c);
    match scope {
        Scope::Explicit if !directory.is_empty() && directory.chars().all(plain) => {
            format!(" --ensembles {directory}")
        }
        Scope::Explicit => format!(" --ensembles '{}'", directory.replace('\'', "'\\''")),
        Scope::Shipped | Scope::User | Scope::Project => String::new(),
    }
}

impl HoldReason {
    /// To a model that calls such a tool; `accepting` is what the user must type.
    pub fn message(self, tool: &str, accepting: &str) -> String {
        format!("`{tool}` is held back: {}; the user can accept it: `{accepting}`", self.reason())
    }

    /// In words for people and models.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Changed => "it is not what it was when it was accepted",
            Self::New => "it was never accepted",
            Self::Unknown => "the lockfile is damaged, so nobody knows what was accepted",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_means_the_directory_of_the_descriptor() {
        for (scope, file, wanted) in [
            (Scope::Project, "ensembles/a.toml", "converse ensembles lock --accept"),
            (Scope::User, "/home/me/.config/converse/ensembles/a.toml", "converse ensembles lock --accept"),
            (Scope::Explicit, "tools/a.toml", "converse ensembles lock --ensembles tools --accept"),
            (Scope::Explicit, "my tools/a.toml", "converse ensembles lock --ensembles 'my tools' --accept"),
            (Scope::Explicit, "it's/a.toml", "converse ensembles lock --ensembles 'it'\\''s' --accept"),
        ] {
            assert_eq!(accepting(&Origin { scope, file: file.into(), line: 1 }), wanted);
        }
    }
}
