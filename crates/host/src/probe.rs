//! Probes one MCP server: connects it like any ensemble, measures it, and calls its tools if that is wanted.

mod calls;
mod default_answers;

use std::future::Future;
use std::time::Duration;

use converse_config::{EnsemblePlan, Rule};
use converse_ensemble::{Offer, Tool};
use converse_mcp::{McpConnection, OfferError, Offered, Responders, Survey};
use converse_provider::{LintTarget, Remedy, lint, lint_name};
use serde_json::json;

use crate::audit::AuditSink;
use crate::contents::Kept;
use crate::context::RunContext;
use crate::failure::{Failure, Kind};
use crate::interrupt::Interrupt;
use crate::single_call::Caller;
use crate::wiring::{Connected, Wiring};
use crate::world::World;

pub use calls::{ProbeCall, ProbeCalls};
pub use default_answers::DefaultAnswers;

/// How often the tools are listed to measure the time.
const LISTINGS: usize = 5;
/// Bytes per token of text in English and JSON, as in `ask --count-tokens`.
const BYTES_PER_TOKEN: usize = 4;

/// A probe of one server.
#[derive(Debug)]
pub struct Probe<'a> {
    pub plan: &'a EnsemblePlan,
    pub calls: &'a ProbeCalls,
    pub context: &'a RunContext,
    pub world: &'a World,
    pub interrupt: &'a Interrupt,
}

/// The result of a probe.
#[derive(Debug)]
pub struct ProbeResult {
    pub survey: Survey,
    pub tools: Vec<String>,
    /// The cost of all tool declarations in one model call, in tokens.
    pub tokens: usize,
    pub objections: Vec<ToolObjection>,
    pub counts: Counts,
    /// The times that listing the tools took.
    pub listings: Vec<Duration>,
    pub calls: Vec<ProbeCall>,
    /// The end of stderr of the server.
    pub stderr: String,
}

/// What one provider rejects or changes in a tool.
#[derive(Debug)]
pub struct ToolObjection {
    pub provider: &'static str,
    pub tool: String,
    /// The place in the schema.
    pub pointer: String,
    pub message: String,
    pub remedy: &'static str,
}

impl Probe<'_> {
    /// Connects the server, probes it and disconnects it.
    pub async fn run(
        &self,
        rules: Vec<Rule>,
        responders: Responders,
        audit: &AuditSink,
    ) -> Result<ProbeResult, Failure> {
        let contents = Kept::new(None);
        let looking = Wiring::looking(self.world, self.context, self.interrupt, &contents);
        let connected = Wiring { responders, ..looking }.connect(&[self.plan], rules).await?;
        let result = self.probe(&connected, audit).await;
        connected.disconnect(self.context).await;
        if self.interrupt.number().is_some() { Err(self.interrupt.failure()) } else { result }
    }

    async fn probe(&self, connected: &Connected, audit: &AuditSink) -> Result<ProbeResult, Failure> {
        if let Some(error) = connected.errors().into_iter().next() {
            return Err(Failure::new(Kind::Ensemble, "ensemble", error));
        }
        let missing = || Failure::new(Kind::Internal, "internal", "the connected server is missing");
        let server = connected.server(self.plan.name.as_str()).ok_or_else(missing)?;
        let survey = server.survey().ok_or_else(missing)?;
        let offer = connected.roster.offer();
        let calls = self.calls.run(&Caller::new(&connected.roster, audit, self.interrupt)).await?;
        let listings = self.listings(server).await;
        let counts = Counts::of(server, &survey).await;
        Ok(ProbeResult {
            survey,
            tools: offer.tools().map(|tool| tool.invoker.to_string()).collect(),
            tokens: tokens(&offer),
            objections: objections(&offer),
            counts,
            listings,
            calls,
            stderr: server.stderr_tail(),
        })
    }

    /// Measures listing the tools several times. The first error ends the measurement.
    async fn listings(&self, server: &McpConnection) -> Vec<Duration> {
        let mut times = Vec::new();
        while times.len() < LISTINGS && self.interrupt.number().is_none() {
            match server.measure_listing().await {
                Ok(took) => times.push(took),
                Err(reason) => {
                    self.context.warn(&format!("warning: its tools could not be listed again: {reason}"));
                    break;
                }
            }
        }
        times
    }
}

impl ProbeResult {
    /// The minimum and the median of the times that listing the tools took.
    pub fn listing_times(&self) -> Option<(Duration, Duration)> {
        let mut times = self.listings.clone();
        times.sort_unstable();
        Some((*times.first()?, *times.get(times.len() / 2)?))
    }
}

fn tokens(offer: &Offer) -> usize {
    let bytes = |tool: &Tool| {
        let declaration = &tool.declaration;
        let text = json!([declaration.description, declaration.arguments]).to_string();
        tool.invoker.as_str().len() + text.len()
    };
    offer.tools().map(bytes).sum::<usize>().div_ceil(BYTES_PER_TOKEN)
}

fn objections(offer: &Offer) -> Vec<ToolObjection> {
    let of_tool = |provider: LintTarget, tool: &Tool| {
        // The name as the server gives it: the prefix belongs to the probe.
        let of_name = lint_name(provider, tool.invoker.as_str(), &tool.declaration.name);
        let objections = of_name.into_iter().chain(lint(provider, &tool.declaration));
        let objected = objections.map(|objection| ToolObjection {
            provider: provider.label(),
            tool: tool.invoker.to_string(),
            pointer: objection.pointer,
            message: objection.message,
            remedy: match objection.remedy {
                Remedy::Adapted => "adapted",
                Remedy::Ignored => "ignored",
                Remedy::MustChange => "must change",
            },
        });
        objected.collect::<Vec<_>>()
    };
    offer
        .tools()
        .flat_map(|tool| LintTarget::ALL.into_iter().flat_map(move |one| of_tool(one, tool)))
        .collect()
}

/// Numbers of resources, templates and prompts. `None`: not declared, or not listed.
#[derive(Debug, Default)]
pub struct Counts {
    pub resources: Option<usize>,
    pub templates: Option<usize>,
    pub prompts: Option<usize>,
    /// What could not be listed or was left out, with the reason.
    pub problems: Vec<String>,
}

impl Counts {
    async fn of(server: &McpConnection, survey: &Survey) -> Self {
        let declares = |name: &str| survey.capabilities.iter().any(|capability| capability == name);
        let mut counts = Self::default();
        if declares("resources") {
            counts.resources = counts.count("resources", server.resources()).await;
            counts.templates = counts.count("resource templates", server.templates()).await;
        }
        if declares("prompts") {
            counts.prompts = counts.count("prompts", server.prompts()).await;
        }
        counts
    }

    async fn count<T>(
        &mut self,
        what: &str,
        listed: impl Future<Output = Result<Offered<T>, OfferError>>,
    ) -> Option<usize> {
        match listed.await {
            Ok(offered) => {
                self.problems.extend(offered.skipped.iter().map(|why| format!("{what}: {why}")));
                Some(offered.items.len())
            }
            Err(error) => {
                self.problems.push(format!("{what} could not be listed: {error}"));
                None
            }
        }
    }
}
