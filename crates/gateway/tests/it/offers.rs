//! What servers offer beside tools, and their questions, through the gateway.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use converse_config::{LogLevel, Permission, Rule};
use converse_ensemble::{OfferKind, ServerLog, ServerNotice};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::stage::{Client, Library, Set, allow, modern};

pub(crate) fn libraries() -> [Option<Library>; 2] {
    let one = Library {
        resources: vec!["x://a", "x://shared"],
        templates: vec!["x://t/{id}"],
        prompts: vec!["greet", "bare"],
        ..Library::default()
    };
    let two =
        Library { resources: vec!["x://shared", "y://b"], prompts: vec!["greet"], ..Library::default() };
    [Some(one), Some(two)]
}

fn asking() -> Set {
    Set { of_two: vec!["asks".to_owned()], ..Set::default() }
}

fn names(list: &Value, of: &str, key: &str) -> Vec<String> {
    let entries = list["result"][of].as_array().unwrap_or_else(|| panic!("{list}"));
    entries.iter().map(|entry| entry[key].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn resources_prompts_and_completions_are_those_of_the_servers() {
    for era in ["legacy", "modern"] {
        let stage = Set { libraries: libraries(), ..Set::default() }.up().await;
        let mut client = stage.client();
        let meta = if era == "legacy" { json!({}) } else { modern() };
        if era == "legacy" {
            let told = client.initialize().await["result"]["capabilities"].clone();
            assert_eq!(told["resources"], json!({ "subscribe": true, "listChanged": true }));
            assert_eq!(
                (&told["prompts"], &told["completions"]),
                (&json!({ "listChanged": true }), &json!({}))
            );
        }
        let mut number = 0;
        let mut ask = async |method: &str, mut params: Value| {
            params["_meta"] = meta.clone();
            number += 1;
            client.request(number, method, params).await;
            client.answer(number).await
        };
        let resources = ask("resources/list", json!({})).await;
        assert_eq!(names(&resources, "resources", "uri"), ["x://a", "x://shared", "y://b"]);
        assert_eq!(resources["result"]["resources"][0]["_meta"], json!({ "x/y": 1 }), "unchanged");
        let templates = ask("resources/templates/list", json!({})).await;
        assert_eq!(names(&templates, "resourceTemplates", "uriTemplate"), ["x://t/{id}"]);
        let prompts = ask("prompts/list", json!({})).await;
        assert_eq!(names(&prompts, "prompts", "name"), ["one__greet", "one__bare", "two__greet"]);
        for (uri, text) in
            [("x://a", "of one"), ("x://shared", "of one"), ("y://b", "of two"), ("x://t/5", "of one")]
        {
            let read = ask("resources/read", json!({ "uri": uri })).await;
            assert_eq!(read["result"]["contents"], json!([{ "uri": uri, "text": text }]), "{era} {read}");
        }
        for uri in ["x://t/missing", "z://nowhere"] {
            let missing = ask("resources/read", json!({ "uri": uri })).await;
            let code = if era == "legacy" { -32002 } else { -32602 };
            assert_eq!(missing["error"]["code"], code, "{missing}");
        }
        let prompt = ask("prompts/get", json!({ "name": "two__greet", "arguments": { "a": "b" } })).await;
        let text = &prompt["result"]["messages"][0]["content"]["text"];
        assert_eq!(*text, r#""greet" of two with {"a":"b"}"#, "{prompt}");
        let missing = ask("prompts/get", json!({ "name": "greet" })).await;
        assert_eq!(missing["error"]["code"], -32602, "{missing}");
        let argument = json!({ "name": "a", "value": "" });
        let of = json!({ "type": "ref/prompt", "name": "two__greet" });
        let completed = ask("completion/complete", json!({ "ref": of, "argument": argument })).await;
        let values = &completed["result"]["completion"];
        assert_eq!(values["hasMore"], true, "{completed}");
        assert_eq!(values["values"], json!(["two", r#"{"type":"ref/prompt","name":"greet"}"#]));
        let of = json!({ "type": "ref/resource", "uri": "x://t/{id}" });
        let completed = ask("completion/complete", json!({ "ref": of, "argument": argument })).await;
        assert_eq!(completed["result"]["completion"]["values"][0], "one", "{completed}");
        let heard = stage.heard.all();
        let finished = heard
            .iter()
            .filter(|line| line.starts_with("finished ok") || line.starts_with("finished success"));
        assert_eq!(finished.count(), 7, "each is recorded once: {heard:#?}");
        assert!(heard.iter().any(|line| line.contains("one__read_resource")), "{heard:#?}");
    }
}

#[tokio::test]
async fn unique_prompts_have_bare_names_if_names_are_bare() {
    let stage = Set { libraries: libraries(), bare_names: true, ..Set::default() }.up().await;
    let mut client = stage.client();
    client.initialize().await;
    client.request(1, "prompts/list", json!({})).await;
    let prompts = client.answer(1).await;
    assert_eq!(names(&prompts, "prompts", "name"), ["one__greet", "bare", "two__greet"]);
}

#[tokio::test]
async fn what_the_rules_do_not_allow_is_not_read() {
    let deny = Rule::new("two.read_resource", Permission::Deny, "test").unwrap();
    let rules = vec![allow("one.get_prompt"), allow("two.*"), deny];
    let stage = Set { libraries: libraries(), rules, ..Set::default() }.up().await;
    let mut client = stage.client();
    client.initialize().await;
    for (id, method, params, is_refused) in [
        (1, "resources/read", json!({ "uri": "x://a" }), true),
        (2, "resources/read", json!({ "uri": "y://b" }), true),
        (3, "resources/subscribe", json!({ "uri": "y://b" }), true),
        (4, "resources/subscribe", json!({ "uri": "x://a" }), true),
        (5, "prompts/get", json!({ "name": "one__greet" }), false),
        (6, "prompts/get", json!({ "name": "two__greet" }), false),
    ] {
        client.request(id, method, params).await;
        let answer = client.answer(id).await;
        assert_eq!(answer["error"]["code"] == -32052, is_refused, "{answer}");
    }
    let heard = stage.heard.all().join(" ");
    assert!(heard.contains("decided false") && !heard.contains("started r1"), "{heard}");
}

#[tokio::test]
async fn changes_and_logs_reach_the_clients_that_want_them() {
    let libraries = libraries();
    let (notices, asked) = (libraries[0].clone().unwrap().notices, libraries[0].clone().unwrap().asked);
    let stage = Set { libraries, ..Set::default() }.up().await;
    let mut client = stage.client();
    client.initialize().await;
    client.request(1, "resources/subscribe", json!({ "uri": "x://a" })).await;
    assert_eq!(client.answer(1).await["result"], json!({}));
    client.request(2, "logging/setLevel", json!({ "level": "warning" })).await;
    client.answer(2).await;
    let log = |level, data: &str| {
        ServerNotice::Log(ServerLog { level, logger: Some("l".to_owned()), data: json!(data) })
    };
    for notice in [
        log(LogLevel::Info, "quiet"),
        log(LogLevel::Error, "loud"),
        ServerNotice::Changed(OfferKind::Resources),
        ServerNotice::Changed(OfferKind::Prompts),
        ServerNotice::Updated { uri: "x://shared".to_owned() },
        ServerNotice::Updated { uri: "x://a".to_owned() },
    ] {
        notices.send(notice);
    }
    let mut heard = Vec::new();
    for _ in 0..4 {
        let next = client.until(|message| message.get("method").is_some()).await;
        heard.push(format!("{} {}", next["method"].as_str().unwrap(), next["params"]));
    }
    assert_eq!(
        heard,
        [
            r#"notifications/message {"level":"error","logger":"l","data":"loud"}"#,
            "notifications/resources/list_changed null",
            "notifications/prompts/list_changed null",
            r#"notifications/resources/updated {"uri":"x://a"}"#,
        ]
    );
    client.request(3, "resources/unsubscribe", json!({ "uri": "x://a" })).await;
    client.answer(3).await;
    client.request(4, "ping", json!({})).await;
    client.answer(4).await;
    assert_eq!(*asked.lock().unwrap(), ["+x://a", "level Warning", "-x://a"]);
}

#[tokio::test]
async fn a_listener_gets_what_it_asks_for() {
    let libraries = libraries();
    let notices = libraries[0].clone().unwrap().notices;
    let stage = Set { libraries, ..Set::default() }.up().await;
    let mut client = stage.client();
    let wanted = json!({ "promptsListChanged": true, "resourceSubscriptions": ["x://a"] });
    client.request(1, "subscriptions/listen", json!({ "notifications": wanted, "_meta": modern() })).await;
    let told = client.until(|message| message["method"] == "notifications/subscriptions/acknowledged").await;
    assert_eq!(told["params"]["notifications"], wanted, "{told}");
    client.request(2, "tools/list", json!({ "_meta": modern() })).await;
    client.answer(2).await;
    notices.send(ServerNotice::Changed(OfferKind::Resources));
    notices.send(ServerNotice::Changed(OfferKind::Prompts));
    notices.send(ServerNotice::Updated { uri: "x://a".to_owned() });
    let changed = client.until(|message| message.get("method").is_some()).await;
    assert_eq!(changed["method"], "notifications/prompts/list_changed", "{changed}");
    let updated = client.until(|message| message.get("method").is_some()).await;
    assert_eq!(updated["params"]["uri"], "x://a", "{updated}");
}

#[tokio::test]
async fn an_update_is_that_of_the_server_whose_resource_is_followed() {
    let libraries = libraries();
    let [one, two] = libraries.clone().map(|library| library.unwrap().notices);
    let stage = Set { libraries, ..Set::default() }.up().await;
    let (mut client, mut listener) = (stage.client(), stage.client());
    client.initialize().await;
    client.request(1, "resources/subscribe", json!({ "uri": "x://shared" })).await;
    assert_eq!(client.answer(1).await["result"], json!({}));
    let wanted = json!({ "promptsListChanged": true, "resourceSubscriptions": ["x://shared"] });
    listener.request(1, "subscriptions/listen", json!({ "notifications": wanted, "_meta": modern() })).await;
    listener.until(|message| message["method"] == "notifications/subscriptions/acknowledged").await;
    listener.request(2, "tools/list", json!({ "_meta": modern() })).await;
    listener.answer(2).await;
    let updated = || ServerNotice::Updated { uri: "x://shared".to_owned() };
    two.send(updated());
    two.send(ServerNotice::Changed(OfferKind::Prompts));
    for client in [&mut client, &mut listener] {
        let next = client.until(|message| message.get("method").is_some()).await;
        assert_eq!(next["method"], "notifications/prompts/list_changed", "the resource is that of `one`");
    }
    one.send(updated());
    for client in [&mut client, &mut listener] {
        let next = client.until(|message| message.get("method").is_some()).await;
        assert_eq!(next["params"]["uri"], "x://shared", "{next}");
    }
}

#[tokio::test]
async fn a_second_client_waits_for_the_subscription_that_it_shares() {
    let mut libraries = libraries();
    let (refuses, one) = (Arc::new(Notify::new()), libraries[0].as_mut().unwrap());
    one.refuses = Some(Arc::clone(&refuses));
    let asked = Arc::clone(&one.asked);
    let stage = Set { libraries, ..Set::default() }.up().await;
    let (mut first, mut second) = (stage.client(), stage.client());
    for client in [&mut first, &mut second] {
        client.initialize().await;
        client.request(1, "resources/subscribe", json!({ "uri": "x://a" })).await;
        client.request(2, "ping", json!({})).await;
        client.answer(2).await;
    }
    for client in [&mut first, &mut second] {
        refuses.notify_one();
        assert_eq!(client.answer(1).await["error"]["code"], -32603);
    }
    assert_eq!(*asked.lock().unwrap(), ["+x://a", "+x://a"], "nothing is ended that was not begun");
}

#[tokio::test(start_paused = true)]
async fn unknown_names_make_the_gateway_list_its_servers_at_most_once_in_a_second() {
    let libraries = libraries();
    let [one, two] = libraries.clone().map(Option::unwrap);
    let stage = Set { libraries, ..Set::default() }.up().await;
    let mut client = stage.client();
    client.initialize().await;
    let mut number = 0;
    let mut ask = async |client: &mut Client, method: &str, params: Value| {
        number += 1;
        client.request(number, method, params).await;
        client.answer(number).await
    };
    for n in 0..5 {
        ask(&mut client, "prompts/get", json!({ "name": format!("unknown {n}") })).await;
        ask(&mut client, "resources/read", json!({ "uri": format!("z://{n}") })).await;
        ask(&mut client, "prompts/list", json!({})).await;
    }
    let listed = |library: &Library| library.listed.load(Ordering::SeqCst);
    assert_eq!((listed(&one), listed(&two)), (3, 3), "prompts, resources and templates once");
    // What a server announces is listed at once.
    two.notices.send(ServerNotice::Changed(OfferKind::Prompts));
    client.until(|message| message["method"] == "notifications/prompts/list_changed").await;
    ask(&mut client, "prompts/list", json!({})).await;
    assert_eq!((listed(&one), listed(&two)), (3, 4));
    tokio::time::advance(Duration::from_secs(1)).await;
    ask(&mut client, "prompts/get", json!({ "name": "unknown" })).await;
    assert_eq!((listed(&one), listed(&two)), (4, 5));
}

#[tokio::test]
async fn a_client_of_either_era_answers_the_question_of_a_server() {
    let stage = asking().up().await;
    let mut client = stage.client();
    client.initialize_with(json!({ "elicitation": {} })).await;
    client.call(1, "two__asks", json!({})).await;
    let question = client.until(|message| message["method"] == "elicitation/create").await;
    assert_eq!(question["params"]["message"], "Who?");
    let answer = json!({ "action": "accept", "content": { "name": "Ada" } });
    client.say(json!({ "jsonrpc": "2.0", "id": question["id"], "result": answer })).await;
    let result = client.answer(1).await;
    let text: Value = serde_json::from_str(result["result"]["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(text, answer, "{result}");

    let stage = asking().up().await;
    let mut client = stage.client();
    let mut meta = modern();
    meta["io.modelcontextprotocol/clientCapabilities"] = json!({ "elicitation": { "form": {} } });
    client.request(1, "tools/call", json!({ "name": "two__asks", "arguments": {}, "_meta": meta })).await;
    let asked = client.answer(1).await;
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    assert_eq!(asked["result"]["inputRequests"]["q"]["params"]["message"], "Who?");
    let params = json!({ "name": "two__asks", "arguments": {}, "_meta": meta,
        "requestState": asked["result"]["requestState"], "inputResponses": { "q": answer } });
    client.request(2, "tools/call", params).await;
    let result = client.answer(2).await;
    assert_eq!(result["result"]["content"][0]["text"], json!([{ "q": answer }, "s"]).to_string(), "{result}");
    // What a server says of an answer is an error of the protocol, and in the records a call that failed.
    let params = json!({ "name": "two__asks", "arguments": {}, "_meta": meta, "requestState": "forged" });
    client.request(3, "tools/call", params).await;
    let refused = client.answer(3).await;
    assert_eq!(refused["error"], json!({ "code": -32602, "message": "Not my state", "data": { "x": 1 } }));
    assert!(stage.heard.all().last().unwrap().contains("finished failed"), "{:?}", stage.heard.all());
}

#[tokio::test]
async fn a_client_that_declares_nothing_is_not_asked() {
    for era in ["legacy", "modern"] {
        let stage = asking().up().await;
        let mut client = stage.client();
        let meta = if era == "legacy" { json!({}) } else { modern() };
        if era == "legacy" {
            client.initialize().await;
        }
        client.request(1, "tools/call", json!({ "name": "two__asks", "arguments": {}, "_meta": meta })).await;
        let result = client.answer(1).await;
        // Servers of the newer era log only if they are asked to, and an older client does not say so with each call.
        let logs = if era == "legacy" { "Some(Debug)" } else { "None" };
        let text = format!("it cannot ask, and logs {logs}");
        assert_eq!(result["result"]["content"][0]["text"], text, "{era} {result}");
    }
}
