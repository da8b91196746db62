//! Words of models and of their servers, on a terminal.

use serde_json::json;

use super::shown::{Manner, all_bytes, each, holds, is_clean, lasting, parts, words};
use crate::body::{Says, text};
use crate::env::TestEnv;
use crate::fake_server::FakeServer;
use crate::http::Answer;
use crate::provider::{Line, Provider};
use crate::screen::Screen;

/// Twice: [`is_clean`] runs everything twice.
fn twice<T: Clone>(script: &[T]) -> Vec<T> {
    [script, script].concat()
}

fn ask<'a>(provider: &'a Provider, rest: &[&'a str]) -> Vec<&'a str> {
    [&["ask", "go", "-m", provider.model()], rest].concat()
}

#[test]
fn an_answer_and_what_was_thought_before() {
    let said = lasting(words());
    for flags in [&["-o", "text"][..], &["-v"], &["-o", "json"], &["-o", "jsonl"], &["-vvv"]] {
        let provider = Provider::chat(twice(&[text(said).thinking(said)]));
        let env = provider.env(TestEnv::new());
        is_clean(&env, &ask(&provider, flags), "⟦");
    }
}

#[test]
fn an_answer_of_bytes_that_are_no_text() {
    let body = |kind: &str| {
        let mut body = b"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"".to_vec();
        body.extend(all_bytes().into_iter().filter(|byte| *byte >= 0x20 && *byte != b'"' && *byte != b'\\'));
        body.extend_from_slice(b"\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n");
        Answer::new(200, kind, body)
    };
    let provider =
        Provider::chat(["text/event-stream", "text/event-stream"].map(|kind| Line::from(body(kind))));
    let env = provider.env(TestEnv::hasty());
    is_clean(&env, &ask(&provider, &[]), "⟦");
}

#[test]
fn names_arguments_and_results_of_tools() {
    let calls: Vec<(&'static str, String)> = parts(40)
        .into_iter()
        .enumerate()
        .map(|(index, part)| {
            let arguments = json!({ "text": part, &part: [part] }).to_string();
            match index % 4 {
                0 => ("broken__echo", json!({ "text": part }).to_string()),
                1 => ("broken__echo", arguments),
                2 => (lasting(part), arguments),
                // No JSON.
                _ => ("broken__echo", part),
            }
        })
        .collect();
    let asks = Says { calls, ..Says::default() };
    for flags in [&[][..], &["-v"], &["-vvv"], &["-o", "jsonl"]] {
        let provider = Provider::chat(twice(&[asks.clone(), text("Done.")]));
        let env = provider.env(TestEnv::new());
        FakeServer::new("broken", &[]).write(&env);
        let servers = env.path("servers").display().to_string();
        is_clean(&env, &ask(&provider, &[flags, &["--ensembles", &servers]].concat()), "⟦");
    }
}

#[test]
fn a_question_before_a_tool_runs() {
    for (plain, manner, end) in
        [(&["--plain"][..], Manner::Plain, "n WHY"), (&[], Manner::Drawn, "= no, and why")]
    {
        let arguments = json!({ "path": parts(60).swap_remove(30), "content": words() }).to_string();
        let asks = Says { calls: vec![("io__write_file", arguments)], ..Says::default() };
        let provider = Provider::chat([asks, text("Done.")]);
        let env = provider.env(TestEnv::new());
        let mut screen = Screen::run(&env, &[&ask(&provider, &["--ephemeral"])[..], plain].concat());
        screen.shows(end);
        screen.types("n\r");
        screen.shows("Done.");
        screen.finishes();
        holds(screen.bytes(), manner, &["a question"], "⟦");
    }
}

#[test]
fn a_refusal_of_a_provider() {
    let told = |status: u16| {
        let error = json!({ "message": words(), "type": words(), "code": words(), "param": words() });
        Answer::new(status, "application/json", json!({ "error": error }).to_string())
    };
    let mut answers: Vec<Answer> = [400, 401, 403, 404, 413, 422].into_iter().map(told).collect();
    answers.push(Answer::new(400, "text/plain", all_bytes()));
    answers.push(Answer::new(418, "text/html", [b"<html><title>".as_slice(), &all_bytes()].concat()));
    let stream = format!("data: {}\n\n", json!({ "error": { "message": words(), "type": words() } }));
    answers.push(Answer::new(200, "text/event-stream", stream));
    answers.push(Answer::new(200, "text/event-stream", all_bytes()));
    answers.push(Answer::new(200, "application/json", all_bytes()));
    for (index, answer) in answers.into_iter().enumerate() {
        // The last ones are asked again and again.
        let script: Vec<Line> = (0..40).map(|_| Line::from(answer.clone())).collect();
        let provider = Provider::chat(script);
        let env = provider.env(TestEnv::hasty());
        let flags: &[&str] = if index % 2 == 0 { &["-v"] } else { &[] };
        is_clean(&env, &ask(&provider, flags), "error");
    }
}

#[test]
fn a_list_of_models() {
    let models: Vec<_> = each()
        .into_iter()
        .flat_map(|evil| {
            let free: String =
                evil.chars().filter(|c| !c.is_whitespace() && !c.is_control()).take(100).collect();
            [evil.clone(), free]
                .map(|id| json!({ "id": id, "name": evil, "display_name": evil, "owned_by": evil }))
        })
        .collect();
    let body = json!({ "object": "list", "data": models }).to_string();
    let (port, _) = crate::models::server(move |_| (200, body.clone()));
    let env = TestEnv::new()
        .var("OPENAI_BASE_URL", format!("http://127.0.0.1:{port}/v1"))
        .var("OPENAI_API_KEY", crate::provider::KEY);
    is_clean(&env, &["models", "list", "openai"], "⟦");
    is_clean(&env, &["models", "list", "openai", "--json"], "⟦");
    is_clean(&env, &["doctor"], "openai");
    is_clean(&env, &["-vvv", "models", "list", "openai", "--refresh"], "⟦");
    let wrong = super::shown::without_nul(&words());
    for args in [["models", "show", &wrong], ["models", "list", &wrong]] {
        is_clean(&env, &args, "error");
    }
    is_clean(&env, &["ask", "-m", &wrong, "hello"], "error");
}
