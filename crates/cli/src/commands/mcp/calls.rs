//! Calls of the server's tools, by the way of every invocation.

use std::time::Duration;

use converse_canister::{Arguments, Invocation, InvocationId, InvocationResult, Outcome, TurnId};
use converse_engine::{Asking, SingleInvocation};
use converse_ensemble::tool_tests::synthesise;
use converse_ensemble::{CancelScope, Host, Offer, Roster, Tool};
use serde_json::Map;

use crate::args::ProbeArgs;
use converse_host::audit::AuditSink;
use converse_host::failure::Failure;
use converse_host::interrupt::Interrupt;

const TURN: TurnId = TurnId(1);

/// What is to be called.
#[derive(Debug)]
pub(super) enum Wanted {
    /// Names and arguments as they were typed.
    These(Vec<(String, Arguments)>),
    All,
}

/// One call to be.
#[derive(Debug)]
pub(super) struct Call {
    tool: String,
    /// By which it is invoked.
    shown: String,
    arguments: Arguments,
}

/// One that was done.
#[derive(Debug)]
pub(super) struct Called {
    pub(super) tool: String,
    pub(super) arguments: Arguments,
    pub(super) result: InvocationResult,
    pub(super) took: Duration,
}

impl Called {
    /// With arguments that nobody thought about a tool may well say no; it may not fall silent or be lost.
    pub(super) fn is_amiss(&self, made_up: bool) -> bool {
        match self.result.outcome {
            Outcome::Success => false,
            Outcome::Failed | Outcome::Invalid => !made_up,
            _ => true,
        }
    }
}

impl Wanted {
    pub(super) fn of(args: &ProbeArgs) -> Result<Self, Failure> {
        if args.call_all {
            return Ok(Self::All);
        }
        let pairs = args.call.chunks(2).filter_map(|pair| Some((pair.first()?, pair.get(1)?)));
        let read = pairs.map(|(tool, text)| {
            let arguments = Arguments::parse(text);
            match &arguments.malformed {
                None => Ok((tool.clone(), arguments)),
                Some(why) => Err(Failure::usage("bad-argument", format!("the arguments of `{tool}`: {why}"))),
            }
        });
        Ok(Self::These(read.collect::<Result<_, _>>()?))
    }

    pub(super) fn is_all(&self) -> bool {
        matches!(self, Self::All)
    }

    pub(super) fn calls(&self, offer: &Offer) -> Result<Vec<Call>, Failure> {
        match self {
            Self::All => Ok(offer.tools().map(made_up).collect()),
            Self::These(these) => {
                these.iter().map(|(tool, arguments)| named(tool, arguments, offer)).collect()
            }
        }
    }
}

fn named(name: &str, arguments: &Arguments, offer: &Offer) -> Result<Call, Failure> {
    let tool = offer.tools().find(|tool| tool.invoker.as_str() == name);
    let tool = tool.ok_or_else(|| {
        let names = offer.tools().map(|tool| tool.invoker.as_str());
        let failure = Failure::usage("unknown-tool", format!("the server has no tool `{name}`"));
        failure.did_you_mean(name, names, "without `--call` its tools are listed")
    })?;
    let shown = tool.declaration.name.to_string();
    Ok(Call { tool: name.to_owned(), shown, arguments: arguments.clone() })
}

/// Only what is required, always the same; nothing at all, if nothing can be made: the tool says what is wrong.
fn made_up(tool: &Tool) -> Call {
    let made = synthesise(&tool.declaration.arguments).ok();
    let least = made.and_then(|made| made.fitting.into_iter().next());
    let arguments = least.map_or_else(Map::new, |sample| sample.arguments);
    Call {
        tool: tool.invoker.to_string(),
        shown: tool.declaration.name.to_string(),
        arguments: Arguments::from_object(arguments),
    }
}

/// Where calls are made.
pub(super) struct Caller<'a> {
    pub(super) roster: &'a Roster,
    pub(super) audit: &'a AuditSink<'a>,
    pub(super) interrupt: &'a Interrupt,
}

impl Caller<'_> {
    /// Nobody is asked: the probe itself allows, and what the user's own rules ask about or deny is refused.
    pub(super) async fn call(&self, number: usize, call: Call) -> Result<Called, Failure> {
        let scope = CancelScope::below(&self.interrupt.token);
        let ruling = Asking(None);
        let sink = self.audit;
        let single =
            SingleInvocation { roster: self.roster, ruling: &ruling, sink, scope: &scope, within: None };
        let invocation = Invocation {
            turn: TURN,
            id: InvocationId::of(TURN, number),
            wire_id: None,
            tool: call.shown,
            arguments: call.arguments.clone(),
            seal: None,
        };
        let answered = single.run(invocation, Host::default()).await?;
        let took = answered.elapsed.unwrap_or_default();
        Ok(Called { tool: call.tool, arguments: call.arguments, result: answered.result, took })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_may_refuse_what_was_made_up_and_not_what_was_typed() {
        let called = |outcome| Called {
            tool: "t".to_owned(),
            arguments: Arguments::from_object(Map::new()),
            result: InvocationResult::new(InvocationId::of(TURN, 0), outcome, String::new()),
            took: Duration::ZERO,
        };
        for (outcome, typed, made_up) in [
            (Outcome::Success, false, false),
            (Outcome::Failed, true, false),
            (Outcome::Invalid, true, false),
            (Outcome::Timeout, true, true),
            (Outcome::Unreachable, true, true),
            (Outcome::Interrupted, true, true),
            (Outcome::Refused, true, true),
        ] {
            let called = called(outcome);
            assert_eq!((called.is_amiss(false), called.is_amiss(true)), (typed, made_up), "{outcome:?}");
        }
    }
}
