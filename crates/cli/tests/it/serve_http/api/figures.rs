//! Figures, the invocations behind them, and the audit log over `/api`.

use converse_testkit::hang_guard::wait_until;
use serde_json::{Value, json};

use super::{OTHER, TOKEN, get, json_of, open, question, run, send, session_of, token_file};
use crate::env::TestEnv;

#[test]
fn figures_lead_to_the_invocations_behind_them() {
    let env = TestEnv::new().var("CONVERSE_SERVE_TOKEN", TOKEN);
    let gate = open(&env, &[]);
    let mut sessions = Vec::new();
    for sum in ["15% of 2500", "20% of 50", "1/0"] {
        sessions
            .push(session_of(&run(&gate, &question(&format!("@essentials.calculator expression={sum}")))));
    }
    let total = get(&gate, "/api/figures")["total"].clone();
    assert_eq!((&total["turns"], &total["invocations"]), (&json!(3), &json!(3)), "{total}");
    let by_tool = get(&gate, "/api/figures?by=tool");
    let row = &by_tool["rows"][0];
    assert_eq!((&row["key"], &row["invocations"]), (&json!("essentials.calculator"), &json!(3)), "{by_tool}");
    assert_eq!(row["failures"], total["failures"]);
    let day = get(&gate, "/api/figures?by=day")["rows"][0].clone();
    assert_eq!((&day["turns"], &day["invocations"]), (&json!(3), &json!(3)), "{day}");
    let model = get(&gate, "/api/figures?by=model")["rows"][0].clone();
    assert_eq!((&model["turns"], &model["invocations"]), (&json!(3), &json!(3)), "{model}");
    assert!(model["latency_ms"]["p95"].is_u64(), "{model}");
    let today = day["key"].as_str().unwrap();
    assert_eq!(get(&gate, &format!("/api/figures?since={today}&until={today}"))["total"]["turns"], 3);
    assert_eq!(get(&gate, "/api/figures?since=2100-01-01")["rows"], json!([]));
    assert_eq!(get(&gate, "/api/figures?until=2000-01-01")["rows"], json!([]));

    let first = get(&gate, "/api/invocations?tool=essentials.calculator&limit=2");
    assert_eq!(first["items"].as_array().map(Vec::len), Some(2), "{first}");
    let item = &first["items"][0];
    assert_eq!((&item["session"], &item["tool"]), (&json!(sessions[2]), &json!("calculator")), "{item}");
    assert_eq!(item["arguments"]["expression"], "1/0", "{item}");
    let next = first["next"].as_str().unwrap();
    let second = get(&gate, &format!("/api/invocations?tool=essentials.calculator&limit=2&cursor={next}"));
    assert_eq!(second["items"][0]["session"], json!(sessions[0]), "{second}");
    assert!(second["items"][1].is_null() && second["next"].is_null(), "{second}");
    // The message that an invocation leads to holds its call.
    let shown = get(&gate, &format!("/api/sessions/{}", sessions[2]));
    let messages = shown["messages"].as_array().unwrap();
    let message = messages.iter().find(|one| one["index"] == item["index"]).unwrap();
    assert!(message["parts"].as_array().unwrap().iter().any(|part| part["id"] == item["id"]), "{shown}");
    let failed = get(&gate, &format!("/api/invocations?outcome=failed&day={today}"));
    assert_eq!(failed["items"].as_array().map(Vec::len), total["failures"].as_u64().map(|n| n as usize));
    for path in ["figures?by=colour", "figures?since=soon", "invocations?outcome=odd", "invocations?cursor=x"]
    {
        assert_eq!(send(&gate, "GET", &format!("/api/{path}"), TOKEN, &Value::Null).0, 400, "{path}");
    }
}

#[test]
fn sessions_figures_and_invocations_are_those_of_a_project() {
    let env = TestEnv::new().var("CONVERSE_SERVE_TOKEN", TOKEN);
    let gate = open(&env, &[]);
    let session = session_of(&run(&gate, &question("What is 15% of 2500?")));
    let project = get(&gate, "/api/status")["project"].as_str().unwrap().to_owned();
    wait_until("the turn is over", || get(&gate, "/api/sessions")["items"][0]["project"] == project.as_str());
    let count = |path: &str, project: &str| {
        let answer = get(&gate, &format!("/api/{path}?project={project}"));
        let list = if path == "figures" { &answer["rows"] } else { &answer["items"] };
        list.as_array().unwrap().len()
    };
    for path in ["sessions", "figures", "invocations"] {
        assert_eq!((count(path, &project), count(path, "/nonesuch")), (1, 0), "{path}");
    }
    let made = json_of(send(&gate, "POST", "/api/sessions", TOKEN, &json!({})));
    assert_eq!(made["project"], json!(project));
    let fork =
        json_of(send(&gate, "POST", &format!("/api/sessions/{session}/fork"), TOKEN, &json!({ "at": 4 })));
    assert_eq!(fork["project"], json!(project));
}

#[test]
fn the_audit_log_is_shown_and_verified() {
    let env = TestEnv::new().var("CONVERSE_SERVE_TOKEN", TOKEN);
    let gate = open(&env, &[]);
    let session = session_of(&run(&gate, &question("What is 15% of 2500?")));
    let other = session_of(&run(&gate, &question("What is 20% of 50?")));
    let log = get(&gate, "/api/audit");
    assert_eq!((&log["verified"], &log["items"][0]["kind"]), (&json!(true), &json!("finished")), "{log}");
    assert_eq!(log["items"][0]["session"], json!(other));
    let seqs: Vec<u64> =
        log["items"].as_array().unwrap().iter().map(|one| one["seq"].as_u64().unwrap()).collect();
    assert!(seqs.is_sorted_by(|one, other| one > other) && seqs.last() == Some(&1), "{seqs:?}");
    let of = get(&gate, &format!("/api/audit?session={session}"));
    assert!(of["items"].as_array().unwrap().iter().all(|one| one["session"] == json!(session)), "{of}");
    let earlier = get(&gate, "/api/audit?cursor=3");
    assert_eq!(earlier["items"].as_array().map(Vec::len), Some(2), "{earlier}");

    let path = env.path("home/.local/state/converse/audit.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replacen("calculator", "calculators", 1)).unwrap();
    assert_eq!(get(&gate, "/api/audit")["verified"], false);
}

#[test]
fn figures_and_records_of_another_principal_are_not_visible() {
    let env = TestEnv::new();
    let file = token_file(&env, &format!("{TOKEN}\n{OTHER}\n"));
    let gate = open(&env, &["--token-file", &file]);
    let session = session_of(&run(&gate, &question("What is 15% of 2500?")));
    assert_eq!(get(&gate, "/api/figures")["total"]["invocations"], 1);
    assert!(get(&gate, "/api/audit")["items"][0].is_object());
    let theirs = |path: &str| json_of(send(&gate, "GET", path, OTHER, &Value::Null));
    assert_eq!(theirs("/api/figures")["rows"], json!([]));
    assert_eq!(theirs("/api/figures")["total"]["turns"], 0);
    assert_eq!(theirs("/api/invocations")["items"], json!([]));
    assert_eq!(theirs("/api/audit")["items"], json!([]));
    assert_eq!(theirs(&format!("/api/audit?session={session}"))["items"], json!([]));
}
