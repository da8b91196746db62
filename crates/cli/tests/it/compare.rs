//! Several models asked at once: over the same results of tools, each in a session of its own.

use std::io::Read as _;

use serde_json::{Value, json};

use crate::body::{Dialect, Says, calls, text};
use crate::env::canary::overhear;
use crate::env::{TestEnv, files, wait};
use crate::http::Answer;
use crate::provider::{Line, Provider};
use crate::records::fits;
use crate::signals::{SLEEPER, interrupt_after};
use crate::terminal::{ASKED, Terminal};

/// Leaves a line in a file each time it runs, and says how many there are.
const TRACE: &str = r#"
[ensemble]
name = "own"
description = "d"
[[invokers]]
name = "trace"
description = "d"
effects = "write"
command = { argv = ["sh", "-c", "echo $0 >> trace; wc -l < trace", "{n}"] }
arguments = { type = "object", properties = { n = { type = "integer" } } }
"#;

pub(crate) struct Two {
    pub(crate) chat: Provider,
    pub(crate) anthropic: Provider,
    pub(crate) env: TestEnv,
}

impl Two {
    fn new(chat: Vec<Line>, anthropic: Vec<Line>) -> Self {
        let chat = Provider::chat(chat);
        let anthropic = Provider::new(Dialect::Anthropic, anthropic);
        let env = anthropic.env(chat.env(TestEnv::hasty()));
        env.write("work/own/own.toml", TRACE);
        Self { chat, anthropic, env }
    }

    pub(crate) fn says(chat: Vec<Says>, anthropic: Vec<Says>) -> Self {
        let lines = |says: Vec<Says>| says.into_iter().map(Line::from).collect();
        Self::new(lines(chat), lines(anthropic))
    }

