//! Calls that a modern server answers with a task.

use converse_ensemble::{CallClient, Host, ServerLog, ToolProgress};
use tokio_util::sync::CancellationToken;

use super::*;
use crate::testing::error;

/// A server whose every call becomes a task; `poll` answers the polls, counted from 1.
fn begins(poll: impl Fn(usize, &Value) -> Act + Send + 'static) -> Fixture {
    let mut polls = 0;
    Fixture::new(move |_, request| match request["method"].as_str().unwrap_or_default() {
        "tools/call" => {
            let declared =
                &request["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"]["extensions"];
            assert_eq!(*declared, json!({ "io.modelcontextprotocol/tasks": {} }));
            result(
                request,
                &json!({ "resultType": "task", "taskId": "t1", "status": "working",
                "createdAt": "2026-11-23T00:00:00Z", "lastUpdatedAt": "2026-11-23T00:00:00Z", "ttlMs": null,
                "pollIntervalMs": 500 }),
            )
        }
        "tasks/get" => {
            assert_eq!(request["params"]["taskId"], "t1");
            polls += 1;
            poll(polls, request)
        }
        "tasks/update" | "tasks/cancel" => {
            assert_eq!(request["params"]["taskId"], "t1");
            result(request, &json!({ "resultType": "complete" }))
        }
        _ => modern(request),
    })
}

fn status(request: &Value, status: &str, more: Value) -> Act {
    let mut state = json!({ "resultType": "complete", "taskId": "t1", "status": status, "ttlMs": null,
        "createdAt": "2026-11-23T00:00:00Z", "lastUpdatedAt": "2026-11-23T00:00:00Z" });
    state.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    result(request, &state)
}

fn completed(request: &Value, text: &str) -> Act {
    let content = json!([{ "type": "text", "text": text }]);
    status(request, "completed", json!({ "result": { "content": content, "isError": false } }))
}

fn count(fixture: &Fixture, method: &str) -> usize {
    fixture.fake.heard().iter().filter(|heard| *heard == method).count()
}

