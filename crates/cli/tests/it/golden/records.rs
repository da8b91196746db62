//! `-o jsonl`: runs in which each type of record occurs.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::is_golden;
use crate::body::{Dialect, calls, text};
use crate::env::{Ran, TestEnv};
use crate::fake_server::FakeServer;
use crate::http::Answer;
use crate::provider::{Line, Provider};
use crate::records::fits;

const PRICE: &str = "[models.\"openai-chat/stub\"]\nprice = { input = 15.0, output = 15.0 }\n";

/// The model is unavailable at first, thinks, uses a tool, and needs an approval that nobody can give.
fn with_tools() -> Ran {
    let provider = Provider::new(
        Dialect::Anthropic,
        [
            Line::from(Answer::new(503, "application/json", "{}")),
            calls([("essentials__calculator", json!({ "expression": "6*7" }))])
                .with_text("Let me see.")
                .thinking("a product")
                .into(),
            calls([("io__write_file", json!({ "path": "x", "content": "y" }))]).into(),
            text("It is 42.").into(),
        ],
    );
    let env = provider.env(TestEnv::hasty());
    let ran = env.run(&["ask", "6*7?", "-m", provider.model(), "-o", "jsonl"]).exits(8);
    provider.is_content();
    ran
}

/// No model is configured, and a descriptor is broken.
fn of_the_understudy() -> Ran {
    let env = TestEnv::new();
    env.write("work/ensembles/broken.toml", "[ensemble]\nname = \"broken\"\ntimout = 3\n");
    env.run(&["ask", "What is 15% of 2500?", "-o", "jsonl"]).exits(0)
}

fn with_progress() -> Ran {
    let provider = Provider::chat([
        calls([("up__progress", json!({ "steps": 2, "ms": 1 }))]),
        text("Both steps are done."),
    ]);
    let env = provider.env(TestEnv::new());
    env.write("home/.config/converse/config.toml", PRICE);
    FakeServer::new("up", &[]).write(&env);
    let servers = env.path("servers").display().to_string();
    let args = ["ask", "go", "-m", provider.model(), "--ensembles", &servers, "-e", "up", "-o", "jsonl"];
    let ran = env.run(&args).exits(0);
    provider.is_content();
    ran
}

/// The model's window is too small for the files that it reads.
fn with_a_summary() -> Ran {
    let read = |name: &str| calls([("io__read_file", json!({ "path": name }))]);
    let script = [read("a"), read("b"), read("c"), read("d"), text("A summary."), text("All are read.")];
    let provider = Provider::chat(script);
    let env = provider.env(TestEnv::new());
    for name in ["a", "b", "c", "d"] {
        env.write(&format!("work/{name}"), &"lorem ipsum ".repeat(1170));
    }
    let settings = "[context]\nlazy_tools = 0\n[models.\"openai-chat/stub\"]\nwindow = 8000\n";
    env.write("home/.config/converse/config.toml", settings);
    let ran = env.run(&["ask", "Read.", "-m", provider.model(), "-e", "io", "-o", "jsonl"]).exits(0);
    provider.is_content();
    ran
}

fn with_a_schema() -> Ran {
    let provider = Provider::chat([text("Oslo, I think."), text("{\"city\":\"Oslo\"}")]);
    let env = provider.env(TestEnv::hasty());
    let schema = json!({ "type": "object", "properties": { "city": { "type": "string" } } });
    env.write("work/answer.json", &schema.to_string());
    let args =
        ["ask", "which?", "-m", provider.model(), "--schema", "answer.json", "--no-tools", "-o", "jsonl"];
    let ran = env.run(&args).exits(0);
    provider.is_content();
    ran
}

/// Two models are compared. Their records are interleaved as they come, so they are sorted by model here.
fn of_two_models() -> Ran {
    let chat = Provider::chat([text("One.")]);
    let anthropic = Provider::new(Dialect::Anthropic, [text("Two.")]);
    let env = anthropic.env(chat.env(TestEnv::new()));
    let models = ["-m", chat.model(), "-m", anthropic.model()];
    let mut ran = env.run(&[&["ask", "go", "--no-tools", "-o", "jsonl"], &models[..]].concat()).exits(0);
    fits(&ran.records());
    let mut lines: Vec<(String, String)> = Vec::new();
    for (line, record) in ran.stdout.lines().zip(ran.records()) {
        let route = record["route"].as_str().unwrap_or("~").to_owned();
        lines.push((route, line.replacen(&format!("\"seq\":{}", record["seq"]), "\"seq\":0", 1)));
    }
    lines.sort_by(|one, other| one.0.cmp(&other.0));
    ran.stdout = lines.into_iter().map(|(_, line)| line + "\n").collect();
    ran
}

fn of_a_refusal() -> Ran {
    let provider = Provider::chat([Answer::new(401, "application/json", r#"{"error":{"message":"no"}}"#)]);
    provider.env(TestEnv::new()).run(&["ask", "go", "-m", provider.model(), "-o", "jsonl"]).exits(4)
}

/// Joins deltas that follow each other: how a text is cut into them depends on how its bytes arrive.
fn joined(stdout: &str) -> String {
    let (mut records, mut fewer) = (Vec::<Value>::new(), 0);
    for line in stdout.lines() {
        let mut record: Value = serde_json::from_str(line).unwrap();
        let before = records.last_mut().filter(|before| {
            let is_delta = record["type"].as_str().unwrap().ends_with(".delta");
            is_delta && before["type"] == record["type"] && before["route"] == record["route"]
        });
        if let Some(before) = before {
            before["text"] =
                json!([&before["text"], &record["text"]].map(|text| text.as_str().unwrap()).concat());
            fewer += 1;
            continue;
        }
        if let Some(seq) = record["seq"].as_u64().filter(|seq| *seq > 0) {
            record["seq"] = json!(seq - fewer);
        }
        records.push(record);
    }
    records.iter().map(|record| format!("{record}\n")).collect()
}

/// Returns the types that the schema of the reference knows.
fn types_of_the_schema() -> BTreeSet<String> {
    let schema: Value =
        serde_json::from_str(include_str!("../../../../../docs/reference/events.schema.json")).unwrap();
    let kinds = schema["oneOf"].as_array().unwrap().iter();
    kinds.map(|kind| kind["properties"]["type"]["const"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn every_type_of_record_occurs() {
    let mut seen = BTreeSet::new();
    for (name, ran) in [
        ("tools", with_tools()),
        ("understudy", of_the_understudy()),
        ("progress", with_progress()),
        ("summary", with_a_summary()),
        ("schema", with_a_schema()),
        ("two-models", of_two_models()),
        ("refusal", of_a_refusal()),
    ] {
        seen.extend(ran.records().iter().map(|record| record["type"].as_str().unwrap().to_owned()));
        is_golden(&format!("records-{name}"), &format!("{}== stderr\n{}", joined(&ran.stdout), ran.stderr));
    }
    assert_eq!(seen, types_of_the_schema());
}
