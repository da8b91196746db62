//! One turn at the terminal: question, answer and result. The REPL continues after every error except a failed save.

use std::cell::Cell;
use std::sync::Arc;
use std::time::{Duration, Instant};

use converse_canister::Canister;
use futures_util::FutureExt as _;

use super::session::ReplSession;
use super::steering::TypedSteering;
use crate::approver::{Memory, TerminalApprover};
use crate::signals::Attended;
use crate::view::TerminalView;
use converse_host::attach::{self, UserInput};
use converse_host::audit::AuditSink;
use converse_host::failure::{Failure, Kind};
use converse_host::interrupt::Interrupt;
use converse_host::sampler::Around;
use converse_host::{ConversationBuilder, HostParts};
use converse_text::safe_line;

/// Characters of what waits.
const ATTACHED: usize = 400;

const HANGUP: u8 = 1;

/// What ends sooner after it was broken off needs no words.
const NOTICED: Duration = Duration::from_millis(300);

/// Does the work. Esc breaks it off, as Ctrl-C does. Where it takes long to end after that, this says so: else one presses
/// the key again, which leaves the program.
pub(super) async fn with_stop_notice<T>(
    view: &TerminalView,
    attended: &Attended,
    work: impl Future<Output = T>,
) -> T {
    let interrupt = &attended.interrupt;
    let told = Cell::new(None);
    let tells = async {
        tokio::select! {
            () = interrupt.token.cancelled() => {}
            () = view.lost() => interrupt.tell(HANGUP),
            () = view.escaped() => attended.break_off(),
        }
        tokio::time::sleep(NOTICED).await;
        told.set(Some(view.wait_for("stopping; Ctrl-C again leaves at once")));
        std::future::pending().await
    };
    let done = tokio::select! {
        done = work => done,
        never = tells => never,
    };
    if let Some(wait) = told.get() {
        view.waited(wait);
    }
    done
}

/// What a turn begins with.
pub(super) enum Words {
    UserInput(Box<UserInput>),
    /// What was said before, once more.
    Again(Vec<Canister>),
}

