//! `--max-cost`: what a turn costs is known, or it does not begin.

use serde_json::json;

use crate::body::{Dialect, Says, calls, text};
use crate::env::TestEnv;
use crate::http::Answer;
use crate::provider::{Line, Provider};

/// 15 USD for a million tokens either way, so 225 millionths for the 10 and 5 tokens of a reply here.
const PRICE: &str = "[models.\"openai-chat/stub\"]\nprice = { input = 15.0, output = 15.0 }\n";

fn reckon() -> Says {
    calls([("essentials__calculator", json!({ "expression": "6*7" }))])
}

fn priced(provider: &Provider) -> TestEnv {
    let env = provider.env(TestEnv::new());
    env.write("home/.config/converse/config.toml", PRICE);
    env
}

#[test]
fn a_model_of_unknown_price_is_not_asked() {
    let provider = Provider::chat(Vec::<Line>::new());
    let env = provider.env(TestEnv::hasty());
    let ran = env.run(&["ask", "hello", "-m", provider.model(), "--max-cost", "1"]).exits(2);
    assert!(ran.stderr.contains("error[unknown-price]"), "{}", ran.stderr);
    assert!(ran.stderr.contains("[models.\"openai-chat/stub\"] price"), "{}", ran.stderr);
    assert!(provider.requests().is_empty());
    // The words of the hint are what helps.
    let provider = Provider::chat([text("Hi.")]);
    priced(&provider).run(&["ask", "hello", "-m", provider.model(), "--max-cost", "1"]).exits(0);
}

#[test]
fn it_ends_before_the_call_that_it_has_no_money_for() {
    let cost = |limit: &str, script: Vec<Line>| {
        let provider = Provider::chat(script);
        let ran =
            priced(&provider).run(&["ask", "go", "-m", provider.model(), "-o", "json", "--max-cost", limit]);
        provider.is_content();
        ran
    };
    let told = cost("0.00045", vec![reckon().into(), reckon().into()]).exits(7).json();
    assert_eq!(told["cost"], 0.00045);
    assert!(told["error"]["message"].as_str().unwrap().contains("0.00045 USD"), "{told}");
    let script = || vec![reckon().into(), reckon().into(), text("Done.").into()];
    assert_eq!(cost("0.000451", script()).exits(0).json()["cost"], 0.000675);
}

#[test]
fn a_provider_that_says_what_it_costs_is_believed_and_one_that_forgets_ends_the_turn() {
    let provider = Provider::serving(Dialect::Chat, "openrouter", "x/stub", [reckon()]);
    let env = provider.env(TestEnv::hasty());
    let ran = env.run(&["ask", "go", "-m", provider.model(), "--max-cost", "1"]).exits(7);
    assert!(ran.stderr.contains("did not report the usage of the last reply"), "{}", ran.stderr);
    provider.is_content();

    let message = json!({ "role": "assistant", "content": "Cheap." });
    let body = json!({ "id": "gen-1", "choices": [{ "message": message, "finish_reason": "stop" }],
        "usage": { "prompt_tokens": 1, "completion_tokens": 1, "cost": 0.25 } });
    let answer = Answer::new(200, "application/json", body.to_string());
    let provider = Provider::serving(Dialect::Chat, "openrouter", "x/stub", [answer]);
    let env = provider.env(TestEnv::hasty());
    let ran = env.run(&["ask", "go", "-m", provider.model(), "--max-cost", "0.1", "-o", "json"]).exits(0);
    assert_eq!(ran.json()["cost"], 0.25);
    assert!(ran.stderr.contains("more than the limit of 0.1 USD"), "{}", ran.stderr);
}

/// A tool that says what a call of it costs.
const DEAR: &str = r#"
[ensemble]
name = "dear"
description = "Costs something"

[[invokers]]
name = "echo"
description = "Says it again"
builtin = "test_echo"
cost = 0.01
arguments = { type = "object", properties = { text = { type = "string" } } }
"#;

