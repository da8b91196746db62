//! The runs that count, under valgrind: one answer, one trip to a tool, the version.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::scenario::Scenario;
use crate::stub::Stub;
use crate::{Result, built};

/// The addresses of the instructions of the binary that ran in each of them, the most usual one first.
pub(super) fn runs(binary: &Path) -> Result<Vec<BTreeSet<u64>>> {
    let (stub, dir) = (Stub::start()?, TempDir::new()?);
    let ensembles = server(dir.path())?;
    let ask = ["ask", "-m", "openai-chat/stub", "hello"];
    let trip = ["--ensembles", &ensembles, "-e", "essentials", "-e", "s0"];
    let runs = [
        (ask.to_vec(), Scenario::OneShot),
        ([&ask[..], &trip].concat(), Scenario::Trip),
        (vec!["--version"], Scenario::OneShot),
    ];
    runs.iter()
        .map(|(words, scenario)| traced(binary, words, &stub.base_url(*scenario), dir.path()))
        .collect()
}

/// A directory with the one that is asked in a trip.
fn server(dir: &Path) -> Result<String> {
    let (server, ensembles) = (built::yardsticks()?.stub_mcp, dir.join("servers"));
    let command = serde_json::json!([server.to_string_lossy()]);
    let text = format!(
        "[ensemble]\nname = \"s0\"\ndescription = \"A server that does nothing, quickly\"\n\n\
         [defaults]\npermission = \"allow\"\n\n[connection]\ntransport = \"stdio\"\ncommand = {command}\n"
    );
    std::fs::create_dir(&ensembles)?;
    std::fs::write(ensembles.join("s0.toml"), text)?;
    Ok(ensembles.to_string_lossy().into_owned())
}

fn traced(binary: &Path, words: &[&str], url: &str, dir: &Path) -> Result<BTreeSet<u64>> {
    let trace = dir.join("trace");
    let mut out = OsString::from("--callgrind-out-file=");
    out.push(&trace);
    let ended = Command::new("valgrind")
        .args(["--tool=callgrind", "--dump-instr=yes", "--quiet"])
        .arg(out)
        .arg(binary)
        .args(words)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", dir)
        .envs([("OPENAI_BASE_URL", url), ("OPENAI_API_KEY", "x")])
        .current_dir(dir)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("valgrind: {error}"))?;
    if !ended.status.success() {
        return Err(format!("{words:?}: {}", String::from_utf8_lossy(&ended.stderr)).into());
    }
    let found = addresses(&std::fs::read_to_string(&trace)?, &binary.to_string_lossy());
    if found.is_empty() { Err("valgrind saw nothing of the binary run".into()) } else { Ok(found) }
}

/// Of callgrind's format: `ob=(ID) FILE` says, with its name only once, in which file is what follows; a line of costs
/// begins with its address. <https://valgrind.org/docs/manual/cl-format.html>, checked 2026-11.
fn addresses(trace: &str, binary: &str) -> BTreeSet<u64> {
    let (mut ours, mut inside, mut found) = (None, false, BTreeSet::new());
    for line in trace.lines() {
        if let Some(object) = line.strip_prefix("cob=").or_else(|| line.strip_prefix("ob=")) {
            let (id, name) = object.split_once(' ').unwrap_or((object, ""));
            if name == binary {
                ours = Some(id);
            }
            if line.starts_with("ob=") {
                inside = ours == Some(id);
            }
        } else if let (true, Some(cost)) = (inside, line.strip_prefix("0x")) {
            let address = cost.split(' ').next().unwrap_or_default();
            found.extend(u64::from_str_radix(address, 16).ok());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_ran_in_the_binary_counts() {
        let trace = "ob=(1) /lib/libc.so\nfn=(1) a\n0x10 1 5\ncob=(2) /x/converse\ncfn=(2) b\ncalls=1 0x20\n0x14 1 9\n\
                     ob=(2)\nfn=(2)\n0x20 1 5\ncob=(1)\ncfn=(1)\ncalls=1 0x10\n0x24 1 9\nob=(1)\n0x18 1 2\n";
        assert_eq!(addresses(trace, "/x/converse"), BTreeSet::from([0x20, 0x24]));
        assert!(addresses(trace, "/y/converse").is_empty());
    }
}
