//! How a turn ended, as an answer or as a failure with the exit code that the contract gives it.

use converse_engine::{Ending, Limit};

use crate::context::RunContext;
use crate::failure::{Failure, Kind};
use crate::interrupt::Interrupt;
use converse_text::safe;

pub fn outcome(ending: Ending, interrupt: &Interrupt) -> Result<(), Failure> {
    let limit = |message: String| Failure::new(Kind::Limit, "limit", message).resumable();
    Err(match ending {
        Ending::Finished { unapproved: 0, unsandboxed: 0 } => return Ok(()),
        Ending::Finished { unapproved: 0, unsandboxed } => {
            let message = format!("a sandbox was needed that is not to be had here ({unsandboxed} refused)");
            Failure::new(Kind::Unapproved, "unsandboxed", message)
                .hint("`converse doctor` says what is missing")
        }
        Ending::Finished { unapproved, .. } => {
            let message = format!("an approval was needed that nobody could give ({unapproved} refused)");
            Failure::new(Kind::Unapproved, "unapproved", message)
                .hint("`--allow 'ensemble.invoker'` approves for a run what no rule asks for")
        }
        Ending::Truncated => limit("the answer was cut at the model's output limit".to_owned()),
        Ending::Limit(Limit::Iterations(most)) => {
            limit(format!("the limit of {most} model calls is reached"))
        }
        Ending::Limit(Limit::Invocations(most)) => {
            limit(format!("the limit of {most} invocations is reached"))
        }
        Ending::Limit(Limit::Cost(most)) => limit(format!("the limit of {} USD is reached", most.dollars())),
        Ending::Limit(Limit::UnknownCost) => limit(
            "the limit of costs cannot be held: the provider did not say what the last reply took".to_owned(),
        ),
        Ending::Limit(Limit::Deadline) => limit("the deadline has passed".to_owned()),
        Ending::UnknownStop { word } => {
            let message = format!("the reply ended as `{word}`, which is no known end, and holds no answer");
            Failure::new(Kind::ProviderNonsense, "odd-ending", message)
                .hint("ask again, or ask another model")
                .resumable()
        }
        Ending::InvalidAnswer { errors } => {
            let message = format!("the answer never was what the schema asks for: {errors}");
            Failure::new(Kind::ProviderNonsense, "unfit-answer", message).resumable()
        }
        Ending::Stopped { id, tool } => {
            let tool = safe(&tool);
            let message = format!("`{tool}` failed ({id}), and its descriptor says `on_failure = \"stop\"`");
            Failure::new(Kind::Limit, "stopped", message).resumable()
        }
        Ending::RefusedByModel { reason } => {
            let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
            Failure::new(
                Kind::ProviderNonsense,
                "model-refused",
                format!("the model declined to answer{reason}"),
            )
        }
        Ending::Cancelled => interrupt.failure().resumable(),
    })
}

/// The failure as it is told: how to go on, if there is something to go on from, and no secret in it.
pub fn finished(failure: Failure, session: Option<&str>, context: &RunContext) -> Failure {
    let failure = match session {
        Some(id) if failure.resumable => {
            failure.hint(format!("the turn is kept: `converse ask --session {id} \"go on\"`"))
        }
        _ => failure,
    };
    failure.redacted(|text| context.redactor.clean(text))
}
