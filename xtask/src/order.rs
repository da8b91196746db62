//! The release binary with the functions that a run uses standing together, so that few of its pages are loaded.
//!
//! The program is built, run under valgrind as the bench runs it, and linked anew by what was seen. A function's name holds
//! a hash of where and with what it was compiled, so the order is made for each build and none is kept in the repository.
//! It needs valgrind, `nm`, and lld, which Rust brings for x86-64 Linux.

mod trace;

use std::collections::{BTreeSet, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Result, built};

/// Builds it and says where it is.
pub(crate) fn run() -> Result<()> {
    println!("{}", program()?.display());
    Ok(())
}

pub(crate) fn program() -> Result<PathBuf> {
    let plain = built::program(&["--release"])?;
    let functions = functions(&plain)?;
    let order = order(&functions, &trace::runs(&plain)?);
    let text = order.join("\n");
    // Another name for another order: cargo sees that it must link anew by the name alone.
    let mut sum = DefaultHasher::new();
    text.hash(&mut sum);
    let file = built::root().join(format!("target/functions-{:016x}.txt", sum.finish()));
    std::fs::write(&file, text)?;
    built::ordered(&file)
}

#[derive(Debug, PartialEq, Eq)]
struct Function {
    start: u64,
    size: u64,
    name: String,
}

/// In the order of their addresses; of several names of one place the first.
fn functions(binary: &Path) -> Result<Vec<Function>> {
    let output = Command::new("nm").args(["-S", "--defined-only"]).arg(binary).output();
    let output = output.map_err(|error| format!("nm: {error}"))?;
    let mut found: Vec<_> = String::from_utf8_lossy(&output.stdout).lines().filter_map(function).collect();
    found.sort_by_key(|function| function.start);
    found.dedup_by_key(|function| function.start);
    if found.is_empty() { Err("nm found no functions in the binary".into()) } else { Ok(found) }
}

fn function(line: &str) -> Option<Function> {
    let mut words = line.split_whitespace();
    let mut number = || u64::from_str_radix(words.next()?, 16).ok();
    let (start, size) = (number()?, number()?);
    let is_code = matches!(words.next()?, "t" | "T" | "w" | "W");
    words.next().filter(|_| is_code).map(|name| Function { start, size, name: name.to_owned() })
}

/// Of each run what it uses and those before it did not: the most usual run is all in one piece.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nm_says_is_read() {
        let found = function("0000000000001000 0000000000000010 t main").unwrap();
        assert_eq!(found, Function { start: 0x1000, size: 0x10, name: "main".to_owned() });
        for line in ["0000000000001000 t main", "0000000000001000 0000000000000010 r main", ""] {
            assert_eq!(function(line), None, "{line}");
        }
    }

    #[test]
    fn what_the_first_run_uses_comes_first_and_what_none_uses_is_left_where_it_is() {
        let of = |start, name: &str| Function { start, size: 16, name: name.to_owned() };
        let functions = [of(0x100, "a"), of(0x110, "b"), of(0x120, "c"), of(0x140, "d"), of(0x150, "e")];
        // 0x130 belongs to nobody, 0x110 is no part of `a`.
        let runs = [BTreeSet::from([0x14f, 0x110, 0x130]), BTreeSet::from([0x104, 0x11f])];
        assert_eq!(order(&functions, &runs), ["b", "d", "a"]);
    }
}
