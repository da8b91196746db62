//! `converse ensembles test`: the tests of descriptors, and calls generated from schemas, without a model.

mod report;

use crate::args::TestArgs;
use converse_host::catalogue::Catalogue;
use converse_host::failure::Failure;
use converse_host::tool_tests::{HOW_TO_ADD_TESTS, ToolTests, verdict};
use converse_host::world::World;
use converse_terminal::console::Console;
use converse_terminal::signals;

use report::Report;

pub(super) fn run(args: &TestArgs, console: &Console, world: &World) -> Result<(), Failure> {
    let interrupt = signals::watch()?;
    let mut report = Report::new(args, console);
    let catalogue = Catalogue::find(world, &args.places.ensembles);
    let rules = args.rules.options();
    let (names, context) = (args.names.as_slice(), &console.context);
    let tests =
        ToolTests { names, generate: args.synth, rules: &rules, context, world, interrupt: &interrupt };
    let ran = converse_host::runtime::block_on(tests.run(&catalogue, &mut report))?;
    if let Err(failure) = &ran {
        report.stopped(failure);
    }
    // A report has an end even if the run failed; the first failure is the one to return.
    let finished = report.finish();
    ran.and(finished)?;
    verdict(names, report.outcomes(), &context.redactor)?;
    if report.outcomes().is_empty() {
        console.note(&format!(
            "note: you have no tests; {HOW_TO_ADD_TESTS}; `converse ensembles test io` runs those of an ensemble in the binary"
        ));
    }
    Ok(())
}
