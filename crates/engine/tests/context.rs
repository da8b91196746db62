//! What fits into a window, with a wire that answers what it is asked and remembers it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test's helpers may panic")]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use converse_canister::{
    Arguments, Blobs, Canister, Condensed, Content, Digest, Document, NoBlobs, Supervisor, Transcript, User,
};
use converse_config::{Effects, Permission, Policy, Rule};
use converse_engine::{
    CompactionPolicy, CondenseOutcome, Conversation, Ending, Engine, EngineError, Event, Limits, Part, Ports,
    RetryPolicy, Route, Sink, SinkError, Timeouts, condense_now, converse, ledger,
};
use converse_ensemble::{Answer, Connection, Ensemble, NoArtefacts, Roster, SEARCH};
use converse_provider::{Controls, Dialect, Facts, Price, processor, row};
use converse_testkit::tools::{Does, Offers, plan, rule};
use converse_testkit::wire::{Nobody, ScriptedWire, WireReply};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

// ---- the model ----

enum Says {
    Words(&'static str),
    /// Of these tools, with these arguments.
    Calls(Vec<(String, Value)>),
    Refuses(u16, &'static str),
    Nothing,
}

type Mind = dyn Fn(&Value, usize) -> Says + Send + Sync;

/// Answers by the request and its number, and counts as many tokens as a fourth of its bytes.
fn model(mind: Box<Mind>) -> ScriptedWire {
    ScriptedWire::new(move |request, number| {
        let usage = json!({ "prompt_tokens": request.to_string().len() / 4, "completion_tokens": 1 });
        let (message, reason) = match mind(request, number) {
            Says::Nothing => return WireReply::Hangs,
            Says::Refuses(status, code) => return WireReply::refusal(status, code),
            Says::Words(text) => (json!({ "role": "assistant", "content": text }), "stop"),
            Says::Calls(calls) => {
                let call = |(at, (tool, arguments)): (usize, (String, Value))| {
                    json!({ "id": format!("c{number}_{at}"), "type": "function",
                        "function": { "name": tool, "arguments": arguments.to_string() } })
                };
                let calls: Vec<Value> = calls.into_iter().enumerate().map(call).collect();
                (json!({ "role": "assistant", "content": null, "tool_calls": calls }), "tool_calls")
            }
        };
        let choices = json!([{ "message": message, "finish_reason": reason }]);
        WireReply::Body(200, json!({ "choices": choices, "usage": usage }))
    })
}

fn is_summary(request: &Value) -> bool {
    request.to_string().contains("You condense the record")
}

// ---- tools: `t__x` says as much as it is told, the others are many ----

fn says4k(policy: Policy, count: usize) -> impl Connection {
    Offers(move |ensemble: &Ensemble| {
        let tool = |name: String, builtin: bool| {
            let description =
                format!("Does what {name} does, and says so in many words for whoever reads it");
            let talker = Does(|_, arguments: Arguments| {
                let bytes = arguments.object.get("bytes").and_then(Value::as_u64).unwrap_or(10);
                let text = "word ".repeat(usize::try_from(bytes).unwrap() / 5);
                std::future::ready(Ok(Answer::text(format!("begin {text} end"))))
            });
            let (name, schema) = (name.try_into().unwrap(), json!({ "type": "object" }));
            ensemble.tool(&name, description, schema, policy.clone(), builtin, Arc::new(talker))
        };
        let many = (0..count).map(|number| tool(format!("many_{number}"), false));
        [tool("x".into(), true)].into_iter().chain(many).collect()
    })
}

#[derive(Default)]
struct Notes {
    lines: Mutex<Vec<String>>,
    fails: bool,
}

impl Sink for Notes {
    fn emit(&self, event: &Event<'_>) -> Result<(), SinkError> {
        let line = match event {
            Event::Condensed { condensed, before, after } => {
                if self.fails {
                    return Err(SinkError::Save("disk full".into()));
                }
                assert!(after < before);
                format!("condensed {}", condensed.covers)
            }
            Event::Warned(message) => format!("warned {message}"),
            Event::Noted(message) => format!("noted {message}"),
            Event::Used { cost, .. } => format!("used {}", cost.map_or(0, |cost| cost.0)),
            Event::Delta(_) => "delta".to_owned(),
            Event::Appended(Canister::Assistant(assistant)) => format!("reply {}", assistant.words()),
            _ => return Ok(()),
        };
        self.lines.lock().unwrap().push(line);
        Ok(())
    }
}

struct Setup {
    window: Option<u64>,
    tools: usize,
    compaction: CompactionPolicy,
    fails: bool,
    cancel_after: Option<Duration>,
    limits: Limits,
    effects: Effects,
    /// Against it stands a rule.
    denied: Option<&'static str>,
    blobs: &'static dyn Blobs,
}

fn setup(window: Option<u64>) -> Setup {
    Setup {
        window,
        tools: 0,
        compaction: CompactionPolicy::default(),
        fails: false,
        cancel_after: None,
        limits: Limits { iterations: 100, invocations: 1_000, ..Limits::default() },
        effects: Effects::Read,
        denied: None,
        blobs: &NoBlobs,
    }
}

struct Ran {
    ending: Result<Ending, EngineError>,
    lines: Vec<String>,
    requests: Vec<Value>,
    conversation: Conversation,
}

impl Ran {
    fn count(&self, what: &str) -> usize {
        self.lines.iter().filter(|line| line.starts_with(what)).count()
    }

    fn turns(&self) -> Vec<&Value> {
        self.requests.iter().filter(|request| !is_summary(request)).collect()
    }

    fn is_finished(&self) {
        assert!(matches!(self.ending, Ok(Ending::Finished { .. })), "{:?}", self.ending);
    }
}

impl Setup {
    async fn run(
        self,
        canisters: Vec<Canister>,
        mind: impl Fn(&Value, usize) -> Says + Send + Sync + 'static,
    ) -> Ran {
        let transcript = Transcript::try_from(canisters).unwrap();
        let conversation = Conversation::resume(transcript, self.limits);
        self.goes_on(conversation, mind, true).await
    }

    async fn goes_on(
        self,
        mut conversation: Conversation,
        mind: impl Fn(&Value, usize) -> Says + Send + Sync + 'static,
        turn: bool,
    ) -> Ran {
        let policy = Policy { effects: self.effects, result_limit: 1 << 20, ..Policy::default() };
        let ensemble = Ensemble::new(&plan("t"), Box::new(says4k(policy, self.tools)));
        let denied = self.denied.map(|pattern| rule(pattern, Permission::Deny));
        let rules: Vec<Rule> = denied.into_iter().chain([rule("*", Permission::Allow)]).collect();
        let (roster, _) = Roster::connect(vec![ensemble], rules, Arc::new(NoArtefacts)).await;
        roster.searchable();
        let model = model(Box::new(mind));
        let price = Some(Price { input: 1_000_000, output: 1_000_000, ..Price::default() });
        let engine = Engine {
            route: Route {
                endpoint: row("openai-chat").unwrap().endpoint(None),
                processor: processor(Dialect::OpenAiChat),
                model: "m".to_owned(),
                controls: Controls::default(),
                facts: Facts { window: self.window, price, ..Facts::default() },
                wire: &model,
            },
            fallbacks: Vec::new(),
            roster: &roster,
            blobs: self.blobs,
            note: Some("a note".to_owned()),
            answer: None,
            timeouts: Timeouts::default(),
            retry: RetryPolicy { retries: 1, ..RetryPolicy::default() },
            compaction: self.compaction,
            can_take_back: false,
            deadline: None,
        };
        let cancel = CancellationToken::new();
        if let Some(after) = self.cancel_after {
            let cancel = cancel.clone();
            tokio::spawn(async move {
                tokio::time::sleep(after).await;
                cancel.cancel();
            });
        }
        let notes = Notes { fails: self.fails, ..Notes::default() };
        let ports =
            Ports { approver: &Nobody, sinks: &[&notes], jitter: &|| 0.0, runner: None, steering: None };
        let ending = if turn {
            converse(&mut conversation, &engine, ports, &cancel).await
        } else {
            condense_now(&mut conversation, &engine, ports, &cancel, None).await.map(|condensing| {
                match condensing {
                    CondenseOutcome::Done { .. } => {
                        Ending::Finished { unapproved: 0, unsandboxed: 0, unstarted: 0 }
                    }
                    CondenseOutcome::Ended(ending) => ending,
                    other => Ending::UnknownStop { word: format!("{other:?}") },
                }
            })
        };
        drop(engine);
        let requests = model.requests();
        Ran { ending, lines: notes.lines.into_inner().unwrap(), requests, conversation }
    }
}

fn task() -> Vec<Canister> {
    vec![
        Canister::Supervisor(Supervisor { text: "be brief".into() }),
        Canister::User(User::text("the very task")),
    ]
}

/// Calls the tool so often, each time with other arguments, then answers.
fn long_loop(times: usize, bytes: usize) -> impl Fn(&Value, usize) -> Says + Send + Sync + 'static {
    let calls = Mutex::new(0);
    move |request, _| {
        if is_summary(request) {
            return Says::Words("Asked: the task. Found: forty-two.");
        }
        let mut calls = calls.lock().unwrap();
        *calls += 1;
        if *calls > times {
            return Says::Words("done");
        }
        Says::Calls(vec![("t__x".into(), json!({ "bytes": bytes, "call": *calls }))])
    }
}

#[tokio::test(start_paused = true)]
async fn a_long_loop_stays_within_the_window_and_keeps_its_task() {
    for (bytes, times, summaries) in [(3_000, 60, 3..=10), (30_000, 12, 1..=10), (400_000, 3, 0..=0)] {
        let ran = setup(Some(20_000)).run(task(), long_loop(times, bytes)).await;
        ran.is_finished();
        for request in &ran.requests {
            let tokens = request.to_string().len() / 4;
            assert!(tokens < 20_000, "{bytes}: {tokens}");
        }
        for request in ran.turns() {
            let messages = request["messages"].to_string();
            assert!(messages.contains("the very task") && messages.contains("be brief"), "{messages}");
        }
        assert_eq!(ran.count("used"), ran.requests.len(), "each is paid for");
        assert!(ran.count("warned") == 0 && ran.count("reply") == times + 1, "{:?}", ran.lines);
        assert_eq!(ran.conversation.transcript().as_slice().len(), 2 + 3 * times + 1, "all is kept");
        let condensed = ran.conversation.condensed();
        assert!(summaries.contains(&ran.count("condensed")), "{bytes}: {:?}", ran.lines);
        if let Some(condensed) = condensed {
            assert!(condensed.summary.contains("forty-two") && condensed.model == "openai-chat/m");
            assert!(ran.turns().last().unwrap().to_string().contains("forty-two"));
        }
    }
}

/// A prompt begins as the last one did, unless something was left out in between.
#[tokio::test(start_paused = true)]
async fn what_was_sent_is_sent_again_word_for_word() {
    let ran = setup(Some(20_000)).run(task(), long_loop(60, 3_000)).await;
    let mut changed = 0;
    let turns = ran.turns();
    for pair in turns.windows(2) {
        let [before, after] = [&pair[0]["messages"], &pair[1]["messages"]].map(|one| one.as_array().unwrap());
        changed += usize::from(!after.starts_with(before));
    }
    assert!((1..=10).contains(&changed), "{changed} of {}", turns.len());
}

#[tokio::test(start_paused = true)]
async fn nothing_is_done_far_from_the_window_or_where_nobody_wants_it() {
    let never = |request: &Value| assert!(!request.to_string().contains("trimmed") && !is_summary(request));
    for (window, compact) in [(Some(1_000_000), true), (None, true), (Some(20_000), false)] {
        let compaction = CompactionPolicy { compact, ..CompactionPolicy::default() };
        let ran = Setup { compaction, ..setup(window) }.run(task(), long_loop(20, 10_000)).await;
        ran.is_finished();
        ran.requests.iter().for_each(never);
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_superseded_goes_first_and_no_model_is_asked_for_that() {
    let same = |request: &Value, number: usize| {
        assert!(!is_summary(request));
        if number < 10 {
            Says::Calls(vec![("t__x".into(), json!({ "bytes": 3_000 }))])
        } else {
            Says::Words("done")
        }
    };
    let ran = setup(Some(6_000)).run(task(), same).await;
    ran.is_finished();
    let last = ran.requests.last().unwrap().to_string();
    assert!(last.contains(
        "[trimmed: superseded by a later call of the same tool with the same arguments; 3010 bytes"
    ));
    // What a tool has done is known by its answers: they are another matter.
    let same = |request: &Value, number: usize| {
        if is_summary(request) {
            return Says::Words("s");
        }
        if number < 10 {
            Says::Calls(vec![("t__x".into(), json!({ "bytes": 3_000 }))])
        } else {
            Says::Words("done")
        }
    };
    let ran = Setup { effects: Effects::Write, ..setup(Some(6_000)) }.run(task(), same).await;
    ran.is_finished();
    assert!(ran.requests.iter().all(|request| !request.to_string().contains("superseded by a later")));
}

#[tokio::test(start_paused = true)]
async fn without_a_summary_it_goes_on_and_asks_once_only() {
    for refusal in [500, 400, 200] {
        let inner = long_loop(40, 3_000);
        let mind = move |request: &Value, number: usize| match (is_summary(request), refusal) {
            (false, _) => inner(request, number),
            (true, 200) => Says::Words("  "),
            (true, status) => Says::Refuses(status, "no"),
        };
        let ran = setup(Some(20_000)).run(task(), mind).await;
        ran.is_finished();
        let requested = ran.requests.iter().filter(|request| is_summary(request)).count();
        assert_eq!(requested, if refusal == 400 { 1 } else { 2 }, "a retry is one where it may help");
        assert_eq!(ran.count("warned"), 1, "{:?}", ran.lines);
        assert!(ran.conversation.condensed().is_none());
        for request in &ran.requests {
            assert!(request.to_string().len() / 4 < 20_000);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_summary_can_be_cancelled_and_a_sink_that_fails_keeps_the_state() {
    let inner = long_loop(40, 3_000);
    let pending = move |request: &Value, number: usize| {
        if is_summary(request) { Says::Nothing } else { inner(request, number) }
    };
    let cancel_after = Some(Duration::from_secs(1));
    let ran = Setup { cancel_after, ..setup(Some(20_000)) }.run(task(), pending).await;
    assert_eq!(ran.ending.unwrap(), Ending::Cancelled);
    assert!(ran.conversation.condensed().is_none() && !ran.conversation.transcript().has_open());

    let ran = Setup { fails: true, ..setup(Some(20_000)) }.run(task(), long_loop(40, 3_000)).await;
    assert!(matches!(ran.ending, Err(EngineError::Sink(SinkError::Save(_)))), "{:?}", ran.ending);
    assert!(ran.conversation.condensed().is_none());
}

/// Twenty turns of the user.
fn history() -> Vec<Canister> {
    let turn = |number: u64| {
        let user = Canister::User(User::text(format!("question {number} {}", "why ".repeat(200))));
        let assistant = json!({ "role": "assistant", "turn": number, "stop": "end",
            "content": [{ "type": "text", "text": format!("answer {number} {}", "so ".repeat(300)) }] });
        [user, serde_json::from_value(assistant).unwrap()]
    };
    task().into_iter().take(1).chain((1..=20).flat_map(turn)).chain(task().into_iter().skip(1)).collect()
}

const TOO_LONG: &str = "context_length_exceeded";

#[tokio::test(start_paused = true)]
async fn a_prompt_that_is_refused_for_its_length_is_made_shorter_once() {
    let mind = |times: usize| {
        let refused = Mutex::new(0);
        move |request: &Value, _: usize| {
            if is_summary(request) {
                return Says::Words("Asked: twenty questions.");
            }
            let mut refused = refused.lock().unwrap();
            *refused += 1;
            if *refused <= times { Says::Refuses(400, TOO_LONG) } else { Says::Words("done") }
        }
    };
    let ran = setup(None).run(history(), mind(1)).await;
    ran.is_finished();
    let kinds: Vec<bool> = ran.requests.iter().map(is_summary).collect();
    assert_eq!(kinds, [false, true, false]);
    let [first, last] = [&ran.requests[0], &ran.requests[2]].map(|request| request.to_string());
    assert!(
        last.len() < first.len() / 2 && last.contains("twenty questions") && last.contains("the very task")
    );
    assert!(
        last.contains("question 1 why")
            && !last.contains("question 5 why")
            && last.contains("question 20 why")
    );

    let ran = setup(None).run(history(), mind(9)).await;
    let kinds: Vec<bool> = ran.requests.iter().map(is_summary).collect();
    assert_eq!(kinds, [false, true, false], "once");
    assert!(matches!(&ran.ending, Err(EngineError::Exchange(error)) if error.cause.to_string() == "no"));

    let compaction = CompactionPolicy { compact: false, ..CompactionPolicy::default() };
    let ran = Setup { compaction, ..setup(None) }.run(history(), mind(9)).await;
    assert_eq!(ran.requests.len(), 1);
    // There is nothing that could be left out.
    let ran = setup(None).run(task(), mind(9)).await;
    assert_eq!((ran.requests.len(), ran.ending.is_err()), (1, true));
}

fn user(text: &str) -> Canister {
    Canister::User(User::text(text))
}

fn document(name: &str, text: String) -> Canister {
    let (name, mime) = (name.to_owned(), "text/plain".to_owned());
    Canister::Document(Document { name, mime, content: vec![Content::text(text)], labels: None })
}

fn answer(turn: u64, text: &str) -> Canister {
    let content = json!([{ "type": "text", "text": text }]);
    let assistant = json!({ "role": "assistant", "turn": turn, "stop": "end", "content": content });
    serde_json::from_value(assistant).unwrap()
}

/// Refuses what is longer than that.
fn narrow(most: usize) -> impl Fn(&Value, usize) -> Says + Send + Sync + 'static {
    move |request, _| match request.to_string().len() {
        length if length > most => Says::Refuses(400, TOO_LONG),
        _ if is_summary(request) => Says::Words("Asked: something."),
        _ => Says::Words("fine"),
    }
}

/// The turn of a user with this question, in a program that goes on.
async fn asks(setup: Setup, before: Conversation, messages: Vec<Canister>) -> Ran {
    let state = before.context_state().clone();
    let (transcript, condensed) = before.into_parts();
    let limits = Limits { iterations: 100, ..Limits::default() };
    let resumed = Conversation::resume(transcript, limits).with_condensed(condensed);
    let mut conversation = resumed.with_context_state(state);
    messages.into_iter().try_for_each(|one| conversation.say(one)).unwrap();
    setup.goes_on(conversation, narrow(30_000), true).await
}

#[tokio::test(start_paused = true)]
async fn a_question_that_is_too_long_is_in_the_way_of_no_other() {
    let big = || format!("BEGIN {} END", "far too much ".repeat(4_500));
    for (long, window) in [
        (vec![document("big.txt", big()), user("what is it?")], None),
        (vec![user(&big())], None),
        (vec![user(&big())], Some(7_500)),
    ] {
        let first = Transcript::try_from(vec![user("first"), answer(1, "ok")]).unwrap();
        let ran = asks(setup(window), Conversation::resume(first, Limits::default()), long).await;
        assert!(matches!(&ran.ending, Err(EngineError::Exchange(_))), "{:?}", ran.ending);
        assert_eq!(ran.requests.len(), 1, "nothing else can go: it is not sent twice");
        let kept = ran.conversation.transcript().clone();
        // In the same program nothing is refused any more; another one has to be told once.
        for (before, refused) in [
            (ran.conversation, 0),
            (Conversation::resume(kept, Limits::default()), usize::from(window.is_none())),
        ] {
            let ran = asks(setup(window), before, vec![user("and now?")]).await;
            ran.is_finished();
            assert_eq!(ran.requests.len(), 1 + refused, "{window:?}");
            let last = ran.requests.last().unwrap().to_string();
            for part in ["first", "BEGIN", "END", "the session keeps them all", "and now?"] {
                assert!(last.contains(part) && last.len() < 6_000, "{part}: {last}");
            }
            assert_eq!(ran.count("warned the model gets only the beginning and the end"), 1);
            assert!(ran.conversation.transcript().as_slice().iter().any(|one| {
                matches!(one, Canister::User(User { content }) | Canister::Document(Document { content, .. })
                    if content[0].as_text().unwrap().len() > 50_000)
            }));
            // And so it stays.
            let ran = asks(setup(window), ran.conversation, vec![user("more?")]).await;
            ran.is_finished();
            assert_eq!((ran.requests.len(), ran.count("warned")), (1, 0), "{:?}", ran.lines);
        }
    }
}

/// Answered by a model with more room.
#[tokio::test(start_paused = true)]
async fn an_old_question_goes_where_nothing_else_can() {
    let big = "far too much ".repeat(4_500);
    for window in [None, Some(7_500)] {
        let transcript = Transcript::try_from(vec![user(&big), answer(1, "ok")]).unwrap();
        let ran =
            asks(setup(window), Conversation::resume(transcript, Limits::default()), vec![user("now?")])
                .await;
        ran.is_finished();
        assert!(ran.requests.last().unwrap().to_string().len() < 6_000);
    }
}

#[tokio::test(start_paused = true)]
async fn documents_of_the_task_outlive_its_summary_within_a_bound() {
    for (bytes, whole) in [(8_000, true), (40_000, false)] {
        let spec = format!("SPEC-BEGIN {} SPEC-END", "must ".repeat(bytes / 5));
        let messages: Vec<Canister> =
            task().into_iter().take(1).chain([document("spec.md", spec)]).chain([user("the task")]).collect();
        let ran = setup(Some(20_000)).run(messages, long_loop(40, 3_000)).await;
        ran.is_finished();
        assert!(ran.conversation.condensed().is_some(), "{bytes}");
        for request in ran.turns() {
            let messages = request["messages"].to_string();
            assert!(messages.contains("SPEC-BEGIN") && messages.contains("SPEC-END"), "{bytes}");
            assert!(request.to_string().len() / 4 < 20_000);
        }
        let last = ran.turns().last().unwrap().to_string();
        assert_eq!(last.contains("the beginning and the end of"), !whole, "{bytes}");
    }
}

#[tokio::test(start_paused = true)]
async fn summaries_are_calls_of_a_model_and_three_are_enough() {
    for (iterations, summaries) in [(100, 3), (23, 1), (22, 1), (21, 0)] {
        let limits = Limits { iterations, invocations: 1_000, ..Limits::default() };
        let ran = Setup { limits, ..setup(Some(20_000)) }.run(task(), long_loop(70, 3_000)).await;
        let requested = ran.requests.iter().filter(|request| is_summary(request)).count();
        assert!(ran.requests.len() <= iterations as usize, "{iterations}: {}", ran.requests.len());
        assert_eq!(requested, summaries, "{iterations}");
        assert_eq!(matches!(ran.ending, Ok(Ending::Finished { .. })), iterations == 100, "{:?}", ran.ending);
        assert!(ran.requests.iter().all(|request| request.to_string().len() / 4 < 20_000));
    }
}

/// Holds nothing, and counts how often it is asked.
struct AskCounter(AtomicUsize);

impl Blobs for AskCounter {
    fn bytes(&self, _: &Digest) -> Option<Arc<[u8]>> {
        self.0.fetch_add(1, Ordering::Relaxed);
        None
    }
}

fn picture() -> Canister {
    let blob = Content::Blob {
        mime: "image/png".into(),
        digest: Digest([7; 32]),
        name: Some("a.png".into()),
        seal: None,
    };
    Canister::User(User { content: vec![blob, Content::text("see")] })
}

#[tokio::test(start_paused = true)]
async fn a_request_is_measured_once_where_there_is_room() {
    static WITH: AskCounter = AskCounter(AtomicUsize::new(0));
    static WITHOUT: AskCounter = AskCounter(AtomicUsize::new(0));
    for (compact, blobs) in [(true, &WITH), (false, &WITHOUT)] {
        let compaction = CompactionPolicy { compact, ..CompactionPolicy::default() };
        let setup = Setup { compaction, blobs, ..setup(Some(1_000_000)) };
        setup.run(vec![picture()], |_, _| Says::Words("yes")).await.is_finished();
    }
    let [with, without] = [&WITH, &WITHOUT].map(|count| count.0.load(Ordering::Relaxed));
    assert_eq!(with, without);
    assert!(without > 0);
}

#[tokio::test(start_paused = true)]
async fn a_piece_that_is_not_shown_is_told_of_once_in_a_program() {
    let empty = Conversation::resume(Transcript::new(), Limits::default());
    let ran = asks(setup(None), empty, vec![picture()]).await;
    assert!(ran.count("warned") == 1 && ran.lines[0].contains("a.png"), "{:?}", ran.lines);
    let ran = asks(setup(None), ran.conversation, vec![user("again")]).await;
    assert_eq!(ran.count("warned"), 0, "{:?}", ran.lines);
}

#[tokio::test(start_paused = true)]
async fn it_is_condensed_when_the_user_says_so() {
    let transcript = || Conversation::resume(Transcript::try_from(history()).unwrap(), Limits::default());
    let summary = |_: &Value, _: usize| Says::Words("All was said.");
    let ran = setup(Some(1_000_000)).goes_on(transcript(), summary, false).await;
    ran.is_finished();
    let Condensed { covers, .. } = ran.conversation.condensed().unwrap();
    assert_eq!(*covers, 39, "two turns of the user stay");
    // They go when it is said once more; what was asked last stays.
    let ran = setup(Some(1_000_000)).goes_on(ran.conversation, summary, false).await;
    assert_eq!(ran.conversation.condensed().unwrap().covers, 41);
    let ran = setup(Some(1_000_000)).goes_on(ran.conversation, summary, false).await;
    assert_eq!(ran.ending.unwrap(), Ending::UnknownStop { word: "Nothing".into() });
    assert!(ran.requests.is_empty());
    let ran = setup(None).goes_on(transcript(), |_: &Value, _: usize| Says::Refuses(401, "key"), false).await;
    assert_eq!(ran.ending.unwrap(), Ending::UnknownStop { word: "Failed(\"no\")".into() });
}

#[tokio::test(start_paused = true)]
async fn a_summary_that_costs_more_than_there_is_ends_the_turn() {
    for most in (200_000..260_000).step_by(9_000) {
        let cost = Some(converse_canister::Cost(most));
        let limits = Limits { iterations: 100, cost, ..Limits::default() };
        let ran = Setup { limits, ..setup(Some(20_000)) }.run(task(), long_loop(60, 3_000)).await;
        assert!(matches!(ran.ending, Ok(Ending::Limit(_))), "{:?}", ran.ending);
        assert!(ran.conversation.condensed().is_some());
        let spent = |line: &String| line.strip_prefix("used ")?.parse::<u64>().ok();
        let spent: Vec<u64> = ran.lines.iter().filter_map(spent).collect();
        let [before @ .., last] = spent.as_slice() else { panic!() };
        let before: u64 = before.iter().sum();
        assert!(before < most && before + last >= most, "summaries and all: {before} and {last}");
    }
}

/// What a request offers.
fn tools(request: &Value) -> Vec<&str> {
    let tools = request["tools"].as_array();
    tools.into_iter().flatten().filter_map(|tool| tool["function"]["name"].as_str()).collect()
}

#[tokio::test(start_paused = true)]
async fn of_a_thousand_tools_those_are_shown_that_are_looked_for() {
    let mind = |_: &Value, number: usize| match number {
        0 => Says::Calls(vec![(SEARCH.into(), json!({ "query": "many 777", "limit": 2 }))]),
        1 => Says::Calls(vec![("t__many_777".into(), json!({}))]),
        // One that was never shown.
        2 => Says::Calls(vec![("t__many_5".into(), json!({}))]),
        _ => Says::Words("done"),
    };
    let many = || Setup { tools: 1_000, ..setup(Some(100_000)) };
    let ran = many().run(task(), mind).await;
    ran.is_finished();
    let offers: Vec<Vec<&str>> = ran.requests.iter().map(tools).collect();
    assert_eq!(offers[0], ["t__x", SEARCH]);
    assert!(offers[1].len() == 4 && offers[1].contains(&"t__many_777"), "{:?}", offers[1]);
    assert!(offers[3].contains(&"t__many_5"), "{:?}", offers[3]);
    assert!(ran.requests.iter().all(|request| request.to_string().len() < 10_000));
    assert_eq!(ran.count("noted 1001 tools of about"), 1, "{:?}", ran.lines);
    let results = ran.conversation.transcript().as_slice().iter();
    let succeeded =
        |canister: &Canister| matches!(canister, Canister::Result(result) if result.outcome.is_success());
    assert_eq!(results.filter(|one| succeeded(one)).count(), 3);
    // A session that is resumed shows them again, and the user is not told again.
    let mut conversation = ran.conversation;
    let state = conversation.context_state().clone();
    conversation =
        Conversation::resume(conversation.transcript().clone(), Limits::default()).with_context_state(state);
    conversation.say(Canister::User(User::text("again"))).unwrap();
    let ran = many().goes_on(conversation, |_, _| Says::Words("yes"), true).await;
    assert!(tools(&ran.requests[0]).contains(&"t__many_777"));
    assert_eq!(ran.count("warned") + ran.count("noted"), 0);
    // All of them, where there is room, or nobody wants a search.
    for (window, lazy_tools) in [(Some(10_000_000), 0.1), (Some(100_000), 0.0)] {
        let compaction = CompactionPolicy { lazy_tools, ..CompactionPolicy::default() };
        let ran =
            Setup { compaction, tools: 1_000, ..setup(window) }.run(task(), |_, _| Says::Words("yes")).await;
        assert_eq!(tools(&ran.requests[0]).len(), 1_001);
    }
    // A search that may not run finds nothing: as many are shown as there is room for, and the user hears of it.
    let denied = Some("tools.*");
    let ran = Setup { denied, ..many() }.run(task(), |_, _| Says::Words("yes")).await;
    let shown = tools(&ran.requests[0]);
    let bytes = ran.requests[0]["tools"].to_string().len();
    assert!(shown.len() > 100 && !shown.contains(&SEARCH), "{shown:?}");
    assert!((20_000..80_000).contains(&bytes), "{bytes}");
    let note = format!("may not run, so the model gets {} of them", shown.len());
    assert!(ran.lines.iter().any(|line| line.contains(&note)), "{:?}", ran.lines);
    let ran = Setup { tools: 2_000, ..setup(None) }.run(task(), |_, _| Says::Words("yes")).await;
    assert_eq!(tools(&ran.requests[0]).len(), 2, "too many for any window that is not known");
}

#[tokio::test(start_paused = true)]
async fn the_ledger_is_near_what_the_provider_counts() {
    let ran = setup(Some(1_000_000)).run(task(), long_loop(5, 3_000)).await;
    let (roster, _) = Roster::connect(Vec::new(), Vec::new(), Arc::new(NoArtefacts)).await;
    let model = model(Box::new(|_, _| Says::Nothing));
    let engine = Engine {
        route: Route {
            endpoint: row("openai-chat").unwrap().endpoint(None),
            processor: processor(Dialect::OpenAiChat),
            model: "m".to_owned(),
            controls: Controls::default(),
            facts: Facts { window: Some(10_000), ..Facts::default() },
            wire: &model,
        },
        fallbacks: Vec::new(),
        roster: &roster,
        blobs: &NoBlobs,
        note: None,
        answer: None,
        timeouts: Timeouts::default(),
        retry: RetryPolicy::default(),
        compaction: CompactionPolicy::default(),
        can_take_back: false,
        deadline: None,
    };
    let result = ledger(&ran.conversation, &engine);
    let counted = ran.requests.last().unwrap().to_string().len() as f64 / 4.0;
    assert!((result.total() as f64 / counted - 1.0).abs() < 0.1, "{} {counted}", result.total());
    let of_results = result.rows.iter().find(|row| row.part == Part::Result { tool: "t__x".into() }).unwrap();
    assert_eq!(of_results.count, 5);
    assert!(result.share().unwrap() > 0.35);
}
