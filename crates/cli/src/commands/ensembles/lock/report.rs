//! The output of `lock`: a diff for people, JSON for programs.

use converse_config::lock::{Change, ChangeList, Drift, DriftKind, DriftSubject};
use serde_json::{Value, json};

use converse_host::lockfiles::Proposal;
use converse_text::safe_line;
use converse_text::wording::counted;

/// The length of a name, in characters.
const NAME: usize = 128;

/// The changes that need consent, one lockfile after the other.
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
            "  - ensemble {}: it is not connected, and is removed\n",
            safe_line(name, NAME)
        ));
    }
    for drift in &proposal.drifts {
        text.push_str(&format!("  {}\n", headline(drift)));
        let shown = ChangeList::of(drift.changes(&proposal.next));
        text.extend(shown.changes.iter().map(|change| format!("      {change}\n")));
        text.extend(shown.cut.iter().map(|cut| format!("      … {cut}; `--json` has all of it\n")));
    }
    text
}

/// The parts that [`changes`] truncates.
pub(super) fn unshown(proposals: &[Proposal<'_>]) -> Vec<String> {
    let of = |proposal: &Proposal<'_>| -> Vec<String> {
        let of_drift = |drift: &Drift| -> Vec<String> {
            let cut = ChangeList::of(drift.changes(&proposal.next)).cut;
            cut.iter().map(|cut| format!("{}: {cut}", headline(drift))).collect()
        };
        proposal.drifts.iter().flat_map(of_drift).collect()
    };
    proposals.iter().flat_map(of).collect()
}

fn headline(drift: &Drift) -> String {
    let ensemble = safe_line(&drift.ensemble, NAME);
    match &drift.subject {
        DriftSubject::Ensemble => format!("- ensemble {ensemble}: its descriptor no longer exists"),
        DriftSubject::Declared => format!("~ the descriptor of {ensemble}"),
        DriftSubject::Server => format!("~ the server of {ensemble}"),
        DriftSubject::Offers(list) => format!("~ the {} of {ensemble}", list.label()),
        DriftSubject::Tool(tool) => {
            let sign = match drift.kind {
                DriftKind::Added => "+",
                DriftKind::Removed => "-",
                DriftKind::Changed(_) => "~",
            };
            format!("{sign} {ensemble}.{}", safe_line(tool, NAME))
        }
    }
}

/// One line for each lockfile.
pub(super) fn written(proposals: &[Proposal<'_>]) -> String {
    let line = |proposal: &Proposal<'_>| {
        let name = safe_line(&proposal.locked.shown, NAME);
        let (ensembles, tools, texts) = proposal.counts();
        let state = if proposal.differs() { "written" } else { "unchanged" };
        let (ensembles, tools) = (counted(ensembles, "ensemble"), counted(tools, "tool"));
        let texts = if texts == 0 { String::new() } else { format!(", commands and skills: {texts}") };
        format!("{name}: {state}, {ensembles} with {tools}{texts}\n")
    };
    match proposals {
        [] => "there is nothing to lock: no trusted directory has ensembles, commands or skills\n".to_owned(),
        some => some.iter().map(line).collect(),
    }
}

pub(super) fn json(proposal: &Proposal<'_>, done: bool) -> Value {
    let state = match (done, proposal.differs()) {
        (true, true) => "written",
        (false, true) => "refused",
        (_, false) => "unchanged",
    };
    let (ensembles, tools, texts) = proposal.counts();
    json!({
        "file": proposal.locked.shown,
        "state": state,
        "damage": proposal.damage,
        "ensembles": ensembles,
        "tools": tools,
        "texts": texts,
        "added": proposal.added,
        "dropped": proposal.dropped,
        "drift": proposal.drifts.iter().map(|drift| drift_json(proposal, drift)).collect::<Vec<_>>(),
    })
}

fn drift_json(proposal: &Proposal<'_>, drift: &Drift) -> Value {
    let change = |change: Change| json!({ "pointer": change.pointer, "line": change.line });
    json!({
        "ensemble": drift.ensemble,
        "subject": drift.subject.label(),
        "tool": drift.subject.tool(),
        "kind": drift.kind.label(),
        "changes": drift.changes(&proposal.next).into_iter().map(change).collect::<Vec<_>>(),
    })
}
