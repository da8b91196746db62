//! What a reload changes for calls that wait and for streams that are open.

use std::sync::atomic::Ordering;
use std::time::Duration;

use converse_config::{Permission, Rule};
use converse_ensemble::{OfferKind, ServerNotice};
use converse_gateway::Change;
use converse_testkit::hang_guard::ends;
use serde_json::{Value, json};

use crate::offers::libraries;
use crate::stage::{Client, Library, Set, Stage, allow, modern};
use crate::views::{client, views};

/// Serves the same as before.
fn same(stage: &Stage) -> Change {
    let ensembles = stage.roster.ensembles().to_vec();
    Change { rules: None, views: None, budget: None, ensembles, upstreams: Vec::new() }
}

async fn cancel(client: &Client, id: u64) {
    let params = json!({ "requestId": id });
    client.say(json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params })).await;
}

#[tokio::test]
async fn a_call_that_waited_runs_what_its_view_has_at_its_turn() {
    let view = |entries: &[(&str, &str, &str)]| {
        let entries = entries.iter().map(|(tool, name, text)| {
            format!(", {{ tool = \"{tool}\", name = \"{name}\", arguments = {{ text = \"{text}\" }} }}")
        });
        let entries = entries.collect::<String>();
        views(&format!("[[views]]\nname = \"v\"\ntools = [\"one.waits\"{entries}]\n"))
    };
    let before = [("one.echo", "say", "old"), ("one.echo", "gone", "old"), ("one.echo", "other", "old")];
    let stage = Set { max_calls: 1, views: view(&before), ..Set::default() }.up().await;
    let (mut client, _) = client(&stage, "v").await;
    for (id, tool) in [(1, "one__waits"), (2, "say"), (3, "gone"), (4, "other")] {
        client.call(id, tool, json!({})).await;
        stage.running(usize::try_from(id).unwrap()).await;
    }
    let now = view(&[("one.echo", "say", "new"), ("two.other", "other", "new")]);
    stage.gateway.take_over(Change { views: Some(now), ..same(&stage) }).await;
    cancel(&client, 1).await;
    assert_eq!(client.answer(2).await["result"]["content"][0]["text"], "new");
    for (id, why) in [(3, "unknown tool: gone"), (4, "`other` is another tool now; nothing was run")] {
        let refused = client.answer(id).await;
        assert_eq!(refused["error"], json!({ "code": -32602, "message": why }));
    }
    let unrun = stage.heard.all().iter().filter(|line| line.starts_with("unrun no_such_tool")).count();
    assert_eq!(unrun, 2, "{:?}", stage.heard.all());
}

