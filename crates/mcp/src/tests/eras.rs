use std::time::Duration;

use converse_config::Protocol;
use serde_json::json;
use tokio::time::Instant;

use crate::Era;
use crate::testing::{Act, Fixture, error, legacy, modern, result};

#[tokio::test(start_paused = true)]
async fn a_modern_server_is_asked_once() {
    let fixture = Fixture::new(|_, request| modern(request));
    let (connection, _ensemble, tools) = fixture.connected().await;
    let names: Vec<_> = tools.iter().map(|tool| tool.declaration.name.as_str()).collect();
    assert_eq!(names, ["fake__echo", "fake__other"]);
    assert_eq!(fixture.fake.heard(), ["server/discover", "tools/list"]);
    assert_eq!((fixture.fake.starts(), fixture.era()), (1, Some(Era::Modern)));
    let survey = connection.survey().unwrap();
    assert_eq!((survey.era, survey.protocol.as_str()), (Era::Modern, "2026-07-28"));
    assert_eq!((survey.server.as_str(), survey.version.as_str()), ("new", "2"));
}

#[tokio::test(start_paused = true)]
async fn a_legacy_server_that_survives_the_probe_is_not_started_again() {
    let fixture = Fixture::new(|_, request| legacy(request));
    let (connection, _ensemble, _tools) = fixture.connected().await;
    let heard = ["server/discover", "initialize", "notifications/initialized", "tools/list"];
    assert_eq!(fixture.fake.heard(), heard);
    assert_eq!((fixture.fake.starts(), fixture.era()), (1, Some(Era::Legacy)));
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
        let fixture = Fixture::new(move |_, request| match request["method"].as_str() {
            Some("server/discover") => probe(request),
            _ => legacy(request),
        });
        let begun = Instant::now();
        let (_connection, _ensemble, tools) = fixture.connected().await;
        assert_eq!(tools.len(), 2, "{what}");
        assert_eq!(begun.elapsed().as_secs(), seconds, "{what}");
        assert_eq!(fixture.era(), Some(Era::Legacy), "{what}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_remembered_is_tried_first_and_put_right() {
    for (known, heard, starts) in [
        (Era::Legacy, vec!["initialize", "notifications/initialized", "tools/list"], 1),
        (Era::Modern, vec!["server/discover", "initialize", "notifications/initialized", "tools/list"], 2),
    ] {
        let fixture = Fixture::new(|_, request| legacy(request));
        fixture.eras.0.lock().unwrap().insert("key".to_owned(), known);
        fixture.connected().await;
        assert_eq!(fixture.fake.heard(), heard);
        assert_eq!((fixture.fake.starts(), fixture.era()), (starts, Some(Era::Legacy)));
    }
    let fixture = Fixture::new(|_, request| modern(request));
    fixture.eras.0.lock().unwrap().insert("key".to_owned(), Era::Legacy);
    fixture.connected().await;
    assert_eq!(fixture.fake.heard(), ["initialize", "server/discover", "tools/list"]);
    assert_eq!(fixture.era(), Some(Era::Modern));
}

#[tokio::test(start_paused = true)]
async fn a_forced_era_is_the_only_one() {
    let mut fixture = Fixture::new(|_, request| legacy(request));
    fixture.protocol = Protocol::Modern;
    assert_eq!(fixture.refused().await, "the server answered with an error: no such method");
    assert_eq!((fixture.fake.heard(), fixture.era()), (vec!["server/discover".to_owned()], None));
    fixture.protocol = Protocol::Legacy;
    fixture.connected().await;
    assert_eq!(fixture.era(), None, "what was forced is not learnt");
}

#[tokio::test(start_paused = true)]
async fn a_modern_server_that_is_slow_to_fetch_gets_another_chance() {
    let fixture = Fixture::new(|start, request| match start {
        1 => Act::Nothing,
        _ => modern(request),
    });
    fixture.connected().await;
    assert_eq!(fixture.fake.heard(), ["server/discover", "initialize", "server/discover", "tools/list"]);
}

#[tokio::test(start_paused = true)]
async fn a_launcher_gets_more_time_before_it_is_killed() {
    // Half of the time, and after ten seconds it is asked the other question without being killed.
    for (timeout, waited, starts) in [(30, 10, 1), (16, 8, 2), (4, 3, 2)] {
        let mut fixture = Fixture::new(|_, request| match request["method"].as_str() {
            Some("server/discover") => Act::Nothing,
            _ => legacy(request),
        });
        fixture.fake.is_launcher = true;
        fixture.timeout = Duration::from_secs(timeout);
        let begun = Instant::now();
        fixture.connected().await;
        assert_eq!((begun.elapsed().as_secs(), fixture.fake.starts()), (waited, starts), "{timeout}");
    }
}

/// What it was asked at first waits in the pipe until a second question is there: then it is up, and answers both.
fn slow_to_fetch(answers: fn(&serde_json::Value) -> Act) -> Fixture {
    let mut first = None;
    let mut fixture = Fixture::new(move |start, request| {
        let late = match request["method"].as_str() {
            Some("server/discover") if start == 1 => {
                first = Some(request.clone());
                return Act::Nothing;
            }
            _ => first.take(),
        };
        match (late.map(|late| answers(&late)), answers(request)) {
            (Some(Act::Say(mut late)), Act::Say(now)) => {
                late.extend(now);
                Act::Say(late)
            }
            (_, now) => now,
        }
    });
    fixture.fake.is_launcher = true;
    fixture
}

#[tokio::test(start_paused = true)]
async fn a_late_answer_of_a_launcher_confuses_nobody() {
    let fixture = slow_to_fetch(legacy);
    fixture.connected().await;
    assert_eq!((fixture.fake.starts(), fixture.era()), (1, Some(Era::Legacy)));
    let fixture = slow_to_fetch(modern);
    fixture.connected().await;
    let heard = ["server/discover", "initialize", "initialize", "server/discover", "tools/list"];
    assert_eq!((fixture.fake.heard(), fixture.era()), (heard.map(str::to_owned).to_vec(), Some(Era::Modern)));
}

#[tokio::test(start_paused = true)]
async fn a_known_era_that_was_too_slow_is_tried_once_more() {
    // Known as legacy, busy when it starts first, and it refuses the other era: half of 30 s went by, and then it is up.
    let fixture = Fixture::new(|start, request| match request["method"].as_str() {
        Some("initialize") if start == 1 => Act::Nothing,
        _ => legacy(request),
    });
    fixture.eras.0.lock().unwrap().insert("key".to_owned(), Era::Legacy);
    let begun = Instant::now();
    fixture.connected().await;
    assert_eq!(fixture.fake.heard()[..3], ["initialize", "server/discover", "initialize"]);
    assert_eq!((begun.elapsed().as_secs(), fixture.era()), (15, Some(Era::Legacy)));
    // One that stays mute was too slow, whatever the other era came to.
    let fixture = Fixture::new(|_, request| match request["method"].as_str() {
        Some("initialize") => Act::Nothing,
        _ => error(request, -32601, "no such method"),
    });
    fixture.eras.0.lock().unwrap().insert("key".to_owned(), Era::Legacy);
    let begun = Instant::now();
    let refused = fixture.refused().await;
    assert!(refused.contains("30 s") && !refused.contains("no such method"), "{refused}");
    assert_eq!(fixture.fake.heard(), ["initialize", "server/discover", "initialize"]);
    assert_eq!(begun.elapsed().as_secs(), 30);
}
