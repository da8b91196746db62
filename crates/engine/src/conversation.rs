//! What is next: a pure state machine over a transcript.
//!
//! It awaits nothing and knows no policy of prices, permissions or retries. The state is the transcript and a few
//! counters of the current turn, so killing the process between two steps loses nothing.

use std::borrow::Cow;
use std::collections::HashSet;

use converse_canister::{
    Canister, Condensed, Cost, Invocation, InvocationId, InvocationResult, Outcome, Stop, Transcript,
    TranscriptError, TurnId,
};

use crate::answer::{Answering, last_words};
use crate::bill::Bill;
use crate::context::{ContextState, last_question, view};
use crate::spending::{Spending, dollars};
use crate::{Ending, Limit, Limits};

const MAX_WORD: usize = 100;

/// The conversation and how far its current turn has come.
#[derive(Debug, Clone)]
pub struct Conversation {
    transcript: Transcript,
    condensed: Option<Condensed>,
    state: ContextState,
    /// How many canisters there were when the turn began.
    began: usize,
    limits: Limits,
    iterations: u32,
    invocations: u32,
    /// Approved and not answered yet.
    approved: HashSet<InvocationId>,
    /// Refused because nobody could be asked.
    unapproved: usize,
    /// Refused because the sandbox that they must run in is not to be had.
    unsandboxed: usize,
    /// Replies one after another of which nothing may run: the second ends the turn.
    broken: u32,
    spending: Spending,
    /// Present if the answer must be of a form.
    answering: Option<Answering>,
    ending: Option<Ending>,
}

/// What the driver shall do now. Exhaustive: a new step should break every driver.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    CallModel,
    /// Somebody must say yes or no to these.
    Decide(Vec<Invocation>),
    /// Approved; they run side by side.
    Invoke(Vec<Invocation>),
    /// These are answered without running.
    Answer(Vec<InvocationResult>),
    /// Are these last words what was asked for?
    Check(String),
    Done(Ending),
}

impl Conversation {
    /// Goes on from a transcript, with fresh counters: a turn of the user begins.
    pub fn resume(transcript: Transcript, limits: Limits) -> Self {
        Self {
            began: transcript.as_slice().len(),
            transcript,
            condensed: None,
            state: ContextState::default(),
            limits,
            iterations: 0,
            invocations: 0,
            approved: HashSet::new(),
            unapproved: 0,
            unsandboxed: 0,
            broken: 0,
            spending: Spending::default(),
            answering: None,
            ending: None,
        }
    }

    /// With what models are shown instead of its beginning.
    pub fn with_condensed(self, condensed: Option<Condensed>) -> Self {
        let stale = condensed.as_ref().map(|_| self.transcript.next_turn());
        let state = ContextState { stale, ..self.state };
        Self { condensed, state, ..self }
    }

    /// With what earlier turns of this run have found out about the window.
    pub fn with_context_state(self, state: ContextState) -> Self {
        let (stale, mut trims) = (state.stale.or(self.state.stale), state.trims);
        // Numbers of what was taken back are given again.
        trims.retain(self.transcript.as_slice());
        Self { state: ContextState { stale, trims, ..state }, ..self }
    }

    pub fn context_state(&self) -> &ContextState {
        &self.state
    }

    pub(crate) fn context_state_mut(&mut self) -> &mut ContextState {
        &mut self.state
    }

    /// Where what this turn is about begins: nothing of it is shown in part.
    pub(crate) fn current(&self) -> usize {
        self.began.min(last_question(self.transcript.as_slice()))
    }

    /// May a model be called for something else than the next reply, which is counted already?
    pub(crate) fn affords_a_call(&self) -> bool {
        self.iterations < self.limits.iterations
    }

