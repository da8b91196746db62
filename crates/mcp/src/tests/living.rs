use std::time::Duration;

use converse_ensemble::InvokeError;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::testing::{Act, Fixture, call, legacy, modern, result, tool};

/// It ends on every call of `other`.
fn fragile() -> Fixture {
    Fixture::new(|_, request| match request["params"]["name"].as_str() {
        Some("other") => Act::Exit,
        _ => legacy(request),
    })
}

#[tokio::test(start_paused = true)]
async fn a_server_that_ended_is_started_again_for_ever_because_answers_give_the_count_back() {
    let fixture = fragile();
    let (_connection, _ensemble, tools) = fixture.connected().await;
    for restart in 0..12_usize {
        assert!(matches!(call(&tools[1], json!({})).await, Err(InvokeError::Interrupted(_))));
        let begun = Instant::now();
        assert!(call(&tools[0], json!({})).await.is_ok(), "restart {restart}");
        assert_eq!(begun.elapsed().as_millis(), 200, "restart {restart}");
        assert_eq!(fixture.fake.starts(), restart + 2);
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_answers_nothing_is_waited_for_longer_each_time() {
    let fixture = fragile();
    let (_connection, _ensemble, tools) = fixture.connected().await;
    for (restart, waited) in [0, 200, 400, 800, 1000, 1000, 1000].into_iter().enumerate() {
        let begun = Instant::now();
        assert!(matches!(call(&tools[1], json!({})).await, Err(InvokeError::Interrupted(_))));
        assert_eq!((begun.elapsed().as_millis(), fixture.fake.starts()), (waited, restart + 1));
    }
}

#[tokio::test(start_paused = true)]
async fn calls_that_wait_share_one_failed_attempt() {
    let fixture = Fixture::new(|start, request| match request["params"]["name"].as_str() {
        Some("other") => Act::Exit,
        _ if start > 1 => Act::Exit,
        _ => legacy(request),
    });
    let (_connection, _ensemble, tools) = fixture.connected().await;
    assert!(call(&tools[1], json!({})).await.is_err());
    let answers = futures_util::future::join_all((0..20).map(|_| call(&tools[0], json!({})))).await;
    let unsent = |answer: &Result<_, _>| matches!(answer, Err(InvokeError::Unreachable { sent: false, .. }));
    assert!(answers.iter().all(unsent), "{answers:?}");
    assert_eq!(fixture.fake.starts(), 2);
}

/// It comes back as a server of the other era, as after an update.
#[tokio::test(start_paused = true)]
async fn a_server_that_comes_back_in_the_other_era_is_found() {
    let fixture = Fixture::new(|start, request| match (start, request["params"]["name"].as_str()) {
        (1, Some("other")) => Act::Exit,
        (1, _) => legacy(request),
        _ => modern(request),
    });
    let (_connection, _ensemble, tools) = fixture.connected().await;
    assert!(call(&tools[1], json!({})).await.is_err());
    assert!(call(&tools[0], json!({})).await.is_err(), "it does not know `initialize`");
    assert!(call(&tools[0], json!({})).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn the_era_is_known_when_it_is_started_again() {
    let fixture = fragile();
    let (_connection, _ensemble, tools) = fixture.connected().await;
    let before = fixture.fake.heard().len();
    assert!(call(&tools[1], json!({})).await.is_err());
    assert!(call(&tools[0], json!({})).await.is_ok());
    let heard = ["tools/call", "initialize", "notifications/initialized", "tools/call"];
    assert_eq!(fixture.fake.heard()[before..], heard);
}

#[tokio::test(start_paused = true)]
async fn calls_that_wait_share_one_new_connection() {
    let fixture = fragile();
    let (_connection, _ensemble, tools) = fixture.connected().await;
    assert!(call(&tools[1], json!({})).await.is_err());
    let calls = (0..20).map(|_| call(&tools[0], json!({})));
    let answers = futures_util::future::join_all(calls).await;
    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
    assert_eq!(fixture.fake.starts(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_come_back_costs_no_more_than_the_deadline() {
    let fixture = Fixture::new(|start, request| match (start, request["params"]["name"].as_str()) {
        (1, Some("other")) => Act::Exit,
        (1, _) => legacy(request),
        _ => Act::Nothing,
    });
    let (_connection, _ensemble, tools) = fixture.connected().await;
    assert!(call(&tools[1], json!({})).await.is_err());
    let begun = Instant::now();
    let gone = call(&tools[0], json!({})).await;
    assert!(matches!(gone, Err(InvokeError::Unreachable { sent: false, .. })), "{gone:?}");
    assert_eq!(begun.elapsed(), Duration::from_secs(30));
}

#[tokio::test(start_paused = true)]
async fn tools_are_listed_anew_only_when_they_changed() {
    // With the first call it says that they have changed.
    let mut changed = false;
    let fixture = Fixture::new(move |_, request| match request["method"].as_str() {
        Some("tools/list") if changed => result(request, &json!({ "tools": [tool("fresh")] })),
        Some("tools/call") => {
            changed = true;
            let Act::Say(mut bytes) = legacy(request) else { unreachable!() };
            let note = json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" });
            bytes.splice(0..0, format!("{note}\n{note}\n").into_bytes());
            Act::Say(bytes)
        }
        _ => legacy(request),
    });
    let (connection, ensemble, tools) = fixture.connected().await;
    let refresh = || converse_ensemble::Connection::refresh(connection.as_ref(), &ensemble);
    assert!(refresh().await.is_none());
    call(&tools[0], json!({})).await.unwrap();
    tokio::task::yield_now().await;
    let fresh = refresh().await.unwrap();
    assert_eq!(fresh.len(), 1);
    assert_eq!(fresh[0].qualified, "fake.fresh");
    assert!(refresh().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_modern_server_is_asked_to_tell_of_changes() {
    let mut subscription = Value::Null;
    let mut changed = false;
    let fixture = Fixture::new(move |_, request| match request["method"].as_str() {
        Some("server/discover") => {
            let Act::Say(bytes) = modern(request) else { unreachable!() };
            let text = String::from_utf8(bytes).unwrap();
            Act::Say(text.replace(r#""tools":{}"#, r#""tools":{"listChanged":true}"#).into())
        }
        Some("subscriptions/listen") => {
            subscription = request["id"].clone();
            let note = json!({
                "jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged",
                "params": {
                    "notifications": { "toolsListChanged": true },
                    "_meta": { "io.modelcontextprotocol/subscriptionId": subscription },
                },
            });
            Act::Say(format!("{note}\n").into())
        }
        Some("tools/list") if changed => result(request, &json!({ "tools": [tool("fresh")] })),
        Some("tools/call") if !subscription.is_null() => {
            changed = true;
            let Act::Say(mut bytes) = legacy(request) else { unreachable!() };
            let note = json!({
                "jsonrpc": "2.0", "method": "notifications/tools/list_changed",
                "params": { "_meta": { "io.modelcontextprotocol/subscriptionId": subscription } },
            });
            bytes.splice(0..0, format!("{note}\n").into_bytes());
            Act::Say(bytes)
        }
        _ => modern(request),
    });
    let (connection, ensemble, tools) = fixture.connected().await;
    let refresh = || converse_ensemble::Connection::refresh(connection.as_ref(), &ensemble);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(refresh().await.is_none());
    call(&tools[0], json!({})).await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(refresh().await.unwrap()[0].qualified, "fake.fresh");
}

#[tokio::test(start_paused = true)]
async fn disconnecting_is_final_and_harmless() {
    let fixture = Fixture::new(|_, request| legacy(request));
    let (_connection, ensemble) = fixture.open();
    ensemble.disconnect().await;
    assert_eq!(fixture.fake.starts(), 0, "never connected");
    let fixture = Fixture::new(|_, request| legacy(request));
    let (_connection, ensemble, tools) = fixture.connected().await;
    ensemble.disconnect().await;
    ensemble.disconnect().await;
    let gone = call(&tools[0], json!({})).await;
    let Err(InvokeError::Unreachable { message, sent: false }) = gone else { panic!("{gone:?}") };
    assert!(message.ends_with("the server was disconnected"), "{message}");
    assert_eq!(fixture.fake.starts(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_lazy_server_is_started_by_its_first_call() {
    let mut fixture = Fixture::new(|_, request| legacy(request));
    fixture.plan.lazy = true;
    let (first, _ensemble, tools) = fixture.connected().await;
    assert_eq!(fixture.fake.starts(), 1, "its tools are not known yet");
    let known: Vec<_> = tools.iter().map(|tool| tool.declaration.clone()).collect();
    converse_ensemble::Connection::disconnect(first.as_ref()).await;
    let (connection, ensemble, tools) = fixture.connected().await;
    assert_eq!(tools.iter().map(|tool| tool.declaration.clone()).collect::<Vec<_>>(), known);
    assert_eq!((fixture.fake.starts(), connection.survey()), (1, None));
    assert!(ensemble.refresh().await.is_none(), "nothing is started to look for changes");
    let begun = Instant::now();
    let calls = (0..5).map(|_| call(&tools[0], json!({})));
    assert!(futures_util::future::join_all(calls).await.iter().all(Result::is_ok));
    assert_eq!((fixture.fake.starts(), begun.elapsed()), (2, Duration::ZERO), "one start, without any wait");
    // What was remembered may be old: the tools are listed again before the next call of a model.
    assert_eq!(ensemble.refresh().await.map(|tools| tools.len()), Some(known.len()));
}

#[tokio::test(start_paused = true)]
async fn a_lazy_server_that_cannot_be_started_says_so_when_it_is_needed() {
    let mut fixture = Fixture::new(|start, request| if start == 1 { legacy(request) } else { Act::Exit });
    fixture.plan.lazy = true;
    fixture.connected().await;
    let (_connection, _ensemble, tools) = fixture.connected().await;
    let Err(InvokeError::Unreachable { message, sent: false }) = call(&tools[0], json!({})).await else {
        panic!()
    };
    assert!(message.contains("not sent: the server "), "{message}");
}

#[tokio::test(start_paused = true)]
async fn a_damaged_memory_of_tools_is_none() {
    for damaged in ["", "{}", "[1", "null"] {
        let mut fixture = Fixture::new(|_, request| legacy(request));
        fixture.plan.lazy = true;
        fixture.lists.0.lock().unwrap().insert("list".to_owned(), damaged.to_owned());
        let (connection, ..) = fixture.connected().await;
        assert!(connection.survey().is_some(), "{damaged}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_lazy_server_that_fails_is_tried_again_by_each_call_after_a_delay() {
    let mut fixture = Fixture::new(|start, request| if start == 1 { legacy(request) } else { Act::Exit });
    fixture.plan.lazy = true;
    fixture.eras.0.lock().unwrap().insert("key".to_owned(), crate::Era::Legacy);
    fixture.protocol = converse_config::Protocol::Legacy;
    fixture.connected().await;
    let (_connection, _ensemble, tools) = fixture.connected().await;
    for (attempt, waited) in [0, 200, 400, 800, 1000, 1000].into_iter().enumerate() {
        let begun = Instant::now();
        assert!(call(&tools[0], json!({})).await.is_err());
        assert_eq!((fixture.fake.starts(), begun.elapsed().as_millis()), (attempt + 2, waited));
    }
}

/// As some servers greet: it is worth one look, and no more.
#[tokio::test(start_paused = true)]
async fn a_burst_of_changes_is_one_list() {
    let lists = std::sync::Arc::<std::sync::atomic::AtomicUsize>::default();
    let count = std::sync::Arc::clone(&lists);
    let fixture = Fixture::new(move |_, request| match request["method"].as_str() {
        Some("notifications/initialized") => {
            let note = json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" });
            Act::Say(format!("{note}\n").repeat(5).into())
        }
        Some("tools/list") => {
            count.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            legacy(request)
        }
        _ => legacy(request),
    });
    let (_connection, ensemble, tools) = fixture.connected().await;
    call(&tools[0], json!({})).await.unwrap();
    assert!(ensemble.refresh().await.is_some());
    for _ in 0..5 {
        assert!(ensemble.refresh().await.is_none());
    }
    assert_eq!(lists.load(std::sync::atomic::Ordering::SeqCst), 2, "when it was connected, and once more");
}

/// It says that its tools have changed with each call, and `list` is what it does when it is asked for them again.
fn changing(list: impl Fn(&Value) -> Act + Send + 'static) -> Fixture {
    let mut listed = false;
    Fixture::new(move |_, request| match request["method"].as_str() {
        Some("tools/list") if listed => list(request),
        Some("tools/list") => {
            listed = true;
            legacy(request)
        }
        Some("tools/call") => {
            let Act::Say(mut bytes) = legacy(request) else { unreachable!() };
            let note = json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" });
            bytes.splice(0..0, format!("{note}\n").into_bytes());
            Act::Say(bytes)
        }
        _ => legacy(request),
    })
}

#[tokio::test(start_paused = true)]
async fn a_change_is_not_lost_when_the_list_cannot_be_had() {
    // Twice silent, then there.
    let requests = std::sync::atomic::AtomicUsize::new(0);
    let fixture =
        changing(move |request| match requests.fetch_add(1, std::sync::atomic::Ordering::Relaxed) {
            0 | 1 => Act::Nothing,
            _ => result(request, &json!({ "tools": [tool("fresh")] })),
        });
    let (_connection, ensemble, tools) = fixture.connected().await;
    call(&tools[0], json!({})).await.unwrap();
    tokio::task::yield_now().await;
    // Whoever asked is gone before the answer is there: Ctrl-C.
    assert!(tokio::time::timeout(Duration::from_secs(1), ensemble.refresh()).await.is_err());
    let begun = Instant::now();
    assert!(ensemble.refresh().await.is_none());
    assert_eq!(begun.elapsed().as_secs(), 4, "less than it would be given");
    let warnings = fixture.warnings.lock().unwrap().clone();
    let warning = "ensemble `fake`: its tools have changed and could not be listed again: the server did not answer `tools/list` within 4 s";
    assert_eq!(warnings, [warning]);
    assert_eq!(ensemble.refresh().await.unwrap()[0].qualified, "fake.fresh");
    assert!(ensemble.refresh().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_list_that_cannot_be_had_is_not_asked_for_for_ever() {
    let fixture = changing(|_| Act::Nothing);
    let (_connection, ensemble, tools) = fixture.connected().await;
    call(&tools[0], json!({})).await.unwrap();
    tokio::task::yield_now().await;
    let begun = Instant::now();
    for _ in 0..10 {
        assert!(ensemble.refresh().await.is_none());
    }
    assert_eq!(begun.elapsed().as_secs(), 12, "three times");
    assert_eq!(fixture.warnings.lock().unwrap().len(), 1, "told once");
    call(&tools[0], json!({})).await.unwrap();
    tokio::task::yield_now().await;
    assert!(ensemble.refresh().await.is_none());
    assert_eq!(begun.elapsed().as_secs(), 16, "once more, because it said again that they have changed");
}
