//! The driver with a scripted wire, fake tools and a recording sink: what happens, in which order.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test's helpers may panic")]

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use converse_canister::{
    Arguments, Canister, Content, Cost, Decision, NoBlobs, Outcome, Stop, Supervisor, Transcript, User,
};
use converse_config::{EnsemblePlan, OnFailure, Permission, Policy, Rule};
use converse_engine::{
    Act, AnswerCheck, Approver, AttemptError, CompactionPolicy, Conversation, Ending, Engine, EngineError,
    Event, Limit, Limits, Ports, Progress, Released, RetryPolicy, Route, Runner, Sink, SinkError, Steering,
    Step, Timeouts, WireErrorKind, converse, with_note,
};
use converse_ensemble::{
    Answer, ConnectError, Connection, Context, Ensemble, Invocable, InvokeError, NoArtefacts, Pending,
    Roster, Tool, ToolProgress,
};
use converse_provider::{Controls, Dialect, Facts, Price, processor, row};
use converse_testkit::tools::plan;
use converse_testkit::wire::{ScriptedWire, WireReply as Reply};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

// ---- what the wire answers ----

fn status(status: u16) -> Reply {
    Reply::Body(status, json!({ "error": { "message": "no" } }))
}

fn broken() -> Reply {
    Reply::Fails(WireErrorKind::Connection)
}

/// So many words, each a piece of its own.
fn words(count: usize) -> Vec<String> {
    Reply::events((0..count).map(|n| json!({ "choices": [{ "delta": { "content": format!("w{n} ") } }] })))
}

fn says(text: &str) -> Reply {
    Reply::Body(
        200,
        json!({ "choices": [{ "message": { "role": "assistant", "content": text }, "finish_reason": "stop" }] }),
    )
}

fn calls(tools: &[&str]) -> Reply {
    let calls: Vec<Value> = tools
        .iter()
        .enumerate()
        .map(|(at, tool)| json!({ "id": format!("c{at}"), "type": "function", "function": { "name": format!("t__{tool}"), "arguments": "{}" } }))
        .collect();
    Reply::Body(
        200,
        json!({ "choices": [{ "message": { "role": "assistant", "content": null, "tool_calls": calls }, "finish_reason": "tool_calls" }] }),
    )
}

// ---- tools ----

#[derive(Clone, Copy)]
enum Behaviour {
    Quick,
    Slow,
    Never,
    Panics,
    /// Fails twice, then works.
    Flaky,
    Talks,
    /// Answers as soon as it is told to stop.
    Obeys,
}

struct Fake {
    behaviour: Behaviour,
    tries: Mutex<u32>,
}

impl Invocable for Fake {
    fn invoke<'a>(
        &'a self,
        context: Context,
        _: &'a Arguments,
    ) -> BoxFuture<'a, Result<Answer, InvokeError>> {
        async move {
            match self.behaviour {
                Behaviour::Quick => {}
                Behaviour::Slow => tokio::time::sleep(Duration::from_secs(1)).await,
                Behaviour::Obeys => context.cancel.cancelled().await,
                Behaviour::Never => std::future::pending().await,
                Behaviour::Panics => panic!("on purpose"),
                Behaviour::Flaky => {
                    let mut tries = self.tries.lock().unwrap();
                    *tries += 1;
                    if *tries < 3 {
                        return Err(InvokeError::Failed(format!("try {tries}")));
                    }
                }
                Behaviour::Talks => {
                    context.host.say(ToolProgress::Log { message: "half way".to_owned() });
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
            }
            Ok(Answer::text("done"))
        }
        .boxed()
    }
}

struct Fakes(Policy);

impl Fakes {
    fn tools(&self, ensemble: &Ensemble, fakes: &[(&str, Behaviour)]) -> Vec<Tool> {
        let tool = |(name, behaviour): &(&str, Behaviour)| {
            let invocable = Arc::new(Fake { behaviour: *behaviour, tries: Mutex::new(0) });
            let name = (*name).to_owned().try_into().unwrap();
            ensemble.tool(&name, String::new(), json!({ "type": "object" }), self.0.clone(), true, invocable)
        };
        fakes.iter().map(tool).collect()
    }
}

impl Connection for Fakes {
    fn connect<'a>(&'a self, ensemble: &'a Ensemble) -> BoxFuture<'a, Result<Vec<Tool>, ConnectError>> {
        std::future::ready(Ok(self.tools(ensemble, &FAKES))).boxed()
    }

    /// One more tool than at first.
    fn refresh<'a>(&'a self, ensemble: &'a Ensemble) -> BoxFuture<'a, Option<Vec<Tool>>> {
        let fakes = [&FAKES[..], &[("late", Behaviour::Quick)]].concat();
        std::future::ready(Some(self.tools(ensemble, &fakes))).boxed()
    }
}

const FAKES: [(&str, Behaviour); 7] = [
    ("quick", Behaviour::Quick),
    ("slow", Behaviour::Slow),
    ("never", Behaviour::Never),
    ("panics", Behaviour::Panics),
    ("flaky", Behaviour::Flaky),
    ("talks", Behaviour::Talks),
    ("obeys", Behaviour::Obeys),
];

async fn roster(policy: Policy, rules: Vec<Rule>) -> Roster {
    let plan = EnsemblePlan { defaults: policy.clone(), ..plan("t") };
    let (roster, failures) =
        Roster::connect(vec![Ensemble::new(&plan, Box::new(Fakes(policy)))], rules, Arc::new(NoArtefacts))
            .await;
    assert!(failures.is_empty());
    roster
}

fn computing() -> Policy {
    Policy { effects: converse_config::Effects::None, ..Policy::default() }
}

// ---- the rest of the world ----

/// Notes each event in a word or two; may fail at one of them.
#[derive(Default)]
struct Notes {
    lines: Mutex<Vec<String>>,
    fail_at: Option<&'static str>,
}

