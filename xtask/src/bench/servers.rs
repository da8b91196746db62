//! Servers of tools, against the floor, which starts the same ones and does the same with them.

mod cases;
mod evidence;

use std::fs;
use std::os::unix::fs::symlink;

use self::cases::{CASES, Case, Row};
use self::evidence::Evidence;
use super::samples::Samples;
use super::{Bench, descriptors, said};
use crate::Result;
use crate::built::Yardsticks;
use crate::child::Program;
use crate::figures::Figure;

/// In the directory that both programs run in: the floor splits commands at blanks, which a path may have.
const SERVER: &str = "./stub-mcp";

pub(super) fn figures(bench: &Bench, yardsticks: &Yardsticks) -> Result<Vec<Figure>> {
    symlink(&yardsticks.stub_mcp, bench.dir.path().join(SERVER))?;
    // The floor shows all tools, however many; other figures are taken without any settings.
    let settings = bench.dir.path().join(".config/converse");
    fs::create_dir_all(&settings)?;
    fs::write(settings.join("config.toml"), "[context]\nlazy_tools = 0\n")?;
    let rows: Result<Vec<_>> = CASES.iter().map(|case| rows(bench, yardsticks, case)).collect();
    fs::remove_dir_all(&settings)?;
    Ok(rows?.concat())
}

fn rows(bench: &Bench, yardsticks: &Yardsticks, case: &Case) -> Result<Vec<Figure>> {
    let (ours, floor) = (ours(bench, case)?, floor(bench, yardsticks, case));
    bench.stub.take_log();
    let pair = bench.in_turn(case.rounds(bench.rounds), &ours, Some(&floor), |_, run| {
        said(run, case.scenario.words())?;
        Evidence::of(&bench.stub.take_log())?.check(case)?;
        Ok(None)
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
fn ours(bench: &Bench, case: &Case) -> Result<Program> {
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

fn floor(bench: &Bench, yardsticks: &Yardsticks, case: &Case) -> Program {
    let (url, command) = (bench.stub.base_url(case.scenario), format!("{SERVER} {}", case.options));
    let mut words = vec![url.as_str(), "hello"];
    words.extend((0..case.servers).flat_map(|_| ["--mcp", &command]));
    bench.program(&yardsticks.floor, &words, None)
}
