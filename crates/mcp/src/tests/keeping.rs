use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use converse_config::Protocol;
use converse_ensemble::{InvokeError, Phase, Upstream, UpstreamState};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::McpConnection;
use crate::testing::{Act, Fixture, call, legacy, result, tool};

/// A fixture whose connection is kept, of one era, so that each attempt is one start.
fn kept(script: impl FnMut(usize, &Value) -> Act + Send + 'static) -> Fixture {
    let mut fixture = Fixture::new(script);
    (fixture.kept, fixture.protocol) = (true, Protocol::Legacy);
    fixture
}

/// A server that is there while the flag is set. It ends on every call of `other`.
fn present(is_there: &Arc<AtomicBool>) -> Fixture {
    let is_there = Arc::clone(is_there);
    kept(move |_, request| match request["params"]["name"].as_str() {
        Some("other") => Act::Exit,
        _ if is_there.load(Ordering::Relaxed) => legacy(request),
        _ => Act::Exit,
    })
}

/// Runs the keeper until the guard is dropped.
fn keep(connection: &Arc<McpConnection>) -> tokio_util::task::AbortOnDropHandle<()> {
    let connection = Arc::clone(connection);
    tokio_util::task::AbortOnDropHandle::new(tokio::spawn(async move { connection.keep_open().await }))
}

async fn until(upstream: &Upstream, wanted: impl Fn(&UpstreamState) -> bool) -> UpstreamState {
    upstream.watch().wait_for(|state| wanted(state)).await.unwrap().clone()
}

