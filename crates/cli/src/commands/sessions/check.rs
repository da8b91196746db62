//! `sessions check`.

use converse_session::{Checked, Fault, Uuid};
use serde_json::{Value, json};

use super::SessionCommands;
use crate::args::SessionsCheckArgs;
use converse_host::failure::{Failure, Kind};
use converse_host::world::World;
use converse_terminal::render::output::write_stdout;
use converse_text::safe_line;
use converse_text::wording::counted;

impl SessionCommands<'_> {
    pub(super) fn check(&self, args: &SessionsCheckArgs) -> Result<(), Failure> {
        let ids = match &args.session {
            Some(text) => vec![self.named(text)?],
            None => self.store.all().map_err(Failure::of_session)?,
        };
        let bar = self.console.progress_bar(ids.len(), "sessions");
        let mut checked = Vec::with_capacity(ids.len());
        for id in ids {
            checked.push(self.one(id, args.repair)?);
            bar.inc(1);
        }
        bar.finish_and_clear();
        let litter = if args.session.is_none() { self.litter(args.repair)? } else { Vec::new() };
        let is_wrong = |one: &&Checked| one.faults.iter().any(Fault::is_damage);
        let wrong = checked.iter().filter(is_wrong).count() + litter.len();
        if args.json {
            self.console
                .print_json(checked.iter().map(row).chain(litter.iter().map(litter_row)).collect())?;
        } else {
            let lines: String =
                checked.iter().map(lines).chain(litter.iter().map(|path| line(path))).collect();
            self.console.print(&lines)?;
            let problems = counted(wrong, "problem");
            write_stdout(&format!("checked {}: {problems}\n", counted(checked.len(), "session")))?;
        }
        if wrong == 0 {
            return Ok(());
        }
        let failure = Failure::new(Kind::Output, "unsound", "some sessions are damaged");
        Err(if args.repair {
            failure.hint("the remaining problems cannot be repaired; those sessions were not changed")
        } else {
            failure.hint("`--repair` repairs what can be repaired")
        })
    }

    fn one(&self, id: Uuid, repair: bool) -> Result<Checked, Failure> {
        let checked = if repair { self.store.mend(id, World::now()) } else { self.store.check(id) };
        checked.map_err(Failure::of_session)
    }

    fn litter(&self, repair: bool) -> Result<Vec<String>, Failure> {
        if repair {
            self.store.sweep().map_err(Failure::of_session)?;
        }
        Ok(self.store.litter().iter().map(|path| path.display().to_string()).collect())
    }
}

fn row(checked: &Checked) -> Value {
    let faults = checked.faults.iter().filter(|fault| fault.is_damage());
    let interrupted = checked.faults.iter().filter(|fault| !fault.is_damage()).map(Fault::to_string);
    let notes: Vec<String> = checked.notes.iter().cloned().chain(interrupted).collect();
    let faults = faults.map(|fault| json!({ "kind": fault.kind(), "message": fault.to_string() }));
    json!({
        "session": checked.id.to_string(),
        "problems": faults.collect::<Vec<_>>(),
        "mended": checked.mended,
        "notes": notes,
        "in_use": checked.in_use,
        "saved_as": checked.saved_as.map(|id| id.to_string()),
    })
}

fn litter_row(path: &String) -> Value {
    json!({ "session": null, "problems": [{ "kind": "litter", "message": path }] })
}

fn line(path: &str) -> String {
    format!("{}\n  left by a process that was killed\n", safe_line(path, usize::MAX))
}

/// The lines about a session; empty if there is nothing to report.
fn lines(checked: &Checked) -> String {
    let repaired = checked.mended.iter().map(|what| format!("repaired: {what}"));
    let notes = checked.notes.iter().map(|note| format!("note: {note}"));
    let saved = checked.saved_as.iter().map(|id| {
        format!("its readable part is now session {id}; delete this one when you no longer need it")
    });
    let faults = checked.faults.iter().map(|fault| match fault.is_damage() {
        true => fault.to_string(),
        false => format!("note: {fault}"),
    });
    let all: Vec<String> = repaired.chain(notes).chain(saved).chain(faults).collect();
    if all.is_empty() {
        return String::new();
    }
    let in_use = if checked.in_use { " (in use)" } else { "" };
    let all: String = all.iter().map(|line| format!("  {}\n", safe_line(line, usize::MAX))).collect();
    format!("{}{in_use}\n{all}", checked.id)
}
