use std::time::Duration;

use converse_canister::{Arguments, Content};
use converse_ensemble::{Answer, Context, Host, InvokeError, ToolProgress};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::testing::{Act, Fixture, call, context, error, legacy, result, tool};

fn calls(answer: impl Fn(&Value) -> Act + Send + 'static) -> Fixture {
    Fixture::new(
        move |_, request| if request["method"] == "tools/call" { answer(request) } else { legacy(request) },
    )
}

#[tokio::test(start_paused = true)]
async fn a_call_is_answered() {
    let fixture = Fixture::new(|_, request| legacy(request));
    let (_connection, _ensemble, tools) = fixture.connected().await;
    let answer = call(&tools[0], json!({ "b": 1, "a": [true] })).await;
    assert_eq!(answer, Ok(Answer::text(r#"{"b":1,"a":[true]}"#)));
}

#[tokio::test(start_paused = true)]
async fn whoever_hands_a_result_on_gets_it_as_it_was_written() {
    let written = json!({ "content": [{ "type": "resource", "resource": { "uri": "a:b", "text": "x" } }] });
    let answer = written.clone();
    let fixture = calls(move |request| result(request, &answer));
    let (_connection, _ensemble, tools) = fixture.connected().await;
    assert_eq!(call(&tools[0], json!({})).await.unwrap().verbatim, None);
    let host = Host::default().verbatim();
    let context = Context { host, ..context(Duration::from_secs(30)) };
    let arguments = Arguments::from_object(Default::default());
    let answer = tools[0].invocable.invoke(context, &arguments).await.unwrap();
    let verbatim: Value = serde_json::from_str(&answer.verbatim.unwrap()).unwrap();
    assert_eq!(verbatim, written);
}

#[tokio::test(start_paused = true)]
async fn errors_of_the_server_are_failures_in_its_words() {
    for code in [-32602, -32601, -32603, 1] {
        let fixture = calls(move |request| error(request, code, "no\u{7}pe"));
        let (_connection, _ensemble, tools) = fixture.connected().await;
        let failed = call(&tools[0], json!({})).await;
        assert_eq!(
            failed,
            Err(InvokeError::Failed(format!("the server answered with error {code}: no\\x07pe")))
        );
    }
    let fixture = calls(|request| error(request, 1, &"x".repeat(10_000)));
    let (_connection, _ensemble, tools) = fixture.connected().await;
    let Err(InvokeError::Failed(text)) = call(&tools[0], json!({})).await else { panic!() };
    assert!(text.len() < 2200);
}

#[tokio::test(start_paused = true)]
async fn a_death_during_a_call_leaves_its_outcome_unknown() {
    let fixture = calls(|_| Act::Exit);
    let (_connection, _ensemble, tools) = fixture.connected().await;
    let (one, two) = tokio::join!(call(&tools[0], json!({})), call(&tools[1], json!({})));
    for died in [one, two] {
        let Err(InvokeError::Interrupted(text)) = died else { panic!("{died:?}") };
        assert!(text.starts_with("interrupted, outcome unknown: the server closed the connection"), "{text}");
    }
    let calls = fixture.fake.heard().iter().filter(|method| *method == "tools/call").count();
    assert_eq!(calls, 1, "the second was not read any more, and nothing is sent twice");
}

#[tokio::test]
async fn an_over_long_line_fails_all_calls_at_once() {
    let fixture = calls(|_| Act::Say(vec![b'x'; 17 * 1024 * 1024]));
    let (_connection, _ensemble, tools) = fixture.connected().await;
    let (one, two) = tokio::join!(call(&tools[0], json!({})), call(&tools[1], json!({})));
    for failed in [one, two] {
        let Err(InvokeError::Interrupted(text)) = failed else { panic!("{failed:?}") };
        assert!(text.ends_with("the server sent a line of more than 16 MiB"), "{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn silence_is_a_timeout_and_the_server_is_told() {
    let fixture =
        calls(|request| if request["params"]["name"] == "echo" { Act::Nothing } else { legacy(request) });
    let (_connection, _ensemble, tools) = fixture.connected().await;
    let begun = Instant::now();
    let late = call(&tools[0], json!({})).await;
    assert_eq!(
        late,
        Err(InvokeError::Timeout("no answer within 30 s; the server was asked to cancel the call".into()))
    );
    assert_eq!(begun.elapsed().as_secs(), 30);
    assert!(call(&tools[1], json!({})).await.is_ok(), "it is still of use");
    assert_eq!(fixture.fake.starts(), 1);
    assert_eq!(fixture.fake.heard()[4..], ["tools/call", "notifications/cancelled", "tools/call"]);
}

#[tokio::test(start_paused = true)]
async fn progress_is_told_and_keeps_a_call_alive_until_its_deadline() {
    // The call of `echo` makes progress with every call of `other`.
    let token = std::sync::Mutex::new(Value::Null);
    let fixture = calls(move |request| {
        let mut token = token.lock().unwrap();
        if request["params"]["name"] == "echo" {
            *token = request["params"]["_meta"]["progressToken"].clone();
            return Act::Nothing;
        }
        let progress = json!({
            "jsonrpc": "2.0", "method": "notifications/progress",
            "params": { "progressToken": *token, "progress": 1, "total": 4, "message": "half\u{1b}way" },
        });
        let Act::Say(mut bytes) = legacy(request) else { unreachable!() };
        bytes.splice(0..0, format!("{progress}\n").into_bytes());
        Act::Say(bytes)
    });
    let mut slow = fixture;
    slow.plan.defaults.idle_timeout = Duration::from_secs(10);
    for (steps, seconds) in [(0_u32, 10_u64), (3, 34), (12, 60)] {
        let (_connection, _ensemble, tools) = slow.connected().await;
        let (words, mut heard) = tokio::sync::mpsc::channel(64);
        let mut context = context(Duration::from_secs(60));
        context.host = Host::new(7, words);
        let arguments = Arguments::parse("{}");
        let begun = Instant::now();
        let waiting =
            async { (tools[0].invocable.invoke(context, &arguments).await, begun.elapsed().as_secs()) };
        let stirring = async {
            for _ in 0..steps {
                tokio::time::sleep(Duration::from_secs(8)).await;
                call(&tools[1], json!({})).await.unwrap();
            }
        };
        let ((late, took), ()) = tokio::join!(waiting, stirring);
        assert!(matches!(late, Err(InvokeError::Timeout(_))), "{late:?}");
        assert_eq!(took, seconds, "{steps} steps");
        if steps > 0 {
            let (index, word) = heard.recv().await.unwrap();
            let message = Some("half\\x1bway".to_owned());
            assert_eq!((index, word), (7, ToolProgress::Progress { done: 1.0, total: Some(4.0), message }));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_or_dropped_call_tells_the_server() {
    let fixture = calls(|_| Act::Nothing);
    let (_connection, _ensemble, tools) = fixture.connected().await;
    let arguments = Arguments::parse("{}");
    let context_ = context(Duration::from_secs(30));
    let cancel = context_.cancel.clone();
    let begun = Instant::now();
    let waiting = tools[0].invocable.invoke(context_, &arguments);
    let cancelling = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        cancel.cancel();
    };
    let (cancelled, ()) = tokio::join!(waiting, cancelling);
    assert!(matches!(cancelled, Err(InvokeError::Failed(_))));
    assert!(begun.elapsed() < Duration::from_secs(2));
    assert_eq!(fixture.fake.heard()[4..], ["tools/call", "notifications/cancelled"]);
    let waiting = tools[0].invocable.invoke(context(Duration::from_secs(30)), &arguments);
    assert!(tokio::time::timeout(Duration::from_secs(1), waiting).await.is_err());
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(fixture.fake.heard()[6..], ["tools/call", "notifications/cancelled"]);
}

#[tokio::test(start_paused = true)]
async fn a_broken_output_schema_is_noted() {
    let fixture = Fixture::new(|_, request| match request["method"].as_str() {
        Some("tools/list") => {
            let mut tool = tool("echo");
            tool["outputSchema"] = json!({
                "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"]
            });
            result(request, &json!({ "tools": [tool] }))
        }
        Some("tools/call") => {
            let structured = request["params"]["arguments"]["give"].clone();
            result(request, &json!({ "content": [], "structuredContent": structured }))
        }
        _ => legacy(request),
    });
    let (_connection, _ensemble, tools) = fixture.connected().await;
    for (give, fits) in
        [(json!({ "n": 1 }), true), (json!({ "n": "x" }), false), (json!({}), false), (json!([1]), false)]
    {
        let answer = call(&tools[0], json!({ "give": give })).await.unwrap();
        assert_eq!(answer.content[0], Content::Structured { value: give.clone() });
        let note = answer.content.get(1).and_then(Content::as_text).unwrap_or_default();
        assert_eq!(note.contains("does not match the tool's output schema"), !fits, "{give} {note}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_progress_is_told_ten_times_a_second() {
    let fixture = calls(|request| {
        let token = request["params"]["_meta"]["progressToken"].clone();
        let progress = |done: u32| {
            json!({ "jsonrpc": "2.0", "method": "notifications/progress",
                    "params": { "progressToken": token, "progress": done } })
        };
        let Act::Say(answer) = legacy(request) else { unreachable!() };
        let mut bytes: Vec<u8> =
            (0..1000).flat_map(|done| format!("{}\n", progress(done)).into_bytes()).collect();
        // Without an answer it is late, and the window opens while it is waited for.
        if request["params"]["name"] == "echo" {
            bytes.extend(answer);
        }
        Act::Say(bytes)
    });
    let (_connection, _ensemble, tools) = fixture.connected().await;
    for tool in &tools {
        let (words, mut heard) = tokio::sync::mpsc::channel(5000);
        let mut context = context(Duration::from_secs(30));
        context.host = Host::new(0, words);
        let arguments = Arguments::parse("{}");
        let a_second_later = async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            heard.len()
        };
        let (_, so_far) = tokio::join!(tool.invocable.invoke(context, &arguments), a_second_later);
        assert_eq!(so_far, 2, "also of one that runs on");
        let mut reported = Vec::new();
        while let Ok((_, ToolProgress::Progress { done, .. })) = heard.try_recv() {
            reported.push(done);
        }
        assert_eq!(reported, [0.0, 999.0], "the first and the last");
    }
}
