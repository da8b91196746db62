//! One turn of the user with one model, with everything that is decided about it.

use converse_engine::{Conversation, Ports, Sink, converse};

use super::ask_run::{AskRun, TurnContext};
use super::conversation::Keeping;
use super::output::Output;
use converse_host::attach;
use converse_host::audit::AuditSink;
use converse_host::failure::{Failure, Kind};
use converse_host::journal::JournalSink;
use converse_host::settings::Settings;
use converse_host::turn::{Asking, ending, opening, say, sayings};
use converse_host::world::World;

pub(super) struct Turn<'a> {
    pub(super) ask_run: &'a AskRun<'a>,
    pub(super) settings: &'a Settings,
    pub(super) output: &'a Output,
    /// Its place among the models that are compared.
    pub(super) caller: usize,
}

impl Turn<'_> {
    pub(super) async fn run(self, keeping: Keeping, turn_context: &TurnContext<'_>) -> Result<(), Failure> {
        let Self { ask_run, settings, output, caller } = self;
        let (console, world) = (ask_run.run.console, ask_run.run.world);
        let session_id = keeping.session.as_ref().map(|session| session.id.to_string());
        let condensed = keeping.session.as_ref().and_then(|session| session.loaded.condensed.clone());
        let said = keeping.transcript.as_slice().len();
        let journal =
            |session| JournalSink::new(session, said, World::now).with_cassette(&console.context.cassette);
        let journal = keeping.session.map(journal);
        let audit = AuditSink::new(settings.audit, session_id.clone(), &console.context, world);
        let (roster, errors) =
            (turn_context.connected.roster.for_caller(caller), turn_context.connected.errors());
        output.introduce(&settings.model, session_id.as_deref(), &roster, &errors, console)?;
        if let Some(journal) = &journal {
            journal.note_model(&settings.model.id);
            journal.note_replay();
        }
        let meter = ask_run.spent.meter(caller, keeping.transcript.next_turn());
        let mut sinks: Vec<&dyn Sink> = vec![&meter];
        sinks.extend(journal.as_ref().map(|journal| journal as &dyn Sink));
        sinks.extend([&audit as &dyn Sink, output.renderer(), output.progress(console)]);
        let who = ask_run.shared.as_ref().map(|_| settings.model.id.as_str());
        let approver = turn_context.approvers.of(caller, who);
        console.warn_all(settings.fallbacks.left_out.iter().cloned());
        let listener = console.context.telemetry.turn(&settings.model.id, session_id.as_deref());
        sinks.extend(listener.as_ref().map(|listener| listener as &dyn Sink));
        let wires = settings.wires();
        let ports = Ports { approver: &approver, sinks: &sinks, jitter: &World::dice };
        let mut conversation =
            Conversation::resume(keeping.transcript, settings.limits).with_condensed(condensed);
        let next = conversation.transcript().next_turn();
        let said = turn_context.said.canisters(
            attach::keeper(turn_context.contents).as_ref(),
            turn_context.contents,
            next,
        )?;
        let said = opening(conversation.transcript(), settings.system.as_deref(), said);
        say(&mut conversation, said, ports, journal.as_ref())?;
        let asking = Asking {
            settings,
            roster: &roster,
            contents: turn_context.contents,
            note: turn_context.connected.note(),
            can_take_back: output.can_take_back(world),
            deadline: ask_run.deadline,
        };
        let engine = asking.engine(&wires);
        let ended = converse(&mut conversation, &engine, ports, &ask_run.interrupt.token).await;
        settings.cassette.turned(ended.as_ref().ok());
        let ended = ended.map_err(Failure::from).and_then(|ended| ending::outcome(ended, &ask_run.interrupt));
        let ended = settings.cassette.verdict(ended);
        let ended =
            ended.map_err(|failure| without_the_question(failure, &conversation, session_id.as_deref()));
        if let Some(listener) = listener {
            listener.end(ended.as_ref().err());
        }
        ended
    }
}

/// A question that a provider would not have stays in the session, and would be sent again with the next one.
fn without_the_question(failure: Failure, conversation: &Conversation, session: Option<&str>) -> Failure {
    let canisters = conversation.transcript().as_slice();
    let answered = sayings::answered(canisters);
    let is_refused = matches!(failure.kind, Kind::ProviderRefused | Kind::ProviderNonsense)
        && failure.facts.iter().any(|(name, _)| *name == "status");
    match session {
        Some(id) if is_refused && (1..canisters.len()).contains(&answered) => failure.hint(format!(
            "the question is in the session and goes along with the next one; `converse sessions fork {id} --at \
             {answered}` goes on without it"
        )),
        _ => failure,
    }
}