#[test]
fn a_tool_that_costs_too_much_does_not_run() {
    for (limit, outcome, exit) in [("0.01", "cancelled", 7), ("0.02", "success", 0)] {
        let dear = calls([("dear__echo", json!({ "text": "x" }))]);
        let script: Vec<Line> =
            if exit == 0 { vec![dear.into(), text("Done.").into()] } else { vec![dear.into()] };
        let provider = Provider::chat(script);
        let env = priced(&provider);
        env.write("ensembles/dear.toml", DEAR);
        let place = env.path("ensembles").display().to_string();
        let args =
            ["ask", "go", "-m", provider.model(), "--max-cost", limit, "--ensembles", &place, "-o", "json"];
        let told = env.run(&args).exits(exit).json();
        assert_eq!(told["invocations"][0]["outcome"], outcome, "{told}");
        provider.is_content();
    }
}

#[test]
fn the_settings_limit_what_a_turn_costs_and_a_project_only_tightens() {
    let cost = |own: &str, project: Option<&str>, flags: &[&str], exit: i32| {
        let provider = Provider::chat([reckon(), reckon()]);
        let env = provider.env(TestEnv::new());
        env.write("home/.config/converse/config.toml", &format!("[limits]\n{own}\n{PRICE}"));
        if let Some(project) = project {
            env.write("work/converse.toml", &format!("[limits]\nmax_cost = {project}\n"));
        }
        let args =
            [&["ask", "go", "-m", provider.model(), "-o", "json", "--max-iterations", "2"], flags].concat();
        env.run(&args).exits(exit).json()["error"]["message"].as_str().unwrap().to_owned()
    };
    let reached = |message: String, limit: &str| assert!(message.contains(limit), "{message}");
    reached(cost("max_cost = 0.0001", None, &[], 7), "0.0001 USD");
    reached(cost("max_cost = 5", None, &["--max-cost", "0.0002"], 7), "0.0002 USD");
    reached(cost("max_cost = 5", Some("0.0002"), &["--max-cost", "4"], 7), "0.0002 USD");
    reached(cost("max_cost = 0.0002", Some("5"), &[], 7), "0.0002 USD");
}

#[test]
fn who_is_like_a_provider_that_tells_costs_is_believed_too() {
    let env = TestEnv::new();
    env.write(
        "home/.config/converse/config.toml",
        "[providers.mine]\nlike = \"openrouter\"\nbase_url = \"http://127.0.0.1:1/v1\"\n\
         [providers.other]\nlike = \"groq\"\nbase_url = \"http://127.0.0.1:1/v1\"\n",
    );
    let dry = |id: &str| env.run(&["ask", "-m", id, "--max-cost", "1", "--dry-run", "hi"]);
    dry("mine/x").exits(0);
    assert!(dry("other/x").exits(2).stderr.contains("unknown-price"));
}

/// A reply whose connection ends in its midst.
fn broken() -> Line {
    Line::Bent(text("Half of an answer."), |answer| answer.cut_at = Some(answer.body.len() / 2))
}

#[test]
fn what_is_free_has_no_limit_to_reach() {
    let told =
        TestEnv::new().run(&["ask", "what is 2+2", "-m", "understudy", "--max-cost", "1", "-o", "json"]);
    let told = told.exits(0).json();
    assert_eq!((&told["cost"], told.get("cost_at_least")), (&json!(0.0), None), "{told}");
}

#[test]
fn a_cost_that_is_not_known_is_not_told_as_one() {
    let ask = |script: Vec<Line>, more: &[&str]| {
        let provider = Provider::chat(script);
        let env = priced(&provider);
        env.write("home/.config/converse/config.toml", &format!("[timeouts]\nretry_first = 1\n{PRICE}"));
        let ran = env.run(&[&["ask", "go", "-m", provider.model()], more].concat());
        provider.is_content();
        ran
    };
    let json = ["-o", "json"];
    // The first attempt was cut before it said what it took.
    let told = ask(vec![broken(), text("Whole.").into()], &json).exits(0).json();
    assert_eq!((&told["cost"], &told["cost_at_least"]), (&json!(null), &json!(0.000225)), "{told}");
    let records = ask(vec![broken(), text("Whole.").into()], &["-o", "jsonl"]).exits(0).records();
    crate::records::fits(&records);
    let cut: Vec<_> =
        records.iter().filter(|r| r["type"] == "usage").map(|r| r.get("cut").is_some()).collect();
    assert_eq!(cut, [true, false]);
    // Where there is a limit, that is the end.
    let told = ask(vec![broken()], &["-o", "json", "--max-cost", "1"]).exits(7).json();
    assert_eq!((&told["cost"], told.get("cost_at_least")), (&json!(null), None), "{told}");
}
