//! `converse audit verify`: verifies the audit log.

use std::path::Path;

use converse_canister::Digest;
use converse_session::Verified;
use serde_json::json;

use converse_host::audit::{Verification, verify};
use converse_host::failure::{Failure, Kind};
use converse_host::world::World;
use converse_terminal::console::Console;
use converse_terminal::render::output::{write_json, write_stdout};
use converse_text::safe_line;

/// Verifies the log or another file. A broken log is exit code 9.
pub(crate) fn run(
    file: Option<&Path>,
    head: Option<&Digest>,
    as_json: bool,
    console: &Console,
    world: &World,
) -> Result<(), Failure> {
    let Verification { path, files, result } = verify(file, head, world)?;
    let Verified { records, before, head, torn, repairs } = match result {
        Ok(verified) => verified,
        Err(broken) => {
            if as_json {
                let reason = json!({ "line": broken.line, "reason": broken.reason });
                write_json(&json!({ "intact": false, "broken": reason }))?;
            }
            let message = format!("`{}`: {broken}", path.display());
            return Err(Failure::new(Kind::Output, "audit-broken", message));
        }
    };
    if before > 0 {
        console.warn(&format!(
            "warning: the {before} records before these are in older files that were removed, and are not verified"
        ));
    }
    if torn > 0 {
        console.warn(&format!(
            "warning: the last line ({torn} bytes) is incomplete: a crash, or it is being written now"
        ));
    }
    if repairs > 0 {
        let s = if repairs == 1 { "" } else { "s" };
        console.warn(&format!(
            "note: {repairs} record{s} of repairs after crashes: see `\"kind\":\"mended\"` in `{}`",
            path.display()
        ));
    }
    Ok(match as_json {
        true => write_json(
            &json!({ "intact": true, "file": path.display().to_string(), "records": records, "before": before, "files": files, "head": head,
                "torn_bytes": torn, "repairs": repairs }),
        ),
        false => {
            let path = safe_line(&path.display().to_string(), usize::MAX);
            write_stdout(&format!("{path}: {records} records{}, head {head}\n", in_files(files)))
        }
    }?)
}

fn in_files(files: usize) -> String {
    if files > 1 { format!(" in {files} files") } else { String::new() }
}
