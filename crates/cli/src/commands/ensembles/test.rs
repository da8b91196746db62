//! `converse ensembles test`: the tests of descriptors, and calls made from schemas, without a model.
//!
//! A test takes the way of every invocation: judge, approve, invoke. Whoever runs the tests has asked for them, so
//! "ask" counts as yes for what an ensemble that may be used at all says; what is denied stays denied. Results are never
//! taken from an earlier call, and nothing is kept but the audit.

mod attempt;
mod done;
mod report;
mod selection;
mod synth;
mod verdict;
mod written;

use converse_config::{EnsemblePlan, Policy, Rule};
use converse_mcp::Responders;

use crate::args::TestArgs;
use crate::commands::ensembles::looked;
use converse_host::audit::AuditSink;
use converse_host::catalogue::Catalogue;
use converse_host::contents::Kept;
use converse_host::failure::Failure;
use converse_host::interrupt::Interrupt;
use converse_host::model;
use converse_host::settings::{Files, rules};
use converse_host::wiring::{Connected, Wiring};
use converse_host::world::World;
use converse_terminal::console::Console;
use converse_terminal::signals;

use attempt::Stage;
use done::{Done, End};
use report::Report;
use selection::Wanted;

pub(crate) fn run(args: &TestArgs, console: &Console, world: &World) -> Result<(), Failure> {
    let interrupt = signals::watch()?;
    let testing = Testing { args, console, world, interrupt: &interrupt };
    converse_host::runtime::block_on(testing.run())?
}

struct Testing<'a> {
    args: &'a TestArgs,
    console: &'a Console,
    world: &'a World,
    interrupt: &'a Interrupt,
}

impl Testing<'_> {
    async fn run(&self) -> Result<(), Failure> {
        let console = self.console;
        let mut report = Report::new(self.args, console);
        let ran = self.tests(&mut report).await;
        if let Err(failure) = &ran {
            report.stopped(failure);
        }
        // Whatever stopped it, a report has an end; what went wrong first is what is told.
        let told = report.finish();
        ran.and(told)?;
        verdict::of(&self.args.names, report.done(), console)
    }

    async fn tests(&self, report: &mut Report<'_>) -> Result<(), Failure> {
        let (console, world) = (self.console, self.world);
        let catalogue = Catalogue::find(world, &self.args.places.ensembles);
        let wanted = selection::wanted(self.args, &catalogue)?;
        console.warn_all(catalogue.notes());
        let (files, warnings) = Files::read(world).checked()?;
        console.warn_all(warnings);
        console.context.redactor.learn(model::keys(&files, world)?);
        let rules = rules(&self.args.rules.options(), &files)?;
        let audit = AuditSink::new(files.audit.unwrap_or(true), None, &console.context, world);
        if wanted.is_empty() {
            return Ok(());
        }
        self.all(&wanted, &catalogue, rules, &audit, report).await
    }

    async fn all(
        &self,
        wanted: &[Wanted<'_>],
        catalogue: &Catalogue,
        rules: Vec<Rule>,
        audit: &AuditSink<'_>,
        report: &mut Report<'_>,
    ) -> Result<(), Failure> {
        let plans: Vec<EnsemblePlan> = wanted.iter().map(|wanted| anew(wanted.plan)).collect();
        let (contents, lockfiles) = (&Kept::new(None), &catalogue.lockfiles());
        let (world, console, interrupt) = (self.world, self.console, self.interrupt);
        let protected = catalogue.protected();
        let wiring = Wiring {
            world,
            context: &console.context,
            interrupt,
            deadline: None,
            contents,
            protected,
            lockfiles,
            asked: Responders::default(),
        };
        let connected = wiring.connect(&plans.iter().collect::<Vec<_>>(), rules).await?;
        let ran = self.each(wanted, &connected, audit, report).await;
        connected.disconnect(&console.context).await;
        match self.interrupt.number() {
            Some(_) => Err(self.interrupt.failure()),
            None => ran,
        }
    }

    async fn each(
        &self,
        wanted: &[Wanted<'_>],
        connected: &Connected,
        audit: &AuditSink<'_>,
        report: &mut Report<'_>,
    ) -> Result<(), Failure> {
        let stage = Stage::new(&connected.roster, audit, self.interrupt);
        for Wanted { plan, tools } in wanted {
            let name = plan.name.as_str();
            for failure in connected.failures.iter().filter(|failure| failure.ensemble == name) {
                report.add(Done::of_ensemble(plan, End::Error(failure.reason.clone())))?;
            }
            if connected.roster.tools_of(name).is_none() {
                continue;
            }
            selection::all_known(plan, tools.as_deref(), &connected.roster)?;
            let chosen = |tool: &str| tools.as_ref().is_none_or(|tools| tools.iter().any(|one| one == tool));
            written::run(plan, chosen, &stage, report).await?;
            if self.args.synth {
                synth::run(plan, chosen, &stage, report).await?;
            }
        }
        Ok(())
    }
}

/// As if it were only to be looked at, and every call is a new one.
fn anew(plan: &EnsemblePlan) -> EnsemblePlan {
    let mut plan = looked::eager(plan);
    let uncached = |policy: &mut Policy| policy.cache = None;
    uncached(&mut plan.defaults);
    plan.tools.values_mut().for_each(uncached);
    plan.invokers.iter_mut().for_each(|invoker| uncached(&mut invoker.policy));
    plan
}