impl Sink for Notes {
    fn emit(&self, event: &Event<'_>) -> Result<(), SinkError> {
        let line = match event {
            Event::Condensed { condensed, .. } => format!("condensed {}", condensed.covers),
            Event::Requested { iteration, .. } => format!("request {iteration}"),
            Event::Delta(_) => return Ok(()),
            Event::Stalled => "stalled".to_owned(),
            Event::Warned(message) => format!("warned: {message}"),
            Event::Noted(message) => format!("noted: {message}"),
            Event::Restarted(restart) => format!("restart after {} ms", restart.delay.as_millis()),
            Event::Appended(Canister::Assistant(assistant)) => format!("assistant {:?}", assistant.words()),
            Event::Appended(Canister::Invocation(invocation)) => format!("invocation {}", invocation.tool),
            Event::Appended(Canister::Result(result)) => {
                format!("result {} {}", result.id, result.outcome.label())
            }
            Event::Appended(_) => "appended".to_owned(),
            Event::Deciding(pending) => format!("deciding {}", pending.len()),
            Event::Decided { decision, .. } => {
                format!("decided {}", if decision.allows() { "yes" } else { "no" })
            }
            Event::Started { invocations, .. } => format!("started {}", invocations.len()),
            Event::ToolProgress { .. } => "word".to_owned(),
            Event::Finished { elapsed: _, result, .. } => format!("finished {}", result.id),
            Event::Used { cut: true, cost, instead, .. } => {
                format!(
                    "cut {:?}{}",
                    cost.map(|cost| cost.0),
                    instead.map_or(String::new(), |by| format!(" by {by}"))
                )
            }
            Event::Used { instead: Some(by), .. } => format!("used by {by}"),
            Event::Used { .. } => "used".to_owned(),
            Event::Committed { turn, durable } => {
                format!("committed {}{}", turn.0, if *durable { ", durable" } else { "" })
            }
            Event::Answered(value) => format!("answered {value}"),
            Event::Done(_) => "done".to_owned(),
        };
        if self.fail_at.is_some_and(|at| line.starts_with(at)) {
            return Err(SinkError::Save("disk full".to_owned()));
        }
        self.lines.lock().unwrap().push(line);
        Ok(())
    }
}

struct Says(Vec<Decision>);

impl Approver for Says {
    fn decide<'a>(&'a self, _: &'a [Pending]) -> BoxFuture<'a, Vec<Decision>> {
        std::future::ready(self.0.clone()).boxed()
    }

    fn can_ask(&self) -> bool {
        !self.0.is_empty()
    }
}

/// Answers yes once the questions are answered, and until then postpones them.
struct Later(AtomicBool);

impl Approver for Later {
    fn decide<'a>(&'a self, pending: &'a [Pending]) -> BoxFuture<'a, Vec<Decision>> {
        let yes = |_| Decision::Allow { rule: "user".into() };
        std::future::ready(pending.iter().map(yes).collect()).boxed()
    }

    fn can_ask(&self) -> bool {
        true
    }

    fn postpones(&self, _: &[Pending]) -> bool {
        !self.0.load(Ordering::Relaxed)
    }
}

#[tokio::test(start_paused = true)]
async fn a_turn_ends_at_a_postponed_question_and_goes_on_with_its_answer() {
    let rules = vec![Rule::new("t.quick", Permission::Ask, "test").unwrap()];
    let roster = roster(computing(), rules).await;
    let script = ScriptedWire::following(vec![calls(&["quick", "talks"]), says("Bye.")]);
    let (approver, notes, cancel) =
        (Later(AtomicBool::new(false)), Notes::default(), CancellationToken::new());
    let engine = Engine {
        route: route("m", &script, None),
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
    let ports =
        Ports { approver: &approver, sinks: &[&notes], jitter: &|| 1.0, runner: None, steering: None };
    let mut conversation = Conversation::resume(Transcript::new(), Limits::default());
    conversation.say(Canister::User(User::text("go"))).unwrap();
    let ending = converse(&mut conversation, &engine, ports, &cancel).await.unwrap();
    let open: Vec<_> = conversation.transcript().open().iter().map(|open| open.id.clone()).collect();
    assert_eq!((ending, open.len()), (Ending::Postponed { ids: vec![open[0].clone()] }, 2));
    assert!(!notes.lines.lock().unwrap().iter().any(|line| line.starts_with("started")), "nothing may run");

    // Another process may continue: only the transcript is kept.
    let mut conversation = Conversation::resume(conversation.transcript().clone(), Limits::default());
    approver.0.store(true, Ordering::Relaxed);
    let ending = converse(&mut conversation, &engine, ports, &cancel).await.unwrap();
    assert_eq!(ending, Ending::Finished { unapproved: 0, unsandboxed: 0, unstarted: 0 });
    assert!(notes.lines.lock().unwrap().contains(&"started 2".to_owned()));
}

/// Lets so many steps begin, and notes what they do.
struct Few(Mutex<(usize, Vec<Act>)>);

impl Runner for Few {
    fn begin(&self, act: Act) -> BoxFuture<'_, Result<(), Released>> {
        let mut state = self.0.lock().unwrap();
        let begins = state.0 > 0;
        if begins {
            state.0 -= 1;
            state.1.push(act);
        }
        std::future::ready(if begins { Ok(()) } else { Err(Released) }).boxed()
    }
}

