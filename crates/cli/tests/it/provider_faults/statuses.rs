//! P1–P16, P21: what a provider answers instead of a reply.

use std::time::Duration;

use super::bytes::{error, response, streamed};
use super::row::{ANTHROPIC, CHAT, KEYED, ROW, Row, check};
use super::server::Act;
use crate::body::{Dialect, text};
use crate::provider::KEY;

fn back(dialect: Dialect) -> Act {
    Act::Send(streamed(dialect, &text("Back.")))
}

/// So answered once, then well.
macro_rules! once {
    ($id:literal, $status:literal) => {
        Row {
            id: $id,
            what: concat!($status, " once"),
            acts: |dialect| vec![Act::Send(error($status, &[], "not now")), back(dialect)],
            visits: 2,
            prints: Some("Back.\n"),
            ..ROW
        }
    };
}

/// A 429 with these headers, then well.
macro_rules! wait {
    ($id:literal, $what:literal, $headers:expr, $seconds:expr) => {
        Row {
            id: $id,
            what: $what,
            dialects: CHAT,
            acts: |dialect| vec![Act::Send(error(429, $headers, "slower")), back(dialect)],
            visits: 2,
            prints: Some("Back.\n"),
            waits_for: Duration::from_secs($seconds),
            ..ROW
        }
    };
}

/// Refused for good at the first try.
macro_rules! refused {
    ($status:literal, $exit:literal, $says:expr) => {
        Row {
            id: "P16",
            what: concat!($status),
            dialects: KEYED,
            acts: |_| {
                let message = format!("the key {KEY} and the field `tools.0` are wrong");
                vec![Act::Send(error($status, &[("x-request-id", "req_42")], &message))]
            },
            exit: $exit,
            says: &$says,
            never: &["attempts"],
            ..ROW
        }
    };
}

const SPENT: &str = r#"{"type":"error","error":{"type":"rate_limit_error","message":"spend limit","details":{"error_code":"enforced_spend_limit_reached"}}}"#;
const QUOTA: &str = r#"{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}"#;
const PAGE: &str =
    "<!doctype html><html><head><title>Bad gateway</title></head><body><h1>nginx</h1></body></html>";
const JSON: (&str, &str) = ("content-type", "application/json");
const HTML: (&str, &str) = ("content-type", "text/html");

pub(super) fn rows() -> Vec<Row> {
    [repeated(), waited(), refusals(), pages()].concat()
}

fn repeated() -> Vec<Row> {
    vec![
        once!("P1", 408),
        once!("P2", 409),
        once!("P3", 429),
        once!("P4", 500),
        once!("P5", 502),
        once!("P6", 503),
        once!("P7", 504),
        once!("P8", 529),
        Row {
            id: "P9",
            what: "529 for ever",
            acts: |_| vec![Act::Send(error(529, &[("request-id", "req_9")], "Overloaded")); 9],
            exit: 5,
            visits: 5,
            prints: Some(""),
            says: &["error[overloaded]", "answered 529: Overloaded", "5 attempts", "req_9"],
            ..ROW
        },
    ]
}

fn waited() -> Vec<Row> {
    vec![
        wait!("P10", "Retry-After in seconds", &[("retry-after", "2")], 2),
        wait!(
            "P11",
            "Retry-After as a date",
            &[("date", "Fri, 20 Nov 2026 23:59:58 GMT"), ("retry-after", "Sat, 21 Nov 2026 00:00:00 GMT")],
            2
        ),
        wait!(
            "P12",
            "Retry-After in the past",
            &[("date", "Fri, 20 Nov 2026 23:59:58 GMT"), ("retry-after", "Fri, 20 Nov 2026 00:00:00 GMT")],
            0
        ),
        wait!("P13", "Retry-After garbage", &[("retry-after", "garbage")], 0),
        wait!("P13", "Retry-After negative", &[("retry-after", "-1")], 0),
        wait!("P14", "finer, and it wins", &[("retry-after-ms", "5"), ("retry-after", "86400")], 0),
        Row {
            id: "P14",
            what: "Retry-After a day",
            acts: |_| vec![Act::Send(error(429, &[("retry-after", "86400")], "slower")); 2],
            exit: 5,
            says: &["error[rate-limit]", "retry after 24 h"],
            ..ROW
        },
        Row {
            id: "P14",
            what: "it says not to",
            acts: |_| vec![Act::Send(error(503, &[("x-should-retry", "false")], "no")); 2],
            exit: 5,
            ..ROW
        },
    ]
}