/// `alone` runs, and may not run at the same time as other tools.
#[tokio::test]
async fn a_call_that_waited_for_a_tool_that_runs_alone_is_judged_at_its_turn() {
    let view = |entries: &[(&str, &str, &str)]| {
        let entries = entries.iter().map(|(tool, name, text)| {
            format!(", {{ tool = \"two.{tool}\", name = \"{name}\", arguments = {{ text = \"{text}\" }} }}")
        });
        let entries = entries.collect::<String>();
        views(&format!("[[views]]\nname = \"v\"\ntools = [\"two.alone\", \"two.alone_no\"{entries}]\n"))
    };
    let before = [("alone_echo", "say", "old"), ("echo", "side", "old"), ("alone_echo", "gone", "old")];
    let of_two = ["alone", "alone_no", "alone_echo", "echo"].map(str::to_owned).to_vec();
    let stage = Set { views: view(&before), of_two, ..Set::default() }.up().await;
    let (mut client, _) = client(&stage, "v").await;
    client.call(1, "two__alone", json!({})).await;
    stage.started(1).await;
    for (id, tool) in [(2, "say"), (3, "side"), (4, "gone"), (5, "two__alone_no"), (6, "say")] {
        client.call(id, tool, json!({})).await;
        stage.running(usize::try_from(id).unwrap()).await;
    }
    client.call(7, "two__alone_no", json!({ "text": 5 })).await;
    let invalid = client.answer(7).await;
    assert_eq!(invalid["result"]["isError"], true, "it does not wait: {invalid}");
    cancel(&client, 6).await;
    let of_cancelled = || stage.heard.all().iter().any(|line| line.starts_with("unrun cancelled"));
    ends("waiting for a call to be taken back", async {
        while !of_cancelled() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
    let now = view(&[("alone_echo", "say", "new"), ("echo", "side", "new")]);
    let deny = Rule::new("two.alone_no", Permission::Deny, "test").unwrap();
    let rules = Some(vec![allow("*"), deny]);
    stage.gateway.take_over(Change { views: Some(now), rules, ..same(&stage) }).await;
    assert_eq!(stage.started.load(Ordering::SeqCst), 1, "the others wait");
    cancel(&client, 1).await;
    for id in [2, 3] {
        assert_eq!(client.answer(id).await["result"]["content"][0]["text"], "new");
    }
    assert_eq!(client.answer(4).await["error"]["message"], "unknown tool: gone");
    let refused = client.answer(5).await;
    let text = refused["result"]["content"][0]["text"].as_str().unwrap_or_default();
    assert!(text.starts_with("refused: not allowed by the rule"), "{refused}");
}

#[tokio::test]
async fn a_read_that_waited_goes_to_the_server_of_its_turn() {
    let stage = Set { max_calls: 1, libraries: libraries(), ..Set::default() }.up().await;
    let mut client = stage.client();
    client.initialize().await;
    client.call(1, "one__waits", json!({})).await;
    stage.running(1).await;
    for (id, uri) in [(2, "y://b"), (3, "x://a")] {
        client.request(id, "resources/read", json!({ "uri": uri })).await;
        stage.running(usize::try_from(id).unwrap()).await;
    }
    let library = Library { edition: ", second edition", ..libraries()[1].clone().unwrap() };
    let ensembles = vec![stage.other("two", library).await];
    stage.gateway.take_over(Change { ensembles, ..same(&stage) }).await;
    cancel(&client, 1).await;
    let read = client.answer(2).await;
    assert_eq!(read["result"]["contents"][0]["text"], "of two, second edition", "{read}");
    let refused = client.answer(3).await;
    assert_eq!(
        refused["error"]["message"], "the server is not served any more; nothing was run",
        "{refused}"
    );
}

#[tokio::test]
async fn a_stream_has_no_news_of_what_may_not_be_read_any_more() {
    let libraries = libraries();
    let notices = libraries[0].clone().unwrap().notices;
    let stage = Set { libraries, ..Set::default() }.up().await;
    let (mut old, mut listener) = (stage.client(), stage.client());
    old.initialize().await;
    old.request(1, "resources/subscribe", json!({ "uri": "x://a" })).await;
    assert_eq!(old.answer(1).await["result"], json!({}));
    let wanted = json!({ "promptsListChanged": true, "resourceSubscriptions": ["x://a"] });
    listener.request(1, "subscriptions/listen", json!({ "notifications": wanted, "_meta": modern() })).await;
    listener.until(|message| message["method"] == "notifications/subscriptions/acknowledged").await;
    listener.request(2, "tools/list", json!({ "_meta": modern() })).await;
    listener.answer(2).await;
    let news = async |client: &mut Client| -> Value {
        client.until(|message| message.get("method").is_some()).await["method"].take()
    };
    let deny = Rule::new("one.read_resource", Permission::Deny, "test").unwrap();
    for (rules, is_allowed) in [(vec![allow("*"), deny], false), (vec![allow("*")], true)] {
        stage.gateway.take_over(Change { rules: Some(rules), ..same(&stage) }).await;
        notices.send(ServerNotice::Updated { uri: "x://a".to_owned() });
        notices.send(ServerNotice::Changed(OfferKind::Prompts));
        for client in [&mut old, &mut listener] {
            if is_allowed {
                assert_eq!(news(client).await, "notifications/resources/updated");
            }
            assert_eq!(news(client).await, "notifications/prompts/list_changed", "allowed: {is_allowed}");
        }
    }
}
