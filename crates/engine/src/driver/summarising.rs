//! Requests a summary of the conversation on the current route, with retries. It costs like any reply, and its text is
//! not shown.

use converse_canister::Canister;
use converse_provider::{Controls, Effort};

use super::{CondenseOutcome, Driver, halted};
use crate::bill::{AttemptUsage, attempt_usage};
use crate::exchange::{Exchange, ShownReply};
use crate::withheld_reasoning::WithheldReasoning;
use crate::{AttemptError, EngineError, Event, Ports, Restart, Sink, SinkError};

/// Tokens of a summary, at most: with what a model thinks before it writes.
const OUTPUT: u64 = 8_192;
/// Of the window.
const OUTPUT_SHARE: u64 = 8;

impl Driver<'_> {
    /// Returns the text that the model writes, or the outcome if there is none.
    pub(super) async fn written(
        &mut self,
        request: &[Canister],
        window: u64,
    ) -> Result<Result<String, CondenseOutcome>, EngineError> {
        let (engine, turn) = (self.engine, self.conversation.transcript().next_turn());
        let route = engine.routes_from(self.route).0;
        let controls = plain(&route.controls, OUTPUT.min(window / OUTPUT_SHARE).max(64));
        self.conversation.count_model_call();
        self.summaries += 1;
        let iteration = self.conversation.iterations();
        self.ports.emit(&Event::Requested { turn, iteration, model: &route.model, tools: &[] })?;
        let quiet = Quiet(self.ports);
        let sinks: [&dyn Sink; 1] = [&quiet];
        let ports = Ports { sinks: &sinks, ..self.ports };
        let instead = self.instead();
        let instead = instead.as_deref();
        let exchange = Exchange {
            engine,
            route,
            ports,
            view: request,
            controls: &controls,
            note: None,
            // Nobody sees it.
            can_take_back: true,
            tools: &[],
            prepared: None,
            kept: None,
            turn,
            instead,
        };
        let (mut shown, mut withheld, mut bill) =
            (ShownReply::default(), WithheldReasoning::default(), self.conversation.bill());
        let outcome = tokio::select! {
            replied = exchange.run(&mut shown, &mut withheld, &mut bill) => replied.map_err(Some),
            ending = halted(engine, self.cancel) => {
                bill.pay(ports, route, instead)?;
                self.conversation.set_spending(&bill);
                return Ok(Err(CondenseOutcome::Ended(ending)));
            }
        };
        bill.pay(ports, route, instead)?;
        self.conversation.set_spending(&bill);
        let reply = match outcome {
            Ok(reply) => reply,
            Err(Some(error)) => {
                return match error.cause {
                    AttemptError::Sink(error) => Err(error.into()),
                    cause => Ok(Err(CondenseOutcome::Failed(cause.to_string()))),
                };
            }
            Err(None) => return Ok(Err(CondenseOutcome::Nothing)),
        };
        let AttemptUsage { usage, cost } = attempt_usage(reply.usage, reply.cost, &route.facts);
        let model = reply.model.as_deref().unwrap_or(&route.model);
        let provider = route.endpoint.provider.as_str();
        self.ports.emit(&Event::Used { usage, cost, model, provider, cut: false, instead })?;
        self.conversation.add_cost(cost);
        let words = reply.canisters.iter().filter_map(|canister| match canister {
            Canister::Assistant(assistant) => Some(assistant.words()),
            _ => None,
        });
        Ok(Ok(words.collect()))
    }
}

/// Returns the controls of the route without those that concern the answers of the conversation.
fn plain(controls: &Controls, most: u64) -> Controls {
    Controls {
        max_output_tokens: Some(u32::try_from(most).unwrap_or(u32::MAX)),
        stop: Vec::new(),
        answer: None,
        forced: None,
        single_call: false,
        show_reasoning: false,
        effort: controls.effort.map(|effort| match effort {
            Effort::None | Effort::Minimal => effort,
            _ => Effort::Low,
        }),
        ..controls.clone()
    }
}

/// A sink for the request of a summary: it passes on retries and costs, and drops the text.
struct Quiet<'a>(Ports<'a>);

impl Sink for Quiet<'_> {
    fn emit(&self, event: &Event<'_>) -> Result<(), SinkError> {
        match event {
            Event::Delta(_) | Event::Stalled => Ok(()),
            Event::Restarted(restart) => {
                self.0.emit(&Event::Restarted(Restart { discard: false, ..*restart }))
            }
            event => self.0.emit(event),
        }
    }
}
