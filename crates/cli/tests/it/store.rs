//! `--store` and `[store]`: sessions in a database.

use std::fs;

use converse_testkit::postgres::PostgresServer;

use crate::body::text;
use crate::env::TestEnv;
use crate::provider::Provider;

fn server() -> PostgresServer {
    PostgresServer::start().unwrap_or_else(|error| panic!("{error}"))
}

fn settings(env: &TestEnv, text: &str) {
    let dir = env.path("home/.config/converse");
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join("config.toml"), text).unwrap();
}

fn count(env: &TestEnv, more: &[&str]) -> usize {
    let ran = env.run(&[&["sessions", "list", "--json"], more].concat()).exits(0);
    ran.json().as_array().unwrap().len()
}

#[test]
fn a_conversation_is_kept_in_a_database_and_moves_both_ways() {
    let server = server();
    let url = server.database().unwrap();
    let provider = Provider::chat([text("It is 42."), text("Yes."), text("In a file.")]);
    let env = provider.env(TestEnv::new());
    let files = env.path("home/.local/share/converse/sessions");
    let ask = |words: &[&str]| {
        let ran = env.run(&[&["ask", "-m", provider.model(), "-o", "json"], words].concat()).exits(0);
        ran.json()["session"].as_str().unwrap().to_owned()
    };
    // By the flag.
    let id = ask(&["6*7?", "--store", &url]);
    assert!(!files.exists(), "no session is in files");
    assert_eq!(ask(&["sure?", "-c", "--store", &url]), id);
    assert_eq!((count(&env, &["--store", &url]), count(&env, &[])), (1, 0));
    let shown = env.run(&["sessions", "show", "last", "--store", &url]).exits(0).stdout;
    assert!(shown.contains("6*7?") && shown.contains("Yes."), "{shown}");
    let stats = env.run(&["stats", "--json", "--store", &url]).exits(0).json();
    assert_eq!(stats["total"]["turns"], 2, "{stats}");
    env.run(&["sessions", "check", "--store", &url]).exits(0);
    // A batch keeps its sessions there too.
    let other = server.database().unwrap();
    env.write("work/in.jsonl", "{\"id\":\"a\",\"prompt\":\"What is 15% of 2500?\"}\n");
    let batch = ["batch", "in.jsonl", "-m", "understudy", "--save-sessions", "--store", &other];
    let saved = env.run(&batch).exits(0).records()[0]["session"].clone();
    let listed = env.run(&["sessions", "list", "--json", "--store", &other]).exits(0).json();
    assert!(saved.is_string() && listed[0]["session"] == saved, "{listed}");
    assert!(!files.exists());

    // By the settings, and to files.
    settings(&env, &format!("[store]\nurl = \"{url}\"\n"));
    assert_eq!(count(&env, &[]), 1);
    let moved = env.run(&["sessions", "migrate", "--to", "files"]).exits(0).stdout;
    assert_eq!(moved, "copied 1 session, 0 already there\n");
    let journal = fs::read(files.join(&id).join("journal.jsonl")).unwrap();
    assert_eq!(
        env.run(&["sessions", "migrate", "--to", "files"]).exits(0).stdout,
        "copied 0 sessions, 1 already there\n"
    );
    let show = |words: &[&str]| {
        env.run(&[&["sessions", "show", &id, "--json", "--full"], words].concat()).exits(0).stdout
    };
    let in_database = show(&[]);
    settings(&env, "");
    assert_eq!(show(&[]), in_database);

    // And back, into another database, with one more.
    ask(&["and this?"]);
    let other = server.database().unwrap();
    let moved = env.run(&["sessions", "migrate", "--to", &other]).exits(0).stdout;
    assert_eq!(moved, "copied 2 sessions, 0 already there\n");
    fs::rename(&files, env.path("before")).unwrap();
    env.run(&["sessions", "migrate", "--from", &other, "--to", "files"]).exits(0);
    assert_eq!(fs::read(files.join(&id).join("journal.jsonl")).unwrap(), journal);
    env.run(&["sessions", "check"]).exits(0);
}

