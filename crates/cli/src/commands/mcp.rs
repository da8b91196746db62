//! `converse mcp probe`: connects one MCP server like any ensemble, reports on it and disconnects it.

mod plan;
mod report;
mod responders;

use converse_canister::Arguments;

use crate::args::ProbeArgs;
use converse_host::audit::AuditSink;
use converse_host::failure::{Failure, Kind};
use converse_host::options::RuleOptions;
use converse_host::probe::{Probe, ProbeCalls};
use converse_host::settings::Files;
use converse_host::world::World;
use converse_terminal::console::Console;
use converse_terminal::render::output::{write_json, write_stdout};
use converse_terminal::signals;
use converse_text::wording::counted;

use report::{Report, reached};

/// The name of the ensemble; nothing else is connected beside it.
const NAME: &str = "probe";

pub(crate) fn probe(args: &ProbeArgs, console: &Console, world: &World) -> Result<(), Failure> {
    let calls = calls(args)?;
    let plan = plan::of(args)?;
    let interrupt = signals::watch()?;
    let context = &console.context;
    let (files, rules) = Files::for_tools(&RuleOptions::default(), context, world)?;
    let audit = AuditSink::new(files.audit.unwrap_or(true), None, context, world);
    let responders = responders::responders(args, console, world)?;
    let probe = Probe { plan: &plan, calls: &calls, context, world, interrupt: &interrupt };
    let result = converse_host::runtime::block_on(probe.run(rules, responders, &audit))??;
    let report = Report { result: &result, reached: reached(&plan, world) };
    if args.json { write_json(&report.json()) } else { write_stdout(&report.text()) }?;
    let generated = matches!(calls, ProbeCalls::All);
    match result.calls.iter().filter(|call| call.is_failed(generated)).count() {
        0 => Ok(()),
        failed => {
            let message = format!("{failed} of {} did not succeed", counted(result.calls.len(), "call"));
            Err(Failure::new(Kind::Ensemble, "call", message))
        }
    }
}

fn calls(args: &ProbeArgs) -> Result<ProbeCalls, Failure> {
    if args.call_all {
        return Ok(ProbeCalls::All);
    }
    let pairs = args.call.chunks(2).filter_map(|pair| Some((pair.first()?, pair.get(1)?)));
    let parsed = pairs.map(|(tool, text)| {
        let arguments = Arguments::parse(text);
        match &arguments.malformed {
            None => Ok((tool.clone(), arguments)),
            Some(why) => Err(Failure::usage("bad-argument", format!("the arguments of `{tool}`: {why}"))),
        }
    });
    Ok(ProbeCalls::Named(parsed.collect::<Result<_, _>>()?))
}