#[tokio::test(start_paused = true)]
async fn a_runner_carries_a_turn_from_step_to_step_and_its_limits_go_with_it() {
    let policy = Policy { max_invocations: Some(1), ..computing() };
    let roster = roster(policy, Vec::new()).await;
    let script = vec![calls(&["quick"]), calls(&["quick", "talks"]), says("Bye.")];
    let script = ScriptedWire::following(script);
    let engine = Engine {
        route: route("m", &script, None),
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
    let (approver, notes, cancel) = (Says(Vec::new()), Notes::default(), CancellationToken::new());
    let limits = Limits { iterations: 3, ..Limits::default() };
    let mut conversation = Conversation::resume(Transcript::new(), limits);
    conversation.say(Canister::User(User::text("go"))).unwrap();
    let mut acts = Vec::new();
    let ending = loop {
        // Each step in another process: only the transcript is kept.
        let few = Few(Mutex::new((1, Vec::new())));
        let ports = Ports {
            approver: &approver,
            sinks: &[&notes],
            jitter: &|| 1.0,
            runner: Some(&few),
            steering: None,
        };
        let ended = converse(&mut conversation, &engine, ports, &cancel).await;
        acts.extend(few.0.into_inner().unwrap().1);
        match ended {
            Err(EngineError::Released(_)) => {}
            ended => break ended.unwrap(),
        }
        let progress = Progress { began: 1, ..Progress::default() };
        conversation = Conversation::resume(conversation.transcript().clone(), limits).take_up(progress);
    };
    assert_eq!(ending, Ending::Finished { unapproved: 0, unsandboxed: 0, unstarted: 0 });
    assert_eq!(acts, [Act::CallModel, Act::Invoke, Act::CallModel, Act::Invoke, Act::CallModel]);
    assert_eq!(conversation.iterations(), 3);
    let results = conversation.transcript().as_slice().iter().filter_map(|canister| match canister {
        Canister::Result(result) => Some(result.outcome),
        _ => None,
    });
    let expected = [Outcome::Success, Outcome::Cancelled, Outcome::Success];
    assert_eq!(results.collect::<Vec<_>>(), expected, "one call of each tool in a turn");
    let fewer = Limits { iterations: 1, ..Limits::default() };
    let said = Transcript::try_from(conversation.transcript().as_slice()[..4].to_vec()).unwrap();
    let over = Conversation::resume(said, fewer).take_up(Progress { began: 1, ..Progress::default() });
    assert_eq!(over.step(), Step::Done(Ending::Limit(Limit::Iterations(1))));
}

struct Run {
    ending: Result<Ending, EngineError>,
    lines: Vec<String>,
    transcript: Transcript,
    requests_left: usize,
    requests: Vec<Value>,
    /// What the turn did not take.
    typed: Vec<&'static str>,
}

fn route<'a>(model: &str, wire: &'a ScriptedWire, price: Option<Price>) -> Route<'a> {
    Route {
        endpoint: row("openai-chat").unwrap().endpoint(None),
        processor: processor(Dialect::OpenAiChat),
        model: model.to_owned(),
        controls: Controls::default(),
        facts: Facts { price, ..Facts::default() },
        wire,
    }
}

struct IsNumber;

impl AnswerCheck for IsNumber {
    fn check(&self, text: &str) -> Result<Value, String> {
        text.parse::<u32>().map(Value::from).map_err(|error| error.to_string())
    }
}

struct Setup {
    script: Vec<Reply>,
    policy: Policy,
    rules: Vec<Rule>,
    decisions: Vec<Decision>,
    fail_at: Option<&'static str>,
    deadline: Option<Duration>,
    cancel_after: Option<Duration>,
    falls_back: bool,
    check: bool,
    price: Option<Price>,
    limits: Limits,
    can_take_back: bool,
    /// What the user has typed for the turn before it begins.
    typed: &'static [&'static str],
}

fn setup(script: Vec<Reply>) -> Setup {
    let (policy, rules, decisions) = (computing(), Vec::new(), Vec::new());
    Setup {
        script,
        policy,
        rules,
        decisions,
        fail_at: None,
        deadline: None,
        cancel_after: None,
        falls_back: false,
        check: false,
        price: None,
        limits: Limits::default(),
        can_take_back: false,
        typed: &[],
    }
}

impl Setup {
    async fn run(self) -> Run {
        let roster = roster(self.policy, self.rules).await;
        let (count, script) = (self.script.len(), ScriptedWire::following(self.script));
        let approver = Says(self.decisions);
        let notes = Notes { fail_at: self.fail_at, ..Notes::default() };
        let engine = Engine {
            route: route("m", &script, self.price),
            fallbacks: vec![route("n", &script, self.price)].split_off(usize::from(!self.falls_back)),
            roster: &roster,
            blobs: &NoBlobs,
            note: None,
            answer: self.check.then_some(&IsNumber as &dyn AnswerCheck),
            timeouts: Timeouts::default(),
            retry: RetryPolicy::default(),
            compaction: CompactionPolicy::default(),
            can_take_back: self.can_take_back,
            deadline: self.deadline.map(|after| tokio::time::Instant::now() + after),
        };
        let cancel = CancellationToken::new();
        if let Some(after) = self.cancel_after {
            let cancel = cancel.clone();
            tokio::spawn(async move {
                tokio::time::sleep(after).await;
                cancel.cancel();
            });
        }
        let mut conversation = Conversation::resume(Transcript::new(), self.limits);
        conversation.say(Canister::User(User::text("go"))).unwrap();
        let typed = Typed(Mutex::new(self.typed.iter().copied().collect()));
        let steering = Some(&typed as &dyn Steering);
        let ports = Ports { approver: &approver, sinks: &[&notes], jitter: &|| 1.0, runner: None, steering };
        let ending = converse(&mut conversation, &engine, ports, &cancel).await;
        let requests_left = count - script.requests().len();
        Run {
            ending,
            lines: notes.lines.into_inner().unwrap(),
            transcript: conversation.transcript().clone(),
            requests_left,
            requests: script.requests(),
            typed: typed.0.into_inner().unwrap().into(),
        }
    }
}

fn outcomes(run: &Run) -> Vec<Outcome> {
    let results = run.transcript.as_slice().iter();
    results
        .filter_map(|c| if let Canister::Result(result) = c { Some(result.outcome) } else { None })
        .collect()
}

