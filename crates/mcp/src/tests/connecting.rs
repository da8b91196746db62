use std::time::Duration;

use converse_canister::InvokerName;
use converse_config::{Permission, Policy};
use serde_json::json;
use tokio::time::Instant;

use crate::Era;
use crate::testing::{Act, Fixture, error, legacy, result, tool};

fn names(tools: &[converse_ensemble::Tool]) -> Vec<&str> {
    tools.iter().map(|tool| tool.declaration.name.as_str()).collect()
}

#[tokio::test(start_paused = true)]
async fn a_server_that_asks_without_end_is_given_up() {
    let flood = |request: &serde_json::Value| {
        let Act::Say(mut bytes) = legacy(request) else { return Act::Nothing };
        if request["method"] == "tools/list" {
            let ping = |n: usize| format!("{}\n", json!({ "jsonrpc": "2.0", "id": n, "method": "ping" }));
            bytes = (0..100_000).map(ping).collect::<String>().into_bytes();
        }
        Act::Say(bytes)
    };
    let reason = Fixture::new(move |_, request| flood(request)).refused().await;
    assert_eq!(reason, "the server asked more than 64 times without taking an answer");
}

#[tokio::test(start_paused = true)]
async fn whatever_hangs_it_ends_with_the_timeout() {
    for stuck in ["server/discover", "initialize", "tools/list"] {
        for known in [None, Some(Era::Legacy), Some(Era::Modern)] {
            let mut fixture = Fixture::new(move |_, request| match request["method"].as_str() {
                Some(method) if method == stuck || method == "server/discover" => Act::Nothing,
                _ => legacy(request),
            });
            fixture.timeout = Duration::from_secs(10);
            if let Some(known) = known {
                fixture.eras.0.lock().unwrap().insert("key".to_owned(), known);
            }
            let begun = Instant::now();
            if stuck == "server/discover" {
                fixture.connected().await;
            } else {
                let reason = fixture.refused().await;
                assert_eq!(
                    reason, "the server was not connected within 10 s (`connect_timeout`)",
                    "{stuck} {known:?}"
                );
            }
            assert!(begun.elapsed() <= Duration::from_secs(10), "{stuck} {known:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn reasons_are_told() {
    type Script = fn(&serde_json::Value) -> Act;
    let cases: [(Script, &str); 7] = [
        (|_| Act::Exit, "the server closed the connection"),
        (
            |request| error(request, -32000, "no licence\u{1b}[31m"),
            "the server answered with an error: no licence\\x1b[31m",
        ),
        (
            |request| match request["method"].as_str() {
                Some("initialize") => result(
                    request,
                    &json!({ "protocolVersion": "2099-01-01", "capabilities": {},
                             "serverInfo": { "name": "x", "version": "1" } }),
                ),
                _ => legacy(request),
            },
            "the server uses protocol version 2099-01-01, which converse does not support",
        ),
        (
            // That the other era is refused, too, says less.
            |request| match request["method"].as_str() {
                Some("server/discover") => result(
                    request,
                    &json!({ "resultType": "complete", "supportedVersions": ["2099-01-01"],
                             "capabilities": {}, "ttlMs": 0, "cacheScope": "private" }),
                ),
                _ => error(request, -32601, "no such method"),
            },
            "no common protocol version: the server supports 2099-01-01",
        ),
        (
            |request| match request["method"].as_str() {
                Some("tools/list") => error(request, -32603, "broken"),
                _ => legacy(request),
            },
            "the server answered with an error: tools/list: broken",
        ),
        (
            |request| match request["method"].as_str() {
                Some("tools/list") => result(request, &json!({ "tools": [], "nextCursor": "same" })),
                _ => legacy(request),
            },
            "the server's list of tools does not end: the same cursor came twice",
        ),
        (
            |request| match request["method"].as_str() {
                Some("tools/list") => result(request, &json!({ "nothing": true })),
                _ => legacy(request),
            },
            "the list of tools could not be read: missing field `tools`",
        ),
    ];
    for (script, wanted) in cases {
        let reason = Fixture::new(move |_, request| script(request)).refused().await;
        assert!(reason.starts_with(wanted), "{reason} / {wanted}");
    }
}

#[tokio::test(start_paused = true)]
async fn pages_are_followed_to_their_end() {
    for (pages, wanted) in [(1_usize, Ok(1)), (50, Ok(50)), (51, Err("more than 50 pages"))] {
        let fixture = Fixture::new(move |_, request| {
            if request["method"] != "tools/list" {
                return legacy(request);
            }
            let page: usize =
                request["params"]["cursor"].as_str().map_or(0, |cursor| cursor.parse().unwrap());
            let next = (page + 1 < pages).then(|| (page + 1).to_string());
            result(request, &json!({ "tools": [tool(&format!("t{page}"))], "nextCursor": next }))
        });
        match wanted {
            Ok(count) => assert_eq!(fixture.connected().await.2.len(), count),
            Err(reason) => assert!(fixture.refused().await.ends_with(reason)),
        }
    }
}

#[tokio::test]
async fn too_much_is_too_much() {
    let small = json!({ "name": "t", "inputSchema": {} });
    let large = json!({ "name": "t", "inputSchema": {}, "description": "x".repeat(15 * 1024 * 1024) });
    for (tool, count, pages, wanted) in [
        (small.clone(), 10_001, 1, "more than 10000 tools"),
        (small, 6000, 2, "more than 10000 tools"),
        (large, 1, 3, "more than 33554432 bytes"),
    ] {
        let page = vec![tool; count];
        let mut requests = 0;
        let fixture = Fixture::new(move |_, request| {
            if request["method"] != "tools/list" {
                return legacy(request);
            }
            requests += 1;
            result(
                request,
                &json!({ "tools": page, "nextCursor": (requests < pages).then(|| requests.to_string()) }),
            )
        });
        let reason = fixture.refused().await;
        assert!(reason.ends_with(wanted), "{reason}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_without_tools_is_no_failure() {
    let fixture = Fixture::new(|_, request| match request["method"].as_str() {
        Some("tools/list") => error(request, -32601, "no such method"),
        _ => legacy(request),
    });
    assert!(fixture.connected().await.2.is_empty());
}

#[tokio::test(start_paused = true)]
async fn the_plan_filters_and_judges_and_warns() {
    let mut fixture = Fixture::new(|_, request| match request["method"].as_str() {
        Some("tools/list") => {
            let bad = json!({ "name": "bad", "inputSchema": [] });
            result(request, &json!({ "tools": [tool("get_x"), tool("get_secret"), bad, tool("set_x")] }))
        }
        _ => legacy(request),
    });
    fixture.plan.filter.include = vec!["get_*".into(), "put_*".into()];
    fixture.plan.filter.exclude = vec!["*secret*".into()];
    fixture.plan.defaults.permission = Some(Permission::Deny);
    let name = |name: &str| InvokerName::new(name).unwrap();
    fixture
        .plan
        .tools
        .insert(name("get_x"), Policy { permission: Some(Permission::Allow), ..Policy::default() });
    fixture.plan.tools.insert(name("gone"), Policy::default());
    let (connection, ensemble, tools) = fixture.connected().await;
    assert_eq!(names(&tools), ["fake__get_x"]);
    assert_eq!(tools[0].own.0, Permission::Allow);
    assert_eq!(tools[0].declaration.description, "does get_x");
    let warnings = fixture.warnings.lock().unwrap().clone();
    assert_eq!(warnings.len(), 3, "{warnings:?}");
    assert!(warnings[0].starts_with("ensemble `fake`: tool `bad` is left out: invalid type"), "{warnings:?}");
    assert_eq!(warnings[1], "ensemble `fake`: no tool matches `put_*` of `include`");
    assert_eq!(warnings[2], "ensemble `fake`: there is no tool for `[tools.gone]`");
    let survey = connection.survey().unwrap();
    assert_eq!((survey.offered, survey.kept, survey.skipped.len()), (4, 1, 1));
    drop(ensemble);
}

#[tokio::test(start_paused = true)]
async fn many_warnings_are_counted() {
    let fixture = Fixture::new(|_, request| match request["method"].as_str() {
        Some("tools/list") => {
            let bad: Vec<_> = (0..25).map(|n| json!({ "name": format!("bad{n}") })).collect();
            result(request, &json!({ "tools": bad }))
        }
        _ => legacy(request),
    });
    fixture.connected().await;
    let warnings = fixture.warnings.lock().unwrap().clone();
    assert_eq!(warnings.len(), 11);
    assert_eq!(warnings[10], "ensemble `fake`: and 15 more");
}

#[tokio::test(start_paused = true)]
async fn untrusted_annotations_allow_nothing() {
    let fixture = Fixture::new(|_, request| match request["method"].as_str() {
        Some("tools/list") => {
            let mut tool = tool("echo");
            tool["annotations"] = json!({ "readOnlyHint": true, "title": "Echo" });
            tool["description"] = json!("");
            result(request, &json!({ "tools": [tool] }))
        }
        _ => legacy(request),
    });
    let (_connection, _ensemble, tools) = fixture.connected().await;
    assert_eq!(tools[0].own.0, Permission::Ask);
    assert_eq!(tools[0].declaration.description, "Echo");
}
