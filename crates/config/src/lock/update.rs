//! The next content of a lockfile, from the current definitions.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::lock::{Change, ChangeList, Drift, DriftKind, DriftSubject, Lockfile, PinnedEnsemble, diff};

impl Lockfile {
    /// Replaces the definitions of an ensemble. Returns the differences; `None` for an ensemble that is new.
    pub fn update(&mut self, ensemble: &str, now: &PinnedEnsemble) -> Option<Vec<Drift>> {
        let Some(old) = self.ensembles.get_mut(ensemble) else {
            self.ensembles.insert(ensemble.to_owned(), now.clone());
            return None;
        };
        let drifts = old.drifts(ensemble, now);
        old.declared.clone_from(&now.declared);
        old.server.clone_from(&now.server);
        for (list, now) in &now.lists {
            if old.lists.get(list).is_none_or(|old| old.sha256() != now.sha256()) {
                old.lists.insert(*list, now.clone());
            }
        }
        old.tools.retain(|tool, _| now.tools.contains_key(tool));
        for (tool, now) in &now.tools {
            // An unchanged tool keeps its recorded form.
            if old.tools.get(tool).is_none_or(|old| old.sha256() != now.sha256()) {
                old.tools.insert(tool.clone(), now.clone());
            }
        }
        Some(drifts)
    }

    /// Removes the ensembles for which `is_gone` holds. Returns the differences.
    pub fn remove(&mut self, is_gone: impl Fn(&str) -> bool) -> Vec<Drift> {
        let mut drifts = Vec::new();
        self.ensembles.retain(|name, pinned| {
            let goes = is_gone(name);
            if goes {
                let (ensemble, subject) = (name.clone(), DriftSubject::Ensemble);
                drifts.push(Drift { ensemble, subject, kind: DriftKind::Removed });
                let without_tools = PinnedEnsemble { tools: BTreeMap::new(), ..pinned.clone() };
                drifts.extend(pinned.drifts(name, &without_tools));
            }
            !goes
        });
        drifts
    }
}

impl Drift {
    /// Returns the changes behind a drift. `next` is the updated lockfile: for a new tool, its whole definition is a change.
    pub fn changes(&self, next: &Lockfile) -> Vec<Change> {
        match (&self.kind, self.subject.tool()) {
            (DriftKind::Changed(changes), _) => changes.clone(),
            (DriftKind::Added, Some(tool)) => {
                let pinned = next.ensembles.get(&self.ensemble).and_then(|one| one.tools.get(tool));
                let definition = pinned.map(|pinned| pinned.definition());
                definition.map(|definition| diff(&empty(tool, definition), definition)).unwrap_or_default()
            }
            _ => Vec::new(),
        }
    }

    /// Formats the difference from the lockfile `file`, with one line for each changed parameter.
    pub fn lines(&self, file: &str) -> Vec<String> {
        let ensemble = &self.ensemble;
        let subject = match &self.subject {
            DriftSubject::Tool(tool) => format!("`{ensemble}.{tool}`"),
            DriftSubject::Server => format!("the server of `{ensemble}`"),
            DriftSubject::Offers(list) => format!("the {} of `{ensemble}`", list.label()),
            DriftSubject::Declared => format!("the descriptor of `{ensemble}`"),
            DriftSubject::Ensemble => format!("`{ensemble}`"),
        };
        match &self.kind {
            DriftKind::Added => vec![format!("{subject} is not in {file}")],
            DriftKind::Removed => vec![format!("{subject} is in {file} and no longer exists")],
            DriftKind::Changed(changes) => {
                let ChangeList { changes, cut } = ChangeList::of(changes.clone());
                let changed = changes.iter().map(|change| format!("{subject}: {change}"));
                changed.chain(cut.iter().map(|cut| format!("{subject}: {cut}"))).collect()
            }
        }
    }
}

/// Returns a definition with the same containers of parameters and nothing in them, so that each parameter counts as
/// added.
fn empty(tool: &str, definition: &Value) -> Value {
    let has = |pointer| definition.pointer(pointer).is_some_and(Value::is_object);
    match (has("/inputSchema"), has("/inputSchema/properties")) {
        (_, true) => json!({ "name": tool, "inputSchema": { "properties": {} } }),
        (true, false) => json!({ "name": tool, "inputSchema": {} }),
        (false, false) => json!({ "name": tool }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_tool_has_lost_nothing() {
        for definition in [
            json!({ "name": "a" }),
            json!({ "name": "a", "inputSchema": { "type": "object" } }),
            json!({ "name": "a", "inputSchema": { "type": "object", "properties": {} } }),
            json!({ "name": "a", "inputSchema": { "properties": { "x": {} } } }),
        ] {
            let changes = diff(&empty("a", &definition), &definition);
            assert!(changes.iter().all(|change| change.line.contains(" added")), "{changes:?}");
        }
    }
}
