//! The audit log: every decision and invocation is in it before it happens, and a change shows.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::body::{calls, text};
use crate::env::{TestEnv, files};
use crate::provider::{Provider, SPOKEN};

const LOG: &str = "home/.local/state/converse/audit.jsonl";

fn log(env: &TestEnv) -> String {
    std::fs::read_to_string(env.path(LOG)).unwrap_or_default()
}

fn records(env: &TestEnv) -> Vec<Value> {
    log(env).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn kinds(env: &TestEnv) -> Vec<String> {
    records(env).iter().map(|record| record["kind"].as_str().unwrap().to_owned()).collect()
}

#[track_caller]
fn verified(env: &TestEnv) -> Value {
    env.run(&["audit", "verify", "--json"]).exits(0).json()
}

#[test]
fn an_invocation_leaves_three_records_that_hold() {
    let env = TestEnv::new();
    let ran = env.run(&["ask", "What is 15% of 2500?", "-o", "json"]).exits(0).json();
    assert_eq!(kinds(&env), ["decided", "started", "finished"]);
    let records = records(&env);
    for record in &records {
        assert_eq!(record["tool"], "essentials__calculator");
        assert_eq!(
            (&record["session"], &record["invocation"]),
            (&ran["session"], &ran["invocations"][0]["id"])
        );
    }
    assert_eq!(records[0]["decision"], "allow");
    assert_eq!(records[1]["arguments"]["expression"], ran["invocations"][0]["arguments"]["expression"]);
    assert_eq!(records[2]["outcome"], "success");
    let said = env.run(&["audit", "verify"]).exits(0).stdout;
    let told = verified(&env);
    let path = env.path(LOG).display().to_string();
    assert_eq!(said, format!("{path}: 3 records, head {}\n", told["head"].as_str().unwrap()));
    assert_eq!(told["file"], path);
    // The head is what anybody gets from the last line.
    let summed = env.shell(&format!("tail -n 1 {} | sha256sum", env.path(LOG).display()));
    assert!(summed.stdout.starts_with(told["head"].as_str().unwrap()));
}

#[test]
fn a_run_without_invocations_touches_no_log() {
    let provider = Provider::chat([text("Hello.")]);
    let env = provider.env(TestEnv::new());
    env.run(&["ask", "hello", "-m", provider.model()]).exits(0);
    assert!(!env.path(LOG).exists());
    assert_eq!(
        env.run(&["audit", "verify"]).exits(0).stdout,
        format!("{}: 0 records, head {}\n", env.path(LOG).display(), "0".repeat(64))
    );
}

#[test]
fn what_is_refused_was_only_decided() {
    let env = TestEnv::new();
    env.run(&["ask", "2+2", "--deny", "essentials.*"]).exits(0);
    assert_eq!(kinds(&env), ["decided"]);
    let [record] = &records(&env)[..] else { panic!() };
    assert_eq!(record["decision"], "deny");
    assert!(record["rule"].as_str().unwrap().contains("--deny"), "{record}");
    env.run(&["ask", "2+2", "--ask", "essentials.*"]).exits(8);
    assert_eq!(records(&env)[1]["comment"], "nobody could be asked");
    verified(&env);
}

#[test]
fn what_could_not_run_is_counted_too() {
    let script = [calls([("essentials__calculator", json!({})), ("no__tool", json!({}))]), text("Oh.")];
    let provider = Provider::chat(script);
    let env = provider.env(TestEnv::new());
    env.run(&["ask", "go", "-m", provider.model()]).exits(0);
    let told: Vec<_> = records(&env).iter().map(|r| (r["kind"].clone(), r["outcome"].clone())).collect();
    assert_eq!(told, [(json!("finished"), json!("invalid")), (json!("finished"), json!("no_such_tool"))]);
    assert!(records(&env).iter().all(|record| record.get("milliseconds").is_none()));
}

#[test]
fn a_change_is_nine_with_its_line() {
    let env = TestEnv::new();
    env.run(&["ask", "2+2"]).exits(0);
    env.run(&["ask", "2+3"]).exits(0);
    let head = verified(&env)["head"].as_str().unwrap().to_owned();
    let whole = log(&env);
    let cut = whole.lines().take(4).map(|line| format!("{line}\n")).collect::<String>();
    env.write(LOG, &cut);
    env.run(&["audit", "verify"]).exits(0);
    let ran = env.run(&["audit", "verify", "--head", &head]).exits(9);
    assert!(ran.stderr.contains("error[audit-broken]") && ran.stderr.contains("line 4"), "{}", ran.stderr);
    env.write(LOG, &whole.replacen("\"allow\"", "\"deny\"", 1));
    let ran = env.run(&["audit", "verify"]).exits(9);
    assert!(ran.stderr.contains("line 2") && ran.stderr.contains("line 1"), "{}", ran.stderr);
    let told = env.run(&["audit", "verify", "--json"]).exits(9).json();
    assert_eq!((&told["intact"], &told["broken"]["line"]), (&json!(false), &json!(2)));
    let copy = env.write("work/copy.jsonl", &whole[..whole.len() - 9]);
    let ran = env.run(&["audit", "verify", "copy.jsonl"]).exits(0);
    assert!(ran.stderr.contains("warning") && ran.stdout.contains(": 5 records"), "{ran:?}");
    std::fs::remove_file(copy).unwrap();
    env.run(&["audit", "verify", "copy.jsonl"]).exits(2);
    env.run(&["audit", "verify", "--head", "xyz"]).exits(2);
}

#[test]
fn a_log_of_several_files_is_one_chain() {
    let env = TestEnv::new();
    env.run(&["ask", "2+2"]).exits(0);
    let older = env.path("home/.local/state/converse/audit-000000000001.jsonl");
    std::fs::rename(env.path(LOG), &older).unwrap();
    env.run(&["ask", "2+3"]).exits(0);
    let told = verified(&env);
    assert_eq!((&told["records"], &told["files"]), (&json!(6), &json!(2)));
    assert!(env.run(&["audit", "verify"]).exits(0).stdout.contains(": 6 records in 2 files, head "));
    assert_eq!(records(&env)[0]["seq"], 4);
    let changed = std::fs::read_to_string(&older).unwrap().replacen("\"allow\"", "\"deny\"", 1);
    std::fs::write(&older, changed).unwrap();
    let ran = env.run(&["audit", "verify"]).exits(9);
    assert!(ran.stderr.contains("audit-000000000001.jsonl`: line 2"), "{}", ran.stderr);
    std::fs::remove_file(&older).unwrap();
    env.run(&["audit", "verify"]).exits(9);
}

#[test]
fn no_key_gets_into_it() {
    let arguments = json!({ "path": "note", "content": format!("the key is {SPOKEN}"), SPOKEN: 1 });
    let script = [calls([("io__write_file", arguments)]), text("Done.")];
    let provider = Provider::chat(script);
    let env = provider.env(TestEnv::new()).var("SAID_API_KEY", SPOKEN);
    // The schema does not know the odd member: the decision comes after that. Both ways nothing may show.
    env.run(&["ask", "go", "-m", provider.model(), "--allow", "io"]).exits(0);
    env.run(&["ensembles", "call", "io.write_file", "path=n", &format!("content={SPOKEN}"), "--allow", "io"])
        .exits(0);
    assert!(log(&env).contains("[redacted]") && !log(&env).contains(SPOKEN), "{}", log(&env));
    assert_eq!(std::fs::read_to_string(env.path("work/n")).unwrap(), SPOKEN, "what runs is not redacted");
    verified(&env);
}

#[test]
fn a_call_without_a_model_leaves_the_same_records() {
    let env = TestEnv::new();
    env.run(&["ensembles", "call", "essentials.calculator", "expression=6*7"]).exits(0);
    assert_eq!(kinds(&env), ["decided", "started", "finished"]);
    assert_eq!(records(&env)[1]["arguments"]["expression"], "6*7");
    assert!(records(&env)[1]["session"].is_null());
    env.run(&["ensembles", "call", "io.write_file", "path=x", "content=y"]).exits(8);
    env.run(&["ensembles", "call", "essentials.calculator", "--deny", "*", "expression=1"]).exits(8);
    env.run(&["ensembles", "call", "essentials.calculator"]).exits(2);
    assert_eq!(kinds(&env)[3..], ["decided", "decided", "finished"]);
    verified(&env);
}

#[test]
fn what_is_recorded_is_what_ran_with_defaults_filled_in() {
    let env = TestEnv::new();
    env.write(
        "diary/diary.toml",
        "[ensemble]\nname = \"diary\"\ndescription = \"d\"\n[[invokers]]\nname = \"add\"\ndescription = \"a\"\n\
         builtin = \"write_file\"\npermission = \"allow\"\n[invokers.arguments]\ntype = \"object\"\n\
         required = [\"path\", \"content\"]\n[invokers.arguments.properties]\npath = { type = \"string\" }\n\
         content = { type = \"string\" }\nappend = { type = \"boolean\", default = true }\n",
    );
    let diary = env.path("diary").display().to_string();
    let script = [calls([("diary__add", json!({ "path": "d", "content": "x" }))]), text("Done.")];
    let provider = Provider::chat(script);
    let env = provider.env(env);
    env.run(&["ask", "go", "-m", provider.model(), "--ensembles", &diary]).exits(0);
    env.run(&["ensembles", "call", "diary.add", "path=d", "content=x", "--ensembles", &diary]).exits(0);
    let wanted = json!({ "path": "d", "content": "x", "append": true });
    assert_eq!((&records(&env)[1]["arguments"], &records(&env)[4]["arguments"]), (&wanted, &wanted));
}

#[test]
fn where_there_is_no_place_for_a_log_it_goes_on_and_says_so() {
    for (variable, place) in [("XDG_STATE_HOME", "/sys/nowhere"), ("HOME", "/dev/null")] {
        let env = TestEnv::new().var(variable, place);
        let ran = env.run(&["ask", "2+2"]).exits(0);
        assert!(ran.stdout.contains('4') && ran.stderr.contains("not audited"), "{ran:?}");
        let records = env.run(&["ask", "2+2", "-o", "jsonl"]).exits(0).records();
        let warned = |r: &Value| r["type"] == "warning" && r["message"].to_string().contains("not audited");
        assert!(records.iter().any(warned), "{records:?}");
    }
    let ran = TestEnv::new().without("HOME").run(&["audit", "verify"]).exits(2);
    assert!(ran.stderr.contains("error[no-audit-log]"), "{}", ran.stderr);
}

#[test]
fn a_log_that_cannot_be_written_is_nine_and_nothing_runs() {
    let broken: [fn(&TestEnv) -> PathBuf; 3] = [
        |env| env.write(LOG, "not a record\n"),
        |env| env.write("home/.local/state/converse", "where its directory should be"),
        |env| {
            std::fs::create_dir_all(env.path(LOG)).unwrap();
            env.path(LOG)
        },
    ];
    for breaks in broken {
        let env = TestEnv::new();
        breaks(&env);
        let ran = env.run(&["ensembles", "call", "io.write_file", "path=x", "content=y", "--allow", "io"]);
        assert!(ran.exits(9).stderr.contains("error[audit-failed]"));
        assert!(files(&env.path("work")).is_empty());
        let object = env.run(&["ask", "2+2", "-o", "json"]).exits(9).json();
        assert_eq!(object["error"]["code"], "audit-failed");
        assert!(object["invocations"][0]["result"].is_null(), "{object}");
        // An answer without tools needs no log.
        let provider = Provider::chat([text("Hello.")]);
        provider.env(env).run(&["ask", "hello", "-m", provider.model()]).exits(0);
    }
}

#[test]
fn only_the_user_can_turn_it_off() {
    let env = TestEnv::new();
    env.write("work/converse.toml", "[audit]\nenabled = false\n");
    let ran = env.run(&["ask", "2+2"]).exits(3);
    assert!(ran.stderr.contains("project-scope"), "{}", ran.stderr);
    std::fs::remove_file(env.path("work/converse.toml")).unwrap();
    env.write("home/.config/converse/config.toml", "[audit]\nenabled = false\n");
    env.run(&["ask", "2+2"]).exits(0);
    env.run(&["ensembles", "call", "essentials.calculator", "expression=1"]).exits(0);
    assert!(!env.path(LOG).exists());
}

#[test]
fn an_ephemeral_conversation_is_audited_and_no_tool_can_write_the_log() {
    let env = TestEnv::new();
    env.run(&["ask", "2+2", "--ephemeral"]).exits(0);
    assert_eq!(kinds(&env).len(), 3);
    assert!(records(&env)[0]["session"].is_null());
    // Even where the log is below the working directory and everything is allowed.
    let state = env.path("work/state").display().to_string();
    let env = env.var("XDG_STATE_HOME", state);
    let path = "path=state/converse/audit.jsonl";
    env.run(&["ask", "2+2"]).exits(0);
    let write = env.run(&["ensembles", "call", "io.write_file", path, "content=y", "--allow", "*"]);
    assert_ne!(write.code, 0, "{write:?}");
    verified(&env);
}
