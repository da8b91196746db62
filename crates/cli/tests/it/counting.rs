//! `ask --count-tokens`: asked of the provider, or estimated and said so.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::env::{TestEnv, files};
use crate::http::{Answer, Request, serve};
use crate::provider::{KEY, Provider};

/// A server that counts, or does not, and what it was asked.
fn counter(status: u16, body: &'static str) -> (TestEnv, Arc<Mutex<Vec<Request>>>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&asked);
    let port = serve(move |request| {
        seen.lock().unwrap().push(request);
        Answer::new(status, "application/json", body)
    });
    let base = format!("http://127.0.0.1:{port}");
    let env = TestEnv::new().var("ANTHROPIC_BASE_URL", base.as_str()).var("GEMINI_BASE_URL", base);
    (env.var("ANTHROPIC_API_KEY", KEY), asked)
}

const ASK: [&str; 6] = ["ask", "hello", "-m", "anthropic/stub", "-s", "Be brief."];

#[test]
fn the_provider_counts() {
    let (env, asked) = counter(200, r#"{"input_tokens":123}"#);
    let ran = env.run(&[&ASK[..], &["--count-tokens"]].concat()).exits(0);
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("123\n", ""));
    let asked = asked.lock().unwrap();
    let [request] = asked.as_slice() else { panic!("{asked:?}") };
    assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", "/v1/messages/count_tokens"));
    assert_eq!(request.header("x-api-key"), Some(KEY));
    assert_eq!(request.header("anthropic-version"), Some("2023-06-01"));
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    assert_eq!((&body["max_tokens"], &body["stream"]), (&Value::Null, &Value::Null));
    assert_eq!(body["model"], "stub");
    assert!(body["tools"].as_array().is_some_and(|tools| !tools.is_empty()), "{body}");
    assert!(body["messages"].to_string().contains("hello") && body["system"].to_string().contains("brief"));
    assert!(files(&env.path("home")).is_empty(), "nothing is kept");
}

#[test]
fn gemini_counts_whole_requests() {
    let (env, asked) = counter(200, r#"{"totalTokens":31,"cachedContentTokenCount":2}"#);
    let env = env.var("GEMINI_API_KEY", KEY);
    let ran = env.run(&["ask", "hello", "-m", "gemini/stub", "--count-tokens"]).exits(0);
    assert_eq!(ran.stdout, "31\n");
    let asked = asked.lock().unwrap();
    assert_eq!(asked[0].path, "/v1beta/models/stub:countTokens");
    let body: Value = serde_json::from_slice(&asked[0].body).unwrap();
    let request = &body["generateContentRequest"];
    assert_eq!((body.as_object().unwrap().len(), &request["model"]), (1, &json!("models/stub")));
    assert!(request["contents"].to_string().contains("hello") && request["tools"].is_array(), "{body}");
}

#[test]
fn the_count_is_an_object_in_json() {
    let (env, _) = counter(200, r#"{"input_tokens":7}"#);
    let ran = env.run(&[&ASK[..], &["--count-tokens", "-o", "json"]].concat()).exits(0);
    assert_eq!(ran.json(), json!({ "model": "anthropic/stub", "input_tokens": 7, "estimated": false }));
}

#[test]
fn a_server_that_does_not_count_gets_an_estimate() {
    for (status, body) in [(404, "{}"), (200, r#"{"tokens":"?"}"#)] {
        let (env, asked) = counter(status, body);
        let ran = env.run(&[&ASK[..], &["--count-tokens"]].concat()).exits(0);
        let tokens = asked.lock().unwrap()[0].body.len().div_ceil(4);
        assert_eq!(ran.stdout, format!("~{tokens}\n"));
        assert!(ran.stderr.contains("an estimate"), "{}", ran.stderr);
    }
}

#[test]
fn a_wire_without_the_question_needs_no_key_and_no_network() {
    let provider = Provider::chat(Vec::<Answer>::new());
    let env = provider.env(TestEnv::new()).without("OPENAI_API_KEY");
    let ran = env.run(&["ask", "hello", "-m", provider.model(), "--count-tokens"]).exits(0);
    let tokens: u64 = ran.stdout.trim().strip_prefix('~').unwrap().parse().unwrap();
    assert!((50..50_000).contains(&tokens), "{tokens}");
    assert!(ran.stderr.contains("has no token counter"), "{}", ran.stderr);
    provider.is_content();
}

#[test]
fn a_refused_count_is_a_failure_like_any_other() {
    let error = r#"{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}"#;
    let (env, _) = counter(401, error);
    let ran = env.run(&[&ASK[..], &["--count-tokens"]].concat()).exits(4);
    assert!(ran.stderr.contains("invalid x-api-key") && !ran.stderr.contains(KEY), "{}", ran.stderr);
    assert_eq!(ran.stdout, "");
    // The vendor's own server wants a key; nothing is sent without.
    let ran = TestEnv::new().run(&[&ASK[..], &["--count-tokens"]].concat()).exits(4);
    assert!(ran.stderr.contains("no-key"), "{}", ran.stderr);
}