#[tokio::test(start_paused = true)]
async fn the_model_hears_of_what_the_user_has_changed_and_its_words_stay() {
    let edited = |value: Value| {
        let Value::Object(arguments) = json!({ "path": value }) else { panic!("no object") };
        Decision::AllowEdited { arguments }
    };
    let setup = setup(vec![calls(&["quick", "quick"]), says("Bye.")]);
    let yes = Decision::Allow { rule: "user".to_owned() };
    let policy = Policy { permission: Some(Permission::Ask), ..computing() };
    let run = Setup { policy, decisions: vec![edited(json!("b")), yes], ..setup }.run().await;
    let canisters = run.transcript.as_slice().iter();
    let texts = canisters.clone().filter_map(|canister| match canister {
        Canister::Result(result) => {
            Some(result.content.iter().filter_map(Content::as_text).collect::<Vec<_>>())
        }
        _ => None,
    });
    let note = r#"[the user changed the arguments of this call: it was made with {"path":"b"}]"#;
    assert_eq!(texts.collect::<Vec<_>>(), [vec![note, "done"], vec!["done"]]);
    let lengths = canisters.filter_map(|canister| match canister {
        Canister::Invocation(invocation) => Some(invocation.arguments.object.len()),
        _ => None,
    });
    assert_eq!(lengths.collect::<Vec<_>>(), [0, 0], "as the model wrote them");
}

