//! Recordings that break off, files that are no cassettes, keys where none should be.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use super::{Elsewhere, cassette, entries};
use crate::body::{Dialect, calls, text};
use crate::env::TestEnv;
use crate::http::Answer;
use crate::provider::{KEY, Line, Provider, SPOKEN};
use crate::signals::{SLEEPER, interrupt_after};

/// A header of the format, and nothing else.
const EMPTY: &str =
    "{\"cassette\":1,\"program\":\"converse 0\",\"created\":\"2026-11-22T00:00:00Z\",\"models\":[]}\n";

#[test]
fn a_run_that_is_killed_leaves_what_there_was_and_its_own_beginning() {
    for (signal, code) in [("KILL", 137), ("INT", 130)] {
        let provider =
            Provider::chat([Line::from(calls([("fakes__sleep", json!({}))])), text("Awake.").into()]);
        let env = provider.env(TestEnv::hasty());
        env.write("fakes/fakes.toml", SLEEPER);
        env.write("work/f.cassette", EMPTY);
        let fakes = env.path("fakes").display().to_string();
        let args = ["ask", "go", "-m", provider.model(), "--ensembles", &fakes, "-o", "jsonl"];
        let args = [&args[..], &["--record", "f.cassette"]].concat();
        let (ran, _) = interrupt_after(&env, &args, ("invocation.started", 1), signal);
        assert_eq!(ran.code, code, "{}", ran.stderr);
        assert_eq!(cassette(&env), EMPTY, "{signal}");
        let partial = std::fs::read_to_string(env.path("work/f.cassette.partial")).unwrap();
        assert_eq!(entries(&partial, "model").len(), 1, "{partial}");
        assert_eq!(signal == "INT", ran.stderr.contains("f.cassette.partial"), "{}", ran.stderr);
        // Half a line more, as a machine that goes down may leave it.
        let elsewhere = Elsewhere::with(&format!("{partial}{{\"type\":\"invoc"));
        elsewhere.0.write("fakes/fakes.toml", SLEEPER);
        let fakes = elsewhere.0.path("fakes").display().to_string();
        let args = ["ask", "go", "-m", provider.model(), "--ensembles", &fakes, "--replay", "f.cassette"];
        let ran = elsewhere.0.run(&args).exits(6);
        assert!(ran.stderr.contains("the last line is incomplete and left out"), "{}", ran.stderr);
        assert!(
            ran.stderr.contains("this invocation of fakes.sleep: the cassette has nothing similar"),
            "{}",
            ran.stderr
        );
    }
}