#[test]
fn one_session_that_cannot_be_copied_stops_no_other() {
    let server = server();
    let url = server.database().unwrap();
    let provider = Provider::chat([text("One."), text("Two."), text("Three.")]);
    let env = provider.env(TestEnv::new());
    let ids = ["1", "2", "3"].map(|words| {
        let ran = env.run(&["ask", "-m", provider.model(), "-o", "json", words]).exits(0);
        ran.json()["session"].as_str().unwrap().to_owned()
    });
    // Not even root reads a directory as a file.
    let metadata = env.path("home/.local/share/converse/sessions").join(&ids[0]).join("metadata.toml");
    let kept = env.path("kept.toml");
    fs::rename(&metadata, &kept).unwrap();
    fs::create_dir(&metadata).unwrap();
    let migrate = || env.run(&["sessions", "migrate", "--to", &url]);
    let ran = migrate().exits(9);
    assert!(ran.stdout.starts_with(&format!("not copied: {}: ", ids[0])), "{}", ran.stdout);
    assert!(ran.stdout.ends_with("\ncopied 2 sessions, 0 already there\n"), "{}", ran.stdout);
    fs::remove_dir(&metadata).unwrap();
    fs::rename(&kept, &metadata).unwrap();
    assert_eq!(migrate().exits(0).stdout, "copied 1 session, 2 already there\n");

    // It has another name there, which stays.
    env.run(&["sessions", "rename", &ids[1], "taxes", "--store", &url]).exits(0);
    let ran = migrate().exits(9);
    let differs = format!("not copied: {}: it is there with another name, tags or model\n", ids[1]);
    assert_eq!(ran.stdout, format!("{differs}copied 0 sessions, 2 already there\n"));
    env.run(&["sessions", "show", "taxes", "--store", &url]).exits(0);
    // The place is gone: that is not a fault of each session.
    server.crash().unwrap();
    let ran = migrate().exits(9);
    assert!(
        ran.stdout == "copied 0 sessions, 0 already there\n" && ran.stderr.contains("error[session]"),
        "{ran:?}"
    );
}

#[test]
fn what_cannot_be_used_is_refused_and_shows_no_password() {
    let env = TestEnv::new();
    let refused = |words: &[&str], code: i32, named: &str| {
        let ran = env.run(words).exits(code);
        assert!(ran.stderr.contains(named), "{words:?}: {}", ran.stderr);
        assert!(!ran.stderr.contains("canary"), "{}", ran.stderr);
    };
    let list = |url| ["sessions", "list", "--store", url];
    refused(&list("postgres://me:canary@db/converse"), 2, "error[bad-store]");
    refused(&list("postgres://me@db/converse?password=canary"), 2, "error[bad-store]");
    refused(&list("mysql://db/converse"), 2, "error[bad-store]");
    refused(&["models", "list", "--store", "postgres://db/x"], 2, "error[store-unsupported]");
    refused(&["sessions", "migrate", "--to", "files"], 2, "error[same-store]");
    // Nobody is there.
    let nowhere = format!("postgres://me@/x?host={}", env.path("work").display());
    refused(&list(&nowhere), 9, "error[session]");

    let passfile = env.path("home/.pgpass");
    fs::write(&passfile, "*:*:*:*:canary\n").unwrap();
    refused(&list(&nowhere), 3, "can be read by others");
    fs::remove_file(&passfile).unwrap();

    settings(&env, "[store]\nurl = \"postgres://me:canary@db/converse\"\n");
    refused(&["sessions", "list"], 3, "error[secret-in-file]");
    refused(&["doctor", "--store", "postgres://db/x"], 2, "error[store-unsupported]");
    // It is for users alone.
    settings(&env, "");
    fs::write(env.path("work/converse.toml"), "[store]\nurl = \"postgres://evil/converse\"\n").unwrap();
    refused(&["ask", "hi", "-m", "understudy"], 3, "error[project-scope]");
}
