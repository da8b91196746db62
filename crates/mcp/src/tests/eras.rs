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
async fn only_a_legacy_server_that_exits_is_started_again() {
    type Probe = fn(&serde_json::Value) -> Act;
    for (what, probe, seconds, starts) in [
        ("it ends", (|_| Act::Exit) as Probe, 0, 2),
        ("it is silent", |_| Act::Nothing, 3, 1),
        ("it answers something", |request| result(request, &json!({ "content": [] })), 0, 1),
        ("it answers nonsense", |request| result(request, &json!({})), 0, 1),
        ("it answers another request", |_| result(&json!({ "id": 5 }), &json!({})), 3, 1),
        ("it answers without an id", |_| error(&json!({}), -32700, "what?"), 0, 1),
        ("it asks first", |_| Act::Say(b"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}\n".into()), 3, 1),
    ] {
        let fixture = Fixture::new(move |_, request| match request["method"].as_str() {
            Some("server/discover") => probe(request),
            _ => legacy(request),
        });
        let begun = Instant::now();
        let (_connection, _ensemble, tools) = fixture.connected().await;
        assert_eq!(tools.len(), 2, "{what}");
        assert_eq!((begun.elapsed().as_secs(), fixture.fake.starts()), (seconds, starts), "{what}");
        assert_eq!(fixture.era(), Some(Era::Legacy), "{what}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_remembered_is_tried_first_and_put_right() {
    for (known, heard) in [
        (Era::Legacy, vec!["initialize", "notifications/initialized", "tools/list"]),
        (Era::Modern, vec!["server/discover", "initialize", "notifications/initialized", "tools/list"]),
    ] {
        let fixture = Fixture::new(|_, request| legacy(request));
        fixture.eras.0.lock().unwrap().insert("key".to_owned(), known);
        fixture.connected().await;
        assert_eq!(fixture.fake.heard(), heard);
        assert_eq!((fixture.fake.starts(), fixture.era()), (1, Some(Era::Legacy)));
    }
    let fixture = Fixture::new(|_, request| modern(request));
    fixture.eras.0.lock().unwrap().insert("key".to_owned(), Era::Legacy);
    fixture.connected().await;
    assert_eq!(fixture.fake.heard(), ["initialize", "server/discover", "tools/list"]);
    assert_eq!((fixture.fake.starts(), fixture.era()), (1, Some(Era::Modern)));
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

/// The time to connect belongs to one process, and only its answers decide about the era.
#[tokio::test(start_paused = true)]
async fn a_slow_server_is_started_once_and_keeps_its_era() {
    type Server = fn(&serde_json::Value) -> Act;
    for (server, era) in [(modern as Server, Era::Modern), (legacy, Era::Legacy)] {
        for known in [None, Some(Era::Modern), Some(Era::Legacy)] {
            for (starting, limit) in [(1, 30), (4, 30), (6, 10), (9, 10), (29, 30)] {
                let mut fixture = Fixture::new(move |_, request| server(request));
                fixture.fake.is_launcher = limit == 30;
                fixture.fake.starting = Duration::from_secs(starting);
                fixture.timeout = Duration::from_secs(limit);
                if let Some(known) = known {
                    fixture.eras.0.lock().unwrap().insert("key".to_owned(), known);
                }
                let begun = Instant::now();
                fixture.connected().await;
                let row = format!("{era:?} {known:?} {starting}");
                assert_eq!((fixture.fake.starts(), begun.elapsed().as_secs()), (1, starting), "{row}");
                assert_eq!(fixture.era(), Some(era), "{row}");
                fixture.connected().await;
                assert_eq!(fixture.fake.starts(), 2, "{row}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_speaks_both_eras_stays_modern_when_it_is_slow() {
    let mut fixture = Fixture::new(|_, request| match request["method"].as_str() {
        Some("server/discover") => modern(request),
        _ => legacy(request),
    });
    fixture.fake.starting = Duration::from_secs(5);
    fixture.connected().await;
    assert_eq!((fixture.fake.starts(), fixture.era()), (1, Some(Era::Modern)));
    assert_eq!(fixture.fake.heard(), ["server/discover", "initialize", "tools/list"]);
}

#[tokio::test(start_paused = true)]
async fn a_launcher_gets_more_time_before_it_is_asked_again() {
    for (timeout, waited) in [(30, 10), (16, 8), (4, 3)] {
        let mut fixture = Fixture::new(|_, request| match request["method"].as_str() {
            Some("server/discover") => Act::Nothing,
            _ => legacy(request),
        });
        fixture.fake.is_launcher = true;
        fixture.timeout = Duration::from_secs(timeout);
        let begun = Instant::now();
        fixture.connected().await;
        assert_eq!((begun.elapsed().as_secs(), fixture.fake.starts()), (waited, 1), "{timeout}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_too_slow_is_not_remembered() {
    for known in [None, Some(Era::Legacy)] {
        let mut fixture = Fixture::new(|_, request| modern(request));
        fixture.fake.starting = Duration::from_secs(31);
        if let Some(known) = known {
            fixture.eras.0.lock().unwrap().insert("key".to_owned(), known);
        }
        let begun = Instant::now();
        let refused = fixture.refused().await;
        assert_eq!(refused, "the server was not connected within 30 s (`connect_timeout`)");
        assert_eq!((begun.elapsed().as_secs(), fixture.fake.starts()), (30, 1));
        assert_eq!(fixture.era(), known);
    }
}

#[tokio::test(start_paused = true)]
async fn a_late_answer_of_the_other_era_is_dropped() {
    // It answers `initialize` first, and `server/discover` when it is asked for its tools.
    let mut first = None;
    let fixture = Fixture::new(move |_, request| match request["method"].as_str() {
        Some("server/discover") => {
            first = Some(request.clone());
            Act::Nothing
        }
        Some("tools/list") => match (first.take().map(|late| modern(&late)), legacy(request)) {
            (Some(Act::Say(mut late)), Act::Say(now)) => {
                late.extend(now);
                Act::Say(late)
            }
            (_, now) => now,
        },
        _ => legacy(request),
    });
    let (_connection, _ensemble, tools) = fixture.connected().await;
    assert_eq!((tools.len(), fixture.fake.starts(), fixture.era()), (2, 1, Some(Era::Legacy)));
}
