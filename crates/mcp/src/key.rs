//! [`Keys`]: the keys of stored data about a server, each the SHA-256 of its command or address.
//!
//! Variables are hashed by name, so that a key depends on no secret.

use std::path::Path;

use converse_canister::Digest;
use converse_config::{SecretRef, TransportPlan};
use sha2::{Digest as _, Sha256};

/// The keys of one server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Keys {
    /// Key of the era. Depends on the program.
    pub(crate) era: String,
    /// Key of the tools. Also depends on the directory and the variables or headers.
    pub(crate) list: String,
    /// Key of the tools in any directory.
    pub(crate) elsewhere: String,
}

impl Keys {
    /// Returns the key of the instructions.
    pub(crate) fn instructions(&self) -> String {
        format!("{}-instructions", self.list)
    }

    /// Computes the keys. `workspace` is the working directory of stdio servers without a `cwd`.
    pub(crate) fn of(way: &TransportPlan, workspace: &Path) -> Self {
        let (era, list, elsewhere) = match way {
            TransportPlan::Stdio { command, environment, cwd } => {
                let place = cwd.as_ref().map_or_else(|| workspace.to_owned(), |cwd| workspace.join(cwd));
                let bound = cwd.is_some() || command.iter().any(names_a_place);
                let era = format!("stdio {command:?} {:?}", bound.then_some(&place));
                let list = format!("{era} {place:?} {environment:?}");
                let elsewhere = format!("elsewhere {era} {environment:?}");
                (era, list, elsewhere)
            }
            TransportPlan::Http { url, headers } => {
                let list = format!("http {url:?} {headers:?}");
                (format!("http {url:?}"), list.clone(), list)
            }
        };
        // Earlier versions stored an era also for servers that were only slow, under the key without this word.
        Self { era: hash(&format!("answered {era}")), list: hash(&list), elsewhere: hash(&elsewhere) }
    }
}

/// Returns whether a word may be a path relative to the working directory. A wrong guess costs one extra era probe.
fn names_a_place(word: &SecretRef) -> bool {
    let SecretRef::Literal(word) = word else { return true };
    !word.starts_with(['/', '@']) && word.contains(['/', '\\', '.'])
}

fn hash(text: &str) -> String {
    Digest(Sha256::digest(text).into()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn literal(text: &str) -> SecretRef {
        SecretRef::Literal(text.to_owned())
    }

    fn stdio(command: &[&str], cwd: Option<&str>) -> TransportPlan {
        TransportPlan::Stdio {
            command: command.iter().map(|word| literal(word)).collect(),
            environment: vec![],
            cwd: cwd.map(Into::into),
        }
    }

    #[test]
    fn a_relative_command_is_another_one_elsewhere() {
        for (command, cwd, same_era) in [
            (&["npx", "-y", "@scope/server"][..], None, true),
            (&["/opt/server", "--stdio"], None, true),
            (&["/opt/server"], Some("/srv"), true),
            (&["./server"], Some("/srv"), true),
            (&["./server"], None, false),
            (&["python3", "server.py"], None, false),
            (&["node", "dist/index.js"], None, false),
            (&["/opt/server"], Some("here"), false),
            (&["/opt/server"], Some(""), false),
        ] {
            let way = stdio(command, cwd);
            let (here, there) = (Keys::of(&way, Path::new("/a")), Keys::of(&way, Path::new("/b")));
            assert_eq!(here, Keys::of(&way, Path::new("/a")));
            assert_eq!(here.era == there.era, same_era, "{command:?} {cwd:?}");
            let same_list = cwd.is_some_and(|cwd| cwd.starts_with('/'));
            assert_eq!(here.list == there.list, same_list, "{command:?} {cwd:?}");
            assert_eq!(here.elsewhere == there.elsewhere, same_era, "{command:?} {cwd:?}");
            assert_ne!(here.elsewhere, here.list);
        }
    }

    #[test]
    fn tools_may_depend_on_what_a_server_is_given() {
        let variable = |name: &str| SecretRef::Environment(name.to_owned());
        let process = |name: &str| TransportPlan::Stdio {
            command: vec![literal("server")],
            environment: vec![("KEY".to_owned(), variable(name))],
            cwd: None,
        };
        let site = |name: &str| TransportPlan::Http {
            url: literal("https://host/mcp"),
            headers: vec![("authorization".to_owned(), variable(name))],
        };
        for (one, other) in [(process("A"), process("B")), (site("A"), site("B"))] {
            let (one, other) = (Keys::of(&one, Path::new("/")), Keys::of(&other, Path::new("/")));
            assert_eq!(one.era, other.era);
            assert_ne!(one.list, other.list);
            assert_ne!(one.elsewhere, other.elsewhere);
            assert_ne!(one.list, one.era);
        }
    }
}
