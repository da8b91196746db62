use std::time::Duration;

use converse_canister::InvokerName;
use converse_config::{Permission, Policy, Protocol};
use serde_json::json;
use tokio::time::Instant;

use crate::Era;
use crate::testing::{Act, Stage, error, legacy, modern, result, tool};

fn names(tools: &[converse_ensemble::Tool]) -> Vec<&str> {
    tools.iter().map(|tool| tool.declaration.name.as_str()).collect()
}

#[tokio::test(start_paused = true)]
async fn a_modern_server_is_asked_once() {
    let stage = Stage::new(|_, request| modern(request));
    let (connection, _ensemble, tools) = stage.connected().await;
    assert_eq!(names(&tools), ["fake__echo", "fake__other"]);
    assert_eq!(stage.fake.heard(), ["server/discover", "tools/list"]);
    assert_eq!((stage.fake.starts(), stage.era()), (1, Some(Era::Modern)));
    let survey = connection.survey().unwrap();
    assert_eq!((survey.era, survey.protocol.as_str()), (Era::Modern, "2026-07-28"));
    assert_eq!((survey.server.as_str(), survey.version.as_str()), ("new", "2"));
}

#[tokio::test(start_paused = true)]
async fn a_legacy_server_that_survives_the_probe_is_not_started_again() {
    let stage = Stage::new(|_, request| legacy(request));
    let (connection, _ensemble, _tools) = stage.connected().await;
    let heard = ["server/discover", "initialize", "notifications/initialized", "tools/list"];
    assert_eq!(stage.fake.heard(), heard);
    assert_eq!((stage.fake.starts(), stage.era()), (1, Some(Era::Legacy)));
    let survey = connection.survey().unwrap();
    assert_eq!((survey.era, survey.protocol.as_str(), survey.instructions), (Era::Legacy, "2025-11-25", 7));
    assert_eq!((survey.offered, survey.kept), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn a_legacy_server_that_does_not_like_the_probe_is_started_again() {
    type Probe = fn(&serde_json::Value) -> Act;
    for (what, probe, seconds) in [
        ("it ends", (|_| Act::Exit) as Probe, 0),
        ("it is silent", |_| Act::Nothing, 3),
        ("it answers something", |request| result(request, &json!({ "content": [] })), 0),
        ("it answers nonsense", |request| result(request, &json!({})), 0),
    ] {
        let stage = Stage::new(move |_, request| match request["method"].as_str() {
            Some("server/discover") => probe(request),
            _ => legacy(request),
        });
        let begun = Instant::now();
        let (_connection, _ensemble, tools) = stage.connected().await;
        assert_eq!(tools.len(), 2, "{what}");
        assert_eq!(begun.elapsed().as_secs(), seconds, "{what}");
        assert_eq!(stage.era(), Some(Era::Legacy), "{what}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_remembered_is_tried_first_and_put_right() {
    for (known, heard, starts) in [
        (Era::Legacy, vec!["initialize", "notifications/initialized", "tools/list"], 1),
        (Era::Modern, vec!["server/discover", "initialize", "notifications/initialized", "tools/list"], 2),
    ] {
        let stage = Stage::new(|_, request| legacy(request));
        stage.eras.0.lock().unwrap().insert("key".to_owned(), known);
        stage.connected().await;
        assert_eq!(stage.fake.heard(), heard);
        assert_eq!((stage.fake.starts(), stage.era()), (starts, Some(Era::Legacy)));
    }
    let stage = Stage::new(|_, request| modern(request));
    stage.eras.0.lock().unwrap().insert("key".to_owned(), Era::Legacy);
    stage.connected().await;
    assert_eq!(stage.fake.heard(), ["initialize", "server/discover", "tools/list"]);
    assert_eq!(stage.era(), Some(Era::Modern));
}

#[tokio::test(start_paused = true)]
async fn a_forced_era_is_the_only_one() {
    let mut stage = Stage::new(|_, request| legacy(request));
    stage.protocol = Protocol::Modern;
    assert_eq!(stage.refused().await, "it answered with an error: no such method");
    assert_eq!((stage.fake.heard(), stage.era()), (vec!["server/discover".to_owned()], None));
    stage.protocol = Protocol::Legacy;
    stage.connected().await;
    assert_eq!(stage.era(), None, "what was forced is not learnt");
}

#[tokio::test(start_paused = true)]
async fn a_modern_server_that_is_slow_to_fetch_gets_another_chance() {
    let stage = Stage::new(|start, request| match start {
        1 => Act::Nothing,
        _ => modern(request),
    });
    stage.connected().await;
    assert_eq!(stage.fake.heard(), ["server/discover", "initialize", "server/discover", "tools/list"]);
}

#[tokio::test(start_paused = true)]
async fn whatever_hangs_it_ends_with_the_timeout() {
    for stuck in ["server/discover", "initialize", "tools/list"] {
        for known in [None, Some(Era::Legacy), Some(Era::Modern)] {
            let mut stage = Stage::new(move |_, request| match request["method"].as_str() {
                Some(method) if method == stuck || method == "server/discover" => Act::Nothing,
                _ => legacy(request),
            });
            stage.timeout = Duration::from_secs(10);
            if let Some(known) = known {
                stage.eras.0.lock().unwrap().insert("key".to_owned(), known);
            }
            let begun = Instant::now();
            if stuck == "server/discover" {
                stage.connected().await;
            } else {
                let reason = stage.refused().await;
                assert_eq!(
                    reason, "it was not connected within 10 s (`connect_timeout`)",
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
    let cases: [(Script, &str); 6] = [
        (|_| Act::Exit, "the server closed the connection"),
        (
            |request| error(request, -32000, "no licence\u{1b}[31m"),
            "it answered with an error: no licence [31m",
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
            "it speaks version 2099-01-01 of the protocol, which is not known here",
        ),
        (
            |request| match request["method"].as_str() {
                Some("tools/list") => error(request, -32603, "broken"),
                _ => legacy(request),
            },
            "it answered with an error: tools/list: broken",
        ),
        (
            |request| match request["method"].as_str() {
                Some("tools/list") => result(request, &json!({ "tools": [], "nextCursor": "same" })),
                _ => legacy(request),
            },
            "it lists its tools for ever: a cursor came twice",
        ),
        (
            |request| match request["method"].as_str() {
                Some("tools/list") => result(request, &json!({ "nothing": true })),
                _ => legacy(request),
            },
            "its list of tools could not be read: missing field `tools`",
        ),
    ];
    for (script, wanted) in cases {
        let reason = Stage::new(move |_, request| script(request)).refused().await;
        assert!(reason.starts_with(wanted), "{reason} / {wanted}");
    }
}

#[tokio::test(start_paused = true)]
async fn pages_are_followed_to_their_end() {
    for (pages, wanted) in [(1_usize, Ok(1)), (50, Ok(50)), (51, Err("more than 50 pages"))] {
        let stage = Stage::new(move |_, request| {
            if request["method"] != "tools/list" {
                return legacy(request);
            }
            let page: usize =
                request["params"]["cursor"].as_str().map_or(0, |cursor| cursor.parse().unwrap());
            let next = (page + 1 < pages).then(|| (page + 1).to_string());
            result(request, &json!({ "tools": [tool(&format!("t{page}"))], "nextCursor": next }))
        });
        match wanted {
            Ok(count) => assert_eq!(stage.connected().await.2.len(), count),
            Err(reason) => assert!(stage.refused().await.ends_with(reason)),
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
        let mut asked = 0;
        let stage = Stage::new(move |_, request| {
            if request["method"] != "tools/list" {
                return legacy(request);
            }
            asked += 1;
            result(
                request,
                &json!({ "tools": page, "nextCursor": (asked < pages).then(|| asked.to_string()) }),
            )
        });
        let reason = stage.refused().await;
        assert!(reason.ends_with(wanted), "{reason}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_without_tools_is_no_failure() {
    let stage = Stage::new(|_, request| match request["method"].as_str() {
        Some("tools/list") => error(request, -32601, "no such method"),
        _ => legacy(request),
    });
    assert!(stage.connected().await.2.is_empty());
}

#[tokio::test(start_paused = true)]
async fn the_plan_filters_and_judges_and_warns() {
    let mut stage = Stage::new(|_, request| match request["method"].as_str() {
        Some("tools/list") => {
            let bad = json!({ "name": "bad", "inputSchema": [] });
            result(request, &json!({ "tools": [tool("get_x"), tool("get_secret"), bad, tool("set_x")] }))
        }
        _ => legacy(request),
    });
    stage.plan.filter.include = vec!["get_*".into(), "put_*".into()];
    stage.plan.filter.exclude = vec!["*secret*".into()];
    stage.plan.defaults.permission = Some(Permission::Deny);
    let name = |name: &str| InvokerName::new(name).unwrap();
    stage
        .plan
        .tools
        .insert(name("get_x"), Policy { permission: Some(Permission::Allow), ..Policy::default() });
    stage.plan.tools.insert(name("gone"), Policy::default());
    let (connection, ensemble, tools) = stage.connected().await;
    assert_eq!(names(&tools), ["fake__get_x"]);
    assert_eq!(tools[0].own.0, Permission::Allow);
    assert_eq!(tools[0].declaration.description, "does get_x");
    let warnings = stage.warnings.lock().unwrap().clone();
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
    let stage = Stage::new(|_, request| match request["method"].as_str() {
        Some("tools/list") => {
            let bad: Vec<_> = (0..25).map(|n| json!({ "name": format!("bad{n}") })).collect();
            result(request, &json!({ "tools": bad }))
        }
        _ => legacy(request),
    });
    stage.connected().await;
    let warnings = stage.warnings.lock().unwrap().clone();
    assert_eq!(warnings.len(), 11);
    assert_eq!(warnings[10], "ensemble `fake`: and 15 more");
}

#[tokio::test(start_paused = true)]
async fn untrusted_annotations_allow_nothing() {
    let stage = Stage::new(|_, request| match request["method"].as_str() {
        Some("tools/list") => {
            let mut tool = tool("echo");
            tool["annotations"] = json!({ "readOnlyHint": true, "title": "Echo" });
            tool["description"] = json!("");
            result(request, &json!({ "tools": [tool] }))
        }
        _ => legacy(request),
    });
    let (_connection, _ensemble, tools) = stage.connected().await;
    assert_eq!(tools[0].own.0, Permission::Ask);
    assert_eq!(tools[0].declaration.description, "Echo");
}