#[test]
fn no_key_is_on_a_cassette_whoever_says_it() {
    let tell = "[ensemble]\nname = \"own\"\ndescription = \"d\"\n[[invokers]]\nname = \"tell\"\ndescription = \"d\"\neffects = \"read\"\n\
        permission = \"allow\"\ncommand = { argv = [\"sh\", \"-c\", \"echo key $SECRET; echo $0\", \"{w}\"], environment = { SECRET = \"${MY_TOKEN}\" } }\n\
        arguments = { type = \"object\", properties = { w = { type = \"string\" } }, required = [\"w\"] }\n";
    for dialect in Dialect::ALL {
        let provider = Provider::new(
            dialect,
            [
                calls([("own__tell", json!({ "w": SPOKEN }))]).thinking(SPOKEN),
                text("It is sk-spoken-0123456789abcdef, and my-spoken-token-42."),
            ],
        );
        let env = provider.env(TestEnv::hasty()).var("MY_TOKEN", "my-spoken-token-42").var("THE_KEY", SPOKEN);
        env.write("work/own/own.toml", tell);
        let question = format!("what is {SPOKEN}?");
        let args = ["ask", &question, "-m", provider.model(), "--ensembles", "own", "-s", SPOKEN];
        env.run(&[&args[..], &["--record", "f.cassette"]].concat()).exits(0);
        let kept = cassette(&env);
        assert!(kept.contains("[redacted]") && !kept.contains("spoken"), "{dialect:?}: {kept}");
        assert!(!kept.contains(KEY), "{dialect:?}: {kept}");
        assert!(!kept.contains("authorization") && !kept.contains("api-key"), "{kept}");
        let mode = std::fs::metadata(env.path("work/f.cassette")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert!(!env.path("work/f.cassette.partial").exists());
        // Where the same keys are known, the same is asked.
        env.run(&[&args[..], &["--replay", "f.cassette"]].concat()).exits(0);
        provider.is_content();
    }
}

/// A proxy's page that is no text, with the key in it that it was sent.
#[test]
fn no_key_hides_among_bytes_that_are_no_text() {
    for broken in ["\u{e9}", ""] {
        let body: Vec<u8> =
            [b"<p>\xe9\xff\xff\xff\xff ".as_slice(), KEY.as_bytes(), broken.as_bytes()].concat();
        let provider = Provider::chat([Line::Raw(Answer::new(401, "text/html", body))]);
        let env = provider.env(TestEnv::hasty());
        env.run(&["ask", "go", "-m", provider.model(), "--no-tools", "--record", "f.cassette"]).exits(4);
        let kept = cassette(&env);
        let body = &entries(&kept, "model")[0]["response"]["body"];
        assert!(body["text"].as_str().is_some_and(|text| text.contains("[redacted]")), "{kept}");
        assert!(!kept.contains("canary"), "{kept}");
    }
}

#[test]
fn what_is_no_cassette_is_told_before_anything_is_asked() {
    let provider = Provider::chat([text("Yes.")]);
    let recorder = provider.env(TestEnv::hasty());
    let args = ["ask", "go", "-m", provider.model(), "--no-tools", "--record", "f.cassette"];
    recorder.run(&args).exits(0);
    let kept = cassette(&recorder);
    let lines: Vec<&str> = kept.lines().collect();
    let newer = kept.replacen("\"cassette\":1", "\"cassette\":2", 1);
    let damaged = format!("{}\n{}\n{}\n", lines[0], &lines[1][..lines[1].len() / 2], lines[1]);
    for (text, code, told) in [
        (newer.as_str(), 3, "error[cassette-newer]: "),
        (damaged.as_str(), 3, "f.cassette:2: "),
        ("some notes\n", 3, "f.cassette is not a cassette"),
        ("", 3, "f.cassette is not a cassette"),
    ] {
        let elsewhere = Elsewhere::with(text);
        let ran = elsewhere.run(&args).exits(code);
        assert!(ran.stderr.contains(told), "{told}: {}", ran.stderr);
    }
    let elsewhere = Elsewhere::with(&kept);
    let file = std::fs::File::create(elsewhere.0.path("work/f.cassette")).unwrap();
    file.set_len(1024 * 1024 * 1024).unwrap();
    let ran = elsewhere.run(&args).exits(3);
    assert!(ran.stderr.contains("larger than 256 MiB"), "{}", ran.stderr);
    std::fs::remove_file(elsewhere.0.path("work/f.cassette")).unwrap();
    elsewhere.run(&args).exits(2);
}

#[test]
fn what_cannot_be_recorded_is_refused_before_anything_is_asked() {
    let env = TestEnv::hasty();
    env.write("work/notes.md", "my notes\n");
    env.write("work/f.cassette", EMPTY);
    env.write("work/h.partial", "my notes\n");
    let understudy = ["ask", "go", "-m", "understudy"];
    for (more, told) in [
        (&["--record", "notes.md"][..], "notes.md is not a cassette, and is not overwritten"),
        (&["--record", "."], "is not a regular file"),
        (&["--record", "h"], "h.partial is not a cassette, and is not overwritten"),
        (&["--record", "g", "--replay", "f.cassette"], "cannot be used with"),
        (&["--record", "g", "--dry-run"], "--dry-run"),
        (&["--record", "g", "--count-tokens"], "--count-tokens"),
        (&["--record", "g", "--prompt", "a.b"], "--prompt"),
        (&["--record", "g", "-a", "https://example.com/a.png"], "attach a file"),
        (&["--replay", "f.cassette", "-a", "mcp:a:b"], "attach a file"),
        (&["--replay", "f.cassette", "--live-model", "--live-tools"], "nothing is replayed"),
        (&["--live-model"], "--replay"),
    ] {
        let ran = env.run(&[&understudy[..], more].concat()).exits(2);
        assert!(ran.stderr.contains(told), "{told}: {}", ran.stderr);
    }
    assert_eq!(std::fs::read_to_string(env.path("work/notes.md")).unwrap(), "my notes\n");
    // A run that does not begin leaves no file behind.
    let ran = env.run(&["ask", "go", "-m", "openai-chat/x", "--record", "g"]);
    assert_eq!(ran.exits(4).stdout, "");
    let names = std::fs::read_dir(env.path("work")).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, ["f.cassette", "h.partial", "notes.md"]);
}
