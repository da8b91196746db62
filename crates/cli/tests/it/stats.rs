//! `converse stats`: the figures of sessions whose every number is known.

use std::fs;

use serde_json::{Value, json};

use crate::body::{calls, text};
use crate::env::{Ran, TestEnv};
use crate::provider::Provider;

const ID: &str = "019a8c00-0000-7000-8000-00000000000";
const HOSTILE: &str = "<script>alert(1)</script>\u{1b}[31m\u{202e}.x";

/// Journals of format 1, which have no sums to get wrong.
struct Writing {
    day: u32,
    second: u32,
    lines: Vec<String>,
}

impl Writing {
    fn on(day: u32) -> Self {
        let mut writing = Self { day, second: 0, lines: vec![] };
        let at = writing.at();
        writing.line(0, &json!({ "type": "opened", "format": 1, "program": "p", "created": at }));
        writing
    }

    fn at(&self) -> String {
        format!("2026-11-{:02}T12:{:02}:{:02}Z", self.day, self.second / 60, self.second % 60)
    }

    /// So many seconds later.
    fn line(&mut self, later: u32, body: &Value) {
        self.second += later;
        let mut line = json!({ "seq": self.lines.len() + 1, "at": self.at() });
        line.as_object_mut().unwrap().extend(body.as_object().unwrap().clone());
        self.lines.push(line.to_string() + "\n");
    }

    fn user(mut self) -> Self {
        let content = json!([{ "type": "text", "text": "hi" }]);
        self.line(1, &json!({ "type": "canister", "canister": { "role": "user", "content": content } }));
        self
    }

    /// A reply after so many seconds, with a call that takes two seconds.
    fn reply(mut self, later: u32, model: &str, cost: Option<u64>, call: Option<(&str, &str)>) -> Self {
        let turn = self.lines.len();
        let assistant = json!({ "role": "assistant", "turn": turn, "content": [], "stop": "end" });
        self.line(later, &json!({ "type": "canister", "canister": assistant }));
        let id = format!("inv_{turn}_0");
        if let Some((tool, _)) = call {
            let arguments = json!({ "raw": "{}", "object": {} });
            let invocation =
                json!({ "role": "invocation", "turn": turn, "id": id, "tool": tool, "arguments": arguments });
            self.line(0, &json!({ "type": "canister", "canister": invocation }));
        }
        let mut used = json!({ "type": "used", "usage": { "input": 1000, "output": 10 }, "model": model });
        if let Some(cost) = cost {
            used["cost"] = cost.into();
        }
        self.line(0, &used);
        if let Some((_, outcome)) = call {
            self.line(0, &json!({ "type": "started", "id": id }));
            let result = json!({ "role": "result", "id": id, "content": [], "outcome": outcome });
            self.line(2, &json!({ "type": "canister", "canister": result }));
        }
        self
    }

    fn keep(self, env: &TestEnv, number: u32) {
        env.write(&format!("{}{number}/journal.jsonl", store(ID)), &self.lines.concat());
    }
}

fn store(id: &str) -> String {
    format!("home/.local/share/converse/sessions/{id}")
}

/// Two days, two models, three tools.
fn kept() -> TestEnv {
    let env = TestEnv::new().var("TZ", "UTC");
    Writing::on(18)
        .user()
        .reply(4, "alpha", Some(2_000_000), Some(("io__read", "success")))
        .reply(3, "alpha", Some(500_000), None)
        .keep(&env, 1);
    Writing::on(20)
        .user()
        .reply(9, "beta", None, Some(("io.write", "invalid")))
        .reply(1, "beta", None, Some((HOSTILE, "failed")))
        .user()
        .reply(2, "alpha", Some(250_000), None)
        .keep(&env, 2);
    env
}

fn stats(env: &TestEnv, words: &[&str]) -> Ran {
    env.run(&[&["stats"], words].concat())
}

#[test]
fn every_number_is_what_the_journals_say() {
    let env = kept();
    let all = stats(&env, &["--json"]).exits(0).json();
    assert_eq!((&all["since"], &all["zone"], &all["unreadable"]), (&Value::Null, &json!("UTC"), &json!(0)));
    let total = &all["total"];
    assert_eq!(
        total,
        &json!({
            "sessions": 2, "turns": 3, "replies": 5, "uncounted": 0, "unpriced": 2,
            "usage": { "input": 5000, "output": 50, "cache_read": 0, "cache_write": 0, "reasoning": 0 },
            "cost": null, "cost_at_least": 2.75,
            "calls": { "count": 3, "outcomes": { "success": 1, "invalid": 1, "failed": 1 }, "cost": 0.0 },
        })
    );
    let days = all["days"].as_array().unwrap();
    let day =
        |at: usize| (&days[at]["day"], &days[at]["turns"], &days[at]["cost"], &days[at]["calls"]["count"]);
    assert_eq!(days.len(), 2);
    assert_eq!(day(0), (&json!("2026-11-18"), &json!(1), &json!(2.5), &json!(1)));
    assert_eq!(day(1), (&json!("2026-11-20"), &json!(2), &Value::Null, &json!(2)));
    let [alpha, beta] = &all["models"].as_array().unwrap()[..] else { panic!("{all}") };
    assert_eq!(alpha["milliseconds"], json!({ "count": 3, "p50": 2996, "p95": 4000 }));
    assert_eq!((&beta["unpriced"], &beta["invalid_rate"]), (&json!(2), &json!(0.5)));
    let tools = all["tools"].as_array().unwrap();
    let of = |name: &str| tools.iter().find(|tool| tool["tool"] == name).unwrap();
    assert_eq!((&of("io.write")["invalid_rate"], &of(HOSTILE)["failure_rate"]), (&json!(1.0), &json!(1.0)));
    assert_eq!(of("io.read")["milliseconds"], json!({ "count": 1, "p50": 2000, "p95": 2000 }));
    assert_eq!(
        all["schema_errors"],
        json!([{ "model": "beta", "tool": "io.write", "calls": 1, "invalid": 1, "invalid_rate": 1.0 }])
    );
}