#[tokio::test(start_paused = true)]
async fn a_server_is_connected_in_the_background_and_again_whenever_it_is_lost() {
    let fixture = present(&Arc::new(AtomicBool::new(true)));
    let (connection, ensemble) = fixture.open();
    assert_eq!(ensemble.connect().await.unwrap_err().reason, "the server is being connected");
    assert_eq!(fixture.fake.starts(), 0, "connecting waits for nothing");
    let upstream = Arc::clone(connection.upstream().unwrap());
    let _keeper = keep(&connection);
    upstream.settled().await;
    let tools = ensemble.refresh().await.unwrap();
    assert!(ensemble.refresh().await.is_none(), "the list is taken over once");
    for restart in 0..12_u64 {
        assert_eq!(until(&upstream, |state| state.phase == Phase::Connected).await.restarts(), restart);
        assert!(call(&tools[0], json!({})).await.is_ok());
        let killed = call(&tools[1], json!({})).await;
        assert!(matches!(killed, Err(InvokeError::Interrupted(_))), "never sent again: {killed:?}");
        let down = until(&upstream, |state| state.phase == Phase::Down).await;
        assert!(down.reason.contains("closed the connection"), "{down:?}");
    }
    until(&upstream, |state| state.phase == Phase::Connected).await;
    let told = fixture.warnings.lock().unwrap().clone();
    assert_eq!(told.len(), 24, "one line for each change: {told:#?}");
    let lost =
        "ensemble `fake`: the connection was lost: the server closed the connection; it is opened again";
    assert!(told.iter().step_by(2).all(|line| line == lost), "{told:#?}");
    let back = |line: &String| line.starts_with("ensemble `fake` is connected after 0.");
    assert!(told.iter().skip(1).step_by(2).all(back), "{told:#?}");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_absent_at_the_start_is_found_when_it_comes() {
    let is_there = Arc::new(AtomicBool::new(false));
    let fixture = present(&is_there);
    let (connection, ensemble) = fixture.open();
    assert!(ensemble.connect().await.is_err());
    let upstream = Arc::clone(connection.upstream().unwrap());
    let begun = Instant::now();
    let _keeper = keep(&connection);
    let mut times = Vec::new();
    for attempt in 1..=11 {
        until(&upstream, |state| state.attempts == attempt).await;
        times.push(begun.elapsed().as_millis());
    }
    let delays: Vec<u128> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(delays, [200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000]);
    assert!(ensemble.refresh().await.is_none(), "there are no tools yet");
    is_there.store(true, Ordering::Relaxed);
    until(&upstream, |state| state.phase == Phase::Connected).await;
    assert_eq!(ensemble.refresh().await.unwrap().len(), 2);
    let told = fixture.warnings.lock().unwrap().clone();
    assert_eq!(told.len(), 2, "{told:#?}");
    assert!(told[0].starts_with("ensemble `fake`: it could not be connected: "), "{told:#?}");
    assert!(told[0].ends_with("; it is tried again until it can"), "{told:#?}");
    assert!(told[1].starts_with("ensemble `fake` is connected after 1"), "{told:#?}");
}

#[tokio::test(start_paused = true)]
async fn a_call_brings_the_next_attempt_forward_but_one_a_second() {
    let is_there = Arc::new(AtomicBool::new(true));
    let fixture = present(&is_there);
    let (connection, ensemble) = fixture.open();
    assert!(ensemble.connect().await.is_err());
    let upstream = Arc::clone(connection.upstream().unwrap());
    let _keeper = keep(&connection);
    upstream.settled().await;
    let tools = ensemble.refresh().await.unwrap();
    is_there.store(false, Ordering::Relaxed);
    assert!(call(&tools[1], json!({})).await.is_err());
    until(&upstream, |state| state.attempts == 10).await;
    let (before, begun) = (fixture.fake.starts(), Instant::now());
    for _ in 0..5 {
        let calls = (0..20).map(|_| call(&tools[0], json!({})));
        for answer in futures_util::future::join_all(calls).await {
            let Err(InvokeError::Unreachable { message, sent: false }) = answer else { panic!("{answer:?}") };
            assert!(message.starts_with("not sent: the server has been down for "), "{message}");
            assert!(message.contains(" s: the server "), "{message}");
        }
    }
    assert_eq!((fixture.fake.starts() - before, begun.elapsed().as_secs()), (5, 5));
    is_there.store(true, Ordering::Relaxed);
    assert!(call(&tools[0], json!({})).await.is_ok());
    assert_eq!(begun.elapsed().as_secs(), 6, "although the delay of the keeper is half a minute");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_leaves_does_not_end_the_start_that_it_asked_for() {
    let fixture = kept(|start, request| match (start, request["params"]["name"].as_str()) {
        (1, Some("other")) => Act::Exit,
        _ => legacy(request),
    });
    let (connection, ensemble) = fixture.open();
    assert!(ensemble.connect().await.is_err());
    let upstream = Arc::clone(connection.upstream().unwrap());
    let _keeper = keep(&connection);
    upstream.settled().await;
    let tools = ensemble.refresh().await.unwrap();
    assert!(call(&tools[1], json!({})).await.is_err());
    let brief = tokio::time::timeout(Duration::from_millis(1), call(&tools[0], json!({}))).await;
    assert!(brief.is_err());
    assert!(call(&tools[0], json!({})).await.is_ok());
    assert_eq!(fixture.fake.starts(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_hangs_costs_a_call_ten_seconds() {
    let fixture = kept(|start, request| match (start, request["params"]["name"].as_str()) {
        (1, Some("other")) => Act::Exit,
        (1, _) => legacy(request),
        _ => Act::Nothing,
    });
    let (connection, ensemble) = fixture.open();
    assert!(ensemble.connect().await.is_err());
    let upstream = Arc::clone(connection.upstream().unwrap());
    let _keeper = keep(&connection);
    upstream.settled().await;
    let tools = ensemble.refresh().await.unwrap();
    assert!(call(&tools[1], json!({})).await.is_err());
    let begun = Instant::now();
    let Err(InvokeError::Unreachable { message, sent: false }) = call(&tools[0], json!({})).await else {
        panic!()
    };
    assert_eq!(message, "not sent: the server has been down for 10.0 s: the server closed the connection");
    assert_eq!(begun.elapsed().as_secs(), 10);
}

#[tokio::test(start_paused = true)]
async fn the_tools_of_the_last_run_are_there_at_once_and_judged_by_the_lockfile() {
    // The second run finds another `echo`.
    let mut fixture = kept(|start, request| match request["method"].as_str() {
        Some("tools/list") if start > 1 => {
            let mut changed = tool("echo");
            changed["description"] = json!("does something else");
            result(request, &json!({ "tools": [changed, tool("other"), tool("fresh")] }))
        }
        _ => legacy(request),
    });
    fixture.verify_accepted = true;
    let (connection, ensemble) = fixture.open();
    assert!(ensemble.connect().await.is_err());
    {
        let _keeper = keep(&connection);
        connection.upstream().unwrap().settled().await;
        assert_eq!(ensemble.refresh().await.unwrap().len(), 2);
    }
    let (connection, ensemble) = fixture.open();
    let tools = ensemble.connect().await.unwrap();
    assert_eq!((tools.len(), fixture.fake.starts()), (2, 1), "nothing was started for the list");
    assert_eq!(ensemble.instructions().unwrap().text, "be kind");
    assert!(connection.upstream().unwrap().state().is_settled());
    let _keeper = keep(&connection);
    // Before the roster has the new list, the old tools are compared with it.
    let changed = call(&tools[0], json!({})).await;
    assert!(matches!(changed, Err(InvokeError::HeldBack(_))), "{changed:?}");
    assert!(call(&tools[1], json!({})).await.is_ok());
    assert_eq!(ensemble.refresh().await.unwrap().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_lazy_server_is_kept_idle_until_its_first_call() {
    let mut fixture = kept(|_, request| match request["params"]["name"].as_str() {
        Some("other") => Act::Exit,
        _ => legacy(request),
    });
    fixture.plan.lazy = true;
    let (connection, ensemble) = fixture.open();
    assert!(ensemble.connect().await.is_err());
    {
        let _keeper = keep(&connection);
        connection.upstream().unwrap().settled().await;
        assert!(ensemble.refresh().await.is_some());
    }
    let (connection, ensemble) = fixture.open();
    let tools = ensemble.connect().await.unwrap();
    let upstream = Arc::clone(connection.upstream().unwrap());
    let _keeper = keep(&connection);
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!((fixture.fake.starts(), upstream.state().phase), (1, Phase::Idle));
    assert!(call(&tools[0], json!({})).await.is_ok());
    assert!(call(&tools[1], json!({})).await.is_err());
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!((fixture.fake.starts(), upstream.state().phase), (2, Phase::Idle));
    assert!(upstream.state().is_usable());
    assert!(call(&tools[0], json!({})).await.is_ok());
    assert_eq!(fixture.warnings.lock().unwrap().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_keeper_ends_when_the_connection_is_disconnected() {
    let fixture = present(&Arc::new(AtomicBool::new(true)));
    let (connection, ensemble) = fixture.open();
    assert!(ensemble.connect().await.is_err());
    let keeper = keep(&connection);
    connection.upstream().unwrap().settled().await;
    let tools = ensemble.refresh().await.unwrap();
    ensemble.disconnect().await;
    keeper.await.unwrap();
    let gone = call(&tools[0], json!({})).await;
    let Err(InvokeError::Unreachable { message, sent: false }) = gone else { panic!("{gone:?}") };
    assert!(message.ends_with("the server was disconnected"), "{message}");
    assert_eq!(fixture.fake.starts(), 1);
}

/// As an agent starts the gateway in each of its projects.
#[tokio::test(start_paused = true)]
async fn the_tools_of_the_last_run_are_known_in_another_directory_but_not_to_a_lazy_server() {
    let mut fixture = kept(|_, request| legacy(request));
    fixture.kept = false;
    fixture.workspace = "/one".into();
    assert_eq!(fixture.connected().await.2.len(), 2);
    fixture.workspace = "/another".into();
    fixture.kept = true;
    let (connection, ensemble) = fixture.open();
    assert_eq!(ensemble.connect().await.unwrap().len(), 2);
    assert!(connection.upstream().unwrap().state().is_settled());
    assert_eq!(fixture.fake.starts(), 1);
    fixture.plan.lazy = true;
    let (_connection, ensemble) = fixture.open();
    assert!(ensemble.connect().await.is_err(), "it would be served until the first call");
}
