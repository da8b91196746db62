//! The approver of turns over HTTP: questions are written down and answered later, by any client.

use std::collections::BTreeMap;
use std::sync::Arc;

use converse_canister::Decision;
use converse_config::{ArgumentPattern, ArgumentPatterns};
use converse_ensemble::Pending;
use converse_host::Approver;
use converse_host::approvals::{Memory, Reach};
use converse_host::secrets::Redactor;
use converse_host::world::World;
use converse_session::Uuid;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::{Map, Value, json};

use super::comparisons::Comparison;
use super::runs::Props;
use super::waiting::{Answer, Choice, TurnQuestions, Waiting};
use crate::front::question::question_digest;

/// Writes questions down, and answers them with what was answered.
pub(super) struct LaterApprover {
    session: Uuid,
    questions: TurnQuestions,
    /// Those that the turn continues with. They are read once, before it begins: a reading that fails later denies nothing.
    answers: BTreeMap<String, Answer>,
    memory: Memory,
    props: Props,
    comparison: Option<Arc<Comparison>>,
    /// The questions of the turn that has ended with them.
    pub(super) asked: Arc<Mutex<Vec<Value>>>,
}

impl LaterApprover {
    pub(super) fn new(session: Uuid, questions: TurnQuestions, memory: Memory, props: Props) -> Self {
        let (answers, asked) = (BTreeMap::new(), Arc::default());
        Self { session, questions, answers, memory, props, comparison: None, asked }
    }

    /// For a turn that continues after its questions were answered.
    pub(super) fn answered(self, answers: BTreeMap<String, Answer>) -> Self {
        Self { answers, ..self }
    }

    /// For a turn of a comparison: answers to equal questions of the others count.
    pub(super) fn comparing(self, comparison: Option<Arc<Comparison>>) -> Self {
        Self { comparison, ..self }
    }

    /// Returns the id of a question. A call that is asked about again, but not in the same way, is another question: what
    /// was answered before does not count for it.
    fn id(&self, pending: &Pending) -> String {
        format!("{}.{}.{}", self.session, pending.id(), question_digest(pending))
    }

    fn interrupt(&self, pending: &Pending) -> Value {
        let mut about = about(pending, &self.memory.redactor);
        about["patterns"] = self.patterns(pending).into();
        about["decisions"] = self.decisions(pending).into();
        json!({
            "id": self.id(pending),
            "reason": "approval",
            "message": format!("{} wants to run", pending.tool()),
            "toolCallId": pending.id().to_string(),
            "metadata": about,
        })
    }

    fn decisions(&self, pending: &Pending) -> Vec<&'static str> {
        let offered = self.memory.offered(pending);
        let always = offered.tool || offered.arguments || offered.pattern;
        let all = [("once", true), ("session", offered.run), ("always", always), ("deny", true)];
        all.into_iter().filter(|(_, is_offered)| *is_offered).map(|(name, _)| name).collect()
    }

    fn patterns(&self, pending: &Pending) -> Vec<Value> {
        let offered = self.memory.offered(pending);
        let pattern = |pattern: String, text: String| json!({ "pattern": pattern, "text": text });
        let mut patterns = Vec::new();
        if offered.arguments {
            patterns.push(pattern("arguments".to_owned(), "exactly these arguments".to_owned()));
        }
        if offered.pattern {
            let proposals = self.memory.proposals(pending).into_iter();
            patterns.extend(proposals.map(|(name, vary)| {
                pattern(format!("{name}={}", vary.text()), format!("{name} may vary like this"))
            }));
        }
        if offered.tool {
            patterns.push(pattern("tool".to_owned(), "whatever the arguments".to_owned()));
        }
        patterns
    }

    fn decision(&self, pending: &Pending, answer: &Answer) -> Decision {
        let user = || "user".to_owned();
        let once = Decision::Allow { rule: user() };
        match answer.decision {
            Choice::Deny => Decision::Deny { rule: user(), comment: answer.comment.clone() },
            _ if answer.arguments.as_ref().is_some_and(|arguments| arguments != pending.arguments()) => {
                Decision::AllowEdited { arguments: answer.arguments.clone().unwrap_or_default() }
            }
            Choice::Once => once,
            Choice::Session => self.remembered(pending, Reach::Run, ArgumentPatterns::new()).unwrap_or(once),
            Choice::Always => match reach(answer.pattern.as_deref(), pending, &self.memory) {
                Some((reach, varying)) => self.remembered(pending, reach, varying).unwrap_or(once),
                None => once,
            },
        }
    }

    /// What cannot be kept is a yes all the same.
    fn remembered(&self, pending: &Pending, reach: Reach, varying: ArgumentPatterns) -> Option<Decision> {
        if !self.memory.offered(pending).has(reach) {
            return None;
        }
        let kept = self.memory.remember(pending, reach, varying, World::now().to_string());
        let kept = kept.inspect_err(|why| tracing::warn!("an approval was not kept: {why}"));
        kept.ok().map(|pattern| Decision::Remember { pattern })
    }
}

