//! `converse ensembles lock`: records the definition of every tool in a lockfile, so that a change is noticed.
//!
//! New ensembles are added. Changes of locked ensembles are shown, and written only if they are accepted. What is written
//! is what was shown, not what a server answers later.

mod report;

use serde_json::{Value, json};

use crate::args::LockArgs;
use converse_host::catalogue::Catalogue;
use converse_host::failure::{Failure, Kind};
use converse_host::lockfiles::{DiscoveredTools, Proposal, plans_to_lock};
use converse_host::world::World;
use converse_terminal::approver::says_yes;
use converse_terminal::console::Console;
use converse_terminal::render::output::write_stderr;
use converse_terminal::signals;
use converse_text::wording::{counted, they_are};

pub(super) fn run(args: &LockArgs, console: &Console, world: &World) -> Result<(), Failure> {
    // Named directories are checked alone, as by `check`.
    let catalogue = Catalogue::check(world, &args.places.ensembles, false);
    console.warn_all(catalogue.lines());
    let lockfiles = catalogue.lockfiles();
    let plans = plans_to_lock(&catalogue, &lockfiles, &args.names)?;
    let found = DiscoveredTools::connect(&plans, &console.context, &signals::watch()?, world)?;
    let whole = args.names.is_empty();
    let proposals = Proposal::all(&lockfiles, &catalogue, &found, whole, world);
    let accepted = accepted(&proposals, args, console)?;
    // Named ensembles of an untrusted project have failed already.
    let skipped = if whole { catalogue.stop_for_skipped("locked") } else { Ok(()) };
    let outcome = if accepted { Proposal::write(&proposals) } else { Err(Proposal::refusal(&proposals)) };
    if args.json {
        let rows: Vec<Value> =
            proposals.iter().map(|proposal| report::json(proposal, outcome.is_ok())).collect();
        let unconnected = found.unconnected();
        let unconnected: Vec<Value> =
            unconnected.map(|(name, reason)| json!({ "ensemble": name, "reason": reason })).collect();
        console.print_json(json!({ "lockfiles": rows, "unconnected": unconnected }))?;
    } else if outcome.is_ok() && !(proposals.is_empty() && skipped.is_err()) {
        console.print(&report::written(&proposals))?;
    }
    outcome.and(skipped)?;
    match found.unconnected().count() {
        0 => Ok(()),
        count => {
            let is_damaged = proposals.iter().any(|proposal| proposal.damage.is_some());
            let rest = if is_damaged { "lock them later" } else { "their locked definitions are kept" };
            let message = format!("{} could not be connected; {rest}", counted(count, "ensemble"));
            let reasons = found.unconnected().map(|(name, reason)| format!("{name}: {reason}"));
            Err(reasons.fold(Failure::new(Kind::Ensemble, "ensemble", message), Failure::hint))
        }
    }
}

/// Shows the changes that need consent, and returns whether they are accepted.
fn accepted(proposals: &[Proposal<'_>], args: &LockArgs, console: &Console) -> Result<bool, Failure> {
    if proposals.iter().all(|proposal| !proposal.needs_consent()) {
        return Ok(true);
    }
    let asks = !args.accept && !args.json && console.context.can_ask;
    let text = report::changes(proposals);
    match (args.json, asks) {
        (true, _) => {}
        (false, true) => write_stderr(&console.context.redactor.clean(&text)),
        (false, false) => console.print(&text)?,
    }
    let unshown = report::unshown(proposals);
    if !asks {
        if args.accept && !args.json {
            console.warn_all(
                unshown.iter().map(|what| format!("warning: accepted without being shown: {what}")),
            );
        }
        return Ok(args.accept);
    }
    let (text, question) = match unshown.len() {
        0 => ("\n".to_owned(), "accept all of this?"),
        count => (
            format!("\n{} not shown (`…` above).\n", they_are(count, "part")),
            "accept all changes, also those not shown?",
        ),
    };
    converse_host::runtime::block_on(says_yes(&console.progress, &text, question, None))
}