impl ReplSession<'_> {
    /// Sends the question and shows the answer. An error ends the conversation.
    pub(super) async fn turn(&mut self, words: Words) -> Result<(), Failure> {
        let attended = self.attention.to_turn();
        let view = Arc::clone(&self.view);
        let before = self.conversation.transcript().as_slice().len();
        let takes_waiting = matches!(words, Words::UserInput(_));
        view.breathe();
        view.begin_turn();
        let answered = self.answered(words, &attended.interrupt).boxed_local();
        let answered = view.during(with_stop_notice(&view, &attended, answered)).await;
        let is_said = self.conversation.transcript().as_slice().len() > before;
        let broken = answered.as_ref().is_err_and(|failure| failure.kind == Kind::Signal(2));
        let empty = answered.is_ok() && self.conversation.says_nothing();
        let after = self.after_turn(answered);
        // Only what was said is taken away: a server may give its part of it the next time.
        if takes_waiting && is_said {
            self.waiting = UserInput::default();
        } else if takes_waiting && !self.waiting.sizes().is_empty() {
            view.note(&format!(
                "still attached: {}; `/attach -` lets go of it",
                safe_line(&self.waiting.sizes(), ATTACHED)
            ));
        }
        if empty {
            view.note("the model returned no answer; `/retry` repeats the question");
        }
        if broken && is_said && self.conversation.unanswered() > 0 {
            view.note("the question is kept and sent with the next one; `/undo` removes it");
        }
        view.breathe();
        after
    }

    /// Reports the result of the turn. An error ends the conversation.
    pub(super) fn after_turn(&self, ended: Result<(), Failure>) -> Result<(), Failure> {
        let failure = ended.err().map(|failure| self.shown_failure(failure));
        // The reason for the end of the program is reported at its end.
        let is_last = self.attention.end.number().is_some();
        let ends = |failure: &&Failure| is_last || self.is_end(failure);
        self.view.end_turn(failure.as_ref().filter(|failure| !ends(failure)));
        if !failure.as_ref().is_some_and(|failure| is_last || matches!(failure.kind, Kind::Signal(_))) {
            self.view.call_after_turn(failure.is_some());
        }
        self.connected.tell_news(&self.connected.roster, &self.console.context);
        // The REPL does not write these warnings as records.
        drop(self.console.context.take_warnings());
        self.update_known_tools();
        failure.filter(|failure| self.is_end(failure)).map_or(Ok(()), Err)
    }

    async fn answered(&mut self, words: Words, interrupt: &Interrupt) -> Result<(), Failure> {
        self.await_servers(interrupt).await?;
        let began = Instant::now();
        let words = match words {
            Words::UserInput(said) => Words::UserInput(Box::new(self.gathered(*said, interrupt).await?)),
            again => again,
        };
        match self.conversation.unanswered() {
            0 => {}
            count => self.view.note(&format!(
                "{} along with this one; `/undo {}` takes all of them back",
                if count == 1 {
                    "1 unanswered question goes".to_owned()
                } else {
                    format!("{count} unanswered questions go")
                },
                count + 1
            )),
        }
        self.conversation.begin_turn(&self.contents);
        let next = self.conversation.transcript().next_turn();
        let said = match words {
            // How the model is led may be another by now.
            Words::Again(canisters) => {
                Ok(canisters.into_iter().filter(|one| !matches!(one, Canister::Supervisor(_))).collect())
            }
            Words::UserInput(said) => {
                said.canisters(attach::keeper(&self.contents).as_ref(), &self.contents, next)
            }
        };
        let meter = self.spent.meter(0, next);
        // What a server asks of a model is a record of its own: it may come in the middle of ours.
        let (id, context) = (self.conversation.id().map(|id| id.to_string()), &self.console.context);
        let audit = AuditSink::new(self.settings.audit, id, context, self.world);
        let history = self.conversation.lend();
        let (roster, approver) = (&self.connected.roster, self.approver());
        let around = Around {
            settings: &self.settings,
            catalogue: &self.catalogue,
            rules: roster.rules(),
            approver: &approver,
            audit: &audit,
            artefacts: Arc::new(self.contents.clone()),
            spent: &self.spent,
            cancel: &interrupt.token,
        };
        if self.world.stdout_tty {
            let roster = roster.for_caller(roster.caller());
            self.view.shows_changes(move |invocation| roster.written_file(invocation));
        }
        let deadline = self.settings.limits.deadline.map(|limit| began + limit);
        let steering = self.steering();
        let conversing = self.conversing(interrupt, deadline).sink(&meter).steering(&steering);
        let mut conversation = conversing.resume(history);
        let ended = match said {
            Ok(said) => tokio::select! {
                ended = conversation.say(said).finish() => ended.map(drop),
                never = self.models.serve(around) => match never {},
            },
            Err(failure) => Err(failure),
        };
        let history = conversation.into_history();
        self.conversation.go_on(history);
        // A session that cannot be written is worse than any other way to end.
        self.conversation.settled().and(ended)
    }

    /// The conversation with the current settings and tools.
    pub(super) fn conversing<'s>(
        &'s self,
        interrupt: &'s Interrupt,
        deadline: Option<Instant>,
    ) -> ConversationBuilder<'s> {
        let Self { console, world, settings, connected, contents, .. } = self;
        HostParts { world, context: &console.context, settings, connected, contents, interrupt }
            .conversation()
            .wires(self.wires.clone())
            .approver(self.approver())
            .deadline(deadline)
            .sink(&self.tally)
            .sink(&self.conversation.ran)
            .sink(self.view.as_ref())
    }

    pub(super) fn steering(&self) -> TypedSteering<'_> {
        TypedSteering {
            view: &self.view,
            console: self.console,
            world: self.world,
            is_kept: self.conversation.wanted,
            told_of_key: &self.told_of_key,
        }
    }

    pub(super) fn approver(&self) -> TerminalApprover {
        let memory = Memory::new(self.connected.roster.rules(), &self.console.context.redactor, self.world);
        TerminalApprover::new(self.console.context.can_ask, Arc::clone(&self.console.progress))
            .remembering(memory, self.world)
    }

    /// With what servers have of it.
    async fn gathered(&self, said: UserInput, interrupt: &Interrupt) -> Result<UserInput, Failure> {
        if said.servers().is_empty() {
            return Ok(said);
        }
        let server = |name: &str| {
            let failed = || self.connected.failures.iter().find(|failure| failure.ensemble == name);
            let missing = || match failed() {
                Some(failed) => Failure::new(Kind::Ensemble, "ensemble", failed.to_string()),
                None => {
                    Failure::usage("no-server", format!("`{name}` is not connected, or has no MCP server"))
                        .hint("`/ensembles` shows what is connected")
                }
            };
            self.connected.server(name).ok_or_else(missing)
        };
        let held = self.contents.in_memory();
        let names: Vec<&str> = said.servers().into_iter().collect();
        let waits = self.view.wait_for(&format!("waiting for {}", names.join(", ")));
        let gathered = said.gathered(server, &self.console.context.redactor, &held);
        let said = tokio::select! {
            said = gathered.boxed_local() => said,
            () = interrupt.token.cancelled() => Err(interrupt.failure()),
        };
        self.view.waited(waits);
        let said = said?;
        let model = &self.settings.model;
        said.fits(&model.endpoint, &model.facts, &model.id)?;
        Ok(said)
    }

    /// The failure as shown here: with what the user can do, and without secrets.
    fn shown_failure(&self, failure: Failure) -> Failure {
        let failure = match failure.kind {
            Kind::Limit | Kind::ProviderNonsense if failure.resumable => {
                failure.hint("the turn is saved up to here: send `go on`, or use `/retry`")
            }
            Kind::ProviderUnreachable | Kind::ProviderNonsense | Kind::ProviderRefused => {
                failure.hint("`/retry` repeats the question, `/model` switches the model")
            }
            Kind::Output => failure.hint("earlier turns are saved; this turn may be lost"),
            _ => failure,
        };
        let failure = if self.is_refused(&failure) { self.with_way_out(failure) } else { failure };
        failure.redacted(|text| self.console.context.redactor.clean(text))
    }

    /// Was it the request that a provider would not have? What is in it is sent again with the next one.
    fn is_refused(&self, failure: &Failure) -> bool {
        let answered = failure.facts.iter().any(|(name, _)| *name == "status");
        answered
            && matches!(failure.kind, Kind::ProviderRefused | Kind::ProviderNonsense)
            && self.conversation.is_open()
    }

    fn with_way_out(&self, failure: Failure) -> Failure {
        let failure = failure.hint("`/undo` removes the question, `/edit` changes it");
        failure.hint(match self.conversation.unanswered() {
            0 | 1 => "without a change, it is sent with the next one".to_owned(),
            count => format!("{count} unanswered questions are sent with the next one"),
        })
    }
}