#[test]
fn what_is_asked_for_is_what_is_counted() {
    let env = kept();
    let found = |words: &[&str]| {
        let total = stats(&env, &[words, &["--json"]].concat()).exits(0).json()["total"].clone();
        [&total["sessions"], &total["turns"], &total["replies"], &total["calls"]["count"]]
            .map(|number| number.as_u64().unwrap())
    };
    let second = format!("{ID}2");
    for (words, expected) in [
        (&[][..], [2, 3, 5, 3]),
        (&["--since", "2026-11-19"], [1, 2, 3, 2]),
        (&["--since", "2026-11-21"], [0, 0, 0, 0]),
        (&["--days", "36525"], [2, 3, 5, 3]),
        (&["--model", "AL*"], [2, 2, 3, 1]),
        (&["--model", "al"], [0, 0, 0, 0]),
        (&["--tool", "io"], [2, 3, 5, 2]),
        (&["--tool", "*.read"], [2, 3, 5, 1]),
        (&["--session", &second], [1, 2, 3, 2]),
    ] {
        assert_eq!(found(words), expected, "{words:?}");
    }
    // Midnight comes earlier in the east.
    let east = kept().var("TZ", "Pacific/Kiritimati");
    assert_eq!(stats(&east, &["--json"]).json()["days"][0]["day"], "2026-11-19");
    for (words, code, told) in [
        (&["--session", "nobody"][..], 2, "no session"),
        (&["--days", "0"], 2, "0 is not in"),
        (&["--days", "3", "--since", "2026-11-01"], 2, "cannot be used with"),
        (&["--since", "yesterday"], 2, "yesterday"),
        (&["-o", "x"], 2, "--html"),
    ] {
        let ran = stats(&env, words).exits(code);
        assert!(ran.stderr.contains(told), "{words:?}: {}", ran.stderr);
    }
}

#[test]
fn tables_fit_and_act_on_no_terminal() {
    for (columns, locale) in
        [("40", "C.UTF-8"), ("40", "C"), ("64", "C.UTF-8"), ("100", "C"), ("100", "C.UTF-8")]
    {
        let env = kept().var("COLUMNS", columns).var("LANG", locale);
        let text = stats(&env, &[]).exits(0).stdout;
        let most = columns.parse::<usize>().unwrap();
        for line in text.lines() {
            assert!(line.chars().count() <= most, "{columns}: {line:?}");
        }
        assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text:?}");
        assert_eq!(text.is_ascii(), locale == "C", "{text}");
        for told in ["2026-11-18", "alpha", "io.write", "2 sessions", "$2.75 + 2 replies of unknown price"] {
            assert!(text.contains(told), "{columns}: no {told} in {text}");
        }
    }
    let wide = stats(&kept().var("COLUMNS", "100"), &["--by", "model"]).exits(0).stdout;
    assert!(!wide.contains("io.write") && !wide.contains("2026-11-18  "), "{wide}");
    let row = wide.lines().find(|line| line.starts_with("alpha")).unwrap();
    let cells: Vec<_> = row.split_whitespace().collect();
    assert_eq!(cells[..7], ["alpha", "3", "3.00k", "30", "$2.75", "3.0s", "4.0s"], "{row}");
    assert!(cells.last().unwrap().starts_with('█'), "{row}");
}

