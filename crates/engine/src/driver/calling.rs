//! A model call, on the first route that answers.

use std::borrow::Cow;

use converse_canister::{Assistant, Canister, Content, Invocation, TurnId};
use converse_provider::{Prompt, Reply, ToolProtocol, degraded, echoes_data};
use parking_lot::Mutex;
use serde_json::json;

use super::condensing::OfferedTools;
use super::{Driver, halted};
use crate::bill::{AttemptUsage, Bill, attempt_usage};
use crate::context::Sums;
use crate::exchange::{Exchange, ShownReply};
use crate::reply_warnings::reply_warnings;
use crate::withheld_reasoning::WithheldReasoning;
use crate::{Ending, EngineError, Event, ExchangeError, Restart, Route, SinkError};

impl Driver<'_> {
    pub(super) async fn call_model(&mut self) -> Result<(), EngineError> {
        tokio::select! {
            biased;
            () = self.engine.roster.refresh() => {}
            ending = halted(self.engine, self.cancel) => {
                self.conversation.end(ending);
                return Ok(());
            }
        }
        let offer = self.engine.roster.offer();
        self.conversation.count_model_call();
        let turn = self.conversation.transcript().next_turn();
        let iteration = self.conversation.iterations();
        let mut was_too_long = false;
        loop {
            let (route, next) = self.engine.routes_from(self.route);
            let tools = &*self.tools(&offer, route)?;
            let prepared = std::ptr::eq(tools, &*offer.declarations).then_some(&offer.prepared);
            let shown_tools = OfferedTools { declarations: tools, prepared };
            let Some(estimated) = Box::pin(self.make_room(shown_tools)).await? else { return Ok(()) };
            self.ports.emit(&Event::Requested { turn, iteration, model: &route.model, tools })?;
            self.report_degraded(route)?;
            let view = self.conversation.view();
            // The transcript itself: it only grows.
            let kept = matches!(view, Cow::Borrowed(_)).then_some(&self.kept);
            let (engine, ports, instead) = (self.engine, self.ports, self.instead());
            let instead = instead.as_deref();
            let (controls, note, can_take_back) =
                (&route.controls, engine.note.as_deref(), engine.can_take_back);
            let exchange = Exchange {
                engine,
                route,
                ports,
                view: &view,
                controls,
                note,
                can_take_back,
                tools,
                prepared,
                kept,
                turn,
                instead,
            };
            let (mut shown, mut bill) = (ShownReply::default(), self.conversation.bill());
            let mut stop = None;
            let outcome = tokio::select! {
                replied = exchange.run(&mut shown, &mut self.withheld, &mut bill) => replied.map_err(Some),
                ending = halted(self.engine, self.cancel) => {
                    stop = Some(ending);
                    Err(None)
                }
            };
            drop(view);
            if let Some(ending) = stop {
                self.conversation.end(ending);
            }
            let error = match outcome {
                Ok(reply) => {
                    self.conversation.set_spending(&bill);
                    self.counted(estimated, reply.usage.input);
                    let (reply, echoes) =
                        without_echoes(reply, self.conversation.transcript().as_slice(), route);
                    let warnings = reply_warnings(&reply, &echoes, tools, route);
                    self.take(reply)?;
                    let warn = |warning: &String| self.ports.emit(&Event::Warned(warning));
                    return Ok(warnings.iter().try_for_each(warn)?);
                }
                Err(error) => error,
            };
            let too_long = error.as_ref().is_some_and(|error| error.cause.is_too_long());
            if too_long && !was_too_long && self.engine.compaction.compact && !shown.is_final(can_take_back) {
                was_too_long = true;
                bill.pay(ports, route, instead)?;
                self.conversation.set_spending(&bill);
                // Boxed like the other one: the state of a reply that is read must not have room for it.
                if Box::pin(self.make_shorter(shown_tools, estimated)).await? {
                    continue;
                }
            }
            let next = next.filter(|_| {
                let passes = error.as_ref().is_some_and(|error| error.cause.is_server_fault());
                passes && !shown.is_final(self.engine.can_take_back)
            });
            let barred = bill.barred().or_else(|| next.and_then(|_| bill.reaches()));
            match (error, next, barred) {
                (Some(error), Some(next), None) => {
                    bill.pay(ports, route, instead)?;
                    self.conversation.set_spending(&bill);
                    self.turn_to(next, &error, &shown)?;
                    self.route += 1;
                    self.withheld = WithheldReasoning::default();
                    self.kept = Mutex::default();
                    self.sums = Sums::default();
                }
                (error, _, barred) => {
                    let kept = self.keep(shown, turn, bill)?;
                    let Some(error) = error else { return Ok(()) };
                    if let Some(limit) = barred {
                        self.conversation.end(Ending::Limit(limit));
                        return Ok(self.ports.emit(&Event::Warned(&not_again(&error)))?);
                    }
                    let routes_before = self.route;
                    return Err(EngineError::Exchange(Box::new(ExchangeError {
                        kept,
                        routes_before,
                        ..error
                    })));
                }
            }
        }
    }

    /// Warns once in a run about each piece of the conversation that this model cannot be shown as it is.
    fn report_degraded(&mut self, route: &Route<'_>) -> Result<(), SinkError> {
        let prompt = Prompt {
            model: &route.model,
            // All of it, each time: newer pieces may take the room of older ones.
            view: &self.conversation.view(),
            tools: &[],
            controls: &route.controls,
            facts: &route.facts,
            blobs: self.engine.blobs,
        };
        for one in degraded(&prompt, &route.endpoint) {
            let key = (route.id(), one.digest, one.name.clone());
            if self.conversation.context_state_mut().degraded_reported.insert(key) {
                self.ports.emit(&Event::Warned(&one.describe(&route.endpoint, &route.model)))?;
            }
        }
        Ok(())
    }

    /// Returns the id of the current route, if it is not the first.
    pub(super) fn instead(&self) -> Option<String> {
        (self.route > 0).then(|| self.engine.routes_from(self.route).0.id())
    }

    /// Warns that another route answers, and why.
    fn turn_to(&self, next: &Route<'_>, error: &ExchangeError, shown: &ShownReply) -> Result<(), SinkError> {
        let reason = error.cause.to_string();
        if shown.any {
            let (attempt, delay) = (error.attempts, std::time::Duration::ZERO);
            self.ports.emit(&Event::Restarted(Restart { reason: &reason, attempt, delay, discard: true }))?;
        }
        let request = error.request_id.as_ref().map(|id| format!(" (request {id})")).unwrap_or_default();
        let (from, to) = (&error.route, next.id());
        self.ports.emit(&Event::Warned(&format!("{from} failed: {reason}{request}; continuing with {to}")))
    }

    /// Keeps text that was shown in the conversation, marked as cut, and counts its cost. Returns whether there was any.
    fn keep(&mut self, shown: ShownReply, turn: TurnId, mut bill: Bill) -> Result<bool, EngineError> {
        let cut = shown.cut(turn);
        let kept = cut.is_some();
        cut.map_or(Ok(()), |cut| self.append_reply(cut))?;
        // Says also that the reply has come as far as it will.
        bill.pay(self.ports, self.engine.routes_from(self.route).0, self.instead().as_deref())?;
        self.conversation.set_spending(&bill);
        if kept {
            self.commit(true)?;
        }
        Ok(kept)
    }

    fn take(&mut self, reply: Reply) -> Result<(), EngineError> {
        reply.canisters.into_iter().try_for_each(|canister| self.append_reply(canister))?;
        let route = self.engine.routes_from(self.route).0;
        let AttemptUsage { usage, cost } = attempt_usage(reply.usage, reply.cost, &route.facts);
        let (model, instead) = (reply.model.as_deref().unwrap_or(&route.model), self.instead());
        let instead = instead.as_deref();
        let provider = route.endpoint.provider.as_str();
        self.ports.emit(&Event::Used { usage, cost, model, provider, cut: false, instead })?;
        self.conversation.add_cost(cost);
        if self.conversation.transcript().has_open() { Ok(()) } else { self.commit(true) }
    }

    fn append_reply(&mut self, canister: Canister) -> Result<(), EngineError> {
        self.ports.emit(&Event::Appended(&canister))?;
        Ok(self.conversation.push_reply(canister)?)
    }
}

