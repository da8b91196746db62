//! Views: what their clients see, call, and cannot get around.

use std::sync::atomic::Ordering;
use std::time::Duration;

use converse_config::{Checked, Scope, SourceMap, ViewPlan, parse_settings};
use serde_json::{Value, json};

use crate::stage::{Client, Set, Stage};

pub(crate) fn views(text: &str) -> Vec<ViewPlan> {
    let mut sources = SourceMap::new();
    let id = sources.add("s.toml", Scope::User, text);
    let Checked { value, diagnostics } = parse_settings(&sources, id);
    assert_eq!(diagnostics, []);
    value.views
}

async fn up(text: &str) -> Stage {
    Set { views: views(text), ..Set::default() }.up().await
}

pub(crate) async fn client(stage: &Stage, view: &str) -> (Client, Value) {
    let views = stage.gateway.views();
    let (_, gateway) = views.iter().find(|(name, _)| name.as_str() == view).unwrap();
    let mut client = stage.client_of(gateway, Duration::from_secs(30));
    let begun = client.initialize().await;
    (client, begun)
}

async fn list(client: &mut Client) -> Vec<Value> {
    client.request("list", "tools/list", json!({})).await;
    client.answer("list").await["result"]["tools"].as_array().unwrap().clone()
}

fn names(list: &[Value]) -> Vec<&str> {
    list.iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

/// What a call is answered with: the text of a result, or the message of an error.
async fn call(client: &mut Client, tool: &str, arguments: Value) -> String {
    client.call(7, tool, arguments).await;
    let answer = client.answer(7).await;
    let said = &answer["result"]["content"][0]["text"];
    said.as_str().or(answer["error"]["message"].as_str()).unwrap_or_else(|| panic!("{answer}")).to_owned()
}

const SAY: &str = r#"
[[views]]
name = "say"
instructions = "Only say."
tools = [
    "two.*",
    { tool = "one.echo", name = "say", description = "Says it", arguments = { text = "fixed" } },
    { tool = "one.echo", name = "shout", arguments = { text = "FIXED" } },
    { tool = "one.fails" },
]

[views.permissions]
deny = ["one.fails"]

[[views.rules]]
tools = "one.echo"
decision = "deny"
arguments = { text = "FIXED" }
"#;

#[tokio::test]
async fn a_view_has_its_tools_under_its_names_and_nothing_else() {
    let stage = up(SAY).await;
    let (mut client, begun) = client(&stage, "say").await;
    let instructions = begun["result"]["instructions"].as_str().unwrap();
    assert!(instructions.starts_with("Only say.\n\n4 tools of these groups: one, two."), "{instructions}");
    let tools = list(&mut client).await;
    assert_eq!(names(&tools), ["one__fails", "say", "shout", "two__other"]);
    assert_eq!(tools[1]["description"], "Says it");
    assert_eq!(tools[1]["inputSchema"], json!({ "type": "object", "properties": {} }));
    assert_eq!(tools[3]["inputSchema"]["properties"], json!({ "text": { "type": "string" } }));
    assert_eq!(call(&mut client, "say", json!({})).await, "fixed");
    assert_eq!(call(&mut client, "two__other", json!({ "text": "hi" })).await, "hi");
    for other in ["one__echo", "one__long", "nobody"] {
        assert_eq!(call(&mut client, other, json!({})).await, format!("unknown tool: {other}"));
    }
    let heard = stage.heard.all();
    assert_eq!(heard[0], "asked inv_1_0 one__echo for tester 9 in view say");
    assert_eq!(heard[3], "finished success for tester 9 in view say");
    let counted = stage.gateway.counters().text();
    assert!(
        counted.contains("converse_calls_total{tool=\"one__echo\",view=\"say\",outcome=\"success\"} 1\n"),
        "{counted}"
    );
    // All tools are as they were.
    let mut whole = stage.client();
    whole.initialize().await;
    assert_eq!(list(&mut whole).await.len(), 11);
    assert_eq!(call(&mut whole, "one__echo", json!({ "text": "mine" })).await, "mine");
    assert_eq!(call(&mut whole, "one__fails", json!({})).await, "it did not work");
    assert!(!stage.heard.all().last().unwrap().contains("view"));
}

#[tokio::test]
async fn a_fixed_argument_cannot_be_given_and_rules_see_it() {
    let stage = up(SAY).await;
    let (mut client, _) = client(&stage, "say").await;
    for given in [json!({ "text": "mine" }), json!({ "text": "fixed" }), json!({ "text": null })] {
        let said = call(&mut client, "say", given).await;
        assert!(said.contains("`text` is not an argument of this tool"), "{said}");
    }
    // A second `text` in the same message is not read by anybody.
    client.bytes(
        "{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"tools/call\",\"params\":{\"name\":\"say\",\"arguments\":{\"x\":1,\"x\":2}}}\n",
    ).await;
    let twice = client.answer(8).await;
    assert_eq!(twice["result"]["isError"], true, "{twice}");
    let refused = call(&mut client, "shout", json!({})).await;
    assert!(refused.contains("not allowed by the rule"), "{refused}");
    let refused = call(&mut client, "one__fails", json!({})).await;
    assert!(refused.contains("not allowed by the rule"), "{refused}");
    assert_eq!(stage.started.load(Ordering::SeqCst), 0);
    let invalid = stage.heard.all().iter().filter(|line| line.starts_with("unrun invalid")).count();
    assert_eq!(invalid, 4, "{:?}", stage.heard.all());
}

#[tokio::test]
async fn a_search_finds_tools_and_calls_them_as_they_are_judged() {
    let text = r#"
        [[views]]
        name = "search"
        search = true
        tools = ["one.*", { tool = "two.other", name = "repeat_words", arguments = { text = "fixed" } }]
        permissions = { deny = ["one.fails"] }
    "#;
    let stage = up(text).await;
    let (mut client, begun) = client(&stage, "search").await;
    assert!(begun["result"]["instructions"].as_str().unwrap().contains("11 tools"), "{begun}");
    assert_eq!(names(&list(&mut client).await), ["call_tool", "find_tools"]);
    client.call(1, "find_tools", json!({ "query": "repeats some words", "limit": 1 })).await;
    let found = client.answer(1).await["result"]["structuredContent"].clone();
    let expected = json!({
        "name": "repeat_words",
        "description": "does other",
        "inputSchema": { "type": "object", "properties": {} },
    });
    assert_eq!(found, json!({ "tools": [expected], "of": 11 }));
    client.call(2, "find_tools", json!({ "query": "zebra" })).await;
    assert_eq!(client.answer(2).await["result"]["structuredContent"]["tools"], json!([]));
    assert!(stage.heard.all().is_empty(), "a search calls nothing");

    let inner = |name: &str, arguments: Value| json!({ "name": name, "arguments": arguments });
    for (arguments, said) in [
        (inner("one__echo", json!({ "text": "hi" })), "hi"),
        (json!({ "name": "repeat_words" }), "fixed"),
        (inner("repeat_words", json!({ "text": "mine" })), "`text` is not an argument of this tool"),
        (inner("one__echo", json!({ "text": 5 })), "/text"),
        (inner("one__fails", json!({})), "not allowed by the rule"),
        (inner("two__other", json!({})), "unknown tool: two__other"),
        (inner("call_tool", json!({ "name": "one__echo" })), "unknown tool: call_tool"),
        (inner("find_tools", json!({ "query": "x" })), "unknown tool: find_tools"),
        (json!({ "name": "one__echo", "arguments": "{}" }), "`arguments` must be an object"),
        (json!({ "tool": "one__echo" }), "invalid arguments: unknown field `tool`"),
    ] {
        let answer = call(&mut client, "call_tool", arguments.clone()).await;
        assert!(answer.contains(said), "{arguments}: {answer}");
    }
    let heard = stage.heard.all();
    assert_eq!(heard[0], "asked inv_1_0 one__echo for tester 9 in view search");
    assert_eq!(stage.started.load(Ordering::SeqCst), 2);
    assert_eq!(heard.iter().filter(|line| line.starts_with("unrun refused")).count(), 1, "{heard:?}");
    let counted = stage.gateway.counters().text();
    assert!(
        !counted.contains("call_tool") && counted.contains("tool=\"one__fails\",view=\"search\""),
        "{counted}"
    );
}

#[tokio::test]
async fn a_tool_that_a_view_cannot_serve_is_left_out() {
    let text = r#"
        [[views]]
        name = "odd"
        tools = [
            "one.list",
            "two.*",
            { tool = "one.echo", arguments = { texts = "a" } },
            { tool = "one.picture", arguments = { text = 5 } },
            { tool = "one.structured", name = "two__other" },
        ]
    "#;
    let stage = up(text).await;
    let (mut client, _) = client(&stage, "odd").await;
    assert_eq!(names(&list(&mut client).await), ["one__list"]);
    for name in ["one__echo", "one__picture", "two__other"] {
        assert_eq!(call(&mut client, name, json!({})).await, format!("unknown tool: {name}"));
    }
    assert_eq!(stage.started.load(Ordering::SeqCst), 0);
}

#[tokio::test(start_paused = true)]
async fn clients_hear_of_changes_of_their_view() {
    let text = "[[views]]\nname = \"one\"\ntools = [\"one\"]\n[[views]]\nname = \"two\"\ntools = [\"two\"]\n";
    let stage = up(text).await;
    let ((mut one, _), (mut two, _)) = (client(&stage, "one").await, client(&stage, "two").await);
    assert_eq!((list(&mut one).await.len(), list(&mut two).await.len()), (10, 1));
    *stage.next.lock().unwrap() = Some(vec!["changed".to_owned()]);
    two.until(|message| message["method"] == "notifications/tools/list_changed").await;
    assert_eq!(names(&list(&mut two).await), ["two__changed"]);
    // Time for several checks of the servers.
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(list(&mut one).await.len(), 10);
    assert!(one.told("notifications/tools/list_changed").is_empty());
}

#[tokio::test]
async fn the_clients_of_a_view_share_its_budget() {
    let stage = up("[[views]]\nname = \"few\"\ntools = [\"*\"]\n[views.budget]\nbytes_per_day = 5\n").await;
    let (mut one, _) = client(&stage, "few").await;
    let (mut two, _) = client(&stage, "few").await;
    assert_eq!(call(&mut one, "one__echo", json!({ "text": "long enough" })).await, "long enough");
    let refused = "the limit `bytes_per_day` is reached; nothing was run; try again in ";
    for client in [&mut one, &mut two] {
        let said = call(client, "one__echo", json!({ "text": "more" })).await;
        assert!(said.starts_with(refused), "{said}");
    }
    let mut all = stage.client();
    all.initialize().await;
    assert_eq!(call(&mut all, "one__echo", json!({ "text": "more" })).await, "more");
}
