//! What a child gets, and what it does not.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use converse_process::{Guardian, INHERITED, Spawn, inherited};
use converse_testkit::hang_guard::{ends, wait_until};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::stage::{FOREVER, guardian, script, start};

async fn output_of(spawn: Spawn) -> String {
    let mut child = spawn.start(&guardian()).unwrap();
    let mut output = String::new();
    let mut stdout = child.stdout.take().unwrap();
    ends("its output", stdout.read_to_string(&mut output)).await.unwrap();
    assert!(child.wait().await.unwrap().success(), "{}", child.last_words());
    output
}

#[tokio::test]
async fn the_environment_is_exactly_what_was_given() {
    let given = [("GREETING", "good day"), ("EMPTY", ""), ("LINE", "a=b")];
    let spawn = Spawn {
        program: "/usr/bin/env".into(),
        arguments: Vec::new(),
        environment: given.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec(),
        cwd: "/".into(),
        stdin: false,
    };
    let output = output_of(spawn).await;
    assert_eq!(
        output.lines().collect::<BTreeSet<_>>(),
        BTreeSet::from(["GREETING=good day", "EMPTY=", "LINE=a=b"])
    );
}

#[test]
fn what_is_inherited_is_listed() {
    let ours = [
        ("PATH", "/bin"),
        ("LD_PRELOAD", "x"),
        ("path", "y"),
        ("OPENAI_API_KEY", "z"),
        ("TZ", ""),
        ("NODE_OPTIONS", ""),
    ];
    let expected = vec![("PATH".to_owned(), "/bin".to_owned()), ("TZ".to_owned(), String::new())];
    assert_eq!(inherited(ours), expected);
    assert_eq!(inherited(INHERITED.iter().map(|name| (*name, "/v"))).len(), INHERITED.len());
    let secret = |name: &&&str| ["KEY", "TOKEN", "SECRET", "PASS"].iter().any(|word| name.contains(word));
    assert_eq!(INHERITED.iter().find(secret), None);
}

#[tokio::test]
async fn no_descriptor_is_inherited() {
    // `dup` clears close-on-exec, as libraries that forget it do.
    let careless = rustix::io::dup(File::open("/dev/null").unwrap()).unwrap();
    let flags = rustix::io::fcntl_getfd(&careless).unwrap();
    assert!(!flags.contains(rustix::io::FdFlags::CLOEXEC));
    let mut child = start("exec cat", &guardian());
    // Once it answers it has read its libraries.
    child.stdin.as_mut().unwrap().write_all(b"!").await.unwrap();
    let answer = ends("its answer", child.stdout.as_mut().unwrap().read_u8()).await.unwrap();
    assert_eq!(answer, b'!');
    let open = fs::read_dir(format!("/proc/{}/fd", child.id())).unwrap();
    let open = open.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect::<BTreeSet<_>>();
    assert_eq!(open, ["0", "1", "2"].map(str::to_owned).into());
}

#[tokio::test]
async fn where_and_in_which_group_it_runs() {
    let directory = tempfile::tempdir().unwrap();
    let cwd = directory.path().canonicalize().unwrap();
    let output = output_of(script("pwd -P; ps -o pgid= -p $$; echo $$", &cwd)).await;
    let lines = output.lines().map(str::trim).collect::<Vec<_>>();
    assert_eq!(lines[0], cwd.to_str().unwrap());
    assert_eq!(lines[1], lines[2], "it leads a group of its own");
}

#[tokio::test]
async fn no_stdin_is_an_empty_one() {
    let spawn = Spawn { stdin: false, ..script("cat; readlink /proc/$$/fd/0", Path::new("/")) };
    assert_eq!(output_of(spawn).await, "/dev/null\n");
}

/// Bytes of memory that this process had at most.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap() * 1024
}

#[tokio::test]
async fn a_flood_on_stderr_costs_nothing() {
    let before = peak();
    let mut child =
        start("yes 'what is said without end' | head -c 200000000 >&2; echo; echo the end >&2", &guardian());
    let stderr = child.stderr();
    let status = ends("reading stderr", child.wait()).await.unwrap();
    assert!(status.success());
    drop(child);
    let words = stderr.last_words();
    assert!(words.len() <= 4096 && words.len() > 4000, "{}", words.len());
    assert!(words.starts_with("what is said without end\n") && words.ends_with("the end"), "{words}");
    assert!(peak() < before + 16_000_000, "{} bytes more", peak() - before);
}

#[tokio::test]
async fn last_words_are_complete_when_the_end_is_known() {
    for _ in 0..20 {
        let mut child = start("echo 'no such table' >&2; exit 7", &guardian());
        assert_eq!(child.wait().await.unwrap().code(), Some(7));
        assert_eq!(child.last_words(), "no such table");
    }
}

#[tokio::test]
async fn a_refusal_says_what_to_do() {
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str, mode: u32| {
        let path = directory.path().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    };
    let sound = script("exit 0", Path::new("/"));
    let of = |program: std::path::PathBuf| Spawn { program, ..sound.clone() };
    let cases = [
        (of(file("plain", "#!/bin/sh\n", 0o644)), "run `chmod +x"),
        (
            of(file("lost", "#!/not/there/node --flag\nx", 0o755)),
            "interpreter does not exist: \"#!/not/there/node --flag\"",
        ),
        (of(directory.path().to_owned()), "it is a directory"),
        (of(directory.path().join("nothing")), "it does not exist"),
        (of("sh".into()), "not an absolute path"),
        (Spawn { cwd: "/not/there".into(), ..sound.clone() }, "working directory /not/there does not exist"),
        (Spawn { arguments: vec!["a\0b".to_owned()], ..sound.clone() }, "NUL"),
        (Spawn { arguments: vec!["x".repeat(200_000)], ..sound.clone() }, "too long"),
    ];
    for (spawn, words) in cases {
        let error = spawn.clone().start(&guardian()).expect_err(words).to_string();
        assert!(error.contains(words) && error.contains(spawn.program.to_str().unwrap()), "{error}");
    }
}

/// The guardian is a program that writes down what it hears.
#[tokio::test]
async fn the_guardian_hears_who_is_born_and_who_is_not() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("heard");
    let guardian = Guardian::new("/usr/bin/tee".into(), vec![file.to_str().unwrap().to_owned()]);
    let sound = script("exec cat", Path::new("/"));
    let broken = Spawn { program: directory.path().join("nothing"), ..sound.clone() };
    broken.start(&guardian).unwrap_err();
    let child = sound.start(&guardian).unwrap();
    let id = child.id();
    ends("its end", child.end(FOREVER)).await;
    let mut lines = Vec::new();
    wait_until("all of it is heard", || {
        let heard = fs::read_to_string(&file).unwrap_or_default();
        lines = heard.lines().map(str::to_owned).collect();
        lines.last().is_some_and(|line| line.starts_with('-'))
    });
    assert!(lines[2].strip_prefix('?').is_some_and(|unborn| unborn.parse::<u32>().is_ok()), "{lines:?}");
    lines.remove(2);
    let us = std::process::id();
    let expected = format!("={us} ? ? ? ?{id} +{id} -{id}");
    assert_eq!(lines.join(" "), expected);
}

#[test]
fn without_a_runtime_it_is_an_error() {
    let error = script("exit 0", Path::new("/")).start(&guardian()).unwrap_err();
    assert!(error.to_string().contains("runtime"), "{error}");
}

#[tokio::test]
async fn wait_does_not_wait_for_who_holds_stderr() {
    let mut child = start("sleep 3600 & exit 0", &guardian());
    ends("waiting for one that another holds the stderr of", child.wait()).await.unwrap();
}
