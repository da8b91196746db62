//! The audit log in the database of the sessions.

use converse_testkit::postgres::PostgresServer;
use serde_json::{Value, json};

use crate::env::{TestEnv, files};

const STATE: &str = "home/.local/state/converse";

fn server() -> (PostgresServer, String) {
    let server = PostgresServer::start().unwrap_or_else(|error| panic!("{error}"));
    let url = server.database().unwrap();
    (server, url)
}

/// The records of the owner's chain.
pub(crate) fn records(server: &PostgresServer) -> Vec<Value> {
    let sql = "SELECT convert_from(line, 'UTF8') FROM converse.audit WHERE owner = '' ORDER BY seq";
    let lines = server.sql("test0", sql).unwrap();
    lines.lines().filter(|line| !line.is_empty()).map(|line| serde_json::from_str(line).unwrap()).collect()
}

pub(crate) fn kinds(server: &PostgresServer) -> Vec<String> {
    records(server).iter().map(|record| record["kind"].as_str().unwrap().to_owned()).collect()
}

const CALL: [&str; 3] = ["decided", "started", "finished"];

#[test]
fn every_call_is_in_the_database_and_in_no_file() {
    let (server, url) = server();
    let env = TestEnv::new();
    let store = ["--store", &url];
    let verify = |more: &[&str]| env.run(&[&["audit", "verify"], more].concat());
    let empty = verify(&store).exits(0).stdout;
    assert!(empty.starts_with("postgres://") && empty.contains(": 0 records, head 000"), "{empty}");
    let asked = ["ask", "What is 15% of 2500?", "-o", "json"];
    let ran = env.run(&[&asked[..], &store].concat()).exits(0).json();
    assert_eq!(kinds(&server), CALL);
    let log = records(&server);
    assert!(log.iter().all(|record| record["session"] == ran["session"] && record["synced"].is_null()));
    assert_eq!(log[1]["arguments"]["expression"], ran["invocations"][0]["arguments"]["expression"]);

    // By the settings, for commands without sessions too.
    let settings = format!("[store]\nurl = \"{url}\"\n");
    env.write("home/.config/converse/config.toml", &settings);
    env.run(&["ensembles", "call", "essentials.calculator", "expression=6*7"]).exits(0);
    env.run(&["ask", "2+2", "--ephemeral"]).exits(0);
    assert_eq!(kinds(&server), [CALL, CALL, CALL].concat());
    assert!(!env.path(STATE).join("audit.jsonl").exists(), "{:?}", files(&env.path(STATE)));
    let printed = verify(&[]).exits(0).stdout;
    let told = verify(&["--json"]).exits(0).json();
    let own = &told["chains"][0];
    assert_eq!((&told["intact"], &own["records"], &own["principal"]), (&json!(true), &json!(9), &json!("")));
    let (store, head) = (told["store"].as_str().unwrap(), own["head"].as_str().unwrap());
    assert_eq!(printed, format!("{store}: 9 records, head {head}\n"));
    // A copy of the lines is a log as a file has it.
    let lines = "SELECT string_agg(convert_from(line, 'UTF8'), '' ORDER BY seq) FROM converse.audit";
    env.write("work/copy.jsonl", &format!("{}\n", server.sql("test0", lines).unwrap().trim_end()));
    let copy = verify(&["copy.jsonl", "--json"]).exits(0).json();
    assert_eq!((&copy["head"], &copy["files"]), (&json!(head), &json!(1)));
}

#[test]
fn each_chain_is_verified_and_a_break_is_nine() {
    let (server, url) = server();
    let env = TestEnv::new();
    env.write("home/.config/converse/config.toml", &format!("[store]\nurl = \"{url}\"\n"));
    let call = || env.run(&["ensembles", "call", "essentials.calculator", "expression=6*7"]).exits(0);
    let verify = |more: &[&str]| env.run(&[&["audit", "verify"], more].concat());
    call();
    let copied = "INSERT INTO converse.audit SELECT 'ada', seq, line FROM converse.audit;
        INSERT INTO converse.audit_heads SELECT 'ada', seq, head FROM converse.audit_heads";
    server.sql("test0", copied).unwrap();
    let noted = verify(&["--json"]).exits(0).json()["chains"][1]["head"].as_str().unwrap().to_owned();
    server
        .sql(
            "test0",
            "DELETE FROM converse.audit WHERE owner = ''; DELETE FROM converse.audit_heads WHERE owner = ''",
        )
        .unwrap();
    call();
    let printed = verify(&[]).exits(0).stdout;
    assert!(
        printed.lines().count() == 2 && printed.contains("/principals/ada: 3 records, head "),
        "{printed}"
    );
    // The head is in hers alone.
    verify(&["--head", &noted]).exits(0);
    let unknown = "7".repeat(64);
    let ran = verify(&["--head", &unknown]).exits(9);
    assert!(
        ran.stderr.contains("error[audit-broken]") && ran.stderr.contains("not a line of any chain"),
        "{}",
        ran.stderr
    );
    server.sql("test0", "DELETE FROM converse.audit WHERE owner = 'ada' AND seq = 2").unwrap();
    let ran = verify(&[]).exits(9);
    assert!(ran.stderr.contains("/principals/ada`: line 2: the next line is 3"), "{}", ran.stderr);
    let told = verify(&["--json"]).exits(9).json();
    assert_eq!(
        (&told["intact"], &told["principal"], &told["broken"]["line"]),
        (&json!(false), &json!("ada"), &json!(2))
    );
    server.sql("test0", "DELETE FROM converse.audit WHERE owner = 'ada' AND seq <= 2").unwrap();
    let ran = verify(&[]).exits(0);
    assert!(ran.stderr.contains("the 2 records before these were removed"), "{}", ran.stderr);
}

#[test]
fn without_the_database_nothing_runs() {
    let env = TestEnv::new();
    let nowhere = format!("postgres://me@/x?host={}", env.path("work").display());
    let store = ["--store", &nowhere];
    let write = ["ensembles", "call", "io.write_file", "path=x", "content=y", "--allow", "io"];
    let ran = env.run(&[&write[..], &store].concat()).exits(9);
    assert!(ran.stderr.contains("error[audit-failed]"), "{}", ran.stderr);
    assert!(files(&env.path("work")).is_empty() && !env.path(STATE).join("audit.jsonl").exists());
    let ran = env.run(&[&["audit", "verify"], &store[..]].concat()).exits(9);
    assert!(ran.stderr.contains("error[no-audit-log]"), "{}", ran.stderr);
    for way in [&["serve"][..], &["serve", "--http", "127.0.0.1:0"]] {
        let ran = env.run(&[way, &store].concat()).exits(9);
        assert!(ran.stderr.contains("error[audit-failed]"), "{}", ran.stderr);
    }
}
