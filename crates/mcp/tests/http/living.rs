//! Servers that are restarted, are not there yet, are busy, or forget us.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use converse_config::SecretRef;
use converse_ensemble::{ConnectError, InvokeError};
use converse_testkit::hang_guard::ends;
use serde_json::json;
use tokio::net::TcpListener;

use crate::site::{NEVER, Response, Site, at, echo, ensemble, legacy, modern, result, status};
use crate::stage::{call, call_within};

#[tokio::test]
async fn a_lost_session_is_had_again() {
    let session = Arc::new(Mutex::new("s1"));
    let known = Arc::clone(&session);
    let site = Site::new(move |request| legacy(*known.lock().unwrap(), request)).await;
    let web = at(&site);
    let tools = web.connect().await.unwrap();
    assert_eq!(call(&tools[0]).await, echo());
    *session.lock().unwrap() = "s2";
    assert_eq!(call(&tools[0]).await, echo());
    assert_eq!(site.posts("initialize"), 2);
}

/// A server that was restarted, as some of them say it.
#[tokio::test]
async fn a_session_that_is_refused_without_an_id_is_had_again() {
    type Refusal = fn() -> Response;
    let refusals: [Refusal; 2] = [
        || status("404 Not Found", "no such session"),
        || {
            let error = json!({ "code": -32000, "message": "Bad Request: No valid session ID provided" });
            let body = json!({ "jsonrpc": "2.0", "error": error, "id": null }).to_string();
            Some(("400 Bad Request", "content-type: application/json\r\n".into(), body))
        },
    ];
    for (number, refusal) in refusals.into_iter().enumerate() {
        let known = Arc::new(Mutex::new("s1"));
        let current = Arc::clone(&known);
        let site = Site::new(move |request| {
            let current = *current.lock().unwrap();
            let session = request.headers.get("mcp-session-id").map(String::as_str);
            if session.is_some_and(|session| session != current) {
                refusal()
            } else {
                legacy(current, request)
            }
        })
        .await;
        let web = at(&site);
        let tools = web.connect().await.unwrap();
        assert_eq!(call(&tools[0]).await, echo(), "{number}");
        *known.lock().unwrap() = "s2";
        assert_eq!(call(&tools[0]).await, echo(), "{number}");
        assert_eq!(site.posts("initialize"), 2, "{number}: one new session");
        assert_eq!(site.posts("tools/call"), 3, "{number}: only what was refused is sent again");
        // The new connection is the one that is used from then on.
        assert_eq!(call(&tools[0]).await, echo(), "{number}");
        assert_eq!((site.posts("initialize"), site.posts("tools/call")), (2, 4), "{number}");
    }
}

#[tokio::test]
async fn a_server_that_forgets_every_session_is_not_asked_for_ever() {
    let site = Site::new(|request| match request.asks() {
        "tools/call" => status("404 Not Found", "no such session"),
        _ => legacy("s1", request),
    })
    .await;
    let web = at(&site);
    let tools = web.connect().await.unwrap();
    // The second call begins with a session of its own: the first refusal says no more than the second did.
    for times in [2, 3] {
        let failed = call(&tools[0]).await;
        let Err(InvokeError::Interrupted(text)) = &failed else { panic!("{failed:?}") };
        assert!(text.contains("outcome unknown") && text.ends_with("no such session"), "{text}");
        assert_eq!((site.posts("initialize"), site.posts("tools/call")), (times, times));
    }
}

