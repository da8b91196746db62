//! Servers that are connected later, lost and connected again.

use std::sync::Arc;
use std::time::Duration;

use converse_ensemble::Upstream;
use converse_gateway::{ServedUpstream, Upstreams};
use serde_json::{Value, json};

use crate::stage::{Set, Stage};

/// A gateway whose ensemble `two` is a server that is not connected yet.
struct Late {
    stage: Stage,
    upstream: Arc<Upstream>,
    _follower: tokio_util::task::AbortOnDropHandle<()>,
}

impl Late {
    async fn new(bare_names: bool) -> Self {
        let upstream = Arc::<Upstream>::default();
        let ensemble = "two".to_owned().try_into().unwrap();
        let served = ServedUpstream { ensemble, is_required: true, upstream: Arc::clone(&upstream) };
        let upstreams = Upstreams::new(vec![served]);
        let stage = Set { of_two: vec![], upstreams, bare_names, ..Set::default() }.up().await;
        let gateway = stage.gateway.clone();
        let follower = tokio::spawn(async move { gateway.follow_upstreams().await });
        Self { stage, upstream, _follower: tokio_util::task::AbortOnDropHandle::new(follower) }
    }

    fn comes(&self, tool: &str) {
        *self.stage.next.lock().unwrap() = Some(vec![tool.to_owned()]);
        self.upstream.connected();
    }
}

fn has(list: &Value, name: &str) -> bool {
    list["result"]["tools"].as_array().unwrap().iter().any(|tool| tool["name"] == name)
}

fn changes(message: &Value) -> bool {
    message["method"] == "notifications/tools/list_changed"
}

#[tokio::test(start_paused = true)]
async fn the_first_list_waits_for_servers_and_initialize_does_not() {
    let late = Late::new(false).await;
    let mut client = late.stage.client();
    let begun = client.initialize().await;
    let instructions = begun["result"]["instructions"].as_str().unwrap();
    assert!(instructions.starts_with("Tools of these groups: one, two."), "{instructions}");
    client.request(1, "tools/list", json!({})).await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(client.lines.is_empty(), "the list is not there yet");
    late.comes("fresh");
    assert!(has(&client.answer(1).await, "two__fresh"));
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(client.lines.is_empty(), "nothing has changed since");
    let counters = late.stage.gateway.counters().text();
    assert!(counters.contains("converse_upstream_up{ensemble=\"two\"} 1\n"), "{counters}");
}

#[tokio::test(start_paused = true)]
async fn a_list_without_a_server_that_hangs_is_answered_and_put_right_when_it_comes() {
    let late = Late::new(false).await;
    let mut client = late.stage.client();
    client.initialize().await;
    let begun = tokio::time::Instant::now();
    client.request(1, "tools/list", json!({})).await;
    assert!(!has(&client.answer(1).await, "two__fresh"));
    assert_eq!(begun.elapsed().as_secs(), 8);
    let counters = late.stage.gateway.counters().text();
    assert!(counters.contains("converse_upstream_up{ensemble=\"two\"} 0\n"), "{counters}");
    late.comes("fresh");
    client.until(changes).await;
    client.request(2, "tools/list", json!({})).await;
    assert!(has(&client.answer(2).await, "two__fresh"));
    // It is lost and comes back with the same tools, then with others.
    late.upstream.lost("killed".to_owned(), false);
    late.comes("fresh");
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(client.lines.is_empty(), "the list is the same");
    late.upstream.lost("killed".to_owned(), false);
    late.comes("other");
    client.until(changes).await;
    let counters = late.stage.gateway.counters().text();
    assert!(counters.contains("converse_upstream_restarts_total{ensemble=\"two\"} 2\n"), "{counters}");
}

#[tokio::test(start_paused = true)]
async fn a_call_of_a_server_that_was_never_there_asks_for_an_attempt() {
    for (bare, tool) in [(false, "two__fresh"), (true, "fresh")] {
        let late = Late::new(bare).await;
        late.upstream.failed("no such file".to_owned());
        let mut client = late.stage.client();
        client.initialize().await;
        client.call(1, if bare { "echo" } else { "one__echo" }, json!({ "text": "x" })).await;
        assert_eq!(client.answer(1).await["result"]["content"][0]["text"], "x", "others are served");
        client.call(2, tool, json!({ "text": "y" })).await;
        late.upstream.wanted().await;
        late.comes("fresh");
        assert_eq!(client.answer(2).await["result"]["content"][0]["text"], "y", "{tool}");
        client.call(3, "one__none", json!({})).await;
        assert_eq!(client.answer(3).await["error"]["code"], -32602);
    }
}

#[tokio::test]
async fn required_servers_decide_about_readiness() {
    let all: Vec<ServedUpstream> = [("needed", true), ("lazy", true), ("extra", false)]
        .map(|(name, is_required)| {
            let ensemble = name.to_owned().try_into().unwrap();
            ServedUpstream { ensemble, is_required, upstream: Arc::default() }
        })
        .into();
    let upstreams = Upstreams::new(all.clone());
    all[1].upstream.remembered(true);
    assert!(!upstreams.is_ready());
    all[0].upstream.connected();
    assert!(upstreams.is_ready());
    all[0].upstream.lost("exit status 1; the last line was: password hush".to_owned(), false);
    assert!(!upstreams.is_ready());
    let shown = upstreams.to_json();
    assert_eq!(
        shown[0],
        json!({ "ensemble": "needed", "state": "down", "required": true, "seconds": 0, "restarts": 0 })
    );
    assert_eq!((&shown[1]["state"], &shown[2]["state"]), (&json!("idle"), &json!("connecting")));
    assert!(upstreams.failure_of("needed").unwrap().contains("hush"), "for who redacts it");
    assert!(!shown.to_string().contains("hush"));
}
