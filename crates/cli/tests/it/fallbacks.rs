//! Who answers instead when a model's server cannot.

use serde_json::json;

use crate::body::{Dialect, calls, text};
use crate::env::{TestEnv, files};
use crate::http::Answer;
use crate::provider::{Line, Provider};
use crate::records::fits;

fn no(status: u16) -> Line {
    Answer::new(status, "application/json", r#"{"error":{"message":"not here"}}"#).into()
}

/// The first says this, and the second that.
struct Pair {
    first: Provider,
    second: Provider,
}

impl Pair {
    fn new(first: impl IntoIterator<Item = Line>, second: impl IntoIterator<Item = Line>) -> Self {
        let (first, second) =
            (Provider::new(Dialect::Chat, first), Provider::new(Dialect::Anthropic, second));
        Self { first, second }
    }

    fn env(&self) -> TestEnv {
        self.second.env(self.first.env(TestEnv::hasty()))
    }

    fn args<'a>(&'a self, more: &[&'a str]) -> Vec<&'a str> {
        [&["ask", "hello", "-m", self.first.model()], more].concat()
    }

    fn are_content(&self) {
        self.first.is_content();
        self.second.is_content();
    }
}

#[test]
fn the_turn_goes_on_with_the_next() {
    for failing in [vec![no(529), no(529), no(529), no(529), no(529)], vec![no(402)], vec![no(404)]] {
        let call = || calls([("essentials__calculator", json!({ "expression": "6*7" }))]);
        let pair = Pair::new(failing, [call().into(), text("42.").into()]);
        let ran = pair.env().run(&pair.args(&["--fallback", pair.second.model()])).exits(0);
        assert_eq!(ran.stdout, "42.\n");
        assert!(
            ran.stderr.contains("warning: openai-chat/stub failed: not here; continuing with anthropic/stub"),
            "{}",
            ran.stderr
        );
        pair.are_content();
    }
}

#[test]
fn a_history_of_the_first_is_told_to_the_next() {
    let call = calls([("essentials__calculator", json!({ "expression": "6*7" }))]);
    let pair = Pair::new([call.into(), no(402)], [text("42.").into()]);
    let env = pair.env();
    let records = env.run(&pair.args(&["--fallback", "anthropic/stub", "-o", "jsonl"])).exits(0).records();
    let models: Vec<&str> =
        records.iter().filter(|r| r["type"] == "usage").map(|r| r["model"].as_str().unwrap()).collect();
    assert_eq!(models, ["stub", "stub"]);
    assert!(records.iter().any(|r| r["type"] == "warning"), "{records:?}");
    assert!(pair.second.requests()[0].to_string().contains("tool_result"));
    pair.are_content();
}

#[test]
fn who_answered_is_told_and_who_was_asked() {
    let ask = |first: Vec<Line>, second: Vec<Line>, format: &str| {
        let pair = Pair::new(first, second);
        let env = pair.env();
        let ran = env.run(&pair.args(&["--fallback", "anthropic/stub", "-o", format]));
        pair.are_content();
        (ran, env)
    };
    let told = ask(vec![no(402)], vec![text("42.").into()], "json").0.exits(0).json();
    assert_eq!((&told["model"], &told["asked"]), (&json!("anthropic/stub"), &json!("openai-chat/stub")));
    // Nobody answered: who was asked stands.
    for (first, exit) in [(vec![text("42.").into()], 0), (vec![no(401)], 4)] {
        let told = ask(first, vec![], "json").0.exits(exit).json();
        assert_eq!((&told["model"], told.get("asked")), (&json!("openai-chat/stub"), None), "{told}");
    }
    let (ran, env) = ask(vec![no(402)], vec![text("42.").into()], "jsonl");
    let records = ran.exits(0).records();
    fits(&records);
    let usage = records.iter().find(|record| record["type"] == "usage").unwrap();
    assert_eq!(usage["instead"], "anthropic/stub");
    let done = records.last().unwrap();
    assert_eq!((&done["model"], &done["asked"]), (&json!("anthropic/stub"), &json!("openai-chat/stub")));
    // `-c` begins again with the one that was asked.
    let kept = files(&env.path("home/.local/share/converse/sessions"));
    let metadata = kept.iter().find(|file| file.ends_with("metadata.toml")).unwrap();
    let metadata = std::fs::read_to_string(metadata).unwrap();
    assert!(metadata.contains("openai-chat/stub") && !metadata.contains("anthropic/stub"), "{metadata}");
}

#[test]
fn who_is_at_fault_is_not_covered_up() {
    for (status, exit) in [(401, 4), (400, 6), (413, 6)] {
        let pair = Pair::new([no(status)], []);
        let ran = pair.env().run(&pair.args(&["--fallback", "anthropic/stub"])).exits(exit);
        assert!(!ran.stderr.contains("continuing"), "{}", ran.stderr);
        pair.are_content();
    }
}

#[test]
fn the_last_failure_is_told_with_its_name() {
    let pair = Pair::new([no(402)], [no(402)]);
    let ran = pair.env().run(&pair.args(&["--fallback", "anthropic/stub"])).exits(4);
    assert!(ran.stderr.contains("anthropic/stub, the last fallback"), "{}", ran.stderr);
    pair.are_content();
}

#[test]
fn settings_name_them_and_a_project_does_not() {
    let settings = "fallback = [\"anthropic/stub\"]\n[presets.alone]\nfallback = []\n";
    let pair = Pair::new([no(402), no(402)], [text("Here.").into()]);
    let env = pair.env();
    env.write("home/.config/converse/config.toml", settings);
    assert_eq!(env.run(&pair.args(&[])).exits(0).stdout, "Here.\n");
    env.run(&pair.args(&["--preset", "alone"])).exits(4);
    pair.are_content();

    env.write("work/converse.toml", "fallback = [\"anthropic/stub\"]\n");
    let ran = env.run(&pair.args(&[])).exits(3);
    assert!(ran.stderr.contains("name fallback models"), "{}", ran.stderr);
}

#[test]
fn one_without_its_key_is_left_out_and_one_that_is_not_known_is_a_slip() {
    let provider = Provider::new(Dialect::Chat, [no(402)]);
    let env = provider.env(TestEnv::hasty()).without("ANTHROPIC_API_KEY");
    let ask = |name: &str| env.run(&["ask", "hello", "-m", provider.model(), "--fallback", name]);
    let ran = ask("anthropic/stub").exits(4);
    assert!(ran.stderr.contains("no fallback to anthropic/stub"), "{}", ran.stderr);
    assert!(ran.stderr.contains("error[quota]"), "{}", ran.stderr);
    assert!(ask("antropic/stub").exits(2).stderr.contains("did you mean `anthropic`"));
    let both = ["ask", "hello", "-m", "understudy", "-m", provider.model(), "--fallback", "understudy"];
    env.run(&both).exits(2);
    provider.is_content();
}
