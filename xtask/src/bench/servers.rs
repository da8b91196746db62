//! Servers of tools, against the floor, which starts the same ones and does the same with them.

pub(super) mod cases;
mod evidence;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use self::cases::{CASES, Case, Row};
use self::evidence::Evidence;
use super::samples::Samples;
use super::{Bench, check_answer, descriptors};
use crate::child::{Program, Run};
use crate::figures::Figure;
use crate::{Result, built};

/// In the directory that both programs run in: the floor splits commands at blanks, which a path may have.
const SERVER: &str = "./stub-mcp";

pub(super) fn figures(bench: &Bench) -> Result<Vec<Figure>> {
    let floor = set_up(bench)?;
    let rows = || CASES.iter().map(|case| rows(bench, &floor, case)).collect::<Result<Vec<_>>>();
    Ok(with_all_tools(bench, rows)?.concat())
}

/// Measures with settings that show all tools to the model, as the floor does. Other figures are taken without any
/// settings.
pub(super) fn with_all_tools<T>(bench: &Bench, measure: impl FnOnce() -> Result<T>) -> Result<T> {
    let settings = bench.dir.path().join(".config/converse");
    fs::create_dir_all(&settings)?;
    fs::write(settings.join("config.toml"), "[context]\nlazy_tools = 0\n")?;
    let measured = measure();
    fs::remove_dir_all(&settings)?;
    measured
}

/// Builds the floor and the server, puts the server where both programs look for it, and returns the floor.
pub(super) fn set_up(bench: &Bench) -> Result<PathBuf> {
    let [floor, stub_mcp] = built::apart("floor", ["floor", "stub-mcp"])?;
    let server = bench.dir.path().join(SERVER);
    if !server.exists() {
        symlink(stub_mcp, server)?;
    }
    Ok(floor)
}

/// Fails if a run did not do the work of its case.
pub(super) fn check(bench: &Bench, case: &Case, run: &Run) -> Result<()> {
    check_answer(run, case.scenario.words())?;
    Evidence::of(&bench.stub.take_log())?.check(case)
}

fn rows(bench: &Bench, floor: &Path, case: &Case) -> Result<Vec<Figure>> {
    let (ours, theirs) = (ours(bench, case)?, theirs(bench, floor, case));
    bench.stub.take_log();
    let pair = bench.in_turn(case.rounds(bench.rounds), &ours, Some(&theirs), |_, run| {
        check(bench, case, run).map(|()| None)
    });
    let pair = pair.map_err(|error| match case.rows {
        [row, ..] => format!("{}: {error}", row.name),
        [] => error.to_string(),
    })?;
    let figure = |row: &Row| {
        let of = |samples: &Samples| case.value(row.measure, samples);
        pair.figure(row.name, row.measure.unit(), "floor", of, row.gate)
    };
    Ok(case.rows.iter().map(figure).collect())
}

/// Named are exactly those of the case: the floor has no tools of its own either.
pub(super) fn ours(bench: &Bench, case: &Case) -> Result<Program> {
    let dir = tempfile::Builder::new().prefix("servers").tempdir_in(bench.dir.path())?.keep();
    let command: Vec<&str> = std::iter::once(SERVER).chain(case.options.split_whitespace()).collect();
    descriptors::servers(&dir, case.servers, &command)?;
    let dir = dir.to_string_lossy().into_owned();
    let names: Vec<String> = (0..case.servers).map(descriptors::server).collect();
    let mut words = vec!["ask", "-m", "openai-chat/stub", "--ensembles", &dir];
    words.extend(names.iter().flat_map(|name| ["-e", name]));
    words.push("hello");
    Ok(bench.program(&bench.binary, &words, Some(&bench.stub.base_url(case.scenario))))
}

pub(super) fn theirs(bench: &Bench, floor: &Path, case: &Case) -> Program {
    let (url, command) = (bench.stub.base_url(case.scenario), format!("{SERVER} {}", case.options));
    let mut words = vec![url.as_str(), "hello"];
    words.extend((0..case.servers).flat_map(|_| ["--mcp", &command]));
    bench.program(floor, &words, None)
}
