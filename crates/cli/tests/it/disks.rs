//! A disk that is full, a home that is none or cannot be written, and a journal of a version that is yet to come.
//!
//! The disk is full where a file may not grow any more (`ulimit -f`, whose signal ends a program that does not
//! hear it): any user can have that.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::body::{calls, text};
use crate::env::{Ran, TestEnv, files};
use crate::provider::{Line, Provider};

const OWN: &str = "[ensemble]\nname = \"own\"\ndescription = \"Notes\"\n[[invokers]]\nname = \"note\"\ndescription = \"Notes\"\n\
    permission = \"allow\"\ncommand = { argv = [\"sh\", \"-c\", \"echo $0 >> noted\", \"{word}\"] }\n\
    [invokers.arguments]\ntype = \"object\"\nproperties = { word = { type = \"string\" }, why = { type = \"string\" } }\n";

/// In KiB, of any file; the last is more than the conversation needs.
const LIMITS: std::ops::RangeInclusive<usize> = 1..=40;

fn journal(env: &TestEnv) -> PathBuf {
    files(&env.path("home")).into_iter().find(|file| file.ends_with("journal.jsonl")).unwrap()
}

/// Notes a word; what it says of why makes the journal grow.
fn notes(word: &str) -> crate::body::Says {
    let why = format!("because {}", "x".repeat(2_000));
    calls([("own__note", json!({ "word": word, "why": why }))])
}

fn limited(env: &TestEnv, kib: usize, args: &str) -> Ran {
    env.shell(&format!("ulimit -f {kib}; exec \"$converse\" {args}"))
}

/// What is started stands in the journal, whole.
fn started(journal: &Path) -> usize {
    std::fs::read_to_string(journal).unwrap().matches("\"type\":\"started\"").count()
}

#[test]
fn on_a_full_disk_nothing_is_done_that_is_not_written_down() {
    let (mut stopped, mut done) = (0, 0);
    for kib in LIMITS {
        let script = [text("Zero."), notes("a"), notes("b"), notes("c"), text("Noted.")].map(Line::from);
        let provider = Provider::chat(script);
        let env = provider.env(TestEnv::new());
        env.write("own/own.toml", OWN);
        let args = format!("-m {} --ensembles ../own", provider.model());
        env.shell(&format!("\"$converse\" ask zero {args}")).exits(0);
        let (journal, before) = (journal(&env), std::fs::read(journal(&env)).unwrap());
        let ran = limited(&env, kib, &format!("ask -c go {args}"));
        let noted = std::fs::read_to_string(env.path("work/noted")).unwrap_or_default();
        match ran.code {
            0 => done += 1,
            _ => {
                stopped += 1;
                let ran = ran.exits(9);
                let said = ["error[session]", "error[save-failed]", "error[audit-failed]"];
                assert!(said.iter().any(|said| ran.stderr.contains(said)), "{kib}: {}", ran.stderr);
                assert!(
                    ran.stderr.contains("too large") && ran.stderr.contains("hint: "),
                    "{kib}: {}",
                    ran.stderr
                );
            }
        }
        assert!(
            std::fs::read(&journal).unwrap().starts_with(&before),
            "{kib}: what was said before is there"
        );
        assert!(noted.lines().count() <= started(&journal), "{kib}: {noted}");
        // There is room again.
        provider.plays([text("Fine.")]);
        env.shell(&format!("\"$converse\" ask -c again {args}")).exits(0);
        provider.is_content();
        assert_eq!(
            std::fs::read_to_string(env.path("work/noted")).unwrap_or_default(),
            noted,
            "nothing runs again"
        );
        env.run(&["sessions", "check"]).exits(0);
    }
    assert!(stopped >= 5 && done >= 5, "{stopped} were stopped, {done} were not");
}