/// Returns the warning of a turn that ends at its limit of cost after a failed attempt.
fn not_again(error: &ExchangeError) -> String {
    format!("{} failed: {}; not retried because of the cost limit", error.route, error.cause)
}

/// Returns the reply with repeated calls as text, and the names of their tools. Only where calls are read from text: a
/// native call is the model's own.
fn without_echoes(mut reply: Reply, transcript: &[Canister], route: &Route<'_>) -> (Reply, Vec<String>) {
    let mut echoes = Vec::new();
    if route.endpoint.tools != ToolProtocol::Prompted {
        return (reply, echoes);
    }
    let mut canisters: Vec<Canister> = Vec::new();
    for canister in std::mem::take(&mut reply.canisters) {
        match (canister, canisters.last_mut()) {
            (Canister::Invocation(call), last) if echoes_data(&call, transcript) => {
                echoes.push(call.tool.clone());
                let words = Content::text(written(&call));
                match last {
                    Some(Canister::Assistant(assistant)) => assistant.content.push(words),
                    _ => canisters.push(Canister::Assistant(Assistant {
                        turn: call.turn,
                        content: vec![words],
                        native: None,
                        stop: reply.stop.clone(),
                        response_id: None,
                    })),
                }
            }
            (canister, _) => canisters.push(canister),
        }
    }
    reply.canisters = canisters;
    (reply, echoes)
}

/// The call as the model wrote it, but for blanks.
fn written(call: &Invocation) -> String {
    let arguments = json!(call.arguments.object);
    format!("\n<tool_call>\n{}\n</tool_call>\n", json!({ "name": call.tool, "arguments": arguments }))
}
