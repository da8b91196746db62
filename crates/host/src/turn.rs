//! What goes with a turn of the user: the system text before it, where it is kept, how it ended.

pub mod database;
pub mod sessions;

use converse_canister::{Canister, Supervisor, Transcript};
use converse_engine::{Ending, Limit};
use converse_text::safe;
use converse_text::wording::counted;

use crate::context::RunContext;
use crate::failure::{Failure, Kind};
use crate::interrupt::Interrupt;
use crate::world::World;

/// The system text, if it is new to the conversation, and what the user says. Nothing precedes a turn without a message,
/// which continues with open invocations.
pub fn opening(transcript: &Transcript, system: Option<&str>, said: Vec<Canister>) -> Vec<Canister> {
    let last = transcript.as_slice().iter().rev().find_map(|canister| match canister {
        Canister::Supervisor(supervisor) => Some(supervisor.text.as_str()),
        _ => None,
    });
    let new = system.filter(|text| !said.is_empty() && Some(*text) != last);
    let supervisor = new.map(|text| Canister::Supervisor(Supervisor { text: text.to_owned() }));
    supervisor.into_iter().chain(said).collect()
}

/// Returns a warning if the words contain a known key. `is_kept`: in a session.
pub fn key_warning(words: &str, is_kept: bool, context: &RunContext, world: &World) -> Option<String> {
    let key = context.redactor.find_secret(words)?;
    let named = world.env.iter().find(|(_, value)| value.trim() == key.expose());
    let key = named.map_or("a key".to_owned(), |(name, _)| format!("the key in {name}"));
    let session = if is_kept { " and into the session" } else { "" };
    Some(format!("warning: that looks like {key}; it goes to the model{session}"))
}

/// Returns the failure of a turn that did not finish, with the exit code that the contract gives it.
pub fn outcome(ending: Ending, interrupt: &Interrupt) -> Result<(), Failure> {
    let limit = |message: String| Failure::new(Kind::Limit, "limit", message).resumable();
    Err(match ending {
        Ending::Finished { unapproved: 0, unsandboxed: 0, unstarted: 0 } => return Ok(()),
        Ending::Finished { unapproved: 0, unsandboxed: 0, unstarted } => {
            Failure::no_descriptors(format!("{} could not be started", counted(unstarted, "invocation")))
                .of_answered_turn()
        }
        Ending::Finished { unapproved: 0, unsandboxed, .. } => {
            let message = format!("a required sandbox is not available here ({unsandboxed} refused)");
            Failure::new(Kind::Unapproved, "unsandboxed", message)
                .hint("`converse doctor` shows what the sandbox lacks")
                .of_answered_turn()
        }
        Ending::Finished { unapproved, .. } => {
            let message =
                format!("an approval was needed, but there was nobody to ask ({unapproved} refused)");
            Failure::new(Kind::Unapproved, "unapproved", message)
                .hint("`--allow 'ensemble.invoker'` approves a tool for one run")
                .of_answered_turn()
        }
        Ending::Truncated => limit("the answer was truncated at the output limit of the model".to_owned()),
        Ending::Limit(Limit::Iterations(most)) => {
            limit(format!("the limit of {most} model calls is reached"))
        }
        Ending::Limit(Limit::Invocations(most)) => {
            limit(format!("the limit of {most} invocations is reached"))
        }
        Ending::Limit(Limit::Cost(most)) => limit(format!("the limit of {} USD is reached", most.dollars())),
        Ending::Limit(Limit::UnknownCost) => limit(
            "the cost limit cannot be enforced: the provider did not report the usage of the last reply"
                .to_owned(),
        ),
        Ending::Limit(Limit::Deadline) => limit("the deadline has passed".to_owned()),
        Ending::UnknownStop { word } => {
            let message = format!("the reply ended with the unknown stop reason `{word}` and has no answer");
            Failure::new(Kind::ProviderNonsense, "odd-ending", message)
                .hint("repeat the question, or use another model")
                .resumable()
        }
        Ending::InvalidAnswer { errors } => {
            let message = format!("no answer matched the schema: {errors}");
            Failure::new(Kind::ProviderNonsense, "unfit-answer", message).resumable()
        }
        Ending::Postponed { ids } => {
            let message = format!("{} waits for an approval", counted(ids.len(), "invocation"));
            Failure::new(Kind::Unapproved, "waiting", message).resumable()
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

/// The failure as shown: with a hint how to continue, if possible, and without secrets.
pub fn with_resume_hint(failure: Failure, session: Option<&str>, context: &RunContext) -> Failure {
    let failure = match session {
        Some(id) if failure.resumable => {
            failure.hint(format!("the turn is saved; to continue: `converse ask --session {id} \"go on\"`"))
        }
        _ => failure,
    };
    failure.redacted(|text| context.redactor.clean(text))
}