    pub(crate) fn args<'a>(&'a self, more: &[&'a str]) -> Vec<&'a str> {
        let models = ["-m", self.chat.model(), "-m", self.anthropic.model()];
        [&["ask", "go", "--ensembles", "own", "--allow", "own.*"], &models[..], more].concat()
    }

    #[track_caller]
    pub(crate) fn are_content(&self) {
        self.chat.is_content();
        self.anthropic.is_content();
    }

    fn runs(&self) -> usize {
        std::fs::read_to_string(self.env.path("work/trace")).unwrap_or_default().lines().count()
    }

    pub(crate) fn sessions(&self) -> usize {
        let all = files(&self.env.path("home/.local/share/converse/sessions"));
        all.iter().filter(|file| file.ends_with("journal.jsonl")).count()
    }
}

pub(crate) fn trace(n: u64) -> Says {
    calls([("own__trace", json!({ "n": n }))])
}

#[test]
fn a_tool_that_both_call_runs_once() {
    let two =
        Two::says(vec![trace(1), trace(2), text("Chat has it.")], vec![trace(1), text("The other has it.")]);
    let ran = two.env.run(&two.args(&["-o", "json"])).exits(0);
    assert_eq!(two.runs(), 2, "one for each kind of call: {ran:?}");
    two.are_content();
    let all = ran.json();
    assert_eq!((&all["exit"], &all["reason"], &all["error"]), (&json!(0), &json!("answered"), &Value::Null));
    let [chat, anthropic] = all["models"].as_array().unwrap().as_slice() else { panic!("{all}") };
    assert_eq!((&chat["model"], &chat["answer"]), (&json!(two.chat.model()), &json!("Chat has it.")));
    assert_eq!(anthropic["answer"], "The other has it.");
    assert_eq!(chat["path"], json!(["own__trace", "own__trace"]));
    assert!(chat["time_ms"].is_u64() && chat["usage"]["input"].is_u64(), "{chat}");
    let shared = |model: &Value, call: usize| model["invocations"][call]["shared"] == true;
    // Whose came first is not said; that one of them was is.
    assert!(shared(chat, 0) != shared(anthropic, 0) && !shared(chat, 1), "{all}");
    assert_eq!(chat["invocations"][0]["result"], anthropic["invocations"][0]["result"]);
    let ids = [&chat["session"], &anthropic["session"]].map(|id| id.as_str().unwrap());
    assert_ne!(ids[0], ids[1]);
    let tags = ids.map(|id| {
        let file = format!("home/.local/share/converse/sessions/{id}/metadata.toml");
        let text = std::fs::read_to_string(two.env.path(&file)).unwrap();
        text.lines().find(|line| line.contains("compare:")).unwrap().to_owned()
    });
    assert_eq!(tags[0], tags[1]);
}

#[test]
fn a_pipe_gets_a_section_for_each() {
    let two = Two::says(vec![text("Yes.")], vec![trace(1), text("No.")]);
    let ran = two.env.run(&two.args(&[])).exits(0);
    let (first, second) = ran.stdout.split_once("\n\n## ").unwrap();
    assert!(first.starts_with("## openai-chat/stub\n\nYes.\n\n> "), "{}", ran.stdout);
    assert!(second.starts_with("anthropic/stub\n\nNo.\n\n> "), "{}", ran.stdout);
    assert!(first.ends_with("\n> answer") && second.ends_with("\n> trace → answer\n"), "{}", ran.stdout);
    two.are_content();
}

#[test]
fn one_that_fails_does_not_stop_the_other() {
    let refused = || Line::from(Answer::new(401, "application/json", r#"{"error":{"message":"no"}}"#));
    let two = Two::new(vec![refused()], vec![trace(1).into(), text("I answer.").into()]);
    let ran = two.env.run(&two.args(&[])).exits(4);
    assert!(ran.stdout.contains("(no answer: auth)") && ran.stdout.contains("I answer."), "{}", ran.stdout);
    assert!(ran.stderr.contains("error[auth]: openai-chat/stub: "), "{}", ran.stderr);
    two.are_content();

    let two = Two::new(vec![text("I answer.").into()], vec![refused()]);
    let all = two.env.run(&two.args(&["-o", "json"])).exits(4).json();
    assert_eq!((&all["exit"], &all["error"]["code"]), (&json!(4), &json!("auth")));
    assert_eq!(all["error"]["model"], two.anthropic.model());
    let exits: Vec<&Value> = all["models"].as_array().unwrap().iter().map(|model| &model["exit"]).collect();
    assert_eq!(exits, [&json!(0), &json!(4)]);
}

#[test]
fn records_say_whose_they_are() {
    let two = Two::says(vec![trace(1), text("One.")], vec![trace(1), text("Two.")]);
    let records = two.env.run(&two.args(&["-o", "jsonl"])).exits(0).records();
    fits(&records);
    let of = |route: &str| records.iter().filter(|record| record["route"] == route).collect::<Vec<_>>();
    for model in [two.chat.model(), two.anthropic.model()] {
        let own = of(model);
        assert_eq!(own.first().unwrap()["type"], "session.started");
        let last = own.last().unwrap();
        assert_eq!((&last["type"], &last["exit"]), (&json!("model.done"), &json!(0)));
        assert_eq!(last["path"], json!(["own__trace"]));
        assert!(own.iter().any(|record| record["type"] == "message.completed"), "{own:?}");
    }
    let unrouted = records.iter().filter(|record| record.get("route").is_none());
    assert!(unrouted.clone().all(|record| ["warning", "done"].contains(&record["type"].as_str().unwrap())));
    assert_eq!(unrouted.filter(|record| record["type"] == "done").count(), 1);
}

#[test]
fn going_on_asks_all_again_unless_one_is_chosen() {
    let two = Two::says(
        vec![text("One."), text("One, again."), text("One, alone."), text("One, still alone.")],
        vec![text("Two."), text("Two, again.")],
    );
    two.env.run(&two.args(&[])).exits(0);
    let again = two.env.run(&["ask", "-c", "again"]).exits(0);
    assert!(again.stdout.contains("One, again.") && again.stdout.contains("Two, again."), "{}", again.stdout);
    let places = ["## openai-chat/stub", "## anthropic/stub"].map(|head| again.stdout.find(head).unwrap());
    assert!(places[0] < places[1], "{}", again.stdout);
    let history = |provider: &Provider, dialect: Dialect, request: usize| {
        Value::from(dialect.history(&provider.requests()[request])).to_string()
    };
    assert!(history(&two.chat, Dialect::Chat, 1).contains("One."));
    assert!(!history(&two.chat, Dialect::Chat, 1).contains("Two."), "its own conversation only");
    assert!(history(&two.anthropic, Dialect::Anthropic, 1).contains("Two."));

    let other = two.env.run(&["ask", "-c", "x", "-m", "understudy"]).exits(2);
    assert!(
        other.stderr.contains("took no part") && other.stderr.contains("anthropic/stub"),
        "{}",
        other.stderr
    );
    let alone = two.env.run(&["ask", "-c", "alone", "-m", two.chat.model()]).exits(0);
    assert_eq!(alone.stdout, "One, alone.\n");
    assert_eq!(two.env.run(&["ask", "-c", "still"]).exits(0).stdout, "One, still alone.\n");
    two.env.run(&two.args(&["-c"])).exits(2);
    assert_eq!(two.sessions(), 2);
    two.are_content();
}

#[test]
fn one_of_its_sessions_goes_on_by_its_id() {
    let two = Two::says(vec![text("One.")], vec![text("Two."), text("Two, alone.")]);
    let all = two.env.run(&two.args(&["-o", "json"])).exits(0).json();
    let id = all["models"][1]["session"].as_str().unwrap();
    let ran = two.env.run(&["ask", "on", "--session", id]).exits(0);
    assert_eq!(ran.stdout, "Two, alone.\n");
    two.are_content();
}

#[test]
fn a_signal_ends_all_and_the_turns_are_kept() {
    let sleep = || Line::from(calls([("fakes__sleep", json!({}))]));
    let two =
        Two::new(vec![sleep(), text("One is back.").into()], vec![sleep(), text("Two is back.").into()]);
    two.env.write("work/own/own.toml", SLEEPER);
    let args = two.args(&["-o", "jsonl", "--allow", "fakes.*"]);
    let (ran, records) = interrupt_after(&two.env, &args, ("invocation.started", 2), "INT");
    let ran = ran.exits(130);
    fits(&records);
    let done: Vec<&Value> = records.iter().filter(|record| record["type"] == "model.done").collect();
    assert_eq!(done.len(), 2);
    assert!(done.iter().all(|record| record["exit"] == 130), "{done:?}");
    assert_eq!(records.last().unwrap()["exit"], 130);
    assert_eq!(ran.stderr.matches("the turn is saved").count(), 2, "{}", ran.stderr);
    let back = two.env.run(&["ask", "-c", "back?", "--ensembles", "own"]).exits(0);
    assert!(back.stdout.contains("One is back.") && back.stdout.contains("Two is back."), "{}", back.stdout);
    two.are_content();
}

#[test]
fn a_deadline_ends_all() {
    let stall = |answer: &mut Answer| {
        answer.cut_at = Some(10);
        answer.stall = true;
    };
    let two = Two::new(vec![Line::Bent(text("One."), stall)], vec![Line::Bent(text("Two."), stall)]);
    let ran = two.env.run(&two.args(&["--deadline", "0.5", "-o", "json"])).exits(7);
    let all = ran.json();
    assert!(all["models"].as_array().unwrap().iter().all(|model| model["exit"] == 7), "{all}");
}

#[test]
fn what_cannot_be_compared_is_a_usage_error() {
    let two = Two::says(vec![], vec![]);
    for (args, code) in [
        (vec!["ask", "x", "-m", "openai-chat/stub", "-m", "openai-chat:stub"], "same-model"),
        (
            ["ask", "x"].into_iter().chain(["-m", "understudy"].into_iter().cycle().take(18)).collect(),
            "too-many-models",
        ),
        (vec!["ask", "x", "-m", "openai-chat/stub", "-m", "antropic/x"], "unknown-model"),
    ] {
        let ran = two.env.run(&[&args[..], &["-o", "json"]].concat()).exits(2);
        let all = ran.json();
        assert_eq!((&all["models"], &all["error"]["code"]), (&json!([]), &json!(code)), "{all}");
    }
    assert_eq!(two.sessions(), 0);
    two.are_content();
}

#[test]
fn a_dry_run_shows_a_request_for_each() {
    let two = Two::says(vec![], vec![]);
    let ran = two.env.run(&two.args(&["--dry-run"])).exits(0);
    let requests: Vec<Value> =
        serde_json::Deserializer::from_str(&ran.stdout).into_iter().map(Result::unwrap).collect();
    let models: Vec<&Value> = requests.iter().map(|request| &request["model"]).collect();
    assert_eq!(models, [two.chat.model(), two.anthropic.model()]);
    assert!(requests.iter().all(|request| request["body"]["model"] == "stub"), "{requests:?}");
    two.are_content();
}

#[test]
fn a_limit_of_calls_is_for_each_of_them() {
    let two = Two::says(vec![trace(1), text("One.")], vec![trace(1), trace(2)]);
    let ran = two.env.run(&two.args(&["--max-invocations", "1", "-o", "json"])).exits(7);
    let all = ran.json();
    assert_eq!((&all["models"][0]["exit"], &all["models"][1]["exit"]), (&json!(0), &json!(7)), "{all}");
}

#[test]
fn on_a_terminal_they_stand_side_by_side_and_an_equal_call_is_asked_about_once() {
    let two = Two::says(vec![trace(1), text("One.")], vec![trace(1), text("Two.")]);
    let models = ["-m", two.chat.model(), "-m", two.anthropic.model()];
    let args = [&["ask", "go", "--ensembles", "own"], &models[..]].concat();
    let mut terminal = Terminal::run(&two.env, &args);
    let question = terminal.shows(ASKED).to_owned();
    assert!(question.contains("stub: allow own.trace?"), "{question}");
    terminal.types("y\r");
    let screen = terminal.shows("Two.").to_owned();
    // The question, and the line that stays of it.
    assert_eq!(screen.matches("allow own.trace?").count(), 2, "{screen}");
    let row = screen.lines().find(|line| line.contains("One.")).unwrap();
    assert!(row.contains(" │ ") && row.contains("Two."), "{screen}");
    terminal.shows("(shared)");
    assert_eq!(terminal.ends(), 0);
    assert_eq!(two.runs(), 1);
    two.are_content();
}

#[test]
fn whoever_stops_reading_ends_it_quietly() {
    let two = Two::says(vec![text("One.")], vec![text("Two.")]);
    let mut child = two.env.command(two.args(&["-o", "jsonl"])).spawn().unwrap();
    let mut stdout = overhear(child.stdout.take().unwrap());
    stdout.read_exact(&mut [0; 1]).unwrap();
    drop(stdout);
    let ran = wait(child).exits(0);
    assert_eq!(ran.stderr, "");
}
