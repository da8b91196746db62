//! `--record` and `--replay`: a run that was recorded is the same run again, without its provider, its servers, its key.

mod mixed;
mod odd;
mod whole;

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::body::{Dialect, Says, calls, text};
use crate::compare::Two;
use crate::env::{Ran, TestEnv};
use crate::fake_server::FakeServer;
use crate::http::Answer;
use crate::provider::{KEY, Line, Provider};

/// Where nothing of the first run is left but its cassette: no key, no provider, another home.
pub(super) struct Elsewhere(pub(super) TestEnv);

impl Elsewhere {
    pub(super) fn with(cassette: &str) -> Self {
        let env = TestEnv::hasty();
        env.write("work/f.cassette", cassette);
        Self(env)
    }

    /// The words of a recording, as those of a replay.
    pub(super) fn run(&self, args: &[&str]) -> Ran {
        let args: Vec<&str> =
            args.iter().map(|arg| if *arg == "--record" { "--replay" } else { *arg }).collect();
        self.0.run(&args)
    }
}

/// Text and then JSON, recorded; the cassette of the latter.
pub(super) fn cassette(env: &TestEnv) -> String {
    std::fs::read_to_string(env.path("work/f.cassette")).unwrap()
}

pub(super) fn entries(cassette: &str, kind: &str) -> Vec<Value> {
    let lines = cassette.lines().skip(1).map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|entry| entry["type"] == kind).collect()
}

/// What no two runs have in common.
fn steady(ran: &Ran) -> Value {
    fn strip(value: &mut Value) {
        match value {
            Value::Object(members) => {
                for name in ["session", "milliseconds", "time_ms", "shared"] {
                    members.remove(name);
                }
                members.values_mut().for_each(strip);
            }
            Value::Array(items) => items.iter_mut().for_each(strip),
            _ => {}
        }
    }
    let mut value = ran.json();
    strip(&mut value);
    value
}

fn sums() -> Vec<Says> {
    let sum = |expression: &str| ("essentials__calculator", json!({ "expression": expression }));
    vec![
        calls([sum("6*7"), sum("6*8")]).with_text("Let me see.").thinking("They want products."),
        text("42 and 48, not more.").thinking("Both are there."),
    ]
}

#[test]
fn every_wire_is_replayed_to_the_byte() {
    for dialect in Dialect::ALL {
        for (stream, format) in [(true, "text"), (false, "text"), (true, "json"), (false, "json")] {
            let provider = Provider::new(dialect, sums());
            let env = provider.env(TestEnv::hasty());
            let mut args = vec!["ask", "6*7 and 6*8?", "-m", provider.model(), "--record", "f.cassette"];
            args.extend(["-o", format]);
            args.extend((!stream).then_some("--no-stream"));
            let recorded = env.run(&args).exits(0);
            provider.is_content();
            let kept = cassette(&env);
            assert!(!kept.contains(KEY), "{dialect:?}: {kept}");
            assert_eq!(entries(&kept, "model").len(), 2, "{kept}");
            let replayed = Elsewhere::with(&kept).run(&args).exits(0);
            if format == "json" {
                assert_eq!(steady(&replayed), steady(&recorded), "{dialect:?} {stream}");
            } else {
                assert_eq!(replayed.stdout, recorded.stdout, "{dialect:?} {stream}");
            }
        }
    }
}

#[test]
fn a_server_is_not_needed_again() {
    let script = || {
        [
            calls([("fake__echo", json!({ "text": "hello" })), ("fake__image", json!({}))]),
            calls([("fake__fail", json!({}))]),
            text("It said hello."),
        ]
    };
    let provider = Provider::new(Dialect::Anthropic, script());
    let env = provider.env(TestEnv::hasty());
    FakeServer::new("fake", &[]).write(&env);
    let dir = |env: &TestEnv| env.path("servers").display().to_string();
    let args = |dir: String| {
        let args =
            ["ask", "go", "-m", provider.model(), "--record", "f.cassette", "-o", "json", "--ensembles"];
        args.map(str::to_owned).into_iter().chain([dir]).collect::<Vec<_>>()
    };
    let recorded = env.run(&args(dir(&env))).exits(0);
    provider.is_content();
    let kept = cassette(&env);
    let offer = entries(&kept, "offer").into_iter().find(|offer| offer["ensemble"] == "fake").unwrap();
    let tools = offer["tools"].as_array().unwrap();
    assert!(
        tools.iter().any(|tool| tool["name"] == "echo" && tool["arguments"]["type"] == "object"),
        "{offer}"
    );
    assert_eq!(entries(&kept, "invocation").len(), 3, "{kept}");
    let elsewhere = Elsewhere::with(&kept);
    FakeServer::new("fake", &[]).command(&["false"]).write(&elsewhere.0);
    let words = args(dir(&elsewhere.0));
    let replayed = elsewhere.run(&words.iter().map(String::as_str).collect::<Vec<_>>()).exits(0);
    assert_eq!(steady(&replayed), steady(&recorded));
    // The picture is in the session of the replay, too.
    let bytes =
        crate::env::files(&elsewhere.0.path("home")).into_iter().filter_map(|f| std::fs::read(f).ok());
    assert!(bytes.into_iter().any(|bytes| bytes.starts_with(b"\x89PNG")), "the picture is not kept");
    // A user's other ensembles are left out, and said.
    FakeServer::new("other", &[]).command(&["false"]).write(&elsewhere.0);
    let replayed = elsewhere.run(&words.iter().map(String::as_str).collect::<Vec<_>>()).exits(0);
    assert!(replayed.stderr.contains("not on the cassette, and left out: other"), "{}", replayed.stderr);
    // With the real tools there is a difference: this server does not even start.
    let mut live: Vec<&str> = words.iter().map(String::as_str).collect();
    live.push("--live-tools");
    let missed = elsewhere.run(&live).exits(6);
    assert!(missed.stderr.contains("error[cassette-miss]"), "{}", missed.stderr);
}

