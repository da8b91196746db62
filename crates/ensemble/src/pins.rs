//! Pins: only tools, prompts and resources that the user has accepted are offered.
//!
//! Every list of tools is checked: the first one, one of an earlier run, and one that changed during a session. Tools that
//! are held back stay known, so that a call of one can be answered with the reason.

use std::collections::BTreeMap;
use std::path::Path;

use converse_canister::{Digest, InvokerName};
use converse_config::{Origin, Scope};

use crate::Tool;

/// The tools, or what else has a name, that an ensemble may offer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Pins<N = InvokerName> {
    /// Any tools.
    #[default]
    Free,
    /// Exactly these tools. Others are held back.
    Accepted(BTreeMap<N, Digest>),
    /// It is unknown what was accepted: all tools are held back.
    Unknown,
}

/// Why a tool is held back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum HoldReason {
    /// The tool has changed since it was accepted.
    Changed,
    /// The tool was never accepted.
    New,
    /// It is unknown what was accepted.
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
}

impl<N: Ord> Pins<N> {
    /// Returns why a tool would be held back. A tool whose definition is unknown yet is judged by its name only.
    pub fn hold_reason(&self, invoker: &N, digest: impl FnOnce() -> Option<Digest>) -> Option<HoldReason> {
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

/// Returns the command that accepts the tools of a descriptor.
pub fn accepting(origin: &Origin) -> String {
    let directory = Path::new(&origin.file).parent().map(Path::to_string_lossy).unwrap_or_default();
    format!("converse ensembles lock{} --accept", lock_flag(origin.scope, &directory))
}

/// Returns the flag of `converse ensembles lock` for this directory of ensembles, or nothing if it is found without one.
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

    /// Returns the reason in words for people and models.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Changed => "it is not what it was when it was accepted",
            Self::New => "it was never accepted",
            Self::Unknown => "the lockfile is damaged, so the accepted definitions are unknown",
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
