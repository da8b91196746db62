//! The approver of responses: the turn ends with requests for approval, which the next request answers.

use std::collections::HashMap;
use std::sync::Arc;

use converse_canister::{Decision, Digest, InvocationId};
use converse_ensemble::Pending;
use converse_host::Approver;
use converse_host::secrets::Redactor;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::{Map, Value};

use super::continued::Answers;
use crate::front::question::question_digest;
use converse_openai::ApprovalAnswer;

/// An invocation that waits for an approval.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub(super) id: InvocationId,
    /// Identifies the question: see [`question_digest`].
    pub(super) question: Digest,
    /// `ensemble.tool`.
    pub(super) tool: String,
    pub(super) arguments: Value,
}

/// Answers with the approvals of this request, and leaves other questions to the next one.
pub(super) struct ResponseApprover {
    answers: Answers,
    /// The questions that were answered.
    questions: HashMap<InvocationId, Digest>,
    redactor: Redactor,
    /// Whether the next request can answer: it names a stored response.
    is_stored: bool,
    /// The questions that the turn ended with.
    pub(super) asked: Arc<Mutex<Vec<Asked>>>,
}

impl ResponseApprover {
    pub(super) fn new(
        answers: Answers,
        questions: HashMap<InvocationId, Digest>,
        redactor: Redactor,
        is_stored: bool,
    ) -> Self {
        Self { answers, questions, redactor, is_stored, asked: Arc::default() }
    }

    /// Returns the answer to this question. One to another question about the same call does not count.
    fn answer(&self, pending: &Pending) -> Option<&ApprovalAnswer> {
        let is_same = self.questions.get(pending.id()) == Some(&question_digest(pending));
        self.answers.get(pending.id()).filter(|_| is_same)
    }
}

/// Returns the id of a request for approval of a response.
pub(super) fn approval_id(response: &str, invocation: &InvocationId) -> String {
    format!("mcpr_{}_{invocation}", response.strip_prefix("resp_").unwrap_or(response))
}

impl Approver for ResponseApprover {
    fn decide<'a>(&'a self, pending: &'a [Pending]) -> BoxFuture<'a, Vec<Decision>> {
        let rule = || "approval of the client".to_owned();
        let decide = |pending: &Pending| match self.answer(pending) {
            Some(answer) if answer.approve => Decision::Allow { rule: rule() },
            Some(answer) => Decision::Deny { rule: rule(), comment: answer.reason.clone() },
            None => Decision::Deny { rule: "nobody answered".to_owned(), comment: None },
        };
        std::future::ready(pending.iter().map(decide).collect()).boxed()
    }

    fn can_ask(&self) -> bool {
        true
    }

    fn postpones(&self, pending: &[Pending]) -> bool {
        if !self.is_stored || pending.iter().all(|one| self.answer(one).is_some()) {
            return false;
        }
        let ask = |pending: &Pending| Asked {
            id: pending.id().clone(),
            question: question_digest(pending),
            tool: pending.tool().to_owned(),
            arguments: Value::Object(self.redacted(pending.arguments())),
        };
        *self.asked.lock() = pending.iter().map(ask).collect();
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
