//! `converse mcp probe`: one server, connected as any ensemble is, looked at, called if that was asked for, and ended.

mod calls;
mod counts;
mod found;
mod lint;
mod person;
mod plan;
mod told;

use converse_config::{EnsemblePlan, Rule};
use converse_mcp::McpConnection;

use crate::args::ProbeArgs;
use converse_host::audit::AuditSink;
use converse_host::contents::Kept;
use converse_host::failure::{Failure, Kind};
use converse_host::interrupt::Interrupt;
use converse_host::lockfiles::Lockfiles;
use converse_host::model;
use converse_host::options::RuleOptions;
use converse_host::settings::{Files, rules};
use converse_host::wiring::{Connected, Wiring};
use converse_host::wording::counted;
use converse_host::world::World;
use converse_terminal::console::Console;
use converse_terminal::render::output::{write_json, write_stdout};
use converse_terminal::signals;

use calls::{Called, Caller, Wanted};
use counts::Counts;
use found::{ProbeResult, reached};
use lint::linted;

/// What the server is called here; nobody else is connected beside it.
const NAME: &str = "probe";

pub(crate) fn probe(args: &ProbeArgs, console: &Console, world: &World) -> Result<(), Failure> {
    let wanted = Wanted::of(args)?;
    let plan = plan::of(args)?;
    let interrupt = signals::watch()?;
    let probe = Probe { args, plan, wanted, console, world, interrupt: &interrupt };
    converse_host::runtime::block_on(probe.run())?
}

struct Probe<'a> {
    args: &'a ProbeArgs,
    plan: EnsemblePlan,
    wanted: Wanted,
    console: &'a Console,
    world: &'a World,
    interrupt: &'a Interrupt,
}

impl Probe<'_> {
    async fn run(&self) -> Result<(), Failure> {
        let (console, world) = (self.console, self.world);
        let (files, warnings) = Files::read(world).checked()?;
        console.warn_all(warnings);
        console.context.redactor.learn(model::keys(&files, world)?);
        let of_nobody = RuleOptions::default();
        let audit = AuditSink::new(files.audit.unwrap_or(true), None, &console.context, world);
        let found = self.found(rules(&of_nobody, &files)?, &audit).await?;
        if self.interrupt.number().is_some() {
            return Err(self.interrupt.failure());
        }
        if self.args.json {
            write_json(&found.json())?;
        } else {
            write_stdout(&found.text())?;
        }
        match found.calls.iter().filter(|call| call.is_amiss(self.wanted.is_all())).count() {
            0 => Ok(()),
            amiss => {
                let message = format!("{amiss} of {} did not succeed", counted(found.calls.len(), "call"));
                Err(Failure::new(Kind::Ensemble, "call", message))
            }
        }
    }

    async fn found(&self, rules: Vec<Rule>, audit: &AuditSink<'_>) -> Result<ProbeResult, Failure> {
        let (world, console, interrupt) = (self.world, self.console, self.interrupt);
        let (contents, lockfiles, protected) = (&Kept::new(None), Lockfiles::NONE, &[][..]);
        let asked = person::asked(self.args, console, world)?;
        let wiring = Wiring {
            world,
            context: &console.context,
            interrupt,
            deadline: None,
            contents,
            protected,
            lockfiles,
            asked,
        };
        let connected = wiring.connect(&[&self.plan], rules).await?;
        let found = self.looked(&connected, audit).await;
        connected.disconnect(&console.context).await;
        found
    }

    async fn looked(&self, connected: &Connected, audit: &AuditSink<'_>) -> Result<ProbeResult, Failure> {
        if let Some(error) = connected.errors().into_iter().next() {
            return Err(Failure::new(Kind::Ensemble, "ensemble", error));
        }
        let missing = || Failure::new(Kind::Internal, "internal", "it was connected and is not there");
        let server = connected.server(NAME).ok_or_else(missing)?;
        let survey = server.survey().ok_or_else(missing)?;
        let offer = connected.roster.offer();
        let mut found = ProbeResult::new(reached(&self.plan, self.world), survey, &offer);
        found.objections = linted(offer.tools());
        let caller = Caller { roster: &connected.roster, audit, interrupt: self.interrupt };
        found.calls = self.called(&caller).await?;
        found.lists = self.timed(server).await;
        found.counts = Counts::of(server, &found.survey).await;
        found.last_words = server.stderr_tail();
        Ok(found)
    }

    async fn called(&self, caller: &Caller<'_>) -> Result<Vec<Called>, Failure> {
        let mut called = Vec::new();
        for (number, call) in self.wanted.calls(&caller.roster.offer())?.into_iter().enumerate() {
            if self.interrupt.number().is_some() {
                break;
            }
            called.push(caller.call(number, call).await?);
        }
        Ok(called)
    }

    /// How long it takes to list its tools, a few times; the first error ends that.
    async fn timed(&self, server: &McpConnection) -> Vec<std::time::Duration> {
        let mut times = Vec::new();
        while times.len() < found::LISTS && self.interrupt.number().is_none() {
            match server.measure_listing().await {
                Ok(took) => times.push(took),
                Err(reason) => {
                    self.console.warn(&format!("warning: its tools could not be listed again: {reason}"));
                    break;
                }
            }
        }
        times
    }
}