#[test]
fn a_page_needs_nothing_and_does_nothing() {
    let env = kept();
    stats(&env, &["--html", "-o", "page.html"]).exits(0);
    let page = fs::read_to_string(env.path("work/page.html")).unwrap();
    let lower = page.to_lowercase();
    for evil in
        ["<script", "http:", "https:", "//", "href", "src=", "@import", "url(", " on", "\u{1b}", "\u{202e}"]
    {
        let found = lower.find(evil).map(|at| &lower[at.saturating_sub(40)..(at + 40).min(lower.len())]);
        // Words, not attributes.
        let found =
            found.filter(|_| evil != " on" || lower.contains(" onerror=") || lower.contains(" onload="));
        assert_eq!(found, None, "{evil}");
    }
    assert!(page.contains("&lt;script&gt;") && page.contains("default-src 'none'"));
    assert!(page.contains("prefers-color-scheme: dark") && page.matches("<svg").count() == 4, "{page}");
    assert!(page.contains("<title>2026-11-18 · alpha · 2.02k</title>"), "{page}");
    // Every element that is opened is closed.
    for tag in ["section", "table", "svg", "div", "tr", "td", "text", "ul", "title"] {
        let opened = page.matches(&format!("<{tag}>")).count() + page.matches(&format!("<{tag} ")).count();
        assert_eq!(opened, page.matches(&format!("</{tag}>")).count(), "{tag}");
    }
    let again = stats(&env, &["--html", "-o", "page.html"]).exits(2);
    assert!(again.stderr.contains("--force"), "{}", again.stderr);
    stats(&env, &["--html", "-o", "page.html", "--force"]).exits(0);
    assert_eq!(
        stats(&env, &["--html"]).exits(0).stdout,
        fs::read_to_string(env.path("work/page.html")).unwrap()
    );
}

#[test]
fn a_damaged_session_is_counted_as_far_as_it_goes() {
    let env = kept();
    let path = env.path(&format!("{}2/journal.jsonl", store(ID)));
    let text = fs::read_to_string(&path).unwrap();
    let lines: Vec<_> = text.lines().collect();
    fs::write(&path, lines[..7].join("\n") + "\n{damaged}\n" + &lines[7..].join("\n") + "\n").unwrap();
    let ran = stats(&env, &["--json"]).exits(0);
    let all = ran.json();
    assert_eq!((&all["unreadable"], &all["total"]["replies"]), (&json!(1), &json!(3)), "{all}");
    assert!(all["unread"][0]["problem"].as_str().unwrap().contains("line 8"), "{all}");
    assert!(ran.stderr.contains("only as far as it can be read"), "{}", ran.stderr);
    assert!(stats(&env, &[]).exits(0).stdout.contains("1 session damaged"));
    assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), lines.len() + 1, "nothing is mended");
}

#[test]
fn where_nothing_is_kept_the_way_to_begin_is_told() {
    for env in [TestEnv::new(), TestEnv::new().without("HOME")] {
        let ran = stats(&env, &[]).exits(0);
        assert_eq!(ran.stdout, "");
        assert!(ran.stderr.contains("converse ask"), "{}", ran.stderr);
        assert_eq!(stats(&env, &["--json"]).exits(0).json()["total"]["replies"], 0);
    }
    let ran = stats(&kept(), &["--since", "2027-01-01"]).exits(0);
    assert!(ran.stderr.contains("--since"), "{}", ran.stderr);
}

#[test]
fn a_fork_and_an_import_count_nothing_twice() {
    let call = calls([("essentials__calculator", json!({ "expression": "6*7" }))]);
    let provider = Provider::chat([call, text("42."), text("More.")]);
    let env = provider.env(TestEnv::new());
    let model = provider.model();
    let id = env.run(&["ask", "x", "-m", model, "-o", "json"]).exits(0).json()["session"].clone();
    let id = id.as_str().unwrap();
    let count = || {
        let total = stats(&env, &["--json"]).exits(0).json()["total"].clone();
        [&total["turns"], &total["replies"], &total["calls"]["count"]].map(|number| number.as_u64().unwrap())
    };
    assert_eq!(count(), [1, 2, 1]);
    env.run(&["sessions", "fork", id, "--name", "other"]).exits(0);
    env.run(&["sessions", "export", id, "--format", "json", "-o", "s.json"]).exits(0);
    env.run(&["sessions", "import", "s.json"]).exits(0);
    assert_eq!(count(), [1, 2, 1]);
    env.run(&["ask", "more", "--session", "other"]).exits(0);
    assert_eq!(count(), [2, 3, 1]);
    // Who served it is part of its name, and need not be said.
    assert_eq!(stats(&env, &["--json"]).exits(0).json()["models"][0]["model"], model);
    let alone = model.split_once('/').unwrap().1;
    for (pattern, replies) in [(model, 3), (alone, 3), ("nobody/*", 0)] {
        let found = stats(&env, &["--json", "--model", pattern]).exits(0).json();
        assert_eq!(found["total"]["replies"], replies, "{pattern}");
    }
}

/// The page of the reference says what is in the object, and all of it.
#[test]
fn the_reference_has_every_key() {
    let page = include_str!("../../../../docs/reference/stats.md");
    let all = stats(&kept(), &["--json"]).exits(0).json();
    let mut waiting = vec![&all];
    let outcomes = ["success", "invalid", "failed"];
    while let Some(value) = waiting.pop() {
        match value {
            Value::Object(object) => {
                for (key, value) in object {
                    assert!(page.contains(&format!("`{key}`")) || outcomes.contains(&key.as_str()), "{key}");
                    waiting.push(value);
                }
            }
            Value::Array(values) => waiting.extend(values),
            _ => {}
        }
    }
}
