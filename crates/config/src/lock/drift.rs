//! The differences between the accepted and the current state of an ensemble, tool by tool.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::lock::{Change, OfferList, PinnedEnsemble, PinnedTool, Server, diff};

/// One difference from the lockfile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drift {
    pub ensemble: String,
    pub subject: DriftSubject,
    pub kind: DriftKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DriftSubject {
    /// The ensemble as a whole.
    Ensemble,
    /// The descriptor of the ensemble, apart from its tools.
    Declared,
    Server,
    Offers(OfferList),
    Tool(String),
}

impl DriftSubject {
    pub fn tool(&self) -> Option<&str> {
        match self {
            Self::Tool(name) => Some(name),
            _ => None,
        }
    }

    /// Returns the name in JSON.
    pub fn label(&self) -> &'static str {
        match self {
            Self::Ensemble => "ensemble",
            Self::Declared => "declared",
            Self::Server => "server",
            Self::Offers(list) => list.label(),
            Self::Tool(_) => "tool",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DriftKind {
    /// Not in the lockfile.
    Added,
    /// Only in the lockfile.
    Removed,
    Changed(Vec<Change>),
}

impl DriftKind {
    /// Returns the name in JSON.
    pub fn label(&self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Changed(_) => "changed",
        }
    }
}

impl PinnedEnsemble {
    /// Returns the lists of `found` that have entries and are not pinned.
    pub fn unpinned_lists(&self, found: &Self) -> Vec<OfferList> {
        let has_entries =
            |one: &PinnedTool| one.definition().as_object().is_some_and(|entries| !entries.is_empty());
        let unpinned = found.lists.iter().filter(|(list, _)| !self.lists.contains_key(list));
        unpinned.filter(|(_, one)| has_entries(one)).map(|(list, _)| *list).collect()
    }

