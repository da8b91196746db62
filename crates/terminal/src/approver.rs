//! Asks the user for approval on the terminal. Without a terminal, "ask" means refused.

mod answers;
mod asking;
mod change;
mod confirm;
mod editing;
mod menu;
mod pattern;
mod picker;
mod question;
mod reading;
mod several;
mod shown;
mod together;
mod typed;
mod visible;

use std::sync::Arc;

use converse_canister::Decision;
use converse_config::{ArgumentPatterns, Permission};
use converse_engine::Approver;
use converse_ensemble::Pending;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

use crate::render::output::write_stderr;
use crate::view::TerminalView;
use converse_host::world::World;
use converse_screen::Look;
use converse_text::safe;

use answers::{Answer, Choices};
use asking::answer;
use change::FileChange;
pub(crate) use confirm::chooses;
pub use confirm::{asks, says_yes};
pub use converse_host::approvals::Memory;
use converse_host::approvals::{Offered, Reach};
use editing::Editing;
pub(crate) use picker::{INDENT, Listing, Pick, pick, picks_by_key, rows_of};
use question::{QuestionText, painted};
pub(crate) use reading::read_answer;
use shown::Much;
pub use together::Approvers;
pub(crate) use visible::visible;

/// Edits of one call that are not right, or not wanted, after which it is refused.
const MOST_EDITS: usize = 20;

pub struct TerminalApprover {
    can_ask: bool,
    progress: Arc<TerminalView>,
    memory: Option<Memory>,
    editing: Editing,
}

converse_host::opaque_debug!(TerminalApprover);

impl TerminalApprover {
    pub fn new(can_ask: bool, progress: Arc<TerminalView>) -> Self {
        Self { can_ask, progress, memory: None, editing: Editing::default() }
    }

    /// One that also takes answers for more than one call.
    pub fn remembering(self, memory: Memory, world: &World) -> Self {
        Self { memory: Some(memory), editing: Editing::of(world), ..self }
    }

