//! Instructions in user code, counted by valgrind (callgrind): they do not depend on the load of the machine, so limits
//! on them hold in the gate. The limits are those of the profile `release`.
//!
//! Counted is each program alone, without the servers that it starts, in a home that an earlier run has set up. Below
//! valgrind `/proc/self/exe` is valgrind, so the guardian does not start: a tool trip counts its three attempts.

use std::collections::BTreeMap;
use std::fs;
use std::process::{Command, Stdio};

use super::curl::Against;
use super::servers::cases::{CHAINED, Case, MANY_TOOLS, ONE_TRIP};
use super::{Bench, Who, servers};
use crate::child::{Program, Run};
use crate::figures::{Figure, Gate, Yardstick};
use crate::scenario::Scenario;
use crate::{Result, built};

/// The limits of the rows, in millions. A row without a limit is an error.
const LIMITS: &str = "xtask/instructions.json";

/// Without valgrind this is an error if `asked`, and nothing otherwise.
pub(super) fn figures(bench: &Bench, asked: bool) -> Result<Vec<Figure>> {
    if !is_there() {
        let missing = "valgrind is not installed: instructions were not counted";
        return if asked {
            Err(missing.into())
        } else {
            eprintln!("{missing}");
            Ok(Vec::new())
        };
    }
    let limits = fs::read_to_string(built::root().join(LIMITS))?;
    let counting = Counting { bench, limits: serde_json::from_str(&limits)? };
    let against = Against::new(bench);
    let (ours, curl) = against.version_programs();
    let mut figures =
        vec![counting.row("--version", &ours, curl.as_ref().map(|curl| ("curl", curl)), |_, _| Ok(()))?];
    let (ours, curl) = against.conversation_programs(Scenario::OneShot)?;
    figures.push(counting.row(
        "one answer",
        &ours,
        curl.as_ref().map(|curl| ("curl", curl)),
        |who, run| against.check(Scenario::OneShot, who, run).map(drop),
    )?);
    let floor = servers::set_up(bench)?;
    for (name, case) in [("one trip to a tool over MCP", ONE_TRIP), ("20 chained calls over MCP", CHAINED)] {
        let (ours, theirs) = (servers::ours(bench, &case)?, servers::theirs(bench, &floor, &case));
        figures.push(counting.case(name, &case, &ours, &theirs)?);
    }
    let (ours, theirs) = (servers::ours(bench, &MANY_TOOLS)?, servers::theirs(bench, &floor, &MANY_TOOLS));
    let count = || counting.case("a server with 1,000 tools", &MANY_TOOLS, &ours, &theirs);
    figures.push(servers::with_all_tools(bench, count)?);
    Ok(figures)
}

fn is_there() -> bool {
    let mut valgrind = Command::new("valgrind");
    valgrind.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
    valgrind.status().is_ok_and(|status| status.success())
}

struct Counting<'a> {
    bench: &'a Bench,
    limits: BTreeMap<String, f64>,
}

impl Counting<'_> {
    fn case(&self, name: &str, case: &Case, ours: &Program, theirs: &Program) -> Result<Figure> {
        self.bench.stub.take_log();
        self.row(name, ours, Some(("floor", theirs)), |_, run| servers::check(self.bench, case, run))
    }

    fn row(
        &self,
        name: &str,
        ours: &Program,
        theirs: Option<(&'static str, &Program)>,
        check: impl Fn(Who, &Run) -> Result<()>,
    ) -> Result<Figure> {
        let limit = self.limits.get(name).ok_or_else(|| format!("{LIMITS} has no limit of `{name}`"))?;
        let value = self.count(ours, |run| check(Who::Ours, run))?;
        let yardstick = theirs
            .map(|(name, program)| {
                self.count(program, |run| check(Who::Theirs, run)).map(|value| Yardstick { name, value })
            })
            .transpose()?;
        Ok(Figure {
            name: format!("{name}, instructions"),
            unit: "million",
            ours: value,
            yardstick,
            gate: Gate::Value(*limit),
        })
    }

    /// Counts the second run of a program, in millions.
    fn count(&self, program: &Program, check: impl Fn(&Run) -> Result<()>) -> Result<f64> {
        let profiles = profiles(self.bench, program, &[], check)?;
        let totals = profiles.iter().map(|profile| total(profile).ok_or("a profile without a sum"));
        let count = totals.sum::<std::result::Result<u64, _>>()?;
        if count == 0 { Err("valgrind left no profile".into()) } else { Ok(count as f64 / 1e6) }
    }
}

/// Runs a program twice, the second time below callgrind with these options, and returns the profiles of its processes.
pub(super) fn profiles(
    bench: &Bench,
    program: &Program,
    options: &[&str],
    check: impl Fn(&Run) -> Result<()>,
) -> Result<Vec<String>> {
    check(&bench.once(program)?)?;
    let dir = tempfile::Builder::new().prefix("counts").tempdir_in(bench.dir.path())?;
    let file = format!("--callgrind-out-file={}/%p", dir.path().display());
    let mut counted = program.clone();
    let valgrind = [&["valgrind", "--tool=callgrind", &file], options].concat();
    counted.command.splice(0..0, valgrind.into_iter().map(Into::into));
    check(&bench.once(&counted)?)?;
    let read = |entry: std::io::Result<fs::DirEntry>| fs::read_to_string(entry?.path());
    Ok(fs::read_dir(dir.path())?.map(read).collect::<std::io::Result<_>>()?)
}

/// The sum of a profile: <https://valgrind.org/docs/manual/cl-format.html> (checked 2026-11).
fn total(profile: &str) -> Option<u64> {
    profile.lines().find_map(|line| line.strip_prefix("summary: "))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_of_a_profile_is_its_summary() {
        assert_eq!(
            total("version: 1\nevents: Ir\nsummary: 8607899\n\nfn=(1) x\n1 7\ntotals: 1\n"),
            Some(8_607_899)
        );
        assert_eq!(total("events: Ir\nfn=(1) a summary: 7\n"), None);
    }
}
