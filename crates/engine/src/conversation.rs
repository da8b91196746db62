//! The state machine of a turn: it decides the next step from the transcript.
//!
//! It awaits nothing and knows no policy of prices, permissions or retries. The state is the transcript and a few
//! counters of the current turn, so killing the process between two steps loses nothing.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use converse_canister::{
    Canister, Condensed, Cost, Invocation, InvocationId, InvocationResult, Outcome, SeenData, Stop,
    Transcript, TranscriptError, TurnId,
};

use crate::answer::{AnswerState, last_words};
use crate::bill::Bill;
use crate::context::{ContextState, last_question, view};
use crate::spending::Spending;
use crate::{Ending, Limit, Limits};

const MAX_WORD: usize = 100;

/// The conversation and how far its current turn has come.
#[derive(Debug, Clone)]
pub struct Conversation {
    transcript: Transcript,
    /// The labels of everything in the transcript.
    seen: SeenData,
    condensed: Option<Condensed>,
    state: ContextState,
    /// Number of canisters when the turn began.
    began: usize,
    limits: Limits,
    iterations: u32,
    invocations: u32,
    /// Approved and not answered yet.
    approved: HashSet<InvocationId>,
    /// Refused because no approver was available.
    unapproved: usize,
    /// Refused because the required sandbox is not available.
    unsandboxed: usize,
    unstarted: usize,
    /// Number of consecutive replies of which nothing may run. The second ends the turn.
    broken: u32,
    spending: Spending,
    /// Present if the final answer is checked.
    answer_state: Option<AnswerState>,
    ending: Option<Ending>,
}

/// How far a turn has come that another process began.
#[derive(Debug, Clone, Copy, Default)]
pub struct Progress {
    /// Number of canisters before its first reply.
    pub began: usize,
    /// What it has cost; `None` if the cost of a reply is unknown.
    pub cost: Option<Cost>,
    /// Invocations that were refused because nobody could be asked.
    pub unapproved: usize,
}

/// The next thing for the driver to do. Exhaustive, so that a new step breaks every driver at compile time.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    CallModel,
    /// These invocations need a decision.
    Decide(Vec<Invocation>),
    /// These invocations are approved and run in parallel.
    Invoke(Vec<Invocation>),
    /// These results answer invocations that do not run.
    Answer(Vec<InvocationResult>),
    /// This final answer must be checked.
    Check(String),
    Done(Ending),
}

impl Conversation {
    /// Starts a turn of the user on a transcript, with fresh counters.
    pub fn resume(transcript: Transcript, limits: Limits) -> Self {
        Self {
            began: transcript.as_slice().len(),
            seen: SeenData::of(transcript.as_slice()),
            transcript,
            condensed: None,
            state: ContextState::default(),
            limits,
            iterations: 0,
            invocations: 0,
            approved: HashSet::new(),
            unapproved: 0,
            unsandboxed: 0,
            unstarted: 0,
            broken: 0,
            spending: Spending::default(),
            answer_state: None,
            ending: None,
        }
    }

    /// Continues a turn that another process began: its limits count what it has had.
    #[must_use]
    pub fn take_up(mut self, progress: Progress) -> Self {
        let Progress { began, cost, unapproved } = progress;
        self.began = began.min(self.transcript.as_slice().len());
        let since = self.transcript.as_slice().iter().skip(self.began);
        let replies: HashSet<TurnId> = since.clone().filter_map(Canister::turn).collect();
        let calls = since.filter(|canister| matches!(canister, Canister::Invocation(_))).count();
        self.iterations = u32::try_from(replies.len()).unwrap_or(u32::MAX);
        self.invocations = u32::try_from(calls).unwrap_or(u32::MAX);
        self.unapproved = unapproved;
        if !replies.is_empty() {
            self.spending.add(cost);
        }
        self
    }

    /// Returns the number of closed invocations of the turn so far, by the name of the tool for models.
    pub(crate) fn calls_so_far(&self) -> HashMap<String, u32> {
        let mut calls = HashMap::new();
        let open: HashSet<_> = self.transcript.open().into_iter().map(|invocation| &invocation.id).collect();
        for canister in self.transcript.as_slice().iter().skip(self.began) {
            if let Canister::Invocation(invocation) = canister
                && !open.contains(&invocation.id)
            {
                *calls.entry(invocation.tool.clone()).or_default() += 1;
            }
        }
        calls
    }

