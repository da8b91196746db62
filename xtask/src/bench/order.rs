//! The program as it is published: the profile `dist`, linked with the functions that a short run uses beside each other.
//!
//! Each function that a run uses brings a page of the file into memory, and with it the pages around it. If these functions
//! are spread over the file, that is most of the file. Their names have a hash of what they are compiled with, so no list of
//! them can be part of the repository: the program is built, run below valgrind, and linked again in the order of use.
//! Needs valgrind, `nm` and `tar`, and lld, which Rust has for x86-64 Linux.

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use super::curl::Against;
use super::instructions::profiles;
use super::servers::cases::{CHAINED, ONE_TRIP};
use super::{Bench, servers};
use crate::scenario::Scenario;
use crate::stub::Stub;
use crate::{Result, built};

/// Builds the program and returns where it is.
pub(crate) fn program() -> Result<PathBuf> {
    let (unordered, inputs) = built::with_inputs_of_link()?;
    let functions = functions(&unordered)?;
    let bench = Bench { stub: Stub::start()?, dir: TempDir::new()?, binary: unordered, rounds: 1 };
    let order = order(&functions, &runs(&bench)?);
    link(&inputs, &order.join("\n"))
}

/// Links what the linker had, stripped, with the functions of `order` first.
fn link(inputs: &Path, order: &str) -> Result<PathBuf> {
    let dir = TempDir::new_in(inputs.parent().unwrap_or(inputs))?;
    finish(Command::new("tar").arg("xf").arg(inputs).args(["--strip-components=1", "-C"]).arg(dir.path()))?;
    // The archive says `--chroot .`: names of files are relative.
    fs::write(dir.path().join("order"), order)?;
    let ordered = inputs.with_file_name("converse-ordered");
    let mut linker = Command::new(built::linker()?);
    linker.current_dir(dir.path()).args(["@response.txt", "--strip-all", "--no-warn-symbol-ordering"]);
    linker.args(["--symbol-ordering-file", "order", "-o"]).arg(&ordered);
    finish(&mut linker)?;
    Ok(ordered)
}

fn finish(command: &mut Command) -> Result<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    let status = command.stdin(Stdio::null()).status().map_err(|error| format!("{name}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{name} failed").into()) }
}

#[derive(Debug, PartialEq, Eq)]
struct Function {
    start: u64,
    size: u64,
    name: String,
}

/// Returns the functions of a program by address; of several names of one address the first.
fn functions(binary: &Path) -> Result<Vec<Function>> {
    let output = Command::new("nm").args(["-S", "--defined-only"]).arg(binary).output();
    let output = output.map_err(|error| format!("nm: {error}"))?;
    let mut found: Vec<_> = String::from_utf8_lossy(&output.stdout).lines().filter_map(function).collect();
    found.sort_by_key(|function| function.start);
    found.dedup_by_key(|function| function.start);
    if found.is_empty() { Err("nm found no functions in the program".into()) } else { Ok(found) }
}

fn function(line: &str) -> Option<Function> {
    let mut words = line.split_whitespace();
    let mut number = || u64::from_str_radix(words.next()?, 16).ok();
    let (start, size) = (number()?, number()?);
    let is_code = matches!(words.next()?, "t" | "T" | "w" | "W");
    words.next().filter(|_| is_code).map(|name| Function { start, size, name: name.to_owned() })
}

/// Returns the names of the functions that each run uses and those before it did not.
fn order<'f>(functions: &'f [Function], runs: &[BTreeSet<u64>]) -> Vec<&'f str> {
    let mut seen = HashSet::new();
    let mut order = Vec::new();
    for run in runs {
        let uses = |f: &&Function| run.range(f.start..f.start + f.size).next().is_some();
        let new = functions.iter().filter(uses).map(|function| function.name.as_str());
        order.extend(new.filter(|name| seen.insert(*name)));
    }
    order
}

/// Returns the addresses of the instructions that ran in each of the runs that are measured.
fn runs(bench: &Bench) -> Result<Vec<BTreeSet<u64>>> {
    let against = Against::new(bench);
    servers::set_up(bench)?;
    let programs = [
        against.version_programs().0,
        against.conversation_programs(Scenario::OneShot)?.0,
        servers::ours(bench, &ONE_TRIP)?,
        servers::ours(bench, &CHAINED)?,
    ];
    let binary = bench.binary.to_string_lossy();
    let run = |program| {
        let profiles = profiles(bench, program, &["--dump-instr=yes"], |run| {
            if run.stdout.is_empty() { Err("a run without an answer".into()) } else { Ok(()) }
        })?;
        let found: BTreeSet<u64> = profiles.iter().flat_map(|profile| addresses(profile, &binary)).collect();
        if found.is_empty() { Err("valgrind saw no function of the program".into()) } else { Ok(found) }
    };
    programs.iter().map(run).collect()
}

/// Returns the addresses in a profile that are of the program. `ob=(ID) FILE` says, with the name only once, which file the
/// next lines are about; a line of costs begins with an address.
/// <https://valgrind.org/docs/manual/cl-format.html> (checked 2026-11).
fn addresses(profile: &str, binary: &str) -> BTreeSet<u64> {
    let (mut ours, mut is_ours, mut found) = (None, false, BTreeSet::new());
    for line in profile.lines() {
        if let Some(object) = line.strip_prefix("cob=").or_else(|| line.strip_prefix("ob=")) {
            let (id, name) = object.split_once(' ').unwrap_or((object, ""));
            if name == binary {
                ours = Some(id);
            }
            if line.starts_with("ob=") {
                is_ours = ours == Some(id);
            }
        } else if let (true, Some(cost)) = (is_ours, line.strip_prefix("0x")) {
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
    fn functions_are_read_from_a_symbol_table() {
        let found = function("0000000000001000 0000000000000010 t main").unwrap();
        assert_eq!(found, Function { start: 0x1000, size: 0x10, name: "main".to_owned() });
        for line in ["0000000000001000 t main", "0000000000001000 0000000000000010 r main", ""] {
            assert_eq!(function(line), None, "{line}");
        }
    }

    #[test]
    fn functions_that_an_earlier_run_uses_come_first_and_unused_ones_are_left_out() {
        let of = |start, name: &str| Function { start, size: 16, name: name.to_owned() };
        let functions = [of(0x100, "a"), of(0x110, "b"), of(0x120, "c"), of(0x140, "d"), of(0x150, "e")];
        // 0x130 belongs to no function, 0x110 is not a part of `a`.
        let runs = [BTreeSet::from([0x14f, 0x110, 0x130]), BTreeSet::from([0x104, 0x11f])];
        assert_eq!(order(&functions, &runs), ["b", "d", "a"]);
    }

    #[test]
    fn only_what_ran_in_the_program_counts() {
        let trace = "ob=(1) /lib/libc.so\nfn=(1) a\n0x10 1 5\ncob=(2) /x/converse\ncfn=(2) b\ncalls=1 0x20\n0x14 1 9\n\
                     ob=(2)\nfn=(2)\n0x20 1 5\ncob=(1)\ncfn=(1)\ncalls=1 0x10\n0x24 1 9\nob=(1)\n0x18 1 2\n";
        assert_eq!(addresses(trace, "/x/converse"), BTreeSet::from([0x20, 0x24]));
        assert!(addresses(trace, "/y/converse").is_empty());
    }
}
