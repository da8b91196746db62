//! `converse ensembles check`: every problem of every descriptor, written in one of five formats.

use std::path::PathBuf;

use converse_config::{Finding, Severity};
use converse_provider::LintTarget;

use crate::args::{CheckArgs, LintedProvider, ReportFormat};
use converse_foreign::reports::{self, Report};
use converse_host::catalogue::Catalogue;
use converse_host::descriptor_check::{CheckOptions, CheckReport, RenderedFinding};
use converse_host::failure::{Failure, Kind};
use converse_host::world::World;
use converse_terminal::console::Console;
use converse_terminal::render::output::{write_json, write_stdout};
use converse_terminal::signals;
use converse_text::wording::counted;

pub(super) fn run(args: &CheckArgs, console: &Console, world: &World) -> Result<(), Failure> {
    let directories: Vec<PathBuf> = [args.directories.as_slice(), &args.places.ensembles].concat();
    let catalogue = Catalogue::check(world, &directories, args.require_env);
    console.warn_all(catalogue.notes());
    let interrupt = if args.connect || args.locked { Some(signals::watch()?) } else { None };
    let providers: Vec<LintTarget> = args.provider.iter().map(|provider| target(*provider)).collect();
    let options = CheckOptions {
        connect: interrupt.as_ref(),
        locked: args.locked,
        providers: &providers,
        directories: &directories,
    };
    let report = CheckReport::of(&catalogue, &options, &console.context, world)?;
    write(&report, args, console, world)?;
    if report.has_errors() {
        let message = "there are errors in ensembles or settings";
        return Err(Failure::new(Kind::Configuration, "ensembles", message));
    }
    if args.connect || args.locked {
        catalogue.stop_for_untrusted()?;
    }
    if args.locked {
        catalogue.stop_for_skipped("compared with its lockfile")?;
    }
    match report.unconnected() {
        0 => Ok(()),
        failed => {
            let message = format!("{} could not be connected", counted(failed, "ensemble"));
            Err(Failure::new(Kind::Ensemble, "ensemble", message))
        }
    }
}

fn target(provider: LintedProvider) -> LintTarget {
    match provider {
        LintedProvider::Anthropic => LintTarget::Anthropic,
        LintedProvider::Openai => LintTarget::OpenAi,
        LintedProvider::Gemini => LintTarget::Gemini,
    }
}

/// Only `text` is for people: with the other formats the summary goes to stderr.
fn write(report: &CheckReport, args: &CheckArgs, console: &Console, world: &World) -> Result<(), Failure> {
    let findings: Vec<&Finding> = report.findings.iter().map(|found| &found.finding).collect();
    let rendered = Report { findings: &findings, files: &report.files, directory: &world.cwd };
    match if args.json { ReportFormat::Json } else { args.format } {
        ReportFormat::Text => return Ok(write_stdout(&text(report, console.style.colour))?),
        ReportFormat::Json => write_json(&reports::json(&rendered))?,
        ReportFormat::Sarif => write_json(&reports::sarif(&rendered))?,
        ReportFormat::Junit => write_stdout(&reports::junit(&rendered))?,
        ReportFormat::Github => write_stdout(&reports::github(&rendered))?,
    }
    console.note(&report.summary());
    Ok(())
}

fn text(report: &CheckReport, colour: bool) -> String {
    let shown = |found: &RenderedFinding| if colour { painted(found) } else { found.text.clone() };
    let mut text: String = report.findings.iter().map(|found| shown(found) + "\n").collect();
    text.extend(report.servers.iter().map(|line| format!("{line}\n")));
    text + &report.summary() + "\n"
}

/// The label and the carets in the colour of the severity.
fn painted(found: &RenderedFinding) -> String {
    let code = match found.finding.severity {
        Severity::Error => "1;31",
        Severity::Warning => "1;33",
    };
    let line = |(at, line): (usize, &str)| {
        let carets =
            line.trim_start().strip_prefix("| ").filter(|rest| rest.trim_matches([' ', '^']).is_empty());
        let (from, to) = match (at, carets.and_then(|_| line.find('^'))) {
            (0, _) => (0, line.find("]: ").map_or(0, |end| end + 1)),
            (_, Some(first)) => (first, line.len()),
            (_, None) => return format!("{line}\n"),
        };
        let part = |range| line.get(range).unwrap_or_default();
        format!("{}\x1b[{code}m{}\x1b[0m{}\n", part(0..from), part(from..to), part(to..line.len()))
    };
    found.text.lines().enumerate().map(line).collect()
}
