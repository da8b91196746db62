//! The calls of a probe.

use std::time::Duration;

use converse_canister::{Arguments, InvocationResult, Outcome};
use converse_engine::AskApprover;
use converse_ensemble::tool_tests::synthesise;
use converse_ensemble::{Offer, Tool};
use serde_json::Map;

use crate::failure::Failure;
use crate::single_call::Caller;

/// Which tools a probe calls.
#[derive(Debug)]
pub enum ProbeCalls {
    /// Names and arguments as they were typed.
    Named(Vec<(String, Arguments)>),
    /// All tools, with generated arguments.
    All,
}

/// A call that was made.
#[derive(Debug)]
pub struct ProbeCall {
    pub tool: String,
    pub arguments: Arguments,
    pub result: InvocationResult,
    pub took: Duration,
}

impl ProbeCall {
    /// Whether the probe counts the call as a failure. A tool may refuse generated arguments, but it must answer.
    pub fn is_failed(&self, generated: bool) -> bool {
        match self.result.outcome {
            Outcome::Success => false,
            Outcome::Failed | Outcome::Invalid => !generated,
            _ => true,
        }
    }
}

impl ProbeCalls {
    /// Makes the calls. The probe itself allows them; what a rule of the user asks about or denies is refused.
    pub(super) async fn run(&self, caller: &Caller<'_>) -> Result<Vec<ProbeCall>, Failure> {
        let offer = caller.roster.offer();
        let calls: Vec<(&Tool, Arguments)> = match self {
            Self::All => offer.tools().map(|tool| (tool, generated(tool))).collect(),
            Self::Named(calls) => calls
                .iter()
                .map(|(name, arguments)| Ok((named(name, &offer)?, arguments.clone())))
                .collect::<Result<_, Failure>>()?,
        };
        let mut made = Vec::new();
        for (tool, arguments) in calls {
            let shown = tool.declaration.name.as_str();
            let answered = caller.call(shown, arguments.clone(), &AskApprover(None), None).await?;
            let took = answered.elapsed.unwrap_or_default();
            made.push(ProbeCall { tool: tool.invoker.to_string(), arguments, result: answered.result, took });
        }
        Ok(made)
    }
}

fn named<'o>(name: &str, offer: &'o Offer) -> Result<&'o Tool, Failure> {
    offer.tools().find(|tool| tool.invoker.as_str() == name).ok_or_else(|| {
        let names = offer.tools().map(|tool| tool.invoker.as_str());
        let failure = Failure::usage("unknown-tool", format!("the server has no tool `{name}`"));
        failure.did_you_mean(name, names, "to list the tools, leave out `--call`")
    })
}

/// Required arguments only, always the same. Empty if none can be generated: the tool then says what is wrong.
fn generated(tool: &Tool) -> Arguments {
    let samples = synthesise(&tool.declaration.arguments).ok();
    let least = samples.and_then(|samples| samples.fitting.into_iter().next());
    Arguments::from_object(least.map_or_else(Map::new, |sample| sample.arguments))
}

#[cfg(test)]
mod tests {
    use converse_canister::{InvocationId, TurnId};

    use super::*;

    #[test]
    fn a_tool_may_refuse_generated_arguments_and_not_typed_ones() {
        let called = |outcome| ProbeCall {
            tool: "t".to_owned(),
            arguments: Arguments::from_object(Map::new()),
            result: InvocationResult::new(InvocationId::of(TurnId(1), 0), outcome, String::new()),
            took: Duration::ZERO,
        };
        for (outcome, typed, generated) in [
            (Outcome::Success, false, false),
            (Outcome::Failed, true, false),
            (Outcome::Invalid, true, false),
            (Outcome::Timeout, true, true),
            (Outcome::Unreachable, true, true),
            (Outcome::Interrupted, true, true),
            (Outcome::Refused, true, true),
        ] {
            let call = called(outcome);
            assert_eq!((call.is_failed(false), call.is_failed(true)), (typed, generated), "{outcome:?}");
        }
    }
}
