//! What was accepted of an ensemble and what it offers now, tool by tool.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::lock::{Change, Pinned, Server, diff};

/// One thing that is not what it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drift {
    pub ensemble: String,
    pub subject: Subject,
    pub kind: Kind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// The whole of it.
    Ensemble,
    /// What its descriptor says beside its tools.
    Declared,
    Server,
    Tool(String),
}

impl Subject {
    pub fn tool(&self) -> Option<&str> {
        match self {
            Self::Tool(name) => Some(name),
            _ => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// It was never accepted.
    Added,
    /// It is there no longer.
    Removed,
    Changed(Vec<Change>),
}

impl Pinned {
    /// What `found` has otherwise: what is declared, the server, then tool by tool.
    pub fn drifts(&self, ensemble: &str, found: &Self) -> Vec<Drift> {
        let drift = |subject, kind| Drift { ensemble: ensemble.to_owned(), subject, kind };
        let of_tool = |name: &String, kind| drift(Subject::Tool(name.clone()), kind);
        let mut drifts = Vec::new();
        let of_declared = declared_changes(self.declared.as_ref(), found.declared.as_ref());
        if !of_declared.is_empty() {
            drifts.push(drift(Subject::Declared, Kind::Changed(of_declared)));
        }
        let of_server = server_changes(self.server.as_ref(), found.server.as_ref());
        if !of_server.is_empty() {
            drifts.push(drift(Subject::Server, Kind::Changed(of_server)));
        }
        let names: BTreeSet<&String> = self.tools.keys().chain(found.tools.keys()).collect();
        for name in names {
            match (self.tools.get(name), found.tools.get(name)) {
                (Some(old), Some(new)) if old.sha256() != new.sha256() => {
                    let changes = diff(old.definition(), new.definition());
                    drifts.push(of_tool(name, Kind::Changed(changes)));
                }
                (None, Some(_)) => drifts.push(of_tool(name, Kind::Added)),
                (Some(_), None) => drifts.push(of_tool(name, Kind::Removed)),
                _ => {}
            }
        }
        drifts
    }
}

/// One that a lockfile says nothing of is not taken as it is.
fn declared_changes(old: Option<&Value>, new: Option<&Value>) -> Vec<Change> {
    let nothing = Value::Object(Map::new());
    diff(old.unwrap_or(&nothing), new.unwrap_or(&nothing))
}

/// Its name and its instructions. A new version of it whose tools are the same is no drift: servers over HTTP get one
/// every day.
fn server_changes(old: Option<&Server>, new: Option<&Server>) -> Vec<Change> {
    let told = |server: Option<&Server>| {
        serde_json::json!({
            "server": server.map(|server| &server.name),
            "instructions (sha256)": server.and_then(|server| server.instructions),
        })
    };
    diff(&told(old), &told(new))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::lock::{PinnedTool, digest};

    fn pinned(tools: &[(&str, i32)]) -> Pinned {
        let tool = |(name, version): &(&str, i32)| {
            ((*name).to_owned(), PinnedTool::new(json!({ "name": name, "_meta": version })))
        };
        Pinned { tools: tools.iter().map(tool).collect(), ..Pinned::default() }
    }

    #[test]
    fn tools_are_compared_by_name() {
        let (old, new) =
            (pinned(&[("a", 1), ("b", 1), ("gone", 1)]), pinned(&[("a", 1), ("b", 2), ("new", 1)]));
        let drifts = old.drifts("e", &new);
        let told: Vec<_> = drifts.iter().map(|drift| (drift.subject.tool(), &drift.kind)).collect();
        let line = Change { pointer: "/_meta".into(), line: "_meta: 1 → 2".into() };
        assert_eq!(
            told,
            [
                (Some("b"), &Kind::Changed(vec![line])),
                (Some("gone"), &Kind::Removed),
                (Some("new"), &Kind::Added),
            ]
        );
        assert_eq!(old.drifts("e", &old), []);
    }

    #[test]
    fn a_server_is_its_name_and_its_instructions() {
        let server = Server {
            name: "s".into(),
            version: "1".into(),
            protocol: Some("2025-11-25".into()),
            instructions: None,
        };
        let with = |server: Server| Pinned { server: Some(server), ..pinned(&[]) };
        let old = with(server.clone());
        let same = Server { version: "2".into(), protocol: Some("2026-07-28".into()), ..server.clone() };
        assert_eq!(old.drifts("e", &with(same)), []);
        for (new, said) in [
            (Server { name: "t".into(), ..server.clone() }, "server: \"s\" → \"t\""),
            (Server { instructions: Some(digest(&json!(""))), ..server }, "instructions (sha256): null → "),
        ] {
            let drifts = old.drifts("e", &with(new));
            let [Drift { subject: Subject::Server, kind: Kind::Changed(changes), .. }] = &drifts[..] else {
                panic!("{drifts:?}")
            };
            assert!(changes[0].line.starts_with(said), "{changes:?}");
        }
        assert_eq!(old.drifts("e", &pinned(&[])).len(), 1, "it is no server any more");
    }

    #[test]
    fn what_is_declared_of_an_ensemble_counts() {
        let with = |declared| Pinned { declared: Some(declared), ..pinned(&[("a", 1)]) };
        let old = with(json!({ "tools": { "a": { "permission": "ask" } } }));
        assert_eq!(old.drifts("e", &old), []);
        let new = with(json!({ "tools": { "a": { "permission": "allow" } } }));
        let line = |old: &Pinned, new: &Pinned| match &old.drifts("e", new)[..] {
            [Drift { subject: Subject::Declared, kind: Kind::Changed(changes), .. }] => {
                changes[0].line.clone()
            }
            other => panic!("{other:?}"),
        };
        assert_eq!(line(&old, &new), "tools.a.permission: \"ask\" → \"allow\"");
        assert!(line(&pinned(&[("a", 1)]), &new).starts_with("tools added: "));
    }
}