/// What the user has typed for the turn, from its beginning on.
struct Typed(Mutex<VecDeque<&'static str>>);

impl Steering for Typed {
    fn take(&self) -> Option<User> {
        self.0.lock().unwrap().pop_front().map(User::text)
    }
}

#[tokio::test(start_paused = true)]
async fn the_user_speaks_to_a_turn_between_results_and_the_next_request() {
    let script = vec![calls(&["slow", "quick"]), calls(&["quick"]), says("Bye.")];
    let run = Setup { typed: &["faster", "and better"], ..setup(script) }.run().await;
    assert_eq!(run.ending.unwrap(), Ending::Finished { unapproved: 0, unsandboxed: 0, unstarted: 0 });
    let at = |line: &str| run.lines.iter().position(|known| known == line).unwrap();
    // After all results of the first reply, and not before its request.
    let expected = ["result inv_1_0 success", "committed 1", "appended", "appended", "request 2"];
    assert_eq!(run.lines[at("result inv_1_0 success")..=at("request 2")], expected);
    assert!(run.typed.is_empty());
    let users = |canister: &&Canister| matches!(canister, Canister::User(_));
    assert_eq!(run.transcript.as_slice().iter().filter(users).count(), 3);
    Transcript::try_from(run.transcript.as_slice().to_vec()).unwrap();
    let request = run.requests.get(1).unwrap();
    let roles: Vec<&str> =
        request["messages"].as_array().unwrap().iter().filter_map(|one| one["role"].as_str()).collect();
    assert!(
        roles.ends_with(&["assistant", "tool", "tool", "user"]) || roles.ends_with(&["tool", "user", "user"]),
        "{roles:?}"
    );
    assert!(request.to_string().contains("faster") && !run.requests[0].to_string().contains("faster"));
}

#[tokio::test(start_paused = true)]
async fn words_that_come_too_late_for_a_turn_are_not_taken() {
    let end = Setup { typed: &["late"], ..setup(vec![says("Bye.")]) };
    let cancelled = Setup {
        typed: &["late"],
        cancel_after: Some(Duration::from_millis(10)),
        ..setup(vec![calls(&["never"])])
    };
    let limits = Limits { iterations: 1, ..Limits::default() };
    let limited = Setup { typed: &["late"], limits, ..setup(vec![calls(&["quick"])]) };
    let fails = Setup { typed: &["late"], ..setup(vec![status(400)]) };
    for setup in [end, cancelled, limited, fails] {
        let run = setup.run().await;
        assert_eq!(run.typed, ["late"], "{:?}", run.lines);
    }
}

#[tokio::test(start_paused = true)]
async fn words_that_cannot_be_saved_are_not_sent() {
    let script = vec![calls(&["quick"]), says("Bye.")];
    let run = Setup { typed: &["faster"], fail_at: Some("appended"), ..setup(script) }.run().await;
    assert!(matches!(run.ending, Err(EngineError::Sink(SinkError::Save(_)))));
    assert_eq!(run.requests.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_turn_in_its_order() {
    let run = setup(vec![calls(&["slow", "quick"]), says("Bye.")]).run().await;
    assert_eq!(run.ending.unwrap(), Ending::Finished { unapproved: 0, unsandboxed: 0, unstarted: 0 });
    assert_eq!(
        run.lines,
        [
            "request 1",
            "assistant \"\"",
            "invocation t__slow",
            "invocation t__quick",
            "used",
            "decided yes",
            "decided yes",
            "started 2",
            "finished inv_1_1",
            "result inv_1_1 success",
            "finished inv_1_0",
            "result inv_1_0 success",
            "committed 1",
            "request 2",
            "assistant \"Bye.\"",
            "used",
            "committed 2, durable",
            "done",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn slow_tools_run_side_by_side() {
    let began = tokio::time::Instant::now();
    let run = setup(vec![calls(&["slow"; 20]), says("Bye.")]).run().await;
    assert_eq!(outcomes(&run), [Outcome::Success; 20]);
    assert_eq!(began.elapsed().as_secs(), 1);
}

#[tokio::test(start_paused = true)]
async fn tools_that_may_not_run_beside_others_do_not() {
    let began = tokio::time::Instant::now();
    let policy = Policy { parallel: false, ..computing() };
    let run = Setup { policy, ..setup(vec![calls(&["slow"; 3]), says("Bye.")]) }.run().await;
    assert_eq!(outcomes(&run), [Outcome::Success; 3]);
    assert_eq!(began.elapsed().as_secs(), 3);
}

#[tokio::test(start_paused = true)]
async fn tools_are_asked_for_anew_before_each_call() {
    let run = setup(vec![calls(&["late"]), says("Bye.")]).run().await;
    assert_eq!(outcomes(&run), [Outcome::Success]);
}

#[tokio::test(start_paused = true)]
async fn a_panic_and_a_timeout_are_results_and_the_others_finish() {
    let run = setup(vec![calls(&["panics", "never", "quick"]), says("Bye.")]).run().await;
    assert!(run.ending.is_ok());
    let mut labels: Vec<&str> = outcomes(&run).into_iter().map(Outcome::label).collect();
    labels.sort_unstable();
    assert_eq!(labels, ["failed", "success", "timeout"]);
}

#[tokio::test(start_paused = true)]
async fn only_idempotent_tools_are_tried_again() {
    let flaky = || setup(vec![calls(&["flaky"]), says("Bye.")]);
    let retries = |idempotent| Policy { max_retries: 3, idempotent, ..computing() };
    assert_eq!(outcomes(&Setup { policy: retries(true), ..flaky() }.run().await), [Outcome::Success]);
    assert_eq!(outcomes(&Setup { policy: retries(false), ..flaky() }.run().await), [Outcome::Failed]);
}

#[tokio::test(start_paused = true)]
async fn a_tool_may_have_a_limit_of_its_own() {
    let policy = Policy { max_invocations: Some(2), ..computing() };
    let script = vec![calls(&["quick", "quick"]), calls(&["quick", "slow"]), says("Bye.")];
    let run = Setup { policy, ..setup(script) }.run().await;
    let count = |outcome| outcomes(&run).into_iter().filter(|o| *o == outcome).count();
    assert_eq!((count(Outcome::Success), count(Outcome::Cancelled)), (3, 1), "{:?}", texts(&run));
}

#[tokio::test(start_paused = true)]
async fn what_a_tool_says_is_passed_on() {
    let run = setup(vec![calls(&["talks"]), says("Bye.")]).run().await;
    assert!(run.lines.contains(&"word".to_owned()), "{:?}", run.lines);
}

#[tokio::test(start_paused = true)]
async fn approvals() {
    let ask = || vec![Rule::new("t.*", Permission::Ask, "test").unwrap()];
    let both = || vec![calls(&["quick", "quick"]), says("Bye.")];
    let yes = Decision::Allow { rule: "user".into() };
    let no = Decision::Deny { rule: "user".into(), comment: Some("not now".into()) };

    let run = Setup { rules: ask(), decisions: vec![yes.clone(), no], ..setup(both()) }.run().await;
    assert_eq!(run.ending.unwrap(), Ending::Finished { unapproved: 0, unsandboxed: 0, unstarted: 0 });
    assert!(
        run.lines.contains(&"deciding 2".to_owned()) && run.lines.contains(&"started 1".to_owned()),
        "{:?}",
        run.lines
    );

    // An approver that answers too little has not said yes to the rest.
    let run = Setup { rules: ask(), decisions: vec![yes], ..setup(both()) }.run().await;
    assert!(outcomes(&run).contains(&Outcome::Refused));

    let run = Setup { rules: ask(), ..setup(both()) }.run().await;
    assert_eq!(run.ending.unwrap(), Ending::Finished { unapproved: 2, unsandboxed: 0, unstarted: 0 });
    assert_eq!(outcomes(&Setup { rules: ask(), ..setup(both()) }.run().await), [Outcome::Refused; 2]);
}

#[tokio::test(start_paused = true)]
async fn nothing_runs_that_could_not_be_saved() {
    let run = Setup { fail_at: Some("started"), ..setup(vec![calls(&["quick"]), says("Bye.")]) }.run().await;
    assert!(matches!(run.ending, Err(EngineError::Sink(SinkError::Save(_)))));
    assert!(!run.lines.iter().any(|line| line.starts_with("finished")), "{:?}", run.lines);
    let run = Setup { fail_at: Some("invocation"), ..setup(vec![calls(&["quick"])]) }.run().await;
    assert!(!run.transcript.has_open(), "the state moved before the sink accepted it");
}

#[tokio::test(start_paused = true)]
async fn a_call_is_repeated_with_growing_patience() {
    let script = vec![status(529), broken(), Reply::Silent, says("Bye.")];
    let run = setup(script).run().await;
    assert!(run.ending.is_ok());
    let restarts: Vec<&String> = run.lines.iter().filter(|line| line.starts_with("restart")).collect();
    assert_eq!(restarts, ["restart after 500 ms", "restart after 1000 ms", "restart after 2000 ms"]);
    assert_eq!(
        run.lines.iter().filter(|line| line.starts_with("request")).count(),
        1,
        "a retry is no iteration"
    );
}

#[tokio::test(start_paused = true)]
async fn no_piece_of_a_flood_is_lost() {
    let run =
        setup(vec![Reply::Events([words(1000), vec!["data: [DONE]\n\n".to_owned()]].concat())]).run().await;
    assert!(run.ending.is_ok());
    let words: String = (0..1000).map(|n| format!("w{n} ")).collect();
    let Some(Canister::Assistant(assistant)) = run.transcript.as_slice().last() else { panic!() };
    assert_eq!(assistant.words(), words);
}

fn texts(run: &Run) -> Vec<String> {
    texts_of(&run.transcript)
}

fn texts_of(transcript: &Transcript) -> Vec<String> {
    let results = transcript.as_slice().iter();
    let text = |content: &[Content]| content[0].as_text().unwrap().to_owned();
    results
        .filter_map(|c| if let Canister::Result(result) = c { Some(text(&result.content)) } else { None })
        .collect()
}

#[tokio::test(start_paused = true)]
async fn what_waits_for_its_turn_does_not_begin_after_the_end() {
    let alone = Policy { parallel: false, ..computing() };
    let script = vec![calls(&["never", "quick"])];
    let cancel_after = Some(Duration::from_secs(1));
    let run = Setup { policy: alone.clone(), cancel_after, ..setup(script) }.run().await;
    assert_eq!(run.ending.as_ref().unwrap(), &Ending::Cancelled);
    assert!(
        texts(&run).contains(&"not run: the turn was ended before it began".to_owned()),
        "{:?}",
        texts(&run)
    );

    assert!(run.lines.contains(&"started 1".to_owned()), "one began, the other never did: {:?}", run.lines);
    assert_eq!(run.lines.iter().filter(|line| line.starts_with("started")).count(), 1);

    let policy = Policy { on_failure: OnFailure::Stop, ..alone };
    let run = Setup { policy, ..setup(vec![calls(&["panics", "quick"])]) }.run().await;
    assert!(
        matches!(&run.ending, Ok(Ending::Stopped { tool, .. }) if tool == "t.panics"),
        "{:?}",
        run.ending
    );
    assert_eq!(outcomes(&run), [Outcome::Failed, Outcome::Cancelled]);
}

/// In all its spellings, also as a stream without a chunk; reasoning alone answers nothing.
#[tokio::test(start_paused = true)]
async fn an_empty_reply_is_retried_and_no_success() {
    let stop = |message: Value, reason: Value| {
        let choice = json!({ "message": message, "finish_reason": reason });
        move || Reply::Body(200, json!({ "choices": [choice] }))
    };
    let only_done = || Reply::Events(vec!["data: [DONE]\n\n".to_owned()]);
    let empties: [Box<dyn Fn() -> Reply>; 5] = [
        Box::new(only_done),
        Box::new(stop(json!({ "content": " \n" }), json!("stop"))),
        Box::new(stop(json!({ "content": null, "reasoning": "Hm." }), json!("stop"))),
        Box::new(stop(json!(null), json!("stop"))),
        Box::new(stop(json!({ "content": "" }), json!(null))),
    ];
    for (at, empty) in empties.iter().enumerate() {
        let run = setup(vec![empty(), empty(), says("42")]).run().await;
        assert!(matches!(run.ending, Ok(Ending::Finished { .. })), "{at}: {:?}", run.ending);
        let run = setup(vec![empty(), empty(), empty(), says("never asked")]).run().await;
        let Err(EngineError::Exchange(error)) = run.ending else { panic!("{at}: {:?}", run.ending) };
        assert!(matches!(error.cause, AttemptError::Empty), "{at}: {error}");
        assert_eq!((error.attempts, run.requests_left), (3, 1), "{at}");
    }
    // After its results a model may have nothing to add, but a body without a message is a fault there too.
    let run = setup(vec![calls(&["quick"]), stop(json!({ "content": "" }), json!("stop"))()]).run().await;
    assert!(matches!(run.ending, Ok(Ending::Finished { .. })), "{:?}", run.ending);
    let run = setup(vec![calls(&["quick"]), only_done(), says("42")]).run().await;
    assert!(matches!(run.ending, Ok(Ending::Finished { .. })) && run.requests_left == 0, "{:?}", run.ending);
}

#[tokio::test(start_paused = true)]
async fn what_waiting_cannot_cure_ends_at_once() {
    for reply in [status(401), Reply::Fails(WireErrorKind::Tls)] {
        let run = setup(vec![reply, says("never asked")]).run().await;
        let Err(EngineError::Exchange(error)) = run.ending else { panic!("{:?}", run.ending) };
        assert!(matches!(error.cause, AttemptError::Refusal(_) | AttemptError::Wire(_)));
        assert_eq!((error.attempts, run.requests_left), (1, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn cancelling_and_deadlines_answer_what_is_open() {
    let never = || setup(vec![calls(&["never", "quick"])]);
    let after = Some(Duration::from_secs(5));
    let run = Setup { cancel_after: after, ..never() }.run().await;
    assert_eq!(run.ending.unwrap(), Ending::Cancelled);
    assert!(!run.transcript.has_open());
    let run = Setup { deadline: after, ..never() }.run().await;
    assert_eq!(run.ending.unwrap(), Ending::Limit(Limit::Deadline));
    assert!(!run.transcript.has_open());
    // A tool that notices first does not get the model asked again.
    let run = Setup { cancel_after: after, ..setup(vec![calls(&["obeys"])]) }.run().await;
    assert_eq!(run.ending.unwrap(), Ending::Cancelled);
    // Words that were shown stay.
    let run = Setup { cancel_after: after, ..setup(vec![Reply::Stalls(words(2))]) }.run().await;
    let Some(Canister::Assistant(cut)) = run.transcript.as_slice().last() else { panic!() };
    assert_eq!((cut.words().as_str(), &cut.stop), ("w0 w1 ", &Stop::Cut));
    // Sinks are told of the pause, once.
    assert_eq!(run.lines.iter().filter(|line| *line == "stalled").count(), 1, "{:?}", run.lines);
    let run = Setup { cancel_after: after, ..setup(vec![Reply::Silent]) }.run().await;
    assert_eq!(run.ending.unwrap(), Ending::Cancelled);
    assert_eq!(run.transcript.as_slice().len(), 1);
}

#[test]
fn a_note_stands_behind_the_system_text_and_not_in_the_transcript() {
    let supervisor = |text: &str| Canister::Supervisor(Supervisor { text: text.to_owned() });
    let canisters = vec![supervisor("be brief"), Canister::User(User::text("go")), supervisor("be long")];
    assert_eq!(with_note(&canisters, None), canisters);
    let view = with_note(&canisters, Some("no weather today"));
    assert_eq!(view[1], supervisor("no weather today"));
    assert_eq!([&view[..1], &view[2..]].concat(), canisters);
}

fn costly(tokens: u64) -> Reply {
    let usage = json!({ "prompt_tokens": tokens, "completion_tokens": 0 });
    let call =
        json!({ "id": "c", "type": "function", "function": { "name": "t__quick", "arguments": "{}" } });
    let message = json!({ "role": "assistant", "content": null, "tool_calls": [call] });
    Reply::Body(
        200,
        json!({ "choices": [{ "message": message, "finish_reason": "tool_calls" }], "usage": usage }),
    )
}

/// A token of input for a millionth of a dollar.
const PRICE: Price = Price { input: 1_000_000, output: 1_000_000, ..Price::NOTHING };

#[tokio::test(start_paused = true)]
async fn costs_are_added_up_and_bounded() {
    let limits = Limits { cost: Some(Cost(100)), ..Limits::default() };
    let bounded = |script, price| Setup { limits, price, ..setup(script) };
    let run = bounded(vec![costly(60), costly(40)], Some(PRICE)).run().await;
    assert_eq!(outcomes(&run), [Outcome::Success; 2], "what is free runs, and waits for who goes on");
    assert_eq!(run.ending.unwrap(), Ending::Limit(Limit::Cost(Cost(100))));
    // What the provider says it cost is what it cost.
    let reported = || match costly(60) {
        Reply::Body(_, mut body) => {
            body["usage"]["cost"] = json!(0.00003);
            Reply::Body(200, body)
        }
        other => other,
    };
    let run = bounded(vec![reported(), reported(), reported(), says("Bye.")], Some(PRICE)).run().await;
    assert!(matches!(run.ending, Ok(Ending::Finished { .. })), "{:?}", run.ending);
    // A limit cannot be held where nobody says what anything costs.
    let run = bounded(vec![costly(1)], None).run().await;
    assert_eq!(run.ending.unwrap(), Ending::Limit(Limit::UnknownCost));
    let run = bounded(vec![says("Bye.")], None).run().await;
    assert!(matches!(run.ending, Ok(Ending::Finished { .. })), "the answer is there");
    assert!(run.lines.iter().any(|line| line.starts_with("warned: the limit of")), "{:?}", run.lines);
}

/// Words, and the tokens of input so far, if they are told; then the connection ends.
fn cut_after(tokens: Option<u64>) -> Reply {
    let words = json!({ "choices": [{ "delta": { "content": "Half " } }] });
    let usage = tokens.map(|tokens| json!({ "choices": [], "usage": { "prompt_tokens": tokens } }));
    Reply::Events(Reply::events([words].into_iter().chain(usage)))
}

fn costs(run: &Run) -> Vec<&str> {
    let is_cost = |line: &&str| ["cut", "used"].iter().any(|kind| line.starts_with(kind));
    run.lines.iter().map(String::as_str).filter(is_cost).collect()
}

#[tokio::test(start_paused = true)]
async fn attempts_that_break_off_are_paid_for() {
    let limits = Limits { cost: Some(Cost(100)), ..Limits::default() };
    let bounded = |script, price| Setup { limits, price, can_take_back: true, ..setup(script) };
    // Within the limit: asked again, and counted.
    let run = bounded(vec![cut_after(Some(60)), costly(40), says("never asked")], Some(PRICE)).run().await;
    assert_eq!((costs(&run), run.requests_left), (vec!["cut Some(60)", "used"], 1));
    assert_eq!(run.ending.unwrap(), Ending::Limit(Limit::Cost(Cost(100))));
    // At the limit, or where nobody knows: not asked again, and the words stay.
    for (tokens, price, expected, limit) in [
        (Some(100), Some(PRICE), "cut Some(100)", Limit::Cost(Cost(100))),
        (None, Some(PRICE), "cut None", Limit::UnknownCost),
        (Some(1), None, "cut None", Limit::UnknownCost),
    ] {
        for falls_back in [false, true] {
            let run = bounded(vec![cut_after(tokens), says("never asked")], price);
            let run = Setup { falls_back, ..run }.run().await;
            assert_eq!(run.ending.as_ref().unwrap(), &Ending::Limit(limit), "{tokens:?}");
            assert_eq!((costs(&run), run.requests_left), (vec![expected], 1));
            let at = |what: &str| run.lines.iter().position(|line| line.starts_with(what));
            assert!(at("assistant \"Half \"") < at("cut") && at("cut") < at("committed"), "{:?}", run.lines);
            assert!(at("warned: openai-chat/m failed").is_some(), "{:?}", run.lines);
        }
    }
    // Nor is anybody else, after what cannot be mended by asking again.
    let torn = Reply::Events(Reply::events(vec![
        json!({ "choices": [{ "delta": { "content": "Half " } }] }),
        json!(17),
    ]));
    let run = bounded(vec![torn, says("never asked")], Some(PRICE));
    let run = Setup { falls_back: true, ..run }.run().await;
    assert_eq!(run.ending.as_ref().unwrap(), &Ending::Limit(Limit::UnknownCost));
    assert_eq!((costs(&run), run.requests_left), (vec!["cut None"], 1));
    // What is free is free.
    let run = bounded(vec![cut_after(None), says("Bye.")], Some(Price::NOTHING)).run().await;
    assert!(matches!(run.ending, Ok(Ending::Finished { .. })), "{:?}", run.ending);
    assert_eq!(costs(&run), ["cut Some(0)", "used"]);
    // A refusal is not, nor a reply that never began.
    let script = vec![status(529), broken(), says("Bye.")];
    let run = bounded(script, None).run().await;
    assert_eq!(costs(&run), ["used"]);
    let refused =
        Reply::Events(Reply::events(vec![json!({ "error": { "message": "overloaded", "code": 529 } })]));
    let run = bounded(vec![refused, says("Bye.")], None).run().await;
    assert_eq!(costs(&run), ["used"], "{:?}", run.lines);
    // Nobody limits it: it is told all the same.
    let run = Setup { can_take_back: true, ..setup(vec![cut_after(Some(7)), says("Bye.")]) }.run().await;
    assert_eq!(costs(&run), ["cut None", "used"]);
}

#[tokio::test(start_paused = true)]
async fn what_ends_the_turn_in_the_midst_of_a_reply_is_paid_for() {
    let after = Some(Duration::from_secs(5));
    let limits = Limits { cost: Some(Cost(100)), ..Limits::default() };
    for reply in [Reply::Stalls(words(2)), Reply::Silent] {
        let run = Setup { cancel_after: after, limits, price: Some(PRICE), ..setup(vec![reply]) }.run().await;
        assert_eq!(run.ending.as_ref().unwrap(), &Ending::Cancelled);
        assert_eq!(costs(&run), ["cut None"]);
        assert!(run.lines.iter().any(|line| line.starts_with("warned: the limit of")), "{:?}", run.lines);
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_fallback_gave_says_so() {
    let cut = (0..5).map(|_| cut_after(None)).chain([cut_after(None), says("Bye.")]).collect();
    let run = Setup { falls_back: true, can_take_back: true, ..setup(cut) }.run().await;
    let expected = [&["cut None"; 5][..], &["cut None by openai-chat/n", "used by openai-chat/n"]].concat();
    assert_eq!(costs(&run), expected);
    let at = |what: &str| run.lines.iter().position(|line| line.starts_with(what));
    assert!(at("cut None") < at("restart") && at("warned: openai-chat/m failed") < at("cut None by"));
}

#[tokio::test(start_paused = true)]
async fn tools_that_would_cost_too_much_do_not_run() {
    let limits = Limits { cost: Some(Cost(100)), ..Limits::default() };
    for (cost, outcomes_, deciding) in [(40, Outcome::Success, false), (41, Outcome::Cancelled, true)] {
        let policy = Policy { cost: Some(Cost(cost)), ..computing() };
        let script = vec![calls(&["quick", "slow"]), says("Bye.")];
        // The model's own reply took 20.
        let script = script.into_iter().map(|reply| match reply {
            Reply::Body(_, mut body) => {
                body["usage"] = json!({ "prompt_tokens": 20, "completion_tokens": 0 });
                Reply::Body(200, body)
            }
            other => other,
        });
        let run = Setup { limits, policy, price: Some(PRICE), ..setup(script.collect()) }.run().await;
        assert_eq!(outcomes(&run), [outcomes_; 2], "{cost}");
        assert_eq!(run.ending.as_ref().unwrap(), &Ending::Limit(Limit::Cost(Cost(100))));
        assert_eq!(texts_of(&run.transcript).iter().any(|text| text.contains("0.0001 USD")), deciding);
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_refused_takes_nothing_from_the_money() {
    let limits = Limits { cost: Some(Cost(100)), ..Limits::default() };
    let policy = || Policy { cost: Some(Cost(60)), ..computing() };
    let rules = || vec![Rule::new("t.*", Permission::Ask, "test").unwrap()];
    let script = || vec![calls(&["quick"]), calls(&["quick"]), says("Bye.")];
    let no = Decision::Deny { rule: "user".into(), comment: None };
    // By the user, and because nobody can be asked.
    for decisions in [vec![no], Vec::new()] {
        let free = Some(Price::NOTHING);
        let setup =
            Setup { limits, price: free, policy: policy(), rules: rules(), decisions, ..setup(script()) };
        let run = setup.run().await;
        assert!(matches!(run.ending, Ok(Ending::Finished { .. })), "{:?}", run.ending);
        assert_eq!(outcomes(&run), [Outcome::Refused; 2]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_reply_that_nobody_waits_for_any_more_is_paid_as_far_as_it_was_told() {
    let words = json!({ "choices": [{ "delta": { "content": "Half " } }] });
    let usage = json!({ "choices": [], "usage": { "prompt_tokens": 60 } });
    let deadline = Some(Duration::from_secs(5));
    let stalled = Reply::Stalls(Reply::events(vec![words, usage]));
    let run = Setup { price: Some(PRICE), deadline, ..setup(vec![stalled]) }.run().await;
    assert_eq!(run.ending.as_ref().unwrap(), &Ending::Limit(Limit::Deadline));
    assert_eq!(costs(&run), ["cut Some(60)"]);
}

#[tokio::test(start_paused = true)]
async fn the_next_route_goes_on_where_the_fault_is_the_servers() {
    let overloaded = || (0..5).map(|_| status(529));
    let script = overloaded().chain([calls(&["quick"]), says("Bye.")]).collect();
    let run = Setup { falls_back: true, ..setup(script) }.run().await;
    assert!(run.ending.is_ok());
    assert_eq!(run.requests_left, 0, "a turn does not go back");
    let warned: Vec<&String> = run.lines.iter().filter(|line| line.starts_with("warned")).collect();
    assert_eq!(warned, ["warned: openai-chat/m failed: no; continuing with openai-chat/n"]);

    let run = Setup { falls_back: true, ..setup(vec![status(401), says("never asked")]) }.run().await;
    let Err(EngineError::Exchange(error)) = run.ending else { panic!("{:?}", run.ending) };
    assert_eq!((&*error.route, error.routes_before, run.requests_left), ("openai-chat/m", 0, 1));

    let run = Setup { falls_back: true, ..setup(overloaded().chain(overloaded()).collect()) }.run().await;
    let Err(EngineError::Exchange(error)) = run.ending else { panic!("{:?}", run.ending) };
    assert_eq!((&*error.route, error.routes_before, error.attempts), ("openai-chat/n", 1, 5));

    // Half an answer on a pipe is followed by no other.
    let script = vec![Reply::Stalls(words(2)), says("never asked")];
    let run = Setup { falls_back: true, ..setup(script) }.run().await;
    assert!(matches!(run.ending, Err(EngineError::Exchange(error)) if error.kept));
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_checked_and_asked_for_again() {
    let checked = |script| Setup { check: true, ..setup(script) };
    let run = checked(vec![says("forty-two"), says("```json\n42\n```")]).run().await;
    assert!(matches!(run.ending, Ok(Ending::Finished { .. })));
    assert_eq!(run.lines[run.lines.len() - 2..], ["answered 42", "done"]);
    let Canister::User(repair) = &run.transcript.as_slice()[2] else { panic!("{:?}", run.transcript) };
    assert!(repair.content[0].as_text().unwrap().contains("invalid digit"));

    let run = checked(vec![says("a"), says("b"), says("c"), says("never asked")]).run().await;
    assert!(matches!(&run.ending, Ok(Ending::InvalidAnswer { errors }) if errors.contains("invalid digit")));
    assert_eq!(run.requests_left, 1);
    assert!(!run.lines.iter().any(|line| line.starts_with("answered")));
}
