//! `sessions migrate`.

use converse_session::{SessionError, Store, storage::Copied};

use super::SessionCommands;
use crate::args::MigrateArgs;
use converse_host::failure::{Failure, Kind};
use converse_host::turn::{database, sessions};
use converse_host::world::World;
use converse_terminal::render::output::write_stdout;
use converse_text::safe_line;
use converse_text::wording::counted;

/// The name of the sessions in the data directory.
const FILES: &str = "files";

impl SessionCommands<'_> {
    /// Copies all sessions from one place to another.
    pub(super) fn migrate(&self, args: &MigrateArgs) -> Result<(), Failure> {
        let place = |given: &Option<String>, flag: &str| match given {
            None => Ok(self.store.clone()),
            Some(text) => named(text, flag, self.world),
        };
        let (from, to) = (place(&args.from, "--from")?, place(&args.to, "--to")?);
        if from.is_at(&to) {
            return Err(Failure::usage("same-store", "both places are the same").hint(
                "name the other one: `--to postgres://…`, `--from postgres://…`, `--to files` or `--from files`",
            ));
        }
        let ids = from.all().map_err(Failure::of_session)?;
        let bar = self.console.progress_bar(ids.len(), "sessions");
        let (mut copied, mut same, mut left, mut stopped) = (0, 0, Vec::new(), None);
        for id in ids {
            match from.copy_to(&to, id) {
                Ok(Copied::New) => copied += 1,
                Ok(Copied::Same) => same += 1,
                Ok(Copied::OtherMetadata) => {
                    left.push(format!("{id}: it is there with another name, tags or model"));
                }
                Ok(Copied::Differs) => left.push(format!("{id}: another state of it is there")),
                Err(error @ SessionError::InUse { .. }) => left.push(error.to_string()),
                Err(error) => {
                    // A session that cannot be read stops nothing; a place that is gone does.
                    stopped = from.reach().and_then(|()| to.reach()).err();
                    if stopped.is_some() {
                        break;
                    }
                    left.push(format!("{id}: {error}"));
                }
            }
            bar.inc(1);
        }
        bar.finish_and_clear();
        let lines: String = left.iter().map(|why| format!("not copied: {}\n", safe_line(why, 400))).collect();
        write_stdout(&format!("{lines}copied {}, {same} already there\n", counted(copied, "session")))?;
        if let Some(error) = stopped {
            return Err(Failure::of_session(error)
                .hint("run the command again: sessions that are copied are skipped"));
        }
        match left.len() {
            0 => Ok(()),
            left => Err(Failure::new(
                Kind::Output,
                "not-copied",
                format!("{} not copied", counted(left, "session")),
            )),
        }
    }
}

fn named(text: &str, flag: &str, world: &World) -> Result<Store, Failure> {
    if text != FILES {
        return database::open(text, flag, world).map(Store::on);
    }
    sessions::required(&World { database: None, ..world.clone() })
}
