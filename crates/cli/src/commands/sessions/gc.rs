//! `sessions gc`.

use converse_session::{Clearing, Removed};
use jiff::SignedDuration;
use serde_json::{Value, json};

use super::SessionCommands;
use crate::args::GcArgs;
use converse_host::failure::{Failure, Kind};
use converse_host::world::World;
use converse_terminal::render::output::{write_json, write_stderr, write_stdout};
use converse_text::safe_line;
use converse_text::wording::{self, counted, they_are};

impl SessionCommands<'_> {
    pub(super) fn gc(&self, args: &GcArgs) -> Result<(), Failure> {
        let clearing = clearing(args)?;
        let found = self.store.clearable(&clearing).map_err(Failure::of_session)?;
        let sessions = found.iter().filter(|one| matches!(one, Removed::Session { .. })).count();
        if args.dry_run {
            return self.report(args, &found, "would remove", "would free");
        }
        // Only conversations need a confirmation; the rest is not referred to.
        if sessions > 0 && !args.yes {
            if self.console.context.can_ask {
                write_stderr(&found.iter().map(|one| line("would remove", one)).collect::<String>());
            }
            if !self.confirmed(false, &format!("remove {} for good?", counted(sessions, "session")))? {
                self.console.note("nothing was removed");
                return Ok(());
            }
        }
        let cleared = self.store.clear(&clearing, found);
        self.report(args, &cleared.removed, "removed", "freed")?;
        if !cleared.stayed.is_empty() {
            self.console
                .note(&format!("{} left: used, or used meanwhile", they_are(cleared.stayed.len(), "thing")));
        }
        match cleared.failed.first() {
            None => Ok(()),
            Some((_, error)) => {
                let message = format!("{} could not be removed: {error}", cleared.failed.len());
                Err(Failure::new(Kind::Output, "not-removed", message))
            }
        }
    }

    fn report(&self, args: &GcArgs, removed: &[Removed], did: &str, freed: &str) -> Result<(), Failure> {
        let bytes: u64 = removed.iter().map(Removed::bytes).sum();
        if args.json {
            let rows: Vec<_> = removed.iter().map(row).collect();
            return Ok(write_json(&json!({ "dry_run": args.dry_run, "removed": rows, "bytes": bytes }))?);
        }
        let lines: String = removed.iter().map(|one| line(did, one)).collect();
        Ok(write_stdout(&format!("{lines}{freed} {}\n", wording::bytes(bytes)))?)
    }
}

fn clearing(args: &GcArgs) -> Result<Clearing, Failure> {
    let before = args.older_than.map(|hours| {
        let hours = i64::try_from(hours).unwrap_or(i64::MAX);
        World::now().checked_sub(SignedDuration::from_hours(hours))
    });
    let before = before.transpose().map_err(|error| Failure::usage("bad-time", error.to_string()))?;
    Ok(Clearing { before, keep: args.keep, empty: args.empty })
}

fn row(removed: &Removed) -> Value {
    match removed {
        Removed::Session { id, why, bytes } => {
            json!({ "kind": "session", "session": id.to_string(), "why": why, "bytes": bytes })
        }
        Removed::Content { path, bytes } => json!({ "kind": "content", "path": path, "bytes": bytes }),
        Removed::Litter { path, bytes } => json!({ "kind": "litter", "path": path, "bytes": bytes }),
    }
}

fn line(did: &str, removed: &Removed) -> String {
    format!("{did} {}, {}\n", safe_line(&removed.to_string(), usize::MAX), wording::bytes(removed.bytes()))
}
