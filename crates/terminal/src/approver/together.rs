//! One user and several models that ask: one question at a time, and calls that are alike are asked about once.
//!
//! As with runs, the second call of one model is alike to the second of another.

use std::collections::HashMap;

use converse_canister::{Decision, canonical};
use converse_engine::Approver;
use converse_ensemble::Pending;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};
use tokio::sync::Mutex;

use super::TerminalApprover;

/// Of all models of a run.
pub struct Approvers {
    terminal: TerminalApprover,
    /// Held while a question is open.
    answers: Mutex<Answers>,
}

converse_host::opaque_debug!(Approvers);

#[derive(Default)]
struct Answers {
    /// By the call, and by the number of equal calls that one model had asked about before.
    given: HashMap<(String, usize), Decision>,
    /// How many calls of this kind each model has asked about.
    asked: HashMap<(usize, String), usize>,
}

impl Approvers {
    pub fn new(terminal: TerminalApprover) -> Self {
        Self { terminal, answers: Mutex::default() }
    }

    /// Returns the approver of one caller. The question names `who`.
    pub fn of<'a>(&'a self, caller: usize, who: Option<&'a str>) -> OneOf<'a> {
        OneOf { all: self, caller, who }
    }
}

pub struct OneOf<'a> {
    all: &'a Approvers,
    caller: usize,
    who: Option<&'a str>,
}

converse_host::opaque_debug!(OneOf<'_>);

impl OneOf<'_> {
    fn key(&self, answers: &mut Answers, pending: &Pending) -> (String, usize) {
        let call = json!([pending.tool(), pending.binding().definition, pending.arguments()]);
        let key = canonical(&call);
        let asked = answers.asked.entry((self.caller, key.clone())).or_default();
        let key = (key, *asked);
        *asked += 1;
        key
    }
}

impl Approver for OneOf<'_> {
    fn decide<'a>(&'a self, pending: &'a [Pending]) -> BoxFuture<'a, Vec<Decision>> {
        async move {
            let mut answers = self.all.answers.lock().await;
            let keys: Vec<_> = pending.iter().map(|one| self.key(&mut answers, one)).collect();
            let new = pending.iter().zip(&keys).filter(|(_, key)| !answers.given.contains_key(key));
            let (new, of_new): (Vec<&Pending>, Vec<_>) = new.map(|(one, key)| (one, key.clone())).unzip();
            let decisions = self.all.terminal.all(&new, self.who).await;
            answers.given.extend(of_new.into_iter().zip(decisions));
            let given = |key| answers.given.get(key).cloned().unwrap_or_else(|| super::deny(None));
            keys.iter().map(given).collect()
        }
        .boxed()
    }

    fn can_ask(&self) -> bool {
        self.all.terminal.can_ask
    }

    fn redacted(&self, arguments: &Map<String, Value>) -> Map<String, Value> {
        self.all.terminal.redacted(arguments)
    }
}
