//! The lists that clients are shown, how they hear of changes, and a client of the protocol library in both eras.

use std::time::Duration;

use converse_gateway::{NameConflict, Pipes, serve_stdio};
use converse_testkit::hang_guard::ends;
use rmcp::ClientServiceExt as _;
use rmcp::model::{CallToolRequestParams, ProtocolVersion};
use rmcp::service::ClientLifecycleMode;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::stage::{Set, modern};

fn names(list: &Value) -> Vec<&str> {
    let tools = list["result"]["tools"].as_array().unwrap();
    tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_list_has_all_that_is_known_of_each_tool_in_order() {
    let stage = Set::default().up().await;
    let mut client = stage.client();
    let begun = client.initialize().await;
    assert_eq!(begun["result"]["serverInfo"], json!({ "name": "converse", "version": "1.2.3" }));
    assert_eq!(begun["result"]["protocolVersion"], "2025-11-25");
    assert_eq!(begun["result"]["capabilities"], json!({ "logging": {}, "tools": { "listChanged": true } }));
    assert!(begun["result"]["instructions"].as_str().unwrap().contains("one, two"));
    client.request(1, "tools/list", json!({})).await;
    let list = client.answer(1).await;
    let mut sorted = names(&list);
    sorted.sort_unstable();
    assert_eq!((names(&list), sorted.len()), (sorted.clone(), 11));
    let tools = list["result"]["tools"].as_array().unwrap();
    let find = |name: &str| tools.iter().find(|tool| tool["name"] == name).unwrap();
    assert_eq!(
        *find("one__verbatim"),
        json!({
            "name": "one__verbatim",
            "title": "Word for word",
            "description": "does verbatim",
            "inputSchema": { "type": "object", "properties": { "text": { "type": "string" } } },
            "annotations": { "readOnlyHint": true },
            "_meta": { "x/y": 1 },
        })
    );
    assert_eq!(find("two__other")["annotations"], json!({ "readOnlyHint": false, "openWorldHint": true }));
}

#[tokio::test]
async fn a_new_client_needs_no_handshake_and_is_told_how_long_a_list_holds() {
    let stage = Set::default().up().await;
    let mut client = stage.client();
    client.request(1, "server/discover", json!({ "_meta": modern() })).await;
    let found = client.answer(1).await;
    assert!(
        found["result"]["supportedVersions"].as_array().unwrap().contains(&json!("2026-07-28")),
        "{found}"
    );
    assert_eq!(found["result"]["capabilities"]["tools"], json!({ "listChanged": true }));
    client.request(2, "tools/list", json!({ "_meta": modern() })).await;
    let list = client.answer(2).await;
    assert_eq!(list["result"]["cacheScope"], "private");
    assert_eq!(list["result"]["resultType"], "complete");
    assert!(list["result"]["ttlMs"].is_u64(), "{list}");
    let mut meta = modern();
    meta["io.modelcontextprotocol/protocolVersion"] = json!("2099-01-01");
    client.request(3, "tools/list", json!({ "_meta": meta })).await;
    let refused = client.answer(3).await;
    assert_eq!(refused["error"]["code"], -32022, "{refused}");
}

#[tokio::test]
async fn long_lists_come_in_pages() {
    let of_two: Vec<String> = (0..1200).map(|n| format!("t{n}")).collect();
    let stage = Set { of_two, ..Set::default() }.up().await;
    let mut client = stage.client();
    client.initialize().await;
    let (mut all, mut cursor, mut pages) = (Vec::new(), Value::Null, 0);
    loop {
        let params = if cursor.is_null() { json!({}) } else { json!({ "cursor": cursor }) };
        client.request(1, "tools/list", params).await;
        let list = client.answer(1).await;
        all.extend(names(&list).iter().map(|name| (*name).to_owned()));
        pages += 1;
        cursor = list["result"]["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    all.dedup();
    assert_eq!((pages, all.len()), (3, 1210));
}

#[tokio::test]
async fn bare_names_are_bare_and_two_of_a_kind_are_an_error() {
    let stage = Set { bare_names: true, ..Set::default() }.up().await;
    let mut client = stage.client();
    client.initialize().await;
    client.request(1, "tools/list", json!({})).await;
    assert!(names(&client.answer(1).await).contains(&"other"));
    client.call(2, "other", json!({ "text": "hi" })).await;
    assert_eq!(client.answer(2).await["result"]["content"][0]["text"], "hi");
    client.call(3, "two__other", json!({})).await;
    assert_eq!(client.answer(3).await["error"]["code"], -32602);

    let set = || Set { of_two: vec!["echo".to_owned()], ..Set::default() };
    let clash = Set { bare_names: true, ..set() }.try_up().await.err();
    let (one, other) = ("one.echo".to_owned(), "two.echo".to_owned());
    assert_eq!(clash, Some(NameConflict { name: "echo".to_owned(), one, other }));
    assert!(set().try_up().await.is_ok(), "by their whole names they are two");
}

#[tokio::test(start_paused = true)]
async fn both_eras_hear_of_changes() {
    let stage = Set::default().up().await;
    let (mut old, mut new) = (stage.client(), stage.client());
    old.initialize().await;
    let params = json!({ "_meta": modern(), "notifications": { "toolsListChanged": true } });
    new.request("sub", "subscriptions/listen", params).await;
    new.until(|message| message["method"] == "notifications/subscriptions/acknowledged").await;
    *stage.next.lock().unwrap() = Some(vec!["changed".to_owned()]);
    for client in [&mut old, &mut new] {
        client.until(|message| message["method"] == "notifications/tools/list_changed").await;
    }
    old.request(1, "tools/list", json!({})).await;
    let list = old.answer(1).await;
    let names = names(&list);
    assert!(names.contains(&"two__changed") && !names.contains(&"two__other"), "{names:?}");
    old.call(2, "two__other", json!({})).await;
    assert_eq!(old.answer(2).await["error"]["code"], -32602);
}

#[tokio::test]
async fn the_library_s_own_client_is_served_in_both_eras() {
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    for mode in [ClientLifecycleMode::Initialize, ClientLifecycleMode::Discover { preferred_versions }] {
        let stage = Set::default().up().await;
        let (ours, theirs) = tokio::io::duplex(4096);
        let (mut reader, mut writer) = tokio::io::split(ours);
        let (send, input) = mpsc::channel(4);
        let (output, mut lines) = mpsc::channel::<Vec<u8>>(4);
        tokio::spawn(async move {
            let mut chunk = vec![0; 1000];
            while let Ok(bytes @ 1..) = reader.read(&mut chunk).await {
                if send.send(chunk[..bytes].to_vec()).await.is_err() {
                    return;
                }
            }
        });
        tokio::spawn(async move {
            while let Some(line) = lines.recv().await {
                writer.write_all(&line).await.unwrap();
            }
        });
        let gateway = stage.gateway.clone();
        let served = tokio::spawn(async move {
            let stop = CancellationToken::new();
            serve_stdio(&gateway, Pipes { input, output }, stop, Duration::from_secs(5)).await
        });
        let client = ().serve_with_lifecycle(theirs, mode).await.unwrap();
        assert_eq!(client.list_all_tools().await.unwrap().len(), 11);
        let arguments = json!({ "text": "hello" }).as_object().unwrap().clone();
        let call = CallToolRequestParams::new("one__echo").with_arguments(arguments);
        let result = client.call_tool(call).await.unwrap();
        assert_eq!(result.content[0].as_text().unwrap().text, "hello");
        client.cancel().await.unwrap();
        ends("the end of a session", served).await.unwrap().unwrap();
    }
}
