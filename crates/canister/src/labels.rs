//! Labels on the results of tools, and what they add up to in a conversation.
//!
//! A label says where data comes from and what in it is private. A call that sends data off the machine is judged by the
//! labels of everything that the model has seen, because nobody can tell which of it made the model write the call.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Canister;

/// Names of each kind that a conversation remembers. More of them decide nothing more.
const MAX_SEEN: usize = 100;

/// What is known about the content of a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Labels {
    pub from: Origin,
    /// What is private in it, in words: a path, or the type of a credential.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub private: Vec<String>,
}

/// Where data comes from: `workspace`, `machine`, `web:HOST`, `server:ENSEMBLE` or `program:ENSEMBLE.INVOKER`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Origin(String);

impl Origin {
    /// Files of the working directory.
    pub fn workspace() -> Self {
        Self("workspace".to_owned())
    }

    /// Programs of this machine that only read or write here.
    pub fn machine() -> Self {
        Self("machine".to_owned())
    }

    /// A host of the web.
    pub fn web(host: &str) -> Self {
        Self(format!("web:{host}"))
    }

    /// An MCP server.
    pub fn server(ensemble: &str) -> Self {
        Self(format!("server:{ensemble}"))
    }

    /// A program that exchanges data with others.
    pub fn program(tool: &str) -> Self {
        Self(format!("program:{tool}"))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether somebody else may have written the data, instructions for the model included.
    pub fn is_foreign(&self) -> bool {
        self.0 != "workspace" && self.0 != "machine"
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The labels of everything that a model has seen in a conversation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SeenData {
    foreign: BTreeSet<Origin>,
    private: BTreeSet<String>,
}

impl SeenData {
    /// Returns the labels of these canisters.
    pub fn of(canisters: &[Canister]) -> Self {
        let mut seen = Self::default();
        canisters.iter().for_each(|canister| seen.add(canister));
        seen
    }

    /// Adds the labels of a canister.
    pub fn add(&mut self, canister: &Canister) {
        let labels = match canister {
            Canister::Result(result) => &result.labels,
            Canister::Document(document) => &document.labels,
            Canister::Supervisor(_)
            | Canister::User(_)
            | Canister::Assistant(_)
            | Canister::Invocation(_) => &None,
        };
        let Some(labels) = labels else { return };
        if labels.from.is_foreign() {
            self.add_foreign(labels.from.clone());
        }
        for what in &labels.private {
            if self.private.len() < MAX_SEEN {
                self.private.insert(what.clone());
            }
        }
    }

    /// Adds where foreign text beside the conversation comes from.
    pub fn add_foreign(&mut self, from: Origin) {
        if self.foreign.len() < MAX_SEEN {
            self.foreign.insert(from);
        }
    }

    /// Where foreign data came from, in order.
    pub fn foreign(&self) -> impl Iterator<Item = &Origin> {
        self.foreign.iter()
    }

    /// What was private, in order.
    pub fn private(&self) -> impl Iterator<Item = &str> {
        self.private.iter().map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Document, InvocationId, InvocationResult, Outcome, TurnId};

    fn result(from: Origin, private: &[&str]) -> Canister {
        let labels = Labels { from, private: private.iter().map(|what| (*what).to_owned()).collect() };
        let id = InvocationId::of(TurnId(1), 0);
        Canister::Result(InvocationResult {
            labels: Some(labels),
            ..InvocationResult::new(id, Outcome::Success, "text")
        })
    }

    #[test]
    fn labels_add_up_and_own_data_is_not_foreign() {
        let document = |from: Option<Origin>| {
            let (name, mime) = ("notes.txt".to_owned(), "text/plain".to_owned());
            let labels = from.map(|from| Labels { from, private: Vec::new() });
            Canister::Document(Document { name, mime, content: Vec::new(), labels })
        };
        let seen = SeenData::of(&[
            result(Origin::workspace(), &["`.env`"]),
            result(Origin::web("example.org"), &[]),
            result(Origin::machine(), &["`.env`", "a key of AWS"]),
            document(Some(Origin::server("mail"))),
            document(None),
        ]);
        let foreign: Vec<&str> = seen.foreign().map(Origin::as_str).collect();
        assert_eq!(foreign, ["server:mail", "web:example.org"]);
        assert_eq!(seen.private().collect::<Vec<_>>(), ["`.env`", "a key of AWS"]);
    }

    #[test]
    fn there_is_an_end_to_what_is_remembered() {
        let many: Vec<Canister> = (0..200).map(|n| result(Origin::web(&n.to_string()), &[])).collect();
        assert_eq!(SeenData::of(&many).foreign().count(), MAX_SEEN);
    }

    #[test]
    fn labels_are_two_keys_in_the_journal() {
        let Canister::Result(result) = result(Origin::server("mail"), &["a key of AWS"]) else { return };
        let json = serde_json::to_value(&result.labels).unwrap();
        assert_eq!(json, serde_json::json!({ "from": "server:mail", "private": ["a key of AWS"] }));
        let old = serde_json::json!({ "id": "x", "content": [], "outcome": "success" });
        let read: InvocationResult = serde_json::from_value(old).unwrap();
        assert_eq!(read.labels, None);
    }
}
