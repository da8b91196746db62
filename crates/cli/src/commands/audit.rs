//! `converse audit verify`: is the log whole?

use std::fs::File;
use std::io::{BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};

use converse_canister::Digest;
use converse_session::{Verified, VerifyError, verify as verify_log};
use serde_json::json;

use converse_host::audit::place;
use converse_host::failure::{Failure, Kind};
use converse_host::world::World;
use converse_terminal::console::Console;
use converse_terminal::render::output::{write_json, write_stdout};

/// What was asked for.
pub(crate) struct Verify<'a> {
    pub(crate) file: Option<&'a Path>,
    pub(crate) head: Option<&'a Digest>,
    pub(crate) as_json: bool,
}

impl Verify<'_> {
    /// A broken log is a promise of saving that was not kept: exit 9.
    pub(crate) fn run(&self, console: &Console, world: &World) -> Result<(), Failure> {
        let path = self.path(world)?;
        match verify_log(BufReader::new(self.reader(&path)?), self.head) {
            Ok(verified) => self.sound(&verified, console),
            Err(VerifyError::Broken(broken)) => {
                if self.as_json {
                    let told = json!({ "line": broken.line, "reason": broken.reason });
                    write_json(&json!({ "intact": false, "broken": told }))?;
                }
                Err(Failure::new(Kind::Output, "audit-broken", format!("`{}`: {broken}", path.display())))
            }
            Err(VerifyError::Io(error)) => Err(unreadable(&path, &error)),
        }
    }

    fn path(&self, world: &World) -> Result<PathBuf, Failure> {
        let named = self.file.map(|file| world.cwd.join(file));
        named.or_else(|| place(world)).ok_or_else(|| {
            Failure::usage("no-audit-log", "without a home there is no audit log; name a file")
        })
    }

    /// A log that has not begun is an empty one; a file that was named must be there.
    fn reader(&self, path: &Path) -> Result<Box<dyn Read>, Failure> {
        match std::fs::metadata(path) {
            Err(error) if error.kind() == ErrorKind::NotFound && self.file.is_none() => {
                return Ok(Box::new(std::io::empty()));
            }
            Err(error) => return Err(unreadable(path, &error)),
            Ok(there) if !there.is_file() => return Err(unreadable(path, &"not a regular file")),
            Ok(_) => {}
        }
        let file = File::open(path).map_err(|error| unreadable(path, &error))?;
        Ok(Box::new(file))
    }

    fn sound(&self, verified: &Verified, console: &Console) -> Result<(), Failure> {
        let Verified { records, head, torn } = verified;
        if *torn > 0 {
            console.warn(&format!(
                "warning: a last line of {torn} bytes was never finished: a crash, or it is being written now"
            ));
        }
        if self.as_json {
            let told = json!({ "intact": true, "records": records, "head": head, "torn_bytes": torn });
            return Ok(write_json(&told)?);
        }
        Ok(write_stdout(&format!("{records} records, head {head}\n"))?)
    }
}

fn unreadable(path: &Path, error: &dyn std::fmt::Display) -> Failure {
    let path = path.display().to_string();
    Failure::usage("no-audit-log", format!("`{path}` cannot be read: {error}"))
}
