//! `sessions check`.

use converse_session::{Checked, Uuid};
use serde_json::{Value, json};

use super::{Shelf, failed};
use crate::args::SessionsCheckArgs;
use converse_host::failure::{Failure, Kind};
use converse_host::wording::counted;
use converse_host::world::World;
use converse_terminal::render::output::{write_json, write_stdout};
use converse_text::safe_line;

impl Shelf<'_> {
    pub(super) fn check(&self, args: &SessionsCheckArgs) -> Result<(), Failure> {
        let ids = match &args.session {
            Some(text) => vec![self.named(text)?],
            None => self.store.all().map_err(failed)?,
        };
        let mut checked = Vec::with_capacity(ids.len());
        for id in ids {
            checked.push(self.one(id, args.repair)?);
        }
        let litter = if args.session.is_none() { self.litter(args.repair)? } else { Vec::new() };
        let wrong = checked.iter().filter(|one| !one.faults.is_empty()).count() + litter.len();
        if args.json {
            let mut rows: Value = checked.iter().map(row).chain(litter.iter().map(lying)).collect();
            self.console.context.redactor.clean_json(&mut rows);
            write_json(&rows)?;
        } else {
            let lines: String =
                checked.iter().map(lines).chain(litter.iter().map(|path| line(path))).collect();
            write_stdout(&self.console.context.redactor.clean(&lines))?;
            write_stdout(&format!("{}, {wrong} with something wrong\n", counted(checked.len(), "session")))?;
        }
        if wrong == 0 {
            return Ok(());
        }
        let failure = Failure::new(Kind::Output, "unsound", "something is not as it should be");
        Err(if args.repair {
            failure.hint("what is left cannot be mended; nothing of it was changed")
        } else {
            failure.hint("`--repair` mends what can be mended")
        })
    }

    fn one(&self, id: Uuid, repair: bool) -> Result<Checked, Failure> {
        let checked = if repair { self.store.mend(id, World::now()) } else { self.store.check(id) };
        checked.map_err(failed)
    }

    fn litter(&self, repair: bool) -> Result<Vec<String>, Failure> {
        if repair {
            self.store.sweep().map_err(failed)?;
        }
        Ok(self.store.litter().iter().map(|path| path.display().to_string()).collect())
    }
}

fn row(checked: &Checked) -> Value {
    let faults = checked.faults.iter();
    let faults = faults.map(|fault| json!({ "kind": fault.kind(), "message": fault.to_string() }));
    json!({
        "session": checked.id.to_string(),
        "problems": faults.collect::<Vec<_>>(),
        "mended": checked.mended,
        "notes": checked.notes,
        "in_use": checked.in_use,
        "saved_as": checked.saved_as.map(|id| id.to_string()),
    })
}

fn lying(path: &String) -> Value {
    json!({ "session": null, "problems": [{ "kind": "litter", "message": path }] })
}

fn line(path: &str) -> String {
    format!("{}\n  left by a process that was killed\n", safe_line(path, usize::MAX))
}

/// Nothing for one that is sound.
fn lines(checked: &Checked) -> String {
    let mended = checked.mended.iter().map(|what| format!("mended: {what}"));
    let known = checked.notes.iter().map(|note| format!("note: {note}"));
    let saved = checked.saved_as.iter().map(|id| {
        format!("what could be read of it is session {id}; delete this one when you no longer need it")
    });
    let faults = checked.faults.iter().map(|fault| fault.to_string());
    let all: Vec<String> = mended.chain(known).chain(saved).chain(faults).collect();
    if all.is_empty() {
        return String::new();
    }
    let in_use = if checked.in_use { " (in use)" } else { "" };
    let all: String = all.iter().map(|line| format!("  {}\n", safe_line(line, usize::MAX))).collect();
    format!("{}{in_use}\n{all}", checked.id)
}
