//! What is known of a server without starting it, and what is found by looking at one.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use converse_config::{ConnectionPlan, SecretRef, TransportPlan};
use converse_ensemble::Connection as _;
use serde_json::json;

use crate::key::Keys;
use crate::testing::{Act, Fixture, error, legacy, modern, plan, result};
use crate::{Manifest, ToolListStore};

#[tokio::test(start_paused = true)]
async fn every_server_that_was_connected_is_remembered() {
    let fixture = Fixture::new(|_, request| legacy(request));
    assert!(!fixture.plan.lazy);
    fixture.connected().await;
    let kept = fixture.lists.get("list").unwrap();
    assert!(kept.contains("\"echo\"") && kept.contains("\"other\""), "{kept}");
    assert_eq!(fixture.fake.starts(), 1);
    // Whoever is not lazy is started all the same.
    fixture.connected().await;
    assert_eq!(fixture.fake.starts(), 2);
}

#[test]
fn a_manifest_is_that_of_the_very_server_as_its_descriptor_keeps_it() {
    let command = |word: &str| {
        let command = vec![SecretRef::Literal(word.to_owned())];
        ConnectionPlan::new(TransportPlan::Stdio { command, environment: vec![], cwd: None })
    };
    let (connection, fixture) = (command("/opt/server"), Fixture::new(|_, _| Act::Nothing));
    let lists = &*fixture.lists;
    let mut plan = plan();
    let of = |plan: &_, connection: &_| Manifest::of(plan, connection, Path::new("/work"), lists);
    assert_eq!(of(&plan, &connection), None, "never seen");
    let key = Keys::of(&connection.transport, Path::new("/work")).list;
    lists.put(&key, r#"[{ "name": "a", "description": "d", "inputSchema": {} }, { "name": "b" }, { "name": "c", "inputSchema": {} }]"#);
    let listing = of(&plan, &connection).unwrap();
    let names: Vec<_> = listing.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!((listing.key.as_str(), names), (key.as_str(), vec!["a", "c"]));
    assert_eq!(
        (listing.tools[0].description.as_str(), &listing.tools[0].arguments["type"]),
        ("d", &json!("object"))
    );
    plan.filter.exclude = vec!["a*".to_owned()];
    assert_eq!(of(&plan, &connection).unwrap().tools.len(), 1);
    assert_eq!(of(&plan, &command("/opt/other")), None);
    assert_eq!(Manifest::of(&plan, &connection, Path::new("/elsewhere"), lists), None);
    lists.put(&key, "damaged");
    assert_eq!(of(&plan, &connection), None);
}

#[tokio::test(start_paused = true)]
async fn a_survey_names_what_is_declared() {
    for (era, script) in [("legacy", legacy as fn(&_) -> _), ("modern", modern)] {
        let fixture = Fixture::new(move |_, request: &serde_json::Value| match request["method"].as_str() {
            Some("initialize") if era == "legacy" => result(
                request,
                &json!({
                    "protocolVersion": "2025-11-25", "serverInfo": { "name": "fake", "version": "1" },
                    "capabilities": { "tools": { "listChanged": true }, "prompts": { "listChanged": false }, "logging": {} },
                }),
            ),
            _ => script(request),
        });
        let (connection, ..) = fixture.connected().await;
        let mut named = connection.survey().unwrap().capabilities;
        named.sort();
        let wanted = if era == "legacy" {
            vec!["logging", "prompts", "tools", "tools.listChanged"]
        } else {
            vec!["tools"]
        };
        assert_eq!(named, wanted, "{era}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_that_is_timed_changes_nothing_and_says_what_is_wrong() {
    let requests = AtomicUsize::new(0);
    let fixture = Fixture::new(move |_, request| match request["method"].as_str() {
        Some("tools/list") => match requests.fetch_add(1, Ordering::SeqCst) {
            0 | 1 => legacy(request),
            2 => error(request, -32000, "out of order"),
            _ => Act::Nothing,
        },
        _ => legacy(request),
    });
    let (connection, ensemble, _) = fixture.connected().await;
    assert!(connection.measure_listing().await.is_ok());
    assert!(ensemble.refresh().await.is_none(), "nothing has changed by it");
    let refused = connection.measure_listing().await.unwrap_err();
    assert!(refused.contains("out of order"), "{refused}");
    let silent = connection.measure_listing().await.unwrap_err();
    assert!(silent.contains("within 4 s"), "{silent}");
    connection.disconnect().await;
    assert_eq!(connection.measure_listing().await.unwrap_err(), "the server is not connected");
    assert_eq!(connection.stderr_tail(), "", "it has no process");
}