/// Describes a question: what will run with which arguments, and the rule that asks.
pub(super) fn about(pending: &Pending, redactor: &Redactor) -> Value {
    let (ensemble, tool) = pending.tool().split_once('.').unwrap_or(("", pending.tool()));
    let rule = redactor.clean(pending.rule());
    json!({
        "ensemble": ensemble,
        "tool": tool,
        "arguments": redacted(pending.arguments(), redactor),
        "rule": rule,
        "reason": pending.reason(),
        "place": place(&rule),
        "reaches": pending.named_elsewhere(),
        "effects": pending.effects().as_str(),
    })
}

fn redacted(arguments: &Map<String, Value>, redactor: &Redactor) -> Map<String, Value> {
    let mut value = Value::Object(arguments.clone());
    redactor.clean_json(&mut value);
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}

/// Returns how far an answer reaches. A pattern must fit this call.
fn reach(pattern: Option<&str>, pending: &Pending, memory: &Memory) -> Option<(Reach, ArgumentPatterns)> {
    match pattern.unwrap_or("tool") {
        "tool" => Some((Reach::Tool, ArgumentPatterns::new())),
        "arguments" => Some((Reach::Arguments, ArgumentPatterns::new())),
        pattern => {
            let (name, text) = pattern.split_once('=')?;
            let varying: ArgumentPatterns =
                [(name.to_owned(), ArgumentPattern::new(name, text).ok()?)].into();
            memory.covers(pending, &varying).then_some((Reach::Pattern, varying))
        }
    }
}

/// Returns file and line of a rule that names them: `converse.toml:12`.
fn place(rule: &str) -> Option<Value> {
    let word = rule.split_whitespace().find(|word| word.contains(".toml:"))?;
    let (file, line) = word.trim_matches(['`', '(', ')', ',']).rsplit_once(':')?;
    Some(json!({ "file": file, "line": line.parse::<u32>().ok()? }))
}

impl Approver for LaterApprover {
    fn decide<'a>(&'a self, pending: &'a [Pending]) -> BoxFuture<'a, Vec<Decision>> {
        let mut answers = self.answers.clone();
        if let Some(comparison) = &self.comparison {
            let mut state = comparison.state();
            for one in pending {
                let question = state.question(self.session, one);
                if let Some(answer) = state.answers.get(&question) {
                    answers.entry(self.id(one)).or_insert_with(|| answer.clone());
                }
            }
        }
        let silence = || Decision::Deny { rule: "nobody answered".to_owned(), comment: None };
        let decide = |pending: &Pending| {
            answers.get(&self.id(pending)).map_or_else(silence, |answer| self.decision(pending, answer))
        };
        let decisions = pending.iter().map(decide).collect();
        std::future::ready(decisions).boxed()
    }

    fn can_ask(&self) -> bool {
        true
    }

    fn postpones(&self, pending: &[Pending]) -> bool {
        let mut answers = self.answers.clone();
        answers.retain(|id, _| pending.iter().any(|pending| self.id(pending) == *id));
        let interrupts: Vec<Value> = pending.iter().map(|pending| self.interrupt(pending)).collect();
        let mut waiting = Waiting {
            interrupts,
            at: World::now().to_string(),
            answers,
            props: Some(self.props.clone()),
            comparison: self.comparison.as_ref().map(|comparison| comparison.id.clone()),
            questions: BTreeMap::new(),
        };
        // An answer to an equal question is given before or after this, not in between.
        let mut state = self.comparison.as_ref().map(|comparison| comparison.state());
        for one in pending {
            let Some(state) = &mut state else { break };
            let (id, question) = (self.id(one), state.question(self.session, one));
            if let Some(answer) = state.answers.get(&question) {
                waiting.answers.entry(id.clone()).or_insert_with(|| answer.clone());
            }
            waiting.questions.insert(id, question);
        }
        if waiting.open() == 0 {
            return false;
        }
        if let Err(error) = self.questions.replace(&waiting) {
            tracing::warn!(%error, "questions could not be written down, so they are refused");
            return false;
        }
        *self.asked.lock() = waiting.interrupts;
        true
    }

    fn redacted(&self, arguments: &Map<String, Value>) -> Map<String, Value> {
        redacted(arguments, &self.memory.redactor)
    }
}
