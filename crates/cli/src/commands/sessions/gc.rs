//! `sessions gc`.

use converse_session::{Clearing, Removed};
use jiff::SignedDuration;
use serde_json::{Value, json};

use super::{Shelf, failed};
use crate::args::GcArgs;
use converse_host::failure::{Failure, Kind};
use converse_host::wording::{counted, they_are};
use converse_host::world::World;
use converse_terminal::render::output::{write_json, write_stderr, write_stdout};
use converse_text::safe_line;

impl Shelf<'_> {
    pub(super) fn gc(&self, args: &GcArgs) -> Result<(), Failure> {
        let clearing = clearing(args)?;
        let found = self.store.clearable(&clearing).map_err(failed)?;
        let sessions = found.iter().filter(|one| matches!(one, Removed::Session { .. })).count();
        if args.dry_run {
            return self.told(args, &found, "would remove", "would free");
        }
        // What nothing refers to is nobody's loss; a conversation is somebody's.
        if sessions > 0 && !args.yes {
            if self.console.context.can_ask {
                write_stderr(&found.iter().map(|one| line("would remove", one)).collect::<String>());
            }
            if !self.agreed(false, &format!("remove {} for good?", counted(sessions, "session")))? {
                self.console.note("nothing was removed");
                return Ok(());
            }
        }
        let cleared = self.store.clear(&clearing, found);
        self.told(args, &cleared.removed, "removed", "freed")?;
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

    fn told(&self, args: &GcArgs, removed: &[Removed], did: &str, freed: &str) -> Result<(), Failure> {
        let bytes: u64 = removed.iter().map(Removed::bytes).sum();
        if args.json {
            let rows: Vec<_> = removed.iter().map(row).collect();
            return Ok(write_json(&json!({ "dry_run": args.dry_run, "removed": rows, "bytes": bytes }))?);
        }
        let lines: String = removed.iter().map(|one| line(did, one)).collect();
        Ok(write_stdout(&format!("{lines}{freed} {}\n", size(bytes)))?)
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
    let what = match removed {
        Removed::Session { id, why, .. } => format!("session {id} ({why})"),
        Removed::Content { path, .. } => format!("unused content {}", path.display()),
        Removed::Litter { path, .. } => format!("leftover {}", path.display()),
    };
    format!("{did} {}, {}\n", safe_line(&what, usize::MAX), size(removed.bytes()))
}

/// Bytes as people say them.
fn size(bytes: u64) -> String {
    let units = ["KiB", "MiB", "GiB"];
    let (mut amount, mut unit) = (bytes as f64, "bytes");
    for next in units {
        if amount < 1024.0 {
            break;
        }
        (amount, unit) = (amount / 1024.0, next);
    }
    if unit == "bytes" { format!("{bytes} bytes") } else { format!("{amount:.1} {unit}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_short() {
        for (bytes, text) in [
            (0, "0 bytes"),
            (1023, "1023 bytes"),
            (1536, "1.5 KiB"),
            (5 << 20, "5.0 MiB"),
            (1 << 42, "4096.0 GiB"),
        ] {
            assert_eq!(size(bytes), text);
        }
    }
}
