//! `converse audit verify`: verifies the audit log.

use std::path::Path;

use converse_canister::Digest;
use converse_session::{Broken, Verified};
use serde_json::{Value, json};

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
    let chains = verify(file, head, world)?;
    let mut printed = Vec::new();
    for chain in &chains {
        let Verification { path, principal, files, result } = chain;
        let verified = match result {
            Ok(verified) => verified,
            Err(broken) => return Err(refused(path, principal.as_deref(), broken, as_json)?),
        };
        let shown = path.display().to_string();
        warn(chain, verified, console);
        let Verified { records, before, head, torn, repairs } = verified;
        if as_json {
            let figures = json!({ "records": records, "before": before, "head": head, "repairs": repairs });
            printed.push(with(
                figures,
                match principal {
                    Some(principal) => json!({ "principal": principal }),
                    None => json!({ "intact": true, "file": shown, "files": files, "torn_bytes": torn }),
                },
            ));
        } else {
            let shown = safe_line(&shown, usize::MAX);
            write_stdout(&format!("{shown}: {records} records{}, head {head}\n", in_files(*files)))?;
        }
    }
    Ok(match (as_json, &chains[..], &printed[..]) {
        (true, [Verification { principal: None, .. }], [one]) => write_json(one),
        (true, ..) => {
            let store = chains.first().map(|own| own.path.display().to_string());
            write_json(&json!({ "intact": true, "store": store, "chains": printed }))
        }
        (false, ..) => Ok(()),
    }?)
}

/// Adds members to an object.
fn with(mut object: Value, more: Value) -> Value {
    if let (Some(object), Value::Object(more)) = (object.as_object_mut(), more) {
        object.extend(more);
    }
    object
}

/// Reports the place where a chain breaks.
fn refused(path: &Path, principal: Option<&str>, broken: &Broken, as_json: bool) -> Result<Failure, Failure> {
    if as_json {
        let reason = json!({ "line": broken.line, "reason": broken.reason });
        let chain = principal.map_or(json!({}), |principal| json!({ "principal": principal }));
        write_json(&with(json!({ "intact": false, "broken": reason }), chain))?;
    }
    Ok(Failure::new(Kind::Output, "audit-broken", format!("`{}`: {broken}", path.display())))
}

/// Says what is not verified, and what was repaired.
fn warn(chain: &Verification, verified: &Verified, console: &Console) {
    let Verification { path, principal, .. } = chain;
    let Verified { before, torn, repairs, .. } = verified;
    if *before > 0 {
        let place = if principal.is_some() { "" } else { "are in older files that " };
        console.warn(&format!(
            "warning: the {before} records before these {place}were removed, and are not verified"
        ));
    }
    if *torn > 0 {
        console.warn(&format!(
            "warning: the last line ({torn} bytes) is incomplete: a crash, or it is being written now"
        ));
    }
    if *repairs > 0 {
        let s = if *repairs == 1 { "" } else { "s" };
        console.warn(&format!(
            "note: {repairs} record{s} of repairs after crashes: see `\"kind\":\"mended\"` in `{}`",
            path.display()
        ));
    }
}

fn in_files(files: usize) -> String {
    if files > 1 { format!(" in {files} files") } else { String::new() }
}