    /// Sets the summary that models are shown instead of the beginning.
    pub fn with_condensed(self, condensed: Option<Condensed>) -> Self {
        let stale = condensed.as_ref().map(|_| self.transcript.next_turn());
        let state = ContextState { stale, ..self.state };
        Self { condensed, state, ..self }
    }

    /// Sets what earlier turns of this run have learnt about the context window.
    pub fn with_context_state(self, state: ContextState) -> Self {
        let (stale, mut trims) = (state.stale.or(self.state.stale), state.trims);
        // Indexes of canisters that were taken back are used again.
        trims.retain(self.transcript.as_slice());
        Self { state: ContextState { stale, trims, ..state }, ..self }
    }

    pub fn context_state(&self) -> &ContextState {
        &self.state
    }

    pub(crate) fn context_state_mut(&mut self) -> &mut ContextState {
        &mut self.state
    }

    /// Returns the index at which the current question begins. Nothing from there on is shortened.
    pub(crate) fn current(&self) -> usize {
        self.began.min(last_question(self.transcript.as_slice()))
    }

    /// Returns whether the limit allows a model call besides the next reply, which is counted already.
    pub(crate) fn has_iterations_left(&self) -> bool {
        self.iterations < self.limits.iterations
    }

    /// Returns the transcript as a model is shown it.
    pub fn view(&self) -> Cow<'_, [Canister]> {
        let ContextState { trims, stale, .. } = &self.state;
        view(self.transcript.as_slice(), self.condensed.as_ref(), trims, *stale)
    }

    /// Replaces the beginning by a summary that every sink has accepted.
    pub(crate) fn condense(&mut self, condensed: Condensed) {
        self.condensed = Some(condensed);
        self.changed();
    }

    /// Records that the view has changed since the last reply.
    pub(crate) fn changed(&mut self) {
        self.state.stale = Some(self.transcript.next_turn());
    }

    pub fn condensed(&self) -> Option<&Condensed> {
        self.condensed.as_ref()
    }

    /// Returns what the next turn of the user continues with.
    pub fn into_parts(self) -> (Transcript, Option<Condensed>) {
        (self.transcript, self.condensed)
    }

    pub fn transcript(&self) -> &Transcript {
        &self.transcript
    }

    /// Returns the labels of all data in the conversation, also of what models are shown only a summary of.
    pub fn seen(&self) -> &SeenData {
        &self.seen
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
                Step::Done(Ending::UnknownStop { word: shortened(word).to_owned() })
            }
            Some((Stop::Refused { reason }, _)) => {
                Step::Done(Ending::RefusedByModel { reason: reason.clone() })
            }
            Some((_, 0)) => self.finish(),
            Some(_) => self.call_model(),
        }
    }

    /// Returns whether the user may speak before the next model call: every call of the last reply has its result.
    pub(crate) fn may_be_steered(&self) -> bool {
        self.transcript.open().is_empty()
            && self.transcript.as_slice().last().is_some_and(|last| matches!(last, Canister::Result(_)))
    }

    /// Returns whether the last reply has no text.
    fn is_mute(&self) -> bool {
        last_words(&self.transcript).trim().is_empty()
    }

    fn finish(&self) -> Step {
        if self.answer_state.as_ref().is_some_and(|answer_state| !answer_state.accepted) {
            return Step::Check(last_words(&self.transcript));
        }
        let (unapproved, unsandboxed, unstarted) = (self.unapproved, self.unsandboxed, self.unstarted);
        Step::Done(Ending::Finished { unapproved, unsandboxed, unstarted })
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

    /// Returns why no open invocation may run: the turn is to end, the reply was truncated (its arguments may be
    /// incomplete), or the reply has an unknown stop reason (which may mean the same).
    fn why_nothing_runs(&self) -> Option<(String, Outcome)> {
        let why = match (&self.ending, self.reply_stop()) {
            (Some(Ending::Limit(Limit::Invocations(most))), _) => {
                format!("not run: the limit of {most} invocations is reached")
            }
            (Some(Ending::Limit(Limit::Cost(most))), _) => {
                format!("not run: it would cost more than the limit of {} USD", most.dollars())
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

    /// Returns the stop reason of a reply, which is in its first canister.
    fn reply_head(&self, turn: TurnId) -> Option<&Stop> {
        let of_turn = self.transcript.as_slice().iter().rev().skip_while(|c| c.turn() != Some(turn));
        of_turn
            .take_while(|c| c.turn() == Some(turn))
            .filter_map(|c| if let Canister::Assistant(a) = c { Some(&a.stop) } else { None })
            .last()
    }

    /// Returns the stop reason and the number of invocations of the last reply, or `None` if the user spoke since. An
    /// empty reply counts: a model that returns no text after its results is done.
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

    /// Appends a message of the user or supervisor, or a document.
    pub fn say(&mut self, canister: Canister) -> Result<(), TranscriptError> {
        self.seen.add(&canister);
        self.transcript.push(canister)
    }

    /// Counts a model call before the model answers: failed calls count too.
    pub fn count_model_call(&mut self) {
        self.iterations += 1;
    }

    /// Adds the cost of a reply; `None` if it is unknown.
    pub fn add_cost(&mut self, cost: Option<Cost>) {
        self.spending.add(cost);
    }

    /// Returns the bill of the next model call.
    pub(crate) fn bill(&self) -> Bill {
        Bill::new(self.spending, self.limits.cost)
    }

    /// Takes over the cost of the failed attempts of a model call.
    pub(crate) fn set_spending(&mut self, bill: &Bill) {
        self.spending = bill.spending();
    }

    /// Returns whether the limit of cost allows this much more. If not, the turn ends and no open invocation runs.
    pub fn affords(&mut self, more: Cost) -> bool {
        let limit = self.spending.would_pass(more, self.limits.cost);
        if let Some(limit) = limit {
            self.end(Ending::Limit(limit));
        }
        limit.is_none()
    }

    /// Returns a warning if the finished turn did not keep its limit of cost.
    pub fn cost_limit_warning(&self) -> Option<String> {
        self.spending.cost_limit_warning(self.limits.cost)
    }

    /// Sets whether the final answer of this turn is checked.
    pub fn expect_answer(&mut self, checked: bool) {
        self.answer_state = checked.then(AnswerState::default);
    }

    /// Records that the final answer is valid.
    pub fn accept_answer(&mut self) {
        if let Some(answer_state) = &mut self.answer_state {
            answer_state.accepted = true;
        }
    }

    /// Records that the final answer is invalid. Returns the message for the model, or `None` if there were too many
    /// invalid answers and the turn ends.
    pub fn reject_answer(&mut self, errors: &str) -> Option<Canister> {
        match self.answer_state.as_mut()?.repair(errors) {
            Ok(repair) => Some(repair),
            Err(ending) => {
                self.end(ending);
                None
            }
        }
    }

    /// Appends a canister of a reply, in the order of the reply.
    pub fn push_reply(&mut self, canister: Canister) -> Result<(), TranscriptError> {
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

    /// Counts an invocation that was refused because no approver was available.
    pub fn count_unapproved(&mut self) {
        self.unapproved += 1;
    }

    /// Counts an approved invocation that was refused because its sandbox is not available.
    pub fn count_unsandboxed(&mut self) {
        self.unsandboxed += 1;
    }

    /// Counts an invocation that could not be started, because this process has no file descriptor left.
    pub fn count_unstarted(&mut self) {
        self.unstarted += 1;
    }

    pub fn push_result(&mut self, result: InvocationResult) -> Result<(), TranscriptError> {
        self.approved.remove(&result.id);
        if result.cost.is_some() {
            self.spending.add(result.cost);
        }
        let result = Canister::Result(result);
        self.seen.add(&result);
        self.transcript.push(result)
    }

    /// Ends the turn as soon as no invocation is open. The first ending stays.
    pub fn end(&mut self, ending: Ending) {
        self.ending.get_or_insert(ending);
    }
}

/// Returns a provider's stop reason, cut to the length that is repeated to the user.
pub(crate) fn shortened(word: &str) -> &str {
    &word[..word.floor_char_boundary(MAX_WORD)]
}

#[cfg(test)]
mod tests;
