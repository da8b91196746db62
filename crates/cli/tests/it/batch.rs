//! `batch`: many conversations from a file, on the understudy and on a provider that answers each question by itself.

mod at_provider;
pub(crate) mod elsewhere;
mod killed;
mod paced;
mod shown;
mod vendor;

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::body::text;
use crate::env::{Ran, TestEnv};
use crate::http::{Answer, serve};
use crate::provider::{Line, Provider};

/// Lines with the ids and prompts `0`, `1`, …
fn questions(count: usize) -> String {
    (0..count).map(|n| json!({ "id": n.to_string(), "prompt": n.to_string() }).to_string() + "\n").collect()
}

/// A provider that answers each question in its own way. `answer` gets the last message.
fn answering(answer: impl Fn(&str) -> Answer + Send + Sync + 'static) -> TestEnv {
    let port = serve(move |request| {
        let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        let last = body["messages"].as_array().and_then(|messages| messages.last()).cloned();
        answer(last.unwrap_or_default()["content"].as_str().unwrap_or_default())
    });
    // The keys of the tests are those of the provider that follows a script.
    let env = Provider::chat(Vec::<Line>::new()).env(TestEnv::hasty());
    env.var("OPENAI_BASE_URL", format!("http://127.0.0.1:{port}/v1"))
}