    /// Returns the differences of `found`: the descriptor, the server, its lists, then each tool.
    pub fn drifts(&self, ensemble: &str, found: &Self) -> Vec<Drift> {
        let drift = |subject, kind| Drift { ensemble: ensemble.to_owned(), subject, kind };
        let of_tool = |name: &String, kind| drift(DriftSubject::Tool(name.clone()), kind);
        let mut drifts = Vec::new();
        let of_declared = declared_changes(self.declared.as_ref(), found.declared.as_ref());
        if !of_declared.is_empty() {
            drifts.push(drift(DriftSubject::Declared, DriftKind::Changed(of_declared)));
        }
        let of_server = server_changes(self.server.as_ref(), found.server.as_ref());
        if !of_server.is_empty() {
            drifts.push(drift(DriftSubject::Server, DriftKind::Changed(of_server)));
        }
        for (list, old) in &self.lists {
            // A list that cannot be read now is no difference.
            if let Some(new) = found.lists.get(list).filter(|new| new.sha256() != old.sha256()) {
                let changes = diff(old.definition(), new.definition());
                drifts.push(drift(DriftSubject::Offers(*list), DriftKind::Changed(changes)));
            }
        }
        let names: BTreeSet<&String> = self.tools.keys().chain(found.tools.keys()).collect();
        for name in names {
            match (self.tools.get(name), found.tools.get(name)) {
                (Some(old), Some(new)) if old.sha256() != new.sha256() => {
                    let changes = diff(old.definition(), new.definition());
                    drifts.push(of_tool(name, DriftKind::Changed(changes)));
                }
                (None, Some(_)) => drifts.push(of_tool(name, DriftKind::Added)),
                (Some(_), None) => drifts.push(of_tool(name, DriftKind::Removed)),
                _ => {}
            }
        }
        drifts
    }
}

/// Compares descriptors. If the lockfile has none, everything declared is a change.
fn declared_changes(old: Option<&Value>, new: Option<&Value>) -> Vec<Change> {
    let empty = Value::Object(Map::new());
    diff(old.unwrap_or(&empty), new.unwrap_or(&empty))
}

/// Compares a server's name and instructions. A new version with the same tools is not drift: servers over HTTP are
/// updated often.
fn server_changes(old: Option<&Server>, new: Option<&Server>) -> Vec<Change> {
    let compared = |server: Option<&Server>| {
        serde_json::json!({
            "server": server.map(|server| &server.name),
            "instructions (sha256)": server.and_then(|server| server.instructions),
        })
    };
    diff(&compared(old), &compared(new))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::lock::{PinnedTool, digest};

    fn pinned(tools: &[(&str, i32)]) -> PinnedEnsemble {
        let tool = |(name, version): &(&str, i32)| {
            ((*name).to_owned(), PinnedTool::new(json!({ "name": name, "_meta": version })))
        };
        PinnedEnsemble { tools: tools.iter().map(tool).collect(), ..PinnedEnsemble::default() }
    }

    #[test]
    fn tools_are_compared_by_name() {
        let (old, new) =
            (pinned(&[("a", 1), ("b", 1), ("gone", 1)]), pinned(&[("a", 1), ("b", 2), ("new", 1)]));
        let drifts = old.drifts("e", &new);
        let found: Vec<_> = drifts.iter().map(|drift| (drift.subject.tool(), &drift.kind)).collect();
        let line = Change { pointer: "/_meta".into(), line: "_meta: 1 → 2".into() };
        assert_eq!(
            found,
            [
                (Some("b"), &DriftKind::Changed(vec![line])),
                (Some("gone"), &DriftKind::Removed),
                (Some("new"), &DriftKind::Added),
            ]
        );
        assert_eq!(old.drifts("e", &old), []);
    }

    #[test]
    fn a_pinned_list_is_compared_and_another_one_is_no_difference() {
        let with = |prompts: Value| PinnedEnsemble {
            lists: [(OfferList::Prompts, PinnedTool::new(prompts))].into(),
            ..pinned(&[])
        };
        let old = with(json!({ "greet": { "name": "greet", "description": "Greets" } }));
        let new =
            with(json!({ "greet": { "name": "greet", "description": "Sends" }, "bye": { "name": "bye" } }));
        let [
            Drift {
                subject: DriftSubject::Offers(OfferList::Prompts),
                kind: DriftKind::Changed(changes),
                ..
            },
        ] = &old.drifts("e", &new)[..]
        else {
            panic!("{:?}", old.drifts("e", &new))
        };
        let lines: Vec<&str> = changes.iter().map(|change| change.line.as_str()).collect();
        assert!(lines.iter().any(|line| line.contains("bye")) && lines.len() == 2, "{lines:?}");
        let before = pinned(&[]);
        assert_eq!((before.drifts("e", &new), new.drifts("e", &before)), (vec![], vec![]));
        assert_eq!(before.unpinned_lists(&new), [OfferList::Prompts]);
        assert_eq!(before.unpinned_lists(&with(json!({}))), []);
        assert_eq!(old.unpinned_lists(&new), []);
    }

    #[test]
    fn a_server_is_its_name_and_its_instructions() {
        let server = Server {
            name: "s".into(),
            version: "1".into(),
            protocol: Some("2025-11-25".into()),
            instructions: None,
        };
        let with = |server: Server| PinnedEnsemble { server: Some(server), ..pinned(&[]) };
        let old = with(server.clone());
        let same = Server { version: "2".into(), protocol: Some("2026-07-28".into()), ..server.clone() };
        assert_eq!(old.drifts("e", &with(same)), []);
        for (new, expected) in [
            (Server { name: "t".into(), ..server.clone() }, "server: \"s\" → \"t\""),
            (Server { instructions: Some(digest(&json!(""))), ..server }, "instructions (sha256): null → "),
        ] {
            let drifts = old.drifts("e", &with(new));
            let [Drift { subject: DriftSubject::Server, kind: DriftKind::Changed(changes), .. }] =
                &drifts[..]
            else {
                panic!("{drifts:?}")
            };
            assert!(changes[0].line.starts_with(expected), "{changes:?}");
        }
        assert_eq!(old.drifts("e", &pinned(&[])).len(), 1, "no longer a server");
    }

    #[test]
    fn what_is_declared_of_an_ensemble_counts() {
        let with = |declared| PinnedEnsemble { declared: Some(declared), ..pinned(&[("a", 1)]) };
        let old = with(json!({ "tools": { "a": { "permission": "ask" } } }));
        assert_eq!(old.drifts("e", &old), []);
        let new = with(json!({ "tools": { "a": { "permission": "allow" } } }));
        let line = |old: &PinnedEnsemble, new: &PinnedEnsemble| match &old.drifts("e", new)[..] {
            [Drift { subject: DriftSubject::Declared, kind: DriftKind::Changed(changes), .. }] => {
                changes[0].line.clone()
            }
            other => panic!("{other:?}"),
        };
        assert_eq!(line(&old, &new), "tools.a.permission: \"ask\" → \"allow\"");
        assert!(line(&pinned(&[("a", 1)]), &new).starts_with("tools added: "));
    }
}
