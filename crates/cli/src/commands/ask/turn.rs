//! One turn of the user with one model, with everything that is decided about it.

use converse_canister::Canister;
use converse_engine::{AnswerCheck, Conversation, Engine, Event, Ports, Sink, converse};
use converse_ensemble::Roster;

use super::conversation::{Keeping, opening};
use super::output::Output;
use super::round::{Round, Table};
use super::{ending, internal};
use crate::adapters::audit::AuditSink;
use crate::adapters::journal::JournalSink;
use crate::attach;
use crate::failure::Failure;
use crate::routes::Wires;
use crate::settings::Settings;
use crate::world::World;

pub(super) struct Turn<'a> {
    pub(super) round: &'a Round<'a>,
    pub(super) settings: &'a Settings,
    pub(super) output: &'a Output,
    /// Its place among the models that are compared.
    pub(super) caller: usize,
}

impl Turn<'_> {
    pub(super) async fn run(self, keeping: Keeping, table: &Table<'_>) -> Result<(), Failure> {
        let Self { round, settings, output, caller } = self;
        let (manners, world) = (round.run.manners, round.run.world);
        let session_id = keeping.session.as_ref().map(|session| session.id.to_string());
        let journal = keeping.session.map(|session| JournalSink::new(session, World::now));
        let audit = AuditSink::new(settings.audit, session_id.clone(), manners, world);
        let (roster, errors) = (table.connected.roster.for_caller(caller), table.connected.errors());
        output.introduce(&settings.model, session_id.as_deref(), &roster, &errors, manners)?;
        if let Some(journal) = &journal {
            journal.note_model(&settings.model.id);
        }
        let meter = round.spent.meter(caller, keeping.transcript.next_turn());
        let mut sinks: Vec<&dyn Sink> = vec![&meter];
        sinks.extend(journal.as_ref().map(|journal| journal as &dyn Sink));
        sinks.extend([&audit as &dyn Sink, output.renderer(), output.progress(manners)]);
        let who = round.shared.as_ref().map(|_| settings.model.id.as_str());
        let approver = table.approvers.of(caller, who);
        manners.warn_all(settings.fallbacks.left_out.iter().cloned());
        let wires = settings.wires();
        let ports = Ports { approver: &approver, sinks: &sinks, jitter: &World::dice };
        let mut conversation = Conversation::resume(keeping.transcript, settings.limits);
        let next = conversation.transcript().next_turn();
        let said = table.said.canisters(attach::keeper(table.contents).as_ref(), table.contents, next)?;
        for canister in opening(conversation.transcript(), settings.system.as_deref(), said) {
            match (&canister, &journal) {
                // Words that a prompt puts into the assistant's mouth: no answer of this run.
                (Canister::Assistant(_), None) => {}
                (Canister::Assistant(_), Some(journal)) => journal.emit(&Event::Appended(&canister))?,
                _ => ports.tell(&canister)?,
            }
            conversation.say(canister).map_err(internal)?;
        }
        let engine = self.engine(table, &roster, &wires);
        let ended = converse(&mut conversation, &engine, ports, &round.interrupt.token).await?;
        ending::outcome(ended, &round.interrupt)
    }

    fn engine<'e>(&'e self, table: &'e Table<'_>, roster: &'e Roster, wires: &'e Wires) -> Engine<'e> {
        let settings = self.settings;
        let (route, fallbacks) = settings.routes(wires);
        Engine {
            route,
            fallbacks,
            roster,
            blobs: table.contents,
            note: table.connected.note(),
            answer: settings.answer.as_ref().map(|wanted| wanted as &dyn AnswerCheck),
            timeouts: settings.timeouts,
            retry: settings.retry,
            can_take_back: self.output.can_take_back(self.round.run.world),
            deadline: self.round.deadline.map(tokio::time::Instant::from_std),
        }
    }
}
