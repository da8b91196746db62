//! One turn of the user with one model, with everything that is decided about it.

use converse_canister::{Canister, Transcript, questions};

use super::Run;
use super::ask_run::{AskRun, TurnContext};
use super::output::Output;
use converse_host::attach;
use converse_host::failure::{Failure, Kind};
use converse_host::settings::Settings;
use converse_host::{History, HostParts};

pub(super) struct Turn<'a> {
    pub(super) ask_run: &'a AskRun<'a>,
    pub(super) settings: &'a Settings,
    pub(super) output: &'a Output,
    /// Its place among the models that are compared.
    pub(super) caller: usize,
}

impl Turn<'_> {
    pub(super) async fn run(self, history: History, turn_context: &TurnContext<'_>) -> Result<(), Failure> {
        let Self { ask_run, settings, output, caller } = self;
        let Run { console, world, .. } = *ask_run.run;
        let TurnContext { connected, said, contents, approvers } = turn_context;
        let session = history.id().map(|id| id.to_string());
        let errors = connected.errors();
        output.introduce(&settings.model, session.as_deref(), &connected.roster, &errors, console)?;
        console.warn_all(settings.fallbacks.left_out.iter().cloned());
        let next = history.transcript().next_turn();
        let said = said.canisters(attach::keeper(contents).as_ref(), *contents, next)?;
        let meter = ask_run.spent.meter(caller, next);
        let who = ask_run.shared.as_ref().map(|_| settings.model.id.as_str());
        let (context, interrupt) = (&console.context, &ask_run.interrupt);
        if world.stderr_tty && output.is_for_people() {
            let roster = connected.roster.for_caller(caller);
            console.progress.shows_changes(move |invocation| roster.written_file(invocation));
        }
        let mut conversation = HostParts { world, context, settings, connected, contents, interrupt }
            .conversation()
            .approver(approvers.of(caller, who))
            .sink(&meter)
            .sink(output.renderer())
            .sink(output.progress(console))
            .caller(caller)
            .deadline(ask_run.deadline)
            .can_take_back(output.can_take_back(world))
            .resume(history);
        let ended = conversation.say(said).finish().await;
        let way_out = |failure| without_the_question(failure, conversation.transcript(), session.as_deref());
        ended.map_err(way_out)?;
        let calls = |canister: &Canister| matches!(canister, Canister::Invocation(call) if call.turn >= next);
        match settings.model.without_a_model() {
            Some(failure) if !conversation.transcript().as_slice().iter().any(calls) => Err(failure),
            _ => Ok(()),
        }
    }
}

/// A question that a provider would not have stays in the session, and would be sent again with the next one.
fn without_the_question(failure: Failure, transcript: &Transcript, session: Option<&str>) -> Failure {
    let canisters = transcript.as_slice();
    let answered = questions::answered(canisters);
    let is_refused = matches!(failure.kind, Kind::ProviderRefused | Kind::ProviderNonsense)
        && failure.facts.iter().any(|(name, _)| *name == "status");
    match session {
        Some(id) if is_refused && (1..canisters.len()).contains(&answered) => failure.hint(format!(
            "the question is saved in the session and sent with the next one; `converse sessions fork {id} --at \
             {answered}` continues without it"
        )),
        _ => failure,
    }
}
