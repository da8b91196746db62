//! Rows over HTTP that are about becoming a server of ours, or not.

use serde_json::json;

use super::row::{Ends, ROW, Row};
use super::site::{Era, HTML, mute, nothing, on};
use crate::http::Answer;

pub(super) fn rows() -> Vec<Row> {
    vec![
        Row {
            name: "http: a good legacy server",
            asked: &[("initialize", 1), ("tools/call", 1), ("DELETE", 1)],
            ..ROW
        },
        Row {
            name: "http: a good modern server",
            era: Era::Modern,
            asked: &[("initialize", 0), ("tools/call", 1)],
            ..ROW
        },
        Row {
            ids: "C3",
            name: "http: mute from the beginning",
            misdeed: |_, _| Some(mute()),
            connection: "connect_timeout = 1",
            ends: Ends::LeftOut("was not connected within 1 s"),
            ..ROW
        },
        Row {
            ids: "C3",
            name: "http: mute when it is asked for its tools",
            misdeed: |asked, _| on(asked, "tools/list", mute),
            connection: "connect_timeout = 1",
            ends: Ends::LeftOut("was not connected within 1 s"),
            ..ROW
        },
        Row {
            ids: "C3",
            name: "http: a version nobody knows",
            misdeed: |asked, _| {
                let info = json!({ "name": "x", "version": "1" });
                let result =
                    json!({ "protocolVersion": "2099-01-01", "capabilities": {}, "serverInfo": info });
                on(asked, "initialize", || asked.answers(result))
            },
            ends: Ends::LeftOut("2099-01-01"),
            ..ROW
        },
        Row {
            name: "http: 202 to the handshake",
            misdeed: |asked, _| on(asked, "initialize", || nothing(202)),
            ends: Ends::LeftOut("(HTTP 202) but sent no answer"),
            ..ROW
        },
        Row {
            name: "http: an HTML page",
            misdeed: |_, _| Some(Answer::new(200, "text/html", HTML)),
            ends: Ends::LeftOut("text/html instead of JSON"),
            ..ROW
        },
        Row {
            name: "http: 404 for everything",
            misdeed: |_, _| Some(nothing(404)),
            ends: Ends::LeftOut("HTTP 404"),
            ..ROW
        },
        Row {
            name: "http: 500 for everything",
            misdeed: |_, _| Some(Answer::new(500, "text/html", HTML)),
            ends: Ends::LeftOut("HTTP 500"),
            ..ROW
        },
        Row {
            name: "http: 401 at once",
            misdeed: |_, _| Some(nothing(401).header("www-authenticate", "Bearer realm=\"x\"")),
            ends: Ends::LeftOut("requires authorization (HTTP 401)"),
            ..ROW
        },
        Row {
            name: "http: 503 at first",
            misdeed: |asked, _| (asked.is("server/discover") && asked.times <= 2).then(|| nothing(503)),
            asked: &[("server/discover", 3)],
            ..ROW
        },
        Row {
            name: "http: 503 for ever",
            misdeed: |_, _| Some(nothing(503)),
            ends: Ends::LeftOut("HTTP 503"),
            asked: &[("server/discover", 4), ("initialize", 0)],
            ..ROW
        },
        Row {
            name: "http: 503, come back tomorrow",
            misdeed: |_, _| Some(nothing(503).header("retry-after", "86400")),
            ends: Ends::LeftOut("retry after 86400 s"),
            asked: &[("server/discover", 1)],
            ..ROW
        },
        Row {
            name: "http: 429 for its tools, with Retry-After",
            misdeed: |asked, _| {
                let busy = asked.is("tools/list") && asked.times == 1;
                busy.then(|| nothing(429).header("retry-after", "1"))
            },
            asked: &[("tools/list", 2)],
            ..ROW
        },
        Row {
            name: "http: redirects elsewhere",
            misdeed: |_, _| Some(nothing(302).header("location", "http://127.0.0.1:9/elsewhere")),
            ends: Ends::LeftOut("redirects (HTTP 302)"),
            ..ROW
        },
        Row {
            name: "http: redirects to another origin and keeps the message",
            misdeed: |_, _| Some(nothing(307).header("location", "http://localhost:9/elsewhere")),
            ends: Ends::LeftOut("redirects (HTTP 307)"),
            ..ROW
        },
        Row {
            name: "http: redirects to another place of its own",
            misdeed: |asked, _| {
                (asked.request.path == "/mcp").then(|| nothing(308).header("location", "/moved"))
            },
            ..ROW
        },
        Row {
            name: "http: redirects in a circle",
            misdeed: |_, _| Some(nothing(307).header("location", "/mcp")),
            ends: Ends::LeftOut("redirects (HTTP 307)"),
            ..ROW
        },
        Row {
            ids: "C7",
            name: "http: the same cursor for ever",
            misdeed: |asked, _| {
                on(asked, "tools/list", || asked.answers(json!({ "tools": [], "nextCursor": "again" })))
            },
            ends: Ends::LeftOut("does not end"),
            ..ROW
        },
        Row {
            ids: "C7",
            name: "http: a hundred thousand tools",
            misdeed: |asked, _| {
                let tool = |n| json!({ "name": format!("t{n}"), "inputSchema": { "type": "object" } });
                on(asked, "tools/list", || {
                    asked.answers(json!({ "tools": (0..100_000).map(tool).collect::<Vec<_>>() }))
                })
            },
            ends: Ends::LeftOut("does not end"),
            ..ROW
        },
        Row {
            ids: "C7",
            name: "http: malformed tools beside a good one",
            misdeed: |asked, _| {
                let good = json!({ "name": "echo", "inputSchema": { "type": "object" } });
                let bad =
                    [json!({ "name": 7 }), json!(null), json!({ "name": "x", "inputSchema": [] }), json!([])];
                let tools: Vec<_> = bad.into_iter().chain([good]).collect();
                on(asked, "tools/list", || asked.answers(json!({ "tools": tools })))
            },
            ..ROW
        },
    ]
}