    /// What a model is shown of the transcript.
    pub fn view(&self) -> Cow<'_, [Canister]> {
        let ContextState { trims, stale, .. } = &self.state;
        view(self.transcript.as_slice(), self.condensed.as_ref(), trims, *stale)
    }

    /// Every sink has accepted it.
    pub(crate) fn condense(&mut self, condensed: Condensed) {
        self.condensed = Some(condensed);
        self.changed();
    }

    /// What is shown is not what it was when the last replies were made.
    pub(crate) fn changed(&mut self) {
        self.state.stale = Some(self.transcript.next_turn());
    }

    pub fn condensed(&self) -> Option<&Condensed> {
        self.condensed.as_ref()
    }

    /// What goes on in the next turn of the user.
    pub fn into_parts(self) -> (Transcript, Option<Condensed>) {
        (self.transcript, self.condensed)
    }

    pub fn transcript(&self) -> &Transcript {
        &self.transcript
    }

    pub fn iterations(&self) -> u32 {
        self.iterations
    }

    pub fn step(&self) -> Step {
        let open = self.transcript.open();
        if !open.is_empty() {
            return self.step_open(open);
        }
        if let Some(ending) = &self.ending {
            return Step::Done(ending.clone());
        }
        match self.last_reply() {
            None | Some((Stop::Paused, _)) => self.call_model(),
            Some((Stop::Truncated, calls)) if calls == 0 || self.broken > 1 => Step::Done(Ending::Truncated),
            Some((Stop::Other(word), calls))
                if self.broken > 1 && calls > 0 || calls == 0 && self.is_mute() =>
            {
                Step::Done(Ending::Odd { word: shortened(word).to_owned() })
            }
            Some((Stop::Refused { reason }, _)) => {
                Step::Done(Ending::RefusedByModel { reason: reason.clone() })
            }
            Some((_, 0)) => self.finish(),
            Some(_) => self.call_model(),
        }
    }

    /// Does the last reply say nothing?
    fn is_mute(&self) -> bool {
        last_words(&self.transcript).trim().is_empty()
    }

    fn finish(&self) -> Step {
        if self.answering.as_ref().is_some_and(|answering| !answering.fits) {
            return Step::Check(last_words(&self.transcript));
        }
        Step::Done(Ending::Finished { unapproved: self.unapproved, unsandboxed: self.unsandboxed })
    }

    fn call_model(&self) -> Step {
        if self.iterations >= self.limits.iterations {
            return Step::Done(Ending::Limit(Limit::Iterations(self.limits.iterations)));
        }
        if let Some(limit) = self.spending.reaches(self.limits.cost) {
            return Step::Done(Ending::Limit(limit));
        }
        Step::CallModel
    }

    fn step_open(&self, open: Vec<&Invocation>) -> Step {
        if let Some((text, outcome)) = self.why_nothing_runs() {
            let answer = |i: &&Invocation| InvocationResult::new(i.id.clone(), outcome, text.clone());
            return Step::Answer(open.iter().map(answer).collect());
        }
        let undecided: Vec<Invocation> =
            open.iter().filter(|i| !self.approved.contains(&i.id)).map(|i| (*i).clone()).collect();
        if !undecided.is_empty() {
            return Step::Decide(undecided);
        }
        Step::Invoke(open.into_iter().cloned().collect())
    }

    /// Nothing runs once the turn is to end, nor from a truncated reply, whose arguments may be half of what was meant,
    /// nor from one that ended in a way that is not known: it may be the provider's word for just that.
    fn why_nothing_runs(&self) -> Option<(String, Outcome)> {
        let why = match (&self.ending, self.reply_stop()) {
            (Some(Ending::Limit(Limit::Invocations(most))), _) => {
                format!("not run: the limit of {most} invocations is reached")
            }
            (Some(Ending::Limit(Limit::Cost(most))), _) => {
                format!("not run: it would cost more than the limit of {} USD", dollars(*most))
            }
            (Some(Ending::Limit(Limit::Deadline)), _) => "not run: the deadline has passed".to_owned(),
            (Some(_), _) => "not run: the turn was ended".to_owned(),
            (None, Some(Stop::Truncated | Stop::Cut)) => {
                "not run: the reply was cut off by its output limit".to_owned()
            }
            (None, Some(Stop::Other(word))) => {
                format!("not run: the reply ended as `{}`", shortened(word))
            }
            (None, _) => return None,
        };
        Some((why, Outcome::Cancelled))
    }

    fn reply_stop(&self) -> Option<&Stop> {
        let turn = self.transcript.as_slice().iter().rev().find_map(Canister::turn)?;
        self.reply_head(turn)
    }

    /// The first canister of a reply says why it ended.
    fn reply_head(&self, turn: TurnId) -> Option<&Stop> {
        let of_turn = self.transcript.as_slice().iter().rev().skip_while(|c| c.turn() != Some(turn));
        of_turn
            .take_while(|c| c.turn() == Some(turn))
            .filter_map(|c| if let Canister::Assistant(a) = c { Some(&a.stop) } else { None })
            .last()
    }

    /// The reply that stands last, with its number of invocations; `None` when the user spoke since. An empty reply
    /// counts: a model that says nothing after its results is done, not to be asked again.
    fn last_reply(&self) -> Option<(&Stop, usize)> {
        let mut calls = 0;
        for canister in self.transcript.as_slice().iter().rev() {
            match canister {
                Canister::Result(_) => calls += 1,
                Canister::Assistant(_) | Canister::Invocation(_) => {
                    return self.reply_stop().map(|stop| (stop, calls));
                }
                Canister::User(_) | Canister::Document(_) | Canister::Supervisor(_) => return None,
            }
        }
        None
    }

    /// A user's or supervisor's word, or a document.
    pub fn say(&mut self, canister: Canister) -> Result<(), TranscriptError> {
        self.transcript.push(canister)
    }

    /// A model was called; counted before it answers, so that failed calls count too.
    pub fn called(&mut self) {
        self.iterations += 1;
    }

    /// What a reply cost; `None` if nobody knows.
    pub fn spent(&mut self, cost: Option<Cost>) {
        self.spending.add(cost);
    }

    /// What a call in this turn begins with.
    pub(crate) fn bill(&self) -> Bill {
        Bill::new(self.spending, self.limits.cost)
    }

    /// What the broken attempts of a call cost.
    pub(crate) fn settled(&mut self, bill: &Bill) {
        self.spending = bill.spending();
    }

    /// Is there money for so much more? If not, the turn ends and nothing that is open runs.
    pub fn affords(&mut self, more: Cost) -> bool {
        let limit = self.spending.would_pass(more, self.limits.cost);
        if let Some(limit) = limit {
            self.end(Ending::Limit(limit));
        }
        limit.is_none()
    }

    /// What a turn that is over should say of a limit of costs that could not be held.
    pub fn regret(&self) -> Option<String> {
        self.spending.regret(self.limits.cost)
    }

    /// The last words of this turn are to be checked, or taken as they are.
    pub fn expect_answer(&mut self, checked: bool) {
        self.answering = checked.then(Answering::default);
    }

    /// They are what was asked for.
    pub fn fits(&mut self) {
        if let Some(answering) = &mut self.answering {
            answering.fits = true;
        }
    }

    /// They are not: what the model is to be told, or `None` if it has been told often enough and the turn ends.
    pub fn does_not_fit(&mut self, errors: &str) -> Option<Canister> {
        match self.answering.as_mut()?.repair(errors) {
            Ok(repair) => Some(repair),
            Err(ending) => {
                self.end(ending);
                None
            }
        }
    }

    /// A canister of a reply, in the order of the reply.
    pub fn replied(&mut self, canister: Canister) -> Result<(), TranscriptError> {
        if let Canister::Assistant(assistant) = &canister
            && self.transcript.as_slice().last().and_then(Canister::turn) != Some(assistant.turn)
        {
            let broken = matches!(assistant.stop, Stop::Truncated | Stop::Other(_));
            self.broken = if broken { self.broken + 1 } else { 0 };
        }
        if matches!(canister, Canister::Invocation(_)) {
            self.invocations += 1;
        }
        self.transcript.push(canister)?;
        if self.invocations > self.limits.invocations {
            self.ending.get_or_insert(Ending::Limit(Limit::Invocations(self.limits.invocations)));
        }
        Ok(())
    }

    pub fn approve(&mut self, id: InvocationId) {
        self.approved.insert(id);
    }

    /// Somebody had to be asked and nobody was there.
    pub fn count_unapproved(&mut self) {
        self.unapproved += 1;
    }

    /// It was approved and then refused: where it should have run could not be made.
    pub fn count_unsandboxed(&mut self) {
        self.unsandboxed += 1;
    }

    pub fn resulted(&mut self, result: InvocationResult) -> Result<(), TranscriptError> {
        self.approved.remove(&result.id);
        if result.cost.is_some() {
            self.spending.add(result.cost);
        }
        self.transcript.push(Canister::Result(result))
    }

    /// The turn ends as soon as nothing is open any more. The first ending stays.
    pub fn end(&mut self, ending: Ending) {
        self.ending.get_or_insert(ending);
    }
}

/// A provider's word for an end, as far as it is repeated.
pub(crate) fn shortened(word: &str) -> &str {
    &word[..word.floor_char_boundary(MAX_WORD)]
}

#[cfg(test)]
mod tests;
