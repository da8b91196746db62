//! Decides which invocations of a reply may run: by the rules, by limits, and by asking the approver.

use converse_canister::{Arguments, Cost, Decision, Invocation, InvocationId, InvocationResult, Outcome};
use converse_ensemble::{Approved, Pending, Verdict};

use super::{Driver, edit_note, halted};
use crate::{Ending, EngineError, Event, SinkError};

/// How the comment of a decision begins that nobody could be asked about.
pub const NOBODY: &str = "nobody could be asked";

impl Driver<'_> {
    /// Returns how the turn ends if the answers of the approver come later.
    pub(super) async fn decide(&mut self, undecided: &[Invocation]) -> Result<Option<Ending>, EngineError> {
        let mut pending = Vec::new();
        for invocation in undecided {
            match self.engine.roster.judge_after(invocation, self.conversation.seen()) {
                Verdict::Answered(denied) => {
                    if let Some(rule) = denied.rule {
                        self.decided(&invocation.id, &Decision::Deny { rule, comment: None })?;
                    }
                    self.append_result(denied.result)?;
                }
                Verdict::Allowed(approved) => {
                    match self.over_its_limit(approved.id(), &invocation.tool, approved.max_invocations()) {
                        Some(result) => self.append_result(result)?,
                        None if !self.affords(&pending, approved.cost()) => return Ok(None),
                        None => {
                            self.decided(&invocation.id, &Decision::Allow { rule: approved.rule.clone() })?;
                            self.approve(approved);
                        }
                    }
                }
                Verdict::Ask(waiting) => {
                    match self.over_its_limit(waiting.id(), &invocation.tool, waiting.max_invocations()) {
                        Some(result) => self.append_result(result)?,
                        None if !self.affords(&pending, waiting.cost()) => return Ok(None),
                        None => pending.push(waiting),
                    }
                }
            }
        }
        if pending.is_empty() {
            return Ok(None);
        }
        let approver = self.ports.approver;
        if !approver.can_ask() {
            pending.into_iter().try_for_each(|waiting| self.nobody_to_ask(&waiting))?;
            return Ok(None);
        }
        self.ports.emit(&Event::Deciding(&pending))?;
        if approver.postpones(&pending) {
            let ids = pending.iter().map(|waiting| waiting.id().clone()).collect();
            return Ok(Some(Ending::Postponed { ids }));
        }
        self.ask(pending, undecided).await?;
        Ok(None)
    }

    /// Counts a call of a tool. Returns the result of a call beyond the limit of this turn, for which no approval is requested
    /// about.
    fn over_its_limit(
        &mut self,
        id: &InvocationId,
        tool: &str,
        most: Option<u32>,
    ) -> Option<InvocationResult> {
        let most = most?;
        let calls = self.calls.entry(tool.to_owned()).or_default();
        *calls += 1;
        let text = format!("not run: at most {most} calls of this tool in a turn");
        (*calls > most).then(|| InvocationResult::new(id.clone(), Outcome::Cancelled, text))
    }

    /// Returns whether the limit of cost allows everything that is to run. If not, the turn ends and nothing more begins.
    fn affords(&mut self, pending: &[Pending], cost: Option<Cost>) -> bool {
        let approved = self.approved.values().filter_map(Approved::cost);
        let planned = approved.chain(pending.iter().filter_map(Pending::cost)).chain(cost);
        cost.is_none() || self.conversation.affords(planned.fold(Cost::default(), Cost::plus))
    }

    async fn ask(&mut self, pending: Vec<Pending>, undecided: &[Invocation]) -> Result<(), EngineError> {
        let decisions = tokio::select! {
            decisions = self.ports.approver.decide(&pending) => decisions,
            ending = halted(self.engine, self.cancel) => {
                self.conversation.end(ending);
                return Ok(());
            }
        };
        let mut decisions = decisions.into_iter();
        for waiting in pending {
            // A missing decision of an approver is not an approval.
            let silence = || Decision::Deny { rule: "nobody answered".to_owned(), comment: None };
            let decision = decisions.next().unwrap_or_else(silence);
            self.decided(waiting.id(), &decision)?;
            match decision {
                Decision::Allow { .. } | Decision::Remember { .. } => self.approve(waiting.approve()),
                Decision::AllowEdited { arguments } => {
                    let original = undecided.iter().find(|invocation| invocation.id == *waiting.id());
                    let arguments = Arguments::from_object(arguments);
                    if let Some(edited) = original.map(|o| Invocation { arguments, ..o.clone() }) {
                        self.approve_edited(&edited)?;
                    }
                }
                Decision::Deny { comment, .. } => {
                    let text = match comment {
                        Some(comment) => format!("refused by the user: {comment}"),
                        None => "refused by the user; nothing was run".to_owned(),
                    };
                    let id = waiting.id().clone();
                    self.append_result(InvocationResult::new(id, Outcome::Refused, text))?;
                }
            }
        }
        Ok(())
    }

    /// Edited arguments are checked like any others; the approval is for them.
    fn approve_edited(&mut self, invocation: &Invocation) -> Result<(), EngineError> {
        let note = |arguments: &Arguments| edit_note::note(arguments, self.ports.approver);
        let approved = match self.engine.roster.judge_after(invocation, self.conversation.seen()) {
            Verdict::Answered(denied) => {
                let note = note(&invocation.arguments);
                return self.append_result(edit_note::with_note(denied.result, note));
            }
            Verdict::Allowed(approved) => approved,
            Verdict::Ask(waiting) => waiting.approve(),
        };
        self.edited.insert(approved.id().clone(), note(approved.arguments()));
        self.approve(approved);
        Ok(())
    }

    fn approve(&mut self, approved: Approved) {
        self.conversation.approve(approved.id().clone());
        self.approved.insert(approved.id().clone(), approved);
    }

    fn nobody_to_ask(&mut self, waiting: &Pending) -> Result<(), EngineError> {
        self.conversation.count_unapproved();
        let rule = waiting.rule().to_owned();
        let (comment, why) = match waiting.reason() {
            Some(reason) => (format!("{NOBODY}: {reason}"), format!(" ({rule}: {reason})")),
            None => (NOBODY.to_owned(), String::new()),
        };
        self.decided(waiting.id(), &Decision::Deny { rule, comment: Some(comment) })?;
        let text = format!("it needs an approval{why} and nobody can be asked in this run; nothing was run");
        self.append_result(InvocationResult::new(waiting.id().clone(), Outcome::Refused, text))
    }

    fn decided(&self, id: &InvocationId, decision: &Decision) -> Result<(), SinkError> {
        self.ports.emit(&Event::Decided { id, decision })
    }
}