#[test]
fn a_server_that_could_not_be_connected_cannot_be_in_the_replay_either() {
    let provider = Provider::chat([text("Without it.")]);
    let env = provider.env(TestEnv::hasty());
    FakeServer::new("fake", &[]).command(&["false"]).write(&env);
    let args = ["ask", "go", "-m", provider.model(), "--record", "f.cassette", "--ensembles"];
    let dir = env.path("servers").display().to_string();
    env.run(&[&args[..], &[&dir]].concat()).exits(0);
    provider.is_content();
    let elsewhere = Elsewhere::with(&cassette(&env));
    FakeServer::new("fake", &[]).write(&elsewhere.0);
    let dir = elsewhere.0.path("servers").display().to_string();
    let replayed = elsewhere.run(&[&args[..], &[&dir]].concat()).exits(0);
    assert_eq!(replayed.stdout, "Without it.\n");
    assert!(replayed.stderr.contains("`fake` could not be connected"), "{}", replayed.stderr);
}

#[test]
fn failures_are_replayed_without_their_waits() {
    let no = |status: u16| Answer::new(status, "application/json", r#"{"error":{"message":"not now"}}"#);
    let lines =
        || vec![Line::Raw(no(429).header("retry-after", "1")), Line::Raw(no(503)), text("Yes.").into()];
    let provider = Provider::chat(lines());
    let env = provider.env(TestEnv::hasty());
    let args = ["ask", "go", "-m", provider.model(), "--no-tools", "--record", "f.cassette", "-o", "jsonl"];
    let recorded = env.run(&args).exits(0);
    let replayed = Elsewhere::with(&cassette(&env)).run(&args).exits(0);
    let waits = |ran: &Ran| {
        let records = ran.records();
        let retries = records.iter().filter(|record| record["type"] == "retry");
        retries.map(|record| record["delay_ms"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(waits(&recorded).first(), Some(&1000), "{recorded:?}");
    assert_eq!(waits(&replayed), [0, 0]);
    // What was refused for good is refused again, and exits alike.
    for (status, code) in [(401, 4), (400, 6)] {
        let provider = Provider::chat([Line::Raw(no(status))]);
        let env = provider.env(TestEnv::hasty());
        let args = ["ask", "go", "-m", provider.model(), "--no-tools", "--record", "f.cassette"];
        let recorded = env.run(&args).exits(code);
        let replayed = Elsewhere::with(&cassette(&env)).run(&args).exits(code);
        assert_eq!(replayed.stderr, recorded.stderr);
    }
}

#[test]
fn who_answered_instead_does_so_again() {
    let no = || Line::Raw(Answer::new(402, "application/json", r#"{"error":{"message":"no money"}}"#));
    let (first, second) = (Provider::chat([no()]), Provider::new(Dialect::Anthropic, [text("I do.")]));
    let env = second.env(first.env(TestEnv::hasty()));
    let args = ["ask", "hello", "-m", first.model(), "--fallback", second.model(), "--record", "f.cassette"];
    let recorded = env.run(&args).exits(0);
    let elsewhere = Elsewhere::with(&cassette(&env));
    let replayed = elsewhere.run(&args).exits(0);
    assert_eq!((&replayed.stdout, &replayed.stderr), (&recorded.stdout, &recorded.stderr));
    // Nobody is named: the model of the cassette is meant, and no other that this machine may have.
    let unnamed = elsewhere.run(&["ask", "hello", "--fallback", second.model(), "--record", "f.cassette"]);
    assert_eq!(unnamed.exits(0).stdout, recorded.stdout);
}

#[test]
fn models_that_are_compared_are_replayed_together() {
    let call = || calls([("own__trace", json!({ "n": 1 }))]);
    let two = Two::says(vec![call(), text("One.")], vec![call(), text("Eins.")]);
    let args = two.args(&["--record", "f.cassette", "-o", "json"]);
    let recorded = two.env.run(&args).exits(0);
    two.are_content();
    let kept = cassette(&two.env);
    assert_eq!(entries(&kept, "invocation").len(), 1, "both shared one call: {kept}");
    let elsewhere = Elsewhere::with(&kept);
    let own = std::fs::read_to_string(two.env.path("work/own/own.toml")).unwrap();
    elsewhere.0.write("work/own/own.toml", &own);
    let replayed = elsewhere.run(&args).exits(0);
    assert_eq!(steady(&replayed), steady(&recorded));
    assert!(!elsewhere.0.path("work/trace").exists(), "the command was run");
}

#[test]
fn a_conversation_goes_on_from_cassette_to_cassette() {
    let provider = Provider::chat([text("One."), text("Two.")]);
    let env = provider.env(TestEnv::hasty());
    let ask = ["ask", "first", "-m", provider.model(), "--no-tools", "--record", "f.cassette"];
    let again = ["ask", "-c", "second", "--no-tools", "--record", "f.cassette"];
    env.run(&ask).exits(0);
    let elsewhere = Elsewhere::with(&cassette(&env));
    env.run(&again).exits(0);
    assert_eq!(elsewhere.run(&ask).exits(0).stdout, "One.\n");
    elsewhere.0.write("work/f.cassette", &cassette(&env));
    assert_eq!(elsewhere.run(&again).exits(0).stdout, "Two.\n");
    provider.is_content();
}

#[test]
fn a_structured_answer_and_an_attachment_are_asked_for_alike() {
    let provider = Provider::new(Dialect::Anthropic, [text("{\"city\": 1}"), text("{\"city\":\"Oslo\"}")]);
    let schema = r#"{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}"#;
    let files = |env: &TestEnv, byte: u8| -> PathBuf {
        env.write("work/answer.json", schema);
        let path = env.path("work/pixel.png");
        std::fs::write(&path, [b"\x89PNG\r\n\x1a\n".to_vec(), vec![byte; 8000]].concat()).unwrap();
        path
    };
    let env = provider.env(TestEnv::hasty());
    files(&env, 0x55);
    let args = ["ask", "where?", "-m", provider.model(), "--no-tools", "--schema", "answer.json", "-a"];
    let args = [&args[..], &["pixel.png", "--record", "f.cassette"]].concat();
    let recorded = env.run(&args).exits(0);
    provider.is_content();
    let kept = cassette(&env);
    assert!(kept.len() < 12_000, "the picture itself is not in it: {} bytes", kept.len());
    let elsewhere = Elsewhere::with(&kept);
    files(&elsewhere.0, 0x55);
    assert_eq!(elsewhere.run(&args).exits(0).stdout, recorded.stdout);
    files(&elsewhere.0, 0x56);
    let missed = elsewhere.run(&args).exits(6);
    assert!(missed.stderr.contains("sha256"), "another picture is another question: {}", missed.stderr);
}

#[test]
fn the_understudy_is_replayed_like_anybody() {
    let env = TestEnv::hasty();
    let args = ["ask", "What is 15% of 2500?", "-m", "understudy", "--record", "f.cassette"];
    let recorded = env.run(&args).exits(0);
    let kept = cassette(&env);
    assert!(recorded.stdout.contains("375"), "{}", recorded.stdout);
    assert_eq!(Elsewhere::with(&kept).run(&args).exits(0).stdout, recorded.stdout);
    // What it says is what is written there, not what it would say.
    let other = Elsewhere::with(&kept.replace("375", "376")).run(&args);
    assert_ne!(other.stdout, recorded.stdout);
}

/// The example of the guide.
#[test]
fn the_example_in_the_documentation_is_replayed() {
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/examples/percent.cassette");
    let elsewhere = Elsewhere::with(&std::fs::read_to_string(example).unwrap());
    let args = ["ask", "What is 15% of 2500?", "-e", "essentials", "--record", "f.cassette"];
    let replayed = elsewhere.run(&args).exits(0);
    assert!(replayed.stdout.contains("375"), "{}", replayed.stdout);
}

/// A replay starts no server. What a model was told of one is on the cassette; where it is not, as on one that was
/// written before, nobody is told.
#[test]
fn instructions_of_a_server_are_replayed_without_it() {
    for words in ["be brief", ""] {
        let provider = Provider::chat([text("Done.")]);
        let env = provider.env(TestEnv::hasty());
        let file = env.write("words", words);
        let flag = format!("--words={}", file.display());
        FakeServer::new("up", &[&flag]).write(&env);
        let args = |dir: &'static str| {
            ["ask", "go", "-m", provider.model(), "--record", "f.cassette", "--ensembles", dir]
        };
        let recorded = env.run(&args("../servers")).exits(0);
        let offers = entries(&cassette(&env), "offer");
        let offer = offers.iter().find(|offer| offer["ensemble"] == "up").unwrap();
        let told = offer.get("instructions").map(|told| told["text"].clone());
        assert_eq!(told, (!words.is_empty()).then(|| json!("instructions be brief")));
        let elsewhere = Elsewhere::with(&cassette(&env));
        let now = elsewhere.0.write("words", "something else");
        FakeServer::new("up", &[&format!("--words={}", now.display()), "--exit=1"]).write(&elsewhere.0);
        let replayed = elsewhere.run(&args("../servers")).exits(0);
        assert_eq!(replayed.stdout, recorded.stdout, "{words:?}");
    }
}
