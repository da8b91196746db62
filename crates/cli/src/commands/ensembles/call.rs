//! `converse ensembles call`: one tool without a model, with the same permissions and pipeline.

use std::sync::Arc;

use converse_canister::{InvocationResult, Outcome};
use converse_engine::{AskApprover, InvocationReport};
use converse_ensemble::Roster;
use converse_mcp::Responders;

use crate::args::{Places, Rules};
use converse_host::audit::AuditSink;
use converse_host::catalogue::Catalogue;
use converse_host::contents::Kept;
use converse_host::failure::{Failure, Kind};
use converse_host::interrupt::Interrupt;
use converse_host::settings::Files;
use converse_host::single_call::Caller;
use converse_host::typed_arguments;
use converse_host::wiring::Wiring;
use converse_host::world::World;
use converse_terminal::approver::{Memory, TerminalApprover};
use converse_terminal::console::Console;
use converse_terminal::person::somebody;
use converse_terminal::render::output::{write_json, write_stdout};
use converse_terminal::render::result_text;
use converse_text::safe;

/// The call to make.
pub(super) struct Call<'a> {
    pub(super) tool: &'a str,
    pub(super) arguments: &'a [String],
    pub(super) places: &'a Places,
    pub(super) rules: &'a Rules,
    pub(super) as_json: bool,
    pub(super) interrupt: &'a Interrupt,
}

impl Call<'_> {
    pub(super) async fn run(&self, console: &Console, world: &World) -> Result<(), Failure> {
        let (ensemble, _) = self.tool.split_once('.').ok_or_else(|| {
            Failure::usage("bad-tool", format!("`{}` is not a tool name: write ensemble.invoker", self.tool))
        })?;
        let catalogue = Catalogue::find(world, &self.places.ensembles);
        let plan = catalogue.named(ensemble)?;
        console.warn_all(catalogue.notes());
        let (files, rules) = Files::for_tools(&self.rules.options(), &console.context, world)?;
        let protected = catalogue.protected();
        let (contents, lockfiles) = (&Kept::new(None), &catalogue.lockfiles());
        let responders = Responders { elicitor: somebody(console), ..Responders::default() };
        let looking = Wiring::looking(world, &console.context, self.interrupt, contents);
        let wiring = Wiring { protected, lockfiles, responders, ..looking };
        let connected = wiring.connect(&[plan], rules).await?;
        if let Some(error) = connected.errors().into_iter().next() {
            connected.disconnect(&console.context).await;
            return Err(Failure::new(Kind::Ensemble, "ensemble", error));
        }
        let audit = AuditSink::new(files.audit.unwrap_or(true), None, &console.context, world);
        let memory = Memory::new(connected.roster.rules(), &console.context.redactor, world);
        let approver = TerminalApprover::new(console.context.can_ask, Arc::clone(&console.progress));
        let caller = Caller::new(&connected.roster, &audit, self.interrupt);
        let result = self.invoke(&caller, &approver.remembering(memory, world)).await;
        connected.disconnect(&console.context).await;
        if self.interrupt.number().is_some() {
            return Err(self.interrupt.failure());
        }
        let InvocationReport { result, lacks_descriptors, .. } = result?;
        self.print(&result, world.stdout_tty).map_err(|failure| match lacks_descriptors {
            true => Failure::no_descriptors(format!("`{}` could not be started", self.tool)),
            false => failure,
        })
    }

    async fn invoke(
        &self,
        caller: &Caller<'_>,
        approver: &TerminalApprover,
    ) -> Result<InvocationReport, Failure> {
        let offer = caller.roster.offer();
        let tool = offer.tools().find(|tool| tool.qualified == self.tool);
        let tool = tool.ok_or_else(|| self.no_such_tool(caller.roster))?;
        let arguments = typed_arguments::parse(self.arguments, &tool.declaration.arguments)?;
        let name = tool.declaration.name.as_str();
        caller.call(name, arguments, &AskApprover(Some(approver)), None).await
    }

    fn no_such_tool(&self, roster: &Roster) -> Failure {
        let offer = roster.offer();
        if let Some(why) =
            offer.held_back().find(|tool| tool.qualified == self.tool).and_then(|tool| tool.held)
        {
            let message = format!("`{}` is held back: {}", self.tool, why.reason());
            let named = self.places.ensembles.iter();
            let flags: String =
                named.map(|directory| format!(" --ensembles {}", directory.display())).collect();
            let hint = format!("`converse ensembles lock{flags}` shows the changes; `--accept` accepts them");
            return Failure::new(Kind::Configuration, "held-back", message).hint(hint);
        }
        let names = offer.tools().map(|tool| tool.qualified.as_str());
        Failure::usage("unknown-tool", format!("there is no tool `{}`", self.tool)).did_you_mean(
            self.tool,
            names,
            "`converse ensembles show NAME` lists the tools of an ensemble",
        )
    }

    /// The result on stdout; a failure as an error with the exit code of its outcome.
    fn print(&self, result: &InvocationResult, terminal: bool) -> Result<(), Failure> {
        let text = result_text(result);
        if self.as_json {
            write_json(&serde_json::to_value(result).unwrap_or_default())?;
        } else if result.outcome.is_success() {
            let text = text.trim_end_matches('\n');
            let text = if terminal { safe(text) } else { text.into() };
            write_stdout(&format!("{text}\n"))?;
        }
        let kind = match result.outcome {
            Outcome::Success => return Ok(()),
            // The tool was offered, and its server has another one now.
            Outcome::NoSuchTool => return Err(Failure::new(Kind::Configuration, "held-back", text)),
            Outcome::Invalid => Kind::Usage,
            Outcome::Refused => Kind::Unapproved,
            Outcome::Timeout => Kind::Limit,
            Outcome::Unreachable | Outcome::Failed | Outcome::Cancelled | Outcome::Interrupted => {
                Kind::Ensemble
            }
        };
        Err(Failure::new(kind, result.outcome.label(), format!("{}: {text}", self.tool)))
    }
}
