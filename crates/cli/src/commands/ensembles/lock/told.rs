//! What `lock` says: to people as a diff, to programs as JSON.

use converse_config::lock::{Change, Drift, Kind, Shown, Subject, diff};
use serde_json::{Value, json};

use super::proposal::Proposal;
use converse_host::wording::counted;
use converse_text::safe_line;

/// Characters of a name.
const NAME: usize = 128;

/// All that needs a yes, lockfile by lockfile.
pub(super) fn changes(proposals: &[Proposal<'_>]) -> String {
    let shown = proposals.iter().filter(|proposal| proposal.needs_consent());
    shown.map(of_lockfile).collect()
}

fn of_lockfile(proposal: &Proposal<'_>) -> String {
    let name = safe_line(&proposal.locked.shown, NAME);
    let mut text = match proposal.damage {
        Some(why) => format!("{name} is damaged: {}\n", safe_line(why, 400)),
        None => format!("{name}: {}\n", counted(proposal.drifts.len(), "change")),
    };
    for name in &proposal.dropped {
        text.push_str(&format!(
            "  - ensemble {}: it is not looked at, and drops out\n",
            safe_line(name, NAME)
        ));
    }
    for drift in &proposal.drifts {
        text.push_str(&format!("  {}\n", headline(drift)));
        let shown = Shown::of(details(drift, proposal));
        text.extend(shown.changes.iter().map(|change| format!("      {change}\n")));
        text.extend(shown.cut.iter().map(|cut| format!("      … {cut}; `--json` has all of it\n")));
    }
    text
}

/// What [`changes`] leaves out, so that nobody accepts it without knowing.
pub(super) fn unshown(proposals: &[Proposal<'_>]) -> Vec<String> {
    let of = |proposal: &Proposal<'_>| -> Vec<String> {
        let of_drift = |drift: &Drift| -> Vec<String> {
            let cut = Shown::of(details(drift, proposal)).cut;
            cut.iter().map(|cut| format!("{}: {cut}", headline(drift))).collect()
        };
        proposal.drifts.iter().flat_map(of_drift).collect()
    };
    proposals.iter().flat_map(of).collect()
}

fn headline(drift: &Drift) -> String {
    let ensemble = safe_line(&drift.ensemble, NAME);
    match &drift.subject {
        Subject::Ensemble => format!("- ensemble {ensemble}: there is no descriptor of it any more"),
        Subject::Declared => format!("~ the descriptor of {ensemble}"),
        Subject::Server => format!("~ the server of {ensemble}"),
        Subject::Tool(tool) => {
            let sign = match drift.kind {
                Kind::Added => "+",
                Kind::Removed => "-",
                Kind::Changed(_) => "~",
            };
            format!("{sign} {ensemble}.{}", safe_line(tool, NAME))
        }
    }
}

/// Of a tool that is new everything that it says: that is what would be accepted.
fn details(drift: &Drift, proposal: &Proposal<'_>) -> Vec<Change> {
    match (&drift.kind, drift.subject.tool()) {
        (Kind::Changed(changes), _) => changes.clone(),
        (Kind::Added, Some(tool)) => {
            let pinned = proposal.next.ensembles.get(&drift.ensemble).and_then(|one| one.tools.get(tool));
            pinned
                .map(|pinned| diff(&nothing(tool, pinned.definition()), pinned.definition()))
                .unwrap_or_default()
        }
        _ => Vec::new(),
    }
}

/// A tool that says nothing but its name, with what holds parameters, so that each is told as one; no more than the tool
/// itself has, or it would seem to have lost something.
fn nothing(tool: &str, definition: &Value) -> Value {
    let has = |pointer| definition.pointer(pointer).is_some_and(Value::is_object);
    match (has("/inputSchema"), has("/inputSchema/properties")) {
        (_, true) => json!({ "name": tool, "inputSchema": { "properties": {} } }),
        (true, false) => json!({ "name": tool, "inputSchema": {} }),
        (false, false) => json!({ "name": tool }),
    }
}

/// What became of each lockfile.
pub(super) fn written(proposals: &[Proposal<'_>]) -> String {
    let line = |proposal: &Proposal<'_>| {
        let name = safe_line(&proposal.locked.shown, NAME);
        let (ensembles, tools) = (proposal.next.ensembles.len(), proposal.tools());
        let state = if proposal.differs() { "written" } else { "unchanged" };
        let (ensembles, tools) = (counted(ensembles, "ensemble"), counted(tools, "tool"));
        format!("{name}: {state}, {ensembles} with {tools}\n")
    };
    match proposals {
        [] => "there is nothing to lock: no trusted directory has ensembles\n".to_owned(),
        some => some.iter().map(line).collect(),
    }
}

impl Proposal<'_> {
    pub(super) fn json(&self, done: bool) -> Value {
        let state = match (done, self.differs()) {
            (true, true) => "written",
            (false, true) => "refused",
            (_, false) => "unchanged",
        };
        json!({
            "file": self.locked.shown,
            "state": state,
            "damage": self.damage,
            "ensembles": self.next.ensembles.len(),
            "tools": self.tools(),
            "added": self.fresh,
            "dropped": self.dropped,
            "drift": self.drifts.iter().map(|drift| self.drift_json(drift)).collect::<Vec<_>>(),
        })
    }

    fn drift_json(&self, drift: &Drift) -> Value {
        let kind = match drift.kind {
            Kind::Added => "added",
            Kind::Removed => "removed",
            Kind::Changed(_) => "changed",
        };
        let subject = match drift.subject {
            Subject::Ensemble => "ensemble",
            Subject::Declared => "declared",
            Subject::Server => "server",
            Subject::Tool(_) => "tool",
        };
        let change = |change: Change| json!({ "pointer": change.pointer, "line": change.line });
        json!({
            "ensemble": drift.ensemble,
            "subject": subject,
            "tool": drift.subject.tool(),
            "kind": kind,
            "changes": details(drift, self).into_iter().map(change).collect::<Vec<_>>(),
        })
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
            let lines: Vec<String> =
                diff(&nothing("a", &definition), &definition).into_iter().map(|change| change.line).collect();
            assert!(lines.iter().all(|line| line.contains(" added")), "{lines:?}");
        }
    }
}