#[tokio::test(start_paused = true)]
async fn a_task_is_polled_as_often_as_its_server_suggests() {
    let fixture = begins(|polls, request| match polls {
        1..4 => status(request, "working", json!({})),
        _ => completed(request, "42"),
    });
    let (_connection, _ensemble, tools) = fixture.connected().await;
    let begun = Instant::now();
    assert_eq!(call(&tools[0], json!({})).await, Ok(Answer::text("42")));
    assert_eq!((count(&fixture, "tasks/get"), begun.elapsed()), (4, Duration::from_millis(2000)));
    assert_eq!((count(&fixture, "tools/call"), count(&fixture, "tasks/cancel")), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn the_extension_is_declared_to_modern_servers_only() {
    for era in ERAS {
        let declared = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&declared);
        let fixture = Fixture::new(move |_, request| {
            let params = &request["params"];
            let capabilities = match params.get("capabilities") {
                Some(capabilities) => capabilities,
                None => &params["_meta"]["io.modelcontextprotocol/clientCapabilities"],
            };
            let declares = capabilities["extensions"].get("io.modelcontextprotocol/tasks").is_some();
            let method = request["method"].as_str().unwrap_or_default().to_owned();
            seen.lock().unwrap().push((method, declares));
            if era == Era::Modern { modern(request) } else { legacy(request) }
        });
        called(&fixture).await;
        for (method, declares) in declared.lock().unwrap().iter() {
            let expected = match method.as_str() {
                "server/discover" => true,
                "tools/list" | "tools/call" => era == Era::Modern,
                _ => false,
            };
            assert_eq!(*declares, expected, "{era:?} {method}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_that_asks_gets_its_answers_once() {
    let got = Arc::new(Mutex::new(Vec::new()));
    let updates = Arc::clone(&got);
    let mut fixture = begins(move |polls, request| match polls {
        1 | 2 => {
            let question = json!({ "method": "elicitation/create", "params": named() });
            status(request, "input_required", json!({ "inputRequests": { "q": question } }))
        }
        3 => status(request, "working", json!({})),
        _ => completed(request, &json!(updates.lock().unwrap().clone()).to_string()),
    });
    let inner = fixture.fake.clone();
    let updates = Arc::clone(&got);
    fixture.fake = crate::testing::Fake::new(move |start, request| {
        if request["method"] == "tasks/update" {
            updates.lock().unwrap().push(request["params"]["inputResponses"].clone());
        }
        inner.act(start, request)
    });
    let person = somebody(filled(json!({ "name": "Ada" })), Duration::from_secs(100));
    fixture.responders.elicitor = Some(person.clone());
    let answered = called(&fixture).await;
    assert_eq!(answered, json!([{ "q": { "action": "accept", "content": { "name": "Ada" } } }]));
    assert_eq!(person.questions.lock().unwrap().len(), 1, "the second poll still had the question");
}

#[tokio::test(start_paused = true)]
async fn a_task_that_may_not_ask_is_cancelled() {
    let fixture = begins(|_, request| {
        let question = json!({ "method": "sampling/createMessage", "params": {} });
        status(request, "input_required", json!({ "inputRequests": { "q": question } }))
    });
    let failed = called(&fixture).await;
    assert!(
        failed["failed"].as_str().unwrap().contains("`sampling/createMessage` and was refused"),
        "{failed}"
    );
    assert_eq!((count(&fixture, "tasks/update"), count(&fixture, "tasks/cancel")), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn a_task_is_cancelled_when_its_call_ends_first() {
    let endless = || begins(|_, request| status(request, "working", json!({})));
    // The time-out counts for the whole task.
    let fixture = endless();
    let (_connection, _ensemble, tools) = fixture.connected().await;
    let failed = call(&tools[0], json!({})).await.unwrap_err();
    assert!(matches!(&failed, InvokeError::Timeout(text) if text.contains("within 30 s")), "{failed:?}");
    assert_eq!(count(&fixture, "tasks/cancel"), 1);
    // The caller cancels it.
    let fixture = endless();
    let (_connection, _ensemble, tools) = fixture.connected().await;
    let cancel = CancellationToken::new();
    let context = Context { cancel: cancel.clone(), ..context(Duration::from_secs(30)) };
    let arguments = Arguments::parse("{}");
    let stopping = async {
        tokio::time::sleep(Duration::from_secs(3)).await;
        cancel.cancel();
    };
    let (failed, ()) = tokio::join!(tools[0].invocable.invoke(context, &arguments), stopping);
    assert_eq!(failed, Err(InvokeError::Failed("cancelled before it had answered".to_owned())));
    assert_eq!((count(&fixture, "tasks/cancel"), count(&fixture, "notifications/cancelled")), (1, 0));
    // Nobody waits for it any more.
    let fixture = endless();
    let (_connection, _ensemble, tools) = fixture.connected().await;
    let left = tokio::time::timeout(Duration::from_millis(1200), call(&tools[0], json!({}))).await;
    assert!(left.is_err());
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!((count(&fixture, "tasks/get"), count(&fixture, "tasks/cancel")), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn a_task_ends_in_the_words_of_its_server() {
    for (name, more, wanted, is_unknown) in [
        ("failed", json!({ "error": { "code": -5, "message": "broken" } }), "error -5: broken", false),
        (
            "cancelled",
            json!({ "statusMessage": "full" }),
            "the server cancelled it: full: outcome unknown",
            true,
        ),
        ("cancelled", json!({}), "the server cancelled it: outcome unknown", true),
        ("completed", json!({}), "its `result` is missing: outcome unknown", true),
        ("completed", json!({ "result": { "resultType": "task", "taskId": "t2" } }), "cannot follow", true),
    ] {
        let more = more.clone();
        let fixture = begins(move |_, request| status(request, name, more.clone()));
        let (_connection, _ensemble, tools) = fixture.connected().await;
        let failed = call(&tools[0], json!({})).await.unwrap_err();
        assert!(failed.to_string().contains(wanted), "{failed}");
        assert_eq!(matches!(failed, InvokeError::Interrupted(_)), is_unknown, "{failed:?}");
        assert_eq!(count(&fixture, "tools/call"), 1, "it is not made again");
    }
}

#[tokio::test(start_paused = true)]
async fn a_poll_that_fails_is_repeated_unless_the_task_is_not_known() {
    let fixture = begins(|polls, request| match polls {
        1..5 => error(request, -32603, "restarting"),
        _ => completed(request, "\"late\""),
    });
    assert_eq!(called(&fixture).await, "late");
    for (code, polls) in [(-32602, 1), (-32601, 1), (-32603, 5)] {
        let fixture = begins(move |_, request| error(request, code, "no such task"));
        let failed = called(&fixture).await["failed"].as_str().unwrap().to_owned();
        assert!(failed.contains(&format!("with error {code}: no such task: outcome unknown")), "{failed}");
        assert_eq!(count(&fixture, "tasks/get"), polls);
    }
    let fixture = begins(|_, _| Act::Exit);
    let failed = called(&fixture).await["failed"].as_str().unwrap().to_owned();
    assert!(failed.starts_with("interrupted, outcome unknown"), "{failed}");
    assert_eq!(count(&fixture, "tools/call"), 1);
}

/// Hears progress.
#[derive(Default)]
struct Listening(Mutex<Vec<(f64, String)>>);

impl CallClient for Listening {
    fn report(&self, progress: ToolProgress) {
        if let ToolProgress::Progress { done, message, .. } = progress {
            self.0.lock().unwrap().push((done, message.unwrap_or_default()));
        }
    }

    fn log(&self, _: ServerLog) {}
}

#[tokio::test(start_paused = true)]
async fn status_messages_are_progress() {
    let fixture = begins(|polls, request| match polls {
        1 | 2 => status(request, "working", json!({ "statusMessage": "first" })),
        3 => status(request, "working", json!({ "statusMessage": "second\u{1b}" })),
        _ => completed(request, "1"),
    });
    let (_connection, _ensemble, tools) = fixture.connected().await;
    let listening = Arc::new(Listening::default());
    let host = Host::of_client(Arc::clone(&listening) as Arc<dyn CallClient>);
    let context = Context { host, ..context(Duration::from_secs(30)) };
    tools[0].invocable.invoke(context, &Arguments::parse("{}")).await.unwrap();
    let heard = listening.0.lock().unwrap().clone();
    assert_eq!(heard, [(1.0, "first".to_owned()), (2.0, "second\\x1b".to_owned())]);
}
