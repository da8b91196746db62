//! Approvals that come later: the turn ends with its questions, and continues with their answers.

use converse_canister::Decision;
use converse_engine::Approver;
use converse_ensemble::Pending;
use converse_host::secrets::Redactor;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::{Map, Value};

use crate::message::{Answer, Answers, Approvals, Question};

/// The approver of one turn.
#[derive(Debug)]
pub(crate) struct LaterApprover {
    approvals: Approvals,
    answers: Answers,
    redactor: Redactor,
    asked: Mutex<Vec<Question>>,
}

impl LaterApprover {
    pub(crate) fn new(approvals: Approvals, answers: Answers, redactor: Redactor) -> Self {
        Self { approvals, answers, redactor, asked: Mutex::default() }
    }

    /// The questions that the turn has ended with.
    pub(crate) fn asked(&self) -> Vec<Question> {
        std::mem::take(&mut *self.asked.lock())
    }

    fn question(&self, pending: &Pending) -> Question {
        Question {
            id: pending.id().to_string(),
            tool: pending.tool().to_owned(),
            arguments: Value::Object(self.redacted(pending.arguments())),
            rule: self.redactor.clean(pending.rule()),
            effects: pending.effects().as_str().to_owned(),
        }
    }

    fn decision(&self, pending: &Pending) -> Decision {
        let deny = |comment| Decision::Deny { rule: "user".to_owned(), comment };
        match self.answers.get(pending.id().as_str()) {
            Some(Answer::Allow) => Decision::Allow { rule: "user".to_owned() },
            Some(Answer::Deny { comment }) => deny(comment.clone()),
            None => deny(Some("nobody answered".to_owned())),
        }
    }
}

impl Approver for LaterApprover {
    fn decide<'a>(&'a self, pending: &'a [Pending]) -> BoxFuture<'a, Vec<Decision>> {
        let decisions = pending.iter().map(|one| self.decision(one)).collect();
        std::future::ready(decisions).boxed()
    }

    fn can_ask(&self) -> bool {
        self.approvals == Approvals::Wait
    }

    fn postpones(&self, pending: &[Pending]) -> bool {
        if pending.iter().all(|one| self.answers.contains_key(one.id().as_str())) {
            return false;
        }
        *self.asked.lock() = pending.iter().map(|one| self.question(one)).collect();
        true
    }

    fn redacted(&self, arguments: &Map<String, Value>) -> Map<String, Value> {
        let mut value = Value::Object(arguments.clone());
        self.redactor.clean_json(&mut value);
        match value {
            Value::Object(object) => object,
            _ => Map::new(),
        }
    }
}