fn refusals() -> Vec<Row> {
    vec![
        Row {
            id: "P15",
            what: "a spend limit in a 429",
            dialects: ANTHROPIC,
            acts: |_| vec![Act::Send(response(429, &[JSON], SPENT)); 2],
            exit: 4,
            says: &["error[quota]", "spend limit", "billing"],
            ..ROW
        },
        Row {
            id: "P15",
            what: "no quota, in a 429 that says when to come again",
            dialects: CHAT,
            acts: |_| vec![Act::Send(response(429, &[JSON, ("retry-after", "1")], QUOTA)); 2],
            exit: 4,
            says: &["error[quota]"],
            ..ROW
        },
        refused!(401, 4, ["error[auth]", "[redacted]", "req_42"]),
        refused!(402, 4, ["error[quota]", "req_42"]),
        refused!(403, 4, ["error[auth]", "req_42"]),
        refused!(404, 6, ["error[rejected]", "name of the model", "req_42"]),
        refused!(400, 6, ["error[rejected]", "`tools.0`", "req_42"]),
        refused!(413, 6, ["error[rejected]", "too large", "req_42"]),
        refused!(422, 6, ["error[rejected]", "`tools.0`", "req_42"]),
        Row {
            id: "P16",
            what: "the field stands beside the message",
            dialects: CHAT,
            acts: |_| {
                let body = r#"{"error":{"message":"unsupported","param":"temperature"}}"#;
                vec![Act::Send(response(400, &[JSON], body))]
            },
            exit: 6,
            says: &["temperature"],
            ..ROW
        },
    ]
}

fn pages() -> Vec<Row> {
    vec![
        Row {
            id: "P21",
            what: "a proxy's page, 502",
            acts: |_| vec![Act::Send(response(502, &[HTML], PAGE)); 5],
            exit: 5,
            visits: 5,
            says: &["HTML page titled \"Bad gateway\""],
            never: &["<html", "<h1"],
            ..ROW
        },
        Row {
            id: "P21",
            what: "a page with 200",
            acts: |_| vec![Act::Send(response(200, &[HTML], PAGE))],
            exit: 6,
            says: &["error[bad-response]", "HTML page titled \"Bad gateway\""],
            never: &["<html", "<h1"],
            ..ROW
        },
        Row {
            id: "P21",
            what: "nothing with 200",
            acts: |_| vec![Act::Send(response(200, &[JSON, ("content-length", "0")], ""))],
            exit: 6,
            says: &["error[bad-response]", "no body"],
            ..ROW
        },
        Row {
            id: "P21",
            what: "a list with 200",
            dialects: &[Dialect::Anthropic, Dialect::Chat, Dialect::Responses, Dialect::Ollama],
            acts: |_| vec![Act::Send(response(200, &[JSON], "[1, 2]"))],
            exit: 6,
            ..ROW
        },
        Row {
            id: "P21",
            what: "an error in JSON where a stream was promised",
            acts: |dialect| {
                let body = r#"{"error":{"message":"in disguise","code":400}}"#;
                vec![Act::Send(response(200, &[("content-type", dialect.stream_type())], body))]
            },
            exit: 6,
            says: &["in disguise"],
            ..ROW
        },
    ]
}

#[test]
fn statuses_that_may_pass() {
    check(&repeated());
}

#[test]
fn waits_that_are_asked_for() {
    check(&waited());
}

#[test]
fn refusals_are_not_repeated() {
    check(&refusals());
}

#[test]
fn pages_that_are_no_replies() {
    check(&pages());
}