/// What says nothing of the session may have been said after the tool has run: nothing is sent again.
#[tokio::test]
async fn a_refusal_is_no_lost_session() {
    let refused =
        |text: &str| InvokeError::Failed(format!("the call was refused: the server answered HTTP {text}"));
    let unknown = |text: &str| InvokeError::Interrupted(format!("interrupted, outcome unknown: {text}"));
    let json = |body: serde_json::Value| ("application/json", body.to_string());
    for (line, (kind, body), failure) in [
        ("400 Bad Request", ("text/plain", "bad x".to_owned()), refused("400: bad x")),
        ("400 Bad Request", ("text/plain", String::new()), refused("400")),
        ("400 Bad Request", json(json!({ "error": "bad x" })), refused(r#"400: {"error":"bad x"}"#)),
        (
            "500 Internal Server Error",
            ("text/plain", "at line 7".to_owned()),
            unknown("the server answered HTTP 500"),
        ),
        ("520 Odd", ("text/html", "<p>".to_owned()), unknown("the server answered HTTP 520")),
    ] {
        let site = Site::new(move |request| match request.asks() {
            "tools/call" => Some((line, format!("content-type: {kind}\r\n"), body.clone())),
            _ => legacy("s1", request),
        })
        .await;
        let web = at(&site);
        let tools = web.connect().await.unwrap();
        assert_eq!(call(&tools[0]).await, Err(failure));
        assert_eq!((site.posts("initialize"), site.posts("tools/call")), (1, 1), "{line}");
    }
}

#[tokio::test]
async fn a_call_without_an_answer_gets_the_next_one_a_new_connection() {
    const SLOW_TIMES: usize = 4;
    let mut initialized_times = 0;
    let site = Site::new(move |request| {
        initialized_times += usize::from(request.asks() == "initialize");
        if request.asks() == "tools/call" && initialized_times <= SLOW_TIMES {
            return NEVER;
        }
        legacy("s1", request)
    })
    .await;
    let web = at(&site);
    let tools = web.connect().await.unwrap();
    for time in 0..SLOW_TIMES {
        // It waits longer for each new connection: that is within its time, too.
        let backoff = if time == 0 { 0 } else { 250 << (time - 1).min(3) };
        let late = call_within(&tools[0], Duration::from_millis(500 + backoff)).await;
        assert!(matches!(late, Err(InvokeError::Timeout(_))), "{late:?}");
    }
    assert_eq!(call(&tools[0]).await, echo());
    assert_eq!(site.posts("tools/call"), SLOW_TIMES + 1, "nothing is sent twice");
}

/// The session is new, and so may the server be: whoever offers its tools lists them anew.
#[tokio::test]
async fn a_server_with_a_new_session_is_listed_anew() {
    let known = Arc::new(Mutex::new("s1"));
    let current = Arc::clone(&known);
    let site = Site::new(move |request| legacy(*current.lock().unwrap(), request)).await;
    let web = at(&site);
    let tools = web.connect().await.unwrap();
    assert!(web.refresh().await.is_none(), "nothing has changed");
    *known.lock().unwrap() = "s2";
    assert_eq!(call(&tools[0]).await, echo());
    let listed = site.posts("tools/list");
    assert_eq!(web.refresh().await.map(|tools| tools.len()), Some(1));
    assert_eq!(site.posts("tools/list"), listed + 1);
}

#[tokio::test]
async fn a_busy_server_is_waited_for_within_reason() {
    type Busy = fn() -> Response;
    let cases: [(&str, Busy, usize, bool); 6] = [
        ("server/discover", || status("503 Service Unavailable", "x"), 2, true),
        ("server/discover", || status("502 Bad Gateway", "x"), 3, true),
        ("server/discover", || status("503 Service Unavailable", "x"), 4, false),
        (
            "tools/list",
            || Some(("429 Too Many Requests", "retry-after: 1\r\n".into(), String::new())),
            1,
            true,
        ),
        (
            "tools/list",
            || Some(("429 Too Many Requests", "retry-after: 3600\r\n".into(), String::new())),
            1,
            false,
        ),
        ("tools/list", || status("503 Service Unavailable", "x"), 3, false),
    ];
    for (method, busy, times, connects) in cases {
        let mut left = times;
        let site = Site::new(move |request| {
            if request.asks() == method && left > 0 {
                left -= 1;
                return busy();
            }
            modern(request)
        })
        .await;
        let connected = at(&site).connect().await;
        assert_eq!(connected.is_ok(), connects, "{method} {times}: {connected:?}");
        if let Err(ConnectError { reason, .. }) = connected {
            assert!(reason.contains("the server answered HTTP"), "{reason}");
        }
    }
}

#[tokio::test]
async fn a_server_that_is_not_there_yet_is_waited_for() {
    let place = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = place.local_addr().unwrap();
    drop(place);
    let web = ensemble(SecretRef::Literal(format!("http://{address}/mcp")), vec![], &Arc::default());
    let connecting = tokio::spawn(async move { web.connect().await.map(|tools| tools.len()) });
    tokio::time::sleep(Duration::from_millis(400)).await;
    let _site = Site::listening(TcpListener::bind(address).await.unwrap(), modern);
    assert_eq!(connecting.await.unwrap().unwrap(), 1);
}

/// One that breaks every stream it is asked for is not asked again without a pause.
#[tokio::test]
async fn broken_streams_are_not_a_storm() {
    let site = Site::new(|request| match request.method.as_str() {
        "GET" => Some(("200 OK", "content-type: text/event-stream\r\n".into(), "retry: 0\nid: 1\n\n".into())),
        _ => legacy("s1", request),
    })
    .await;
    let web = at(&site);
    let tools = web.connect().await.unwrap();
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(call(&tools[0]).await, echo());
    let streams = site.heard().iter().filter(|line| line.starts_with("GET")).count();
    assert!((2..12).contains(&streams), "{streams} streams in two seconds");
}

/// One that is polled, and says when, is not made to wait ever longer.
#[tokio::test]
async fn streams_that_get_on_are_taken_up_again_when_the_server_says() {
    let mut events = 0;
    let site = Site::new(move |request| match request.method.as_str() {
        "GET" => {
            events += 1;
            let body = format!("id: {events}\nretry: 100\n\n");
            Some(("200 OK", "content-type: text/event-stream\r\n".into(), body))
        }
        _ => legacy("s1", request),
    })
    .await;
    let web = at(&site);
    web.connect().await.unwrap();
    let many = async {
        while site.heard().iter().filter(|line| line.starts_with("GET")).count() < 30 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    // Each a tenth of a second after the last; with pauses that double, up to half a minute, ten minutes and more.
    ends("streams that are taken up again at once", many).await;
}

#[tokio::test]
async fn a_server_that_asks_without_end_is_given_up() {
    let site = Site::new(|request| match (request.method.as_str(), request.asks()) {
        ("GET", _) => {
            let ping = |n| format!("data: {}\n\n", json!({ "jsonrpc": "2.0", "id": n, "method": "ping" }));
            let pings = (0..1000).map(ping).collect();
            Some(("200 OK", "content-type: text/event-stream\r\n".to_owned(), pings))
        }
        // Its answers to them are not taken.
        ("POST", "" | "tools/call") => NEVER,
        _ => legacy("s1", request),
    })
    .await;
    let web = at(&site);
    let tools = web.connect().await.unwrap();
    let given_up = call(&tools[0]).await;
    let Err(InvokeError::Interrupted(text)) = given_up else { panic!("{given_up:?}") };
    assert!(text.ends_with("the server asked more than 64 times without taking an answer"), "{text}");
}

/// The call was sent and has begun a task: a refused poll says nothing about whether the call ran.
#[tokio::test]
async fn a_call_whose_task_cannot_be_polled_is_not_sent_again() {
    for refusal in ["429 Too Many Requests", "401 Unauthorized"] {
        let site = Site::new(move |request| match request.asks() {
            "tools/call" => {
                let begun = json!({ "resultType": "task", "taskId": "t1", "status": "working", "ttlMs": null,
                    "createdAt": "2026-11-23T00:00:00Z", "lastUpdatedAt": "2026-11-23T00:00:00Z",
                    "pollIntervalMs": 1 });
                result(request, begun)
            }
            "tasks/get" => status(refusal, "not now"),
            "tasks/cancel" => result(request, json!({ "resultType": "complete" })),
            _ => modern(request),
        })
        .await;
        let web = at(&site);
        let tools = web.connect().await.unwrap();
        let failed = call(&tools[0]).await;
        let Err(InvokeError::Interrupted(text)) = &failed else { panic!("{refusal}: {failed:?}") };
        assert!(text.contains("could not be polled") && text.ends_with("outcome unknown"), "{text}");
        assert_eq!((site.posts("tools/call"), site.posts("tasks/cancel")), (1, 1), "{refusal}");
    }
}