    /// Returns one decision per call. The question names `who`, if several models may ask.
    async fn all(&self, pending: &[&Pending], who: Option<&str>) -> Vec<Decision> {
        let _floor = self.progress.floor().await;
        let count = pending.len();
        let asked = |(index, pending): (usize, &&'_ Pending)| (index, self.known(pending).is_none());
        let open: Vec<usize> =
            pending.iter().enumerate().map(asked).filter(|(_, open)| *open).map(|(index, _)| index).collect();
        let places = pending.iter().enumerate().map(|(index, pending)| QuestionText {
            pending,
            place: (index + 1, count),
            who,
            redactor: self.progress.redactor(),
        });
        let places: Vec<QuestionText<'_>> = places.collect();
        if open.len() > 1 {
            let listed: Vec<QuestionText<'_>> =
                open.iter().filter_map(|at| places.get(*at).copied()).collect();
            if let Some(decisions) = self.about_all(&listed).await {
                return self.spread(&places, &open, decisions);
            }
        }
        let mut decisions = Vec::with_capacity(count);
        for asked in places {
            decisions.push(self.one(asked).await);
        }
        decisions
    }

    /// Puts each decision into its place, between the calls that needed no question.
    fn spread(&self, places: &[QuestionText<'_>], open: &[usize], decisions: Vec<Decision>) -> Vec<Decision> {
        let mut decisions = decisions.into_iter();
        let decision = |(at, asked): (usize, &QuestionText<'_>)| {
            let given = if open.contains(&at) { decisions.next() } else { self.known(asked.pending) };
            given.unwrap_or_else(|| deny(None))
        };
        places.iter().enumerate().map(decision).collect()
    }

    /// The answer before this one may have been for all of them.
    fn known(&self, pending: &Pending) -> Option<Decision> {
        let judged = self.memory.as_ref().map(|memory| pending.judged_anew(&memory.rules))?;
        (judged.permission == Permission::Allow).then_some(Decision::Allow { rule: judged.rule })
    }

    async fn one(&self, asked: QuestionText<'_>) -> Decision {
        if let Some(decision) = self.known(asked.pending) {
            return decision;
        }
        let offered = self.memory.as_ref().map(|memory| memory.offered(asked.pending)).unwrap_or_default();
        let (mut edited, mut edits, mut failed): (Option<Pending>, usize, bool) = (None, 0, false);
        let mut choices = Choices { offered, edit: self.memory.is_some(), view: false };
        let mut text = self.question(asked, &mut choices, Much::first());
        loop {
            let menu = choices.menu(asked.title(), asked.pending.tool());
            let answer = answer(&self.progress, &text, menu, failed).await;
            let now = QuestionText { pending: edited.as_ref().unwrap_or(asked.pending), ..asked };
            failed = false;
            match answer.unwrap_or(Answer::No(None)) {
                Answer::View => text = self.question(now, &mut choices, Much::All),
                Answer::No(comment) => return deny(comment),
                Answer::Yes => {
                    return edited.map_or_else(allow, |edited| with_edited(edited, asked.pending));
                }
                Answer::Further(Reach::Pattern) => match self.patterned(asked.pending).await {
                    Some(varying) => return self.further(asked.pending, Reach::Pattern, varying),
                    None => text = self.question(asked, &mut choices, Much::first()),
                },
                Answer::Further(reach) => {
                    return self.further(asked.pending, reach, ArgumentPatterns::new());
                }
                Answer::Edit if edits == MOST_EDITS => return deny(None),
                Answer::Edit => {
                    edits += 1;
                    match self.edited(now.pending).await {
                        Ok(other) if other.arguments() == now.pending.arguments() => {
                            text = self.question(now, &mut choices, Much::first());
                        }
                        Ok(other) => {
                            // A yes to what the person wrote is for this once.
                            choices.offered = Offered::default();
                            text = self.question(
                                QuestionText { pending: &other, ..asked },
                                &mut choices,
                                Much::first(),
                            );
                            // What the person made of it is shown when it is done, too.
                            self.progress.asks_about_change(other.id(), None);
                            edited = Some(other);
                        }
                        Err(why) => {
                            let why = self
                                .memory
                                .as_ref()
                                .map_or(why.clone(), |memory| memory.redactor.clean(&why));
                            text = format!("  nothing was changed: {}\n", safe(&why));
                            failed = true;
                        }
                    }
                }
            }
        }
    }

    /// Other arguments, judged as the model's were.
    async fn edited(&self, pending: &Pending) -> Result<Pending, String> {
        let memory = self.memory.as_ref().ok_or("nothing can be edited here")?;
        let arguments = self.editing.arguments(&self.progress, pending).await?;
        pending.edited(arguments, &memory.rules)
    }

    fn question(&self, asked: QuestionText<'_>, choices: &mut Choices, much: Much) -> String {
        let look = self.look();
        let (lines, cut) = asked.lines(self.change(&asked).as_ref(), much, &look);
        choices.view = cut;
        painted(&lines, &look)
    }

    /// What the call would change in a file. It is shown with the question, and so not again after the call.
    fn change(&self, asked: &QuestionText<'_>) -> Option<FileChange> {
        let change = asked.change();
        let fingerprint = change.as_ref().and_then(FileChange::fingerprint);
        self.progress.asks_about_change(asked.pending.id(), fingerprint);
        change
    }

    fn look(&self) -> Look {
        self.progress.question_look()
    }

    /// What cannot be kept is a yes all the same.
    fn further(&self, pending: &Pending, reach: Reach, varying: ArgumentPatterns) -> Decision {
        let Some(memory) = &self.memory else { return allow() };
        match memory.remember(pending, reach, varying, World::now().to_string()) {
            Ok(pattern) => Decision::Remember { pattern },
            Err(why) => {
                let why = memory.redactor.clean(&why);
                write_stderr(&format!("warning: allowed this once, for it cannot be kept: {}\n", safe(&why)));
                allow()
            }
        }
    }
}

fn allow() -> Decision {
    Decision::Allow { rule: "user".to_owned() }
}

fn deny(comment: Option<String>) -> Decision {
    Decision::Deny { rule: "user".to_owned(), comment }
}

/// Allows the call with the arguments that were shown, if the user edited them.
fn with_edited(shown: Pending, asked: &Pending) -> Decision {
    if shown.arguments() == asked.arguments() {
        return allow();
    }
    Decision::AllowEdited { arguments: shown.arguments().clone() }
}

impl Approver for TerminalApprover {
    fn decide<'a>(&'a self, pending: &'a [Pending]) -> BoxFuture<'a, Vec<Decision>> {
        async move { self.all(&pending.iter().collect::<Vec<_>>(), None).await }.boxed()
    }

    fn can_ask(&self) -> bool {
        self.can_ask
    }

    fn redacted(&self, arguments: &Map<String, Value>) -> Map<String, Value> {
        let mut told = Value::Object(arguments.clone());
        if let Some(memory) = &self.memory {
            memory.redactor.clean_json(&mut told);
        }
        if let Value::Object(told) = told { told } else { Map::new() }
    }
}