#[test]
fn where_no_session_can_be_kept_a_question_is_answered_and_it_is_said() {
    // Nobody can make anything there.
    let nowhere = || TestEnv::new().var("HOME", "/sys");
    let is_file = |variable: &str| {
        let env = TestEnv::new();
        let file = env.write("file", "").display().to_string();
        env.var(variable, file)
    };
    let full = |env: &TestEnv, words: &[&str]| limited(env, 0, &words.join(" "));
    let plain = |env: &TestEnv, words: &[&str]| env.run(words);
    type Runs<'a> = &'a dyn Fn(&TestEnv, &[&str]) -> Ran;
    let ask = ["ask", "hello", "-m", "understudy", "--no-tools"];
    for (what, env, runs) in [
        ("read-only", nowhere(), &plain as Runs<'_>),
        ("a file", is_file("XDG_DATA_HOME"), &plain),
        ("a home that is a file", is_file("HOME"), &plain),
        ("none", TestEnv::new().without("HOME"), &plain),
        ("full", TestEnv::new(), &full),
    ] {
        let ran = runs(&env, &ask);
        assert_eq!(ran.code, 0, "{what}: {ran:?}");
        assert!(
            !ran.stdout.is_empty() && ran.stderr.contains("this session is not saved"),
            "{what}: {ran:?}"
        );
        // Whoever says that nothing is to be kept is not told of it.
        let ran = runs(&env, &[&ask[..], &["--ephemeral"]].concat());
        assert_eq!((ran.code, ran.stderr.contains("not saved")), (0, false), "{what}: {ran:?}");
        let ran = runs(&env, &[&ask[..], &["-c"]].concat());
        assert!([2, 9].contains(&ran.code) && ran.stderr.contains("error["), "{what}: {ran:?}");
    }
}

#[test]
fn where_no_audit_can_be_kept_nothing_runs() {
    let env = TestEnv::new();
    let file = env.write("file", "").display().to_string();
    let env = env.var("XDG_STATE_HOME", file);
    let write = json!({ "path": "new.txt", "content": "x" });
    let provider = Provider::chat([calls([("io__write_file", write)])]);
    let env = provider.env(env);
    let ran = env.run(&["ask", "write", "-m", provider.model(), "--allow", "io.*"]).exits(9);
    assert!(
        ran.stderr.contains("error[audit-failed]")
            && ran.stderr.contains("every call that ran was recorded before"),
        "{ran:?}"
    );
    assert!(!env.path("work/new.txt").exists());
}

#[test]
fn a_journal_of_a_later_version_is_left_alone() {
    let env = TestEnv::new();
    env.run(&["ask", "2+2", "-m", "understudy"]).exits(0);
    let journal = journal(&env);
    // However that one guards its lines.
    let text = std::fs::read_to_string(&journal).unwrap();
    let (first, rest) = text.split_once('\n').unwrap();
    let (first, _) = first.rsplit_once(",\"sum\":").unwrap();
    let later = format!("{}}}\n{rest}", first.replacen("\"format\":2", "\"format\":3", 1));
    std::fs::write(&journal, &later).unwrap();
    let names = || {
        let mut names = files(&env.path("home/.local/share"));
        names.sort();
        names
    };
    let before = names();
    for words in
        [&["ask", "-c", "2+3"][..], &["sessions", "show", "last"], &["sessions", "check", "--repair"]]
    {
        let ran = env.run(words).exits(9);
        assert!(format!("{}{}", ran.stdout, ran.stderr).contains("later version"), "{words:?}: {ran:?}");
    }
    let listed = env.run(&["sessions", "list", "--json"]).exits(0).json();
    assert!(
        listed[0]["problem"].as_str().is_some_and(|problem| problem.contains("later version")),
        "{listed}"
    );
    assert_eq!(std::fs::read_to_string(&journal).unwrap(), later);
    assert_eq!(names(), before);
    // Others are none the worse.
    env.run(&["ask", "2+2", "-m", "understudy"]).exits(0);
    assert_ne!(env.run(&["sessions", "list", "--json"]).exits(0).json()[0]["session"], Value::Null);
}
