//! Has the record of a conversation summarised: a request of its own, on the route that is used, with its retries. It is
//! paid for like any reply, and nobody sees its words.

use converse_canister::Canister;
use converse_provider::{Controls, Effort};

use super::{Condensing, Driver, halted};
use crate::bill::{Taken, taken};
use crate::exchange::Exchange;
use crate::shown::Shown;
use crate::withheld_reasoning::WithheldReasoning;
use crate::{EngineError, Event, Ports, Restart, Sink, SinkError, Trouble};

/// Tokens of a summary, at most: with what a model thinks before it writes.
const OUTPUT: u64 = 8_192;
/// Of the window.
const OUTPUT_SHARE: u64 = 8;

impl Driver<'_> {
    /// What the model writes; or what is to be said instead.
    pub(super) async fn written(
        &mut self,
        asked: &[Canister],
        window: u64,
    ) -> Result<Result<String, Condensing>, EngineError> {
        let (engine, turn) = (self.engine, self.conversation.transcript().next_turn());
        let route = engine.routes_from(self.route).0;
        let controls = plain(&route.controls, OUTPUT.min(window / OUTPUT_SHARE).max(64));
        self.conversation.called();
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
            view: asked,
            controls: &controls,
            note: None,
            // Nobody sees it.
            can_take_back: true,
            tools: &[],
            turn,
            instead,
        };
        let (mut shown, mut withheld, mut bill) =
            (Shown::default(), WithheldReasoning::default(), self.conversation.bill());
        let outcome = tokio::select! {
            replied = exchange.run(&mut shown, &mut withheld, &mut bill) => replied.map_err(Some),
            ending = halted(engine, self.cancel) => {
                bill.pay(ports, route, instead)?;
                self.conversation.settled(&bill);
                return Ok(Err(Condensing::Ended(ending)));
            }
        };
        bill.pay(ports, route, instead)?;
        self.conversation.settled(&bill);
        let reply = match outcome {
            Ok(reply) => reply,
            Err(Some(error)) => {
                return match error.trouble {
                    Trouble::Sink(error) => Err(error.into()),
                    trouble => Ok(Err(Condensing::Failed(trouble.to_string()))),
                };
            }
            Err(None) => return Ok(Err(Condensing::Nothing)),
        };
        let Taken { usage, cost } = taken(reply.usage, reply.cost, &route.facts);
        let model = reply.model.as_deref().unwrap_or(&route.model);
        let provider = route.endpoint.provider.as_str();
        self.ports.emit(&Event::Used { usage, cost, model, provider, cut: false, instead })?;
        self.conversation.spent(cost);
        let words = reply.canisters.iter().filter_map(|canister| match canister {
            Canister::Assistant(assistant) => Some(assistant.words()),
            _ => None,
        });
        Ok(Ok(words.collect()))
    }
}

/// As the route is asked, but for what is about the conversation's own answers.
fn plain(controls: &Controls, most: u64) -> Controls {
    Controls {
        max_output_tokens: Some(u32::try_from(most).unwrap_or(u32::MAX)),
        stop: Vec::new(),
        answer: None,
        show_reasoning: false,
        effort: controls.effort.map(|effort| match effort {
            Effort::None | Effort::Minimal => effort,
            _ => Effort::Low,
        }),
        ..controls.clone()
    }
}

/// Hears of a request that is no turn of the conversation what concerns the user: waits and costs, no words.
struct Quiet<'a>(Ports<'a>);

impl Sink for Quiet<'_> {
    fn emit(&self, event: &Event<'_>) -> Result<(), SinkError> {
        match event {
            Event::Delta(_) => Ok(()),
            Event::Restarted(restart) => {
                self.0.emit(&Event::Restarted(Restart { discard: false, ..*restart }))
            }
            event => self.0.emit(event),
        }
    }
}