fn says(words: &str) -> Answer {
    let message = json!({ "role": "assistant", "content": words });
    let choice = json!({ "index": 0, "message": message, "finish_reason": "stop" });
    let usage = json!({ "prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15 });
    let body = json!({ "id": "c", "object": "chat.completion", "created": 1, "model": "stub", "choices": [choice], "usage": usage });
    Answer::new(200, "application/json", body.to_string())
}

/// The answer never comes.
fn silent() -> Answer {
    let mut answer = says("late");
    (answer.cut_at, answer.stall) = (Some(0), true);
    answer
}

const MODEL: [&str; 4] = ["-m", "openai-chat/stub", "--no-stream", "--no-tools"];

fn batch(env: &TestEnv, args: &[&str]) -> Ran {
    env.run(&[&["batch", "in.jsonl"], &MODEL[..], args].concat())
}

fn results(env: &TestEnv) -> Vec<Value> {
    let text = std::fs::read_to_string(env.path("work/out.jsonl")).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn ids(results: &[Value]) -> Vec<&str> {
    results.iter().map(|result| result["id"].as_str().unwrap()).collect()
}

/// Exactly one result for each of so many.
#[track_caller]
fn each_once(results: &[Value], count: usize) {
    let found: BTreeSet<&str> = ids(results).into_iter().collect();
    assert_eq!((results.len(), found.len()), (count, count), "{:?}", ids(results));
}

#[test]
fn the_understudy_answers_all_without_a_key_and_keeps_no_session() {
    let env = TestEnv::new();
    env.write(
        "work/in.jsonl",
        "{\"id\":\"a\",\"prompt\":\"What is 15% of 2500?\"}\n\
         {\"id\":\"b\",\"prompt\":\"What is {{n}} plus 2?\",\"variables\":{\"n\":40}}\n\
         {\"id\":\"c\",\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"},{\"role\":\"assistant\",\"content\":\"Hello\"},\
         {\"role\":\"user\",\"content\":\"What is 6*7?\"}]}\n",
    );
    let ran = env.run(&["batch", "in.jsonl", "--keep-order"]).exits(0);
    let results = ran.records();
    assert_eq!(ids(&results), ["a", "b", "c"]);
    for (result, answer) in results.iter().zip(["375", "42", "42"]) {
        assert!(result["answer"].as_str().unwrap().contains(answer), "{result}");
        assert_eq!((&result["exit"], &result["session"]), (&json!(0), &Value::Null));
        assert_eq!(result["invocations"][0]["outcome"], "success");
    }
    assert!(!env.path("home/.local/share/converse/sessions").exists());
    let saved = env.run(&["batch", "in.jsonl", "--save-sessions"]).exits(0).records();
    let sessions: BTreeSet<&str> = saved.iter().map(|result| result["session"].as_str().unwrap()).collect();
    assert_eq!(sessions.len(), 3);
    env.run(&["sessions", "show", sessions.first().unwrap()]).exits(0);
}

#[test]
fn a_broken_input_is_reported_as_a_whole_and_nothing_runs() {
    let env = answering(says);
    env.write(
        "work/in.jsonl",
        "{\"id\":\"1\",\"prompt\":\"x\"}\n{\"id\":\"1\",\"prompt\":\"y\"}\n{\"id\":\"2\"\n{\"id\":\"3\"}\n\
         {\"id\":\"4\",\"prompt\":\"x\",\"schema\":{\"type\":\"strin\"}}\n\
         {\"id\":\"5\",\"prompt\":\"x\",\"attachments\":[\"gone.txt\"]}\n\
         {\"id\":\"6\",\"prompt\":\"{{x}}\",\"variables\":{}}\n",
    );
    let ran = batch(&env, &["-o", "out.jsonl"]).exits(2);
    for told in [
        "error[duplicate-id]: in.jsonl:2:7: the id `1` is that of line 1 too",
        "error[bad-json]: in.jsonl:3:",
        "error[no-prompt]: in.jsonl:4:1: ",
        "error[bad-schema]: in.jsonl:5:33: ",
        "error[attachment]: in.jsonl:6:38: `gone.txt` is not a file",
        "error[no-variable]: in.jsonl:7:40: ",
        "error[bad-input]: 6 lines of `in.jsonl` cannot be used; nothing was run",
        "  hint: ",
    ] {
        assert!(ran.stderr.contains(told), "{told}\n{}", ran.stderr);
    }
    assert_eq!((ran.stdout.as_str(), results(&env).len()), ("", 0));
    env.run(&["batch", "gone.jsonl"]).exits(2);
    // Another file is never taken for results.
    env.write("work/in.jsonl", &questions(1));
    let ran = batch(&env, &["-o", "in.jsonl"]).exits(2);
    assert!(ran.stderr.contains("error[not-results]: "), "{}", ran.stderr);
    assert_eq!(std::fs::read_to_string(env.path("work/in.jsonl")).unwrap(), questions(1));
}

#[test]
fn an_answer_that_does_not_fit_its_schema_is_told_apart_and_can_be_retried() {
    let (open, is_open) = std::sync::mpsc::channel::<()>();
    let is_open = std::sync::Mutex::new(is_open);
    let good = std::sync::atomic::AtomicBool::new(false);
    let env = answering(move |_| {
        use std::sync::atomic::Ordering::SeqCst;
        if is_open.lock().unwrap().try_recv().is_ok() {
            good.store(true, SeqCst);
        }
        says(if good.load(SeqCst) { "{\"n\": 1}" } else { "none" })
    });
    let schema = json!({ "type": "object", "required": ["n"], "properties": { "n": { "type": "integer" } } });
    let line = json!({ "id": "strict", "prompt": "x", "schema": schema });
    env.write("work/in.jsonl", &format!("{}{line}\n", questions(1)));
    let ran = batch(&env, &["-o", "out.jsonl", "--keep-order"]).exits(10);
    assert!(ran.stderr.contains("2 conversations: 1 answered, 1 failed; "), "{}", ran.stderr);
    assert!(ran.stderr.contains("\n  1 unfit-answer\n"), "{}", ran.stderr);
    let failed = &results(&env)[1];
    assert_eq!((&failed["exit"], &failed["reason"]), (&json!(6), &json!("unfit-answer")));
    // The same command changes nothing, and still says so.
    batch(&env, &["-o", "out.jsonl"]).exits(10);
    open.send(()).unwrap();
    batch(&env, &["-o", "out.jsonl", "--retry-failed"]).exits(0);
    let results = results(&env);
    each_once(&results, 2);
    assert_eq!(results[1]["value"], json!({ "n": 1 }));
}

#[test]
fn results_keep_the_order_of_the_input_if_that_is_wanted() {
    let (others, seen) = std::sync::mpsc::channel::<()>();
    let seen = std::sync::Mutex::new(seen);
    // The first one is answered after all others.
    let env = answering(move |question| {
        match question {
            "0" => (1..6).for_each(|_| seen.lock().unwrap().recv().unwrap()),
            _ => others.send(()).unwrap(),
        }
        says(question)
    });
    env.write("work/in.jsonl", &questions(6));
    let ran = batch(&env, &["--keep-order", "-j", "2"]).exits(0);
    let results = ran.records();
    assert_eq!(ids(&results), ["0", "1", "2", "3", "4", "5"]);
    assert!(results.iter().all(|result| result["answer"] == result["id"]));
    // The order of completion.
    let ran = batch(&env, &["-j", "2"]).exits(0);
    let results = ran.records();
    each_once(&results, 6);
    assert_ne!(ids(&results)[0], "0");
}

#[test]
fn what_all_would_share_stops_the_batch_and_nothing_is_lost() {
    let refused = r#"{"error":{"message":"no such key"}}"#;
    let env = answering(move |_| Answer::new(401, "application/json", refused));
    env.write("work/in.jsonl", &questions(30));
    let ran = batch(&env, &["-o", "out.jsonl", "-j", "2"]).exits(4);
    assert!(ran.stderr.contains("30 conversations: 0 answered, 30 not run; "), "{}", ran.stderr);
    assert!(ran.stderr.contains("error[auth]: "), "{}", ran.stderr);
    assert_eq!(results(&env).len(), 0);
}

#[test]
fn one_budget_is_for_all() {
    let provider = Provider::chat((0..3).map(|_| text("Hi.")));
    let env = provider.env(TestEnv::new());
    let price = "[models.\"openai-chat/stub\"]\nprice = { input = 15.0, output = 15.0 }\n";
    env.write("home/.config/converse/config.toml", price);
    env.write("work/in.jsonl", &questions(5));
    // 225 millionths for each: the third one may begin.
    let args = ["batch", "in.jsonl", "-m", provider.model(), "-o", "out.jsonl", "-j", "1", "--max-cost"];
    let ran = env.run(&[&args[..], &["0.0005"]].concat()).exits(7);
    assert!(ran.stderr.contains("3 answered, 2 not run; 0.000675 USD"), "{}", ran.stderr);
    assert!(ran.stderr.contains("error[budget]: the budget of 0.0005 USD is used up"), "{}", ran.stderr);
    provider.is_content();
    provider.plays((0..2).map(|_| text("Hi.")));
    env.run(&[&args[..], &["1"]].concat()).exits(0);
    each_once(&results(&env), 5);
    provider.is_content();
}

#[test]
fn tools_are_judged_as_in_a_pipe_and_connected_once() {
    let env = TestEnv::new();
    let write = |id: &str| json!({ "id": id, "prompt": format!("@io.write_file path={id}.txt content=x") });
    env.write("work/in.jsonl", &format!("{}\n{}\n", write("a"), write("b")));
    let ran = env.run(&["batch", "in.jsonl", "-m", "understudy"]).exits(10);
    assert!(ran.stderr.contains("\n  2 unapproved\n"), "{}", ran.stderr);
    assert!(!env.path("work/a.txt").exists());
    env.run(&["batch", "in.jsonl", "-m", "understudy", "--allow", "io.write_file"]).exits(0);
    assert!(env.path("work/a.txt").exists() && env.path("work/b.txt").exists());
    env.run(&["audit", "verify"]).exits(0);
}

#[test]
fn what_is_the_same_for_all_is_read_and_warned_of_once() {
    let env = TestEnv::new().without("HOME");
    let line =
        |n: usize| format!("{}\n", json!({ "id": n.to_string(), "prompt": format!("What is {n}*7?") }));
    env.write("work/in.jsonl", &(0..3).map(line).collect::<String>());
    let ran = env.run(&["batch", "in.jsonl", "-m", "understudy", "--save-sessions"]).exits(0);
    for warning in ["tool calls are not audited", "sessions are not saved"] {
        assert_eq!(ran.stderr.matches(warning).count(), 1, "{}", ran.stderr);
    }
    let dir = std::sync::Arc::new(std::sync::OnceLock::<std::path::PathBuf>::new());
    let schema = std::sync::Arc::clone(&dir);
    let env = answering(move |_| {
        let _ = std::fs::remove_file(schema.get().unwrap());
        says("{}")
    });
    dir.set(env.write("work/schema.json", r#"{"type":"object"}"#)).unwrap();
    env.write("work/in.jsonl", &questions(3));
    batch(&env, &["--schema", "schema.json", "-j", "1"]).exits(0);
}

/// The guide's first example is what it says.
#[test]
fn the_guide_works_as_it_is_written() {
    const GUIDE: &str = include_str!("../../../../docs/guides/batch.md");
    let block = |kind: &str| {
        let (_, rest) = GUIDE.split_once(&format!("```{kind}\n")).unwrap();
        rest.split_once("```").unwrap().0
    };
    let env = TestEnv::new();
    env.write("work/questions.jsonl", block("jsonl"));
    let commands = block("sh");
    assert_eq!(commands.lines().count(), 2, "{commands}");
    for command in commands.lines() {
        let command = command.split('#').next().unwrap();
        let words = shlex::split(command).unwrap();
        let args: Vec<&str> = words.iter().map(String::as_str).skip(1).collect();
        env.run(&args).exits(0);
    }
    let text = std::fs::read_to_string(env.path("work/answers.jsonl")).unwrap();
    assert_eq!(text.lines().count(), block("jsonl").lines().count());
}
