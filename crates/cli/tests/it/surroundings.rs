//! What the program is started in: descriptors that do not block, signals that are ignored, variables that cannot be read,
//! masks and limits, a directory that is gone.

use std::ffi::OsStr;
use std::io::{Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Command, Stdio};

use converse_testkit::hang_guard::Deadline;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

use crate::env::{Ran, TestEnv, binary, files, wait};
use crate::signals::send;

fn unblocked(pipe: impl std::os::fd::AsFd) {
    let flags = fcntl_getfl(&pipe).unwrap();
    fcntl_setfl(&pipe, flags | OFlags::NONBLOCK).unwrap();
}

/// One line of the kernel's about a process.
fn status(child: &Child, name: &str) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
    let mask = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    u64::from_str_radix(mask.trim_start_matches(':').trim(), 16).unwrap_or_default()
}

#[track_caller]
fn until(child: &mut Child, is_so: impl Fn(&Child) -> bool) {
    let deadline = Deadline::begin();
    while !is_so(child) && child.try_wait().unwrap().is_none() {
        deadline.check(|| "it never came to that");
        std::thread::yield_now();
    }
}

/// SIGTERM is the last of those that are to be heard.
fn hears(child: &Child) -> bool {
    status(child, "SigCgt") & (1 << 14) != 0
}

/// Does one of its threads wait for a pipe? All else waits by other calls than `poll` and `ppoll`.
fn polls(child: &Child) -> bool {
    let tasks = std::fs::read_dir(format!("/proc/{}/task", child.id())).into_iter().flatten().flatten();
    let mut calls = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("syscall")).ok());
    calls.any(|call| ["7 ", "271 ", "73 "].iter().any(|number| call.starts_with(number)))
}

#[test]
fn an_output_that_does_not_block_gets_all_of_it() {
    let env = TestEnv::new();
    let expected = env.run(&["completions", "bash"]).exits(0).stdout;
    let (mut reader, mut writer) = std::io::pipe().unwrap();
    unblocked(&writer);
    // Nobody reads yet: the very first piece does not fit.
    let mut filled = 0;
    while let Ok(count) = writer.write(&[b'x'; 4096]) {
        filled += count;
    }
    let mut child = env.command(["completions", "bash"]).stdout(writer).spawn().unwrap();
    until(&mut child, polls);
    let mut text = Vec::new();
    reader.read_to_end(&mut text).unwrap();
    wait(child).exits(0);
    assert!(text[filled..] == *expected.as_bytes(), "{} of {}", text.len() - filled, expected.len());
}

#[test]
fn an_input_that_does_not_block_is_read_to_its_end() {
    let env = TestEnv::new();
    let initialize = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}"#;
    for (args, said, answer) in
        [(&["ask", "-q", "-"][..], "what is 1+1?", "2"), (&["serve", "-q"], initialize, "serverInfo")]
    {
        let (reader, mut writer) = std::io::pipe().unwrap();
        unblocked(&reader);
        let mut child = env.command(args).stdin(reader).spawn().unwrap();
        until(&mut child, polls);
        // One that has ended reads nothing.
        let _ = writeln!(writer, "{said}");
        drop(writer);
        let ran = wait(child).exits(0);
        assert!(ran.stdout.contains(answer), "{args:?}: {}{}", ran.stdout, ran.stderr);
    }
}

#[test]
fn a_client_that_cannot_be_read_or_told_is_no_success() {
    let env = TestEnv::new();
    let ran = env.shell("\"$converse\" serve -q <.").exits(2);
    assert!(ran.stderr.contains("error[stdin]: stdin cannot be read"), "{}", ran.stderr);
    let ran = env.shell("echo '{}' | \"$converse\" serve -q >/dev/full").exits(9);
    assert!(ran.stderr.contains("error[output-failed]"), "{}", ran.stderr);
}

#[test]
fn an_output_that_is_not_open_for_writing_is_told() {
    let env = TestEnv::new();
    let ran = env.shell("\"$converse\" ask 1+1 1</dev/null").exits(9);
    assert!(ran.stderr.contains("error[output-failed]"), "{}", ran.stderr);
}

#[test]
fn what_was_ignored_stays_ignored_but_for_sigterm() {
    let env = TestEnv::new();
    let plain = env.command(["ask", "-"]);
    let mut ignoring = Command::new("bash");
    ignoring.args(["-c", "trap '' HUP INT QUIT TERM; exec \"$0\" ask -"]).arg(binary()).env_clear();
    ignoring.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    ignoring.current_dir(env.path("work")).stdout(Stdio::piped()).stderr(Stdio::piped());
    for (mut command, ignored) in [(plain, 0), (ignoring, 0b111)] {
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        let held = child.stdin.take();
        until(&mut child, hears);
        assert_eq!(status(&child, "SigIgn") & 0b111, ignored, "HUP, INT and QUIT are the lowest bits");
        assert_eq!(status(&child, "SigCgt") & 0b111, 0b111 & !ignored);
        send("TERM", &child);
        wait(child).exits(143);
        drop(held);
    }
}

#[test]
fn a_variable_that_cannot_be_read_is_no_variable_that_is_not_set() {
    let env = TestEnv::new();
    let odd = |name: &str, value: &[u8], args: &[&str]| {
        wait(env.command(args).env(name, OsStr::from_bytes(value)).spawn().unwrap())
    };
    let place = [env.path("x").as_os_str().as_bytes(), b"\xff"].concat();
    let ran = odd("XDG_CONFIG_HOME", &place, &["ask", "1+1", "-o", "json"]).exits(3);
    assert_eq!(ran.json()["error"]["code"], "not-utf8", "{}", ran.stdout);
    assert!(ran.stderr.contains("`XDG_CONFIG_HOME` is not UTF-8"), "{}", ran.stderr);
    odd("HOME", &place, &["sessions", "list"]).exits(3);
    odd("HOME", &place, &["--version"]).exits(0);
    let path = [b"/home/jos\xe9/bin:", std::env::var("PATH").unwrap().as_bytes()].concat();
    env.write("own/own.toml", "[ensemble]\nname = \"own\"\ndescription = \"d\"\n[[invokers]]\nname = \"say\"\ndescription = \"d\"\npermission = \"allow\"\ncommand = { argv = [\"echo\", \"said\"] }\narguments = { type = \"object\", properties = {} }\n");
    let own = env.path("own").display().to_string();
    let ran = odd("PATH", &path, &["ensembles", "call", "--ensembles", &own, "own.say"]).exits(0);
    assert!(ran.stdout.contains("said") && ran.stderr.contains("entries of PATH"), "{ran:?}");
}

#[test]
fn what_is_made_is_for_its_owner_whatever_the_mask() {
    for mask in ["0", "0777", "0177"] {
        let env = TestEnv::new();
        env.shell(&format!("umask {mask}; \"$converse\" ask -q 1+1")).exits(0);
        let made = env.path("home/.local");
        assert!(made.join("share/converse/sessions").is_dir());
        for file in files(&made) {
            let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
            assert_eq!(mode(&file), 0o600, "{} with {mask}", file.display());
            for dir in file.ancestors().skip(1).take_while(|dir| dir.starts_with(&made)) {
                assert_eq!(mode(dir), 0o700, "{} with {mask}", dir.display());
            }
        }
    }
}

fn sessions(env: &TestEnv) -> Ran {
    env.run(&["sessions", "list", "--json"]).exits(0)
}

#[test]
fn a_limit_is_no_bug_and_leaves_no_empty_session() {
    let env = TestEnv::new();
    let mut kept = 0;
    for most in 6..24 {
        let ran = env.shell(&format!("ulimit -n {most}; \"$converse\" ask -q 1+1 -o json"));
        assert!([0, 9].contains(&ran.code), "{most}: {ran:?}");
        assert_eq!(ran.json()["exit"], ran.code, "{most}");
        kept += usize::from(!ran.json()["session"].is_null());
    }
    let listed = sessions(&env).json();
    let listed = listed.as_array().unwrap();
    assert!(listed.iter().all(|one| one["messages"] != 0), "{listed:?}");
    assert!(listed.len() <= kept);
}

const GREETER: &str = "[ensemble]\nname = \"t\"\ndescription = \"Greets\"\n[[invokers]]\nname = \"greet\"\n\
    description = \"Greets\"\n[invokers.command]\nargv = [\"/bin/echo\", \"good day\"]\n";

#[test]
fn a_tool_that_finds_no_descriptor_left_ends_the_run_with_nine() {
    let env = TestEnv::new();
    env.write("home/.config/converse/ensembles/t.toml", GREETER);
    let allow = "--allow 't.*'";
    let (mut unstarted, mut uncalled) = (0, 0);
    for most in 16..32 {
        let ran = env.shell(&format!("ulimit -n {most}; \"$converse\" ask -q {allow} @t.greet -o json"));
        let json = ran.json();
        if ran.code == 0 {
            assert!(ran.stdout.contains("good day"), "{most}: {ran:?}");
        } else if json["error"]["code"] == "no-descriptors" {
            unstarted += 1;
            assert_eq!((ran.code, &json["exit"]), (9, &9.into()), "{most}: {ran:?}");
            assert_eq!(json["error"]["hints"][0], "`ulimit -n 1024`");
            assert!(
                ran.stderr.contains("1 invocation could not be started: converse has run out"),
                "{ran:?}"
            );
            let call = format!("ulimit -n {most}; \"$converse\" ensembles call {allow} t.greet");
            let call = env.shell(&call);
            // A call without a model has more of them left.
            if call.code != 0 {
                assert_eq!(call.code, 9, "{most}: {call:?}");
                let said = "error[no-descriptors]: `t.greet` could not be started";
                uncalled += usize::from(call.stderr.contains(said));
            }
        }
    }
    assert!(unstarted > 0 && uncalled > 0);
}

#[test]
fn an_output_that_fails_at_once_leaves_no_empty_session() {
    let env = TestEnv::new();
    env.shell("\"$converse\" ask -o jsonl 1+1 >/dev/full").exits(9);
    assert_eq!(sessions(&env).json(), serde_json::json!([]));
}

#[test]
fn a_directory_that_is_gone_is_told_to_those_who_read_json() {
    let env = TestEnv::new();
    let gone = |args: &str| env.shell(&format!("mkdir gone; cd gone; rmdir ../gone; \"$converse\" {args}"));
    let ran = gone("ask 1+1 -o json").exits(2);
    assert_eq!(ran.json()["error"]["code"], "no-directory");
    let said = gone("ask 1+1").exits(2).stderr;
    assert!(said.contains("it was removed") && said.contains("`cd ~`"), "{said}");
    assert_eq!(gone("ask 1+1 -o jsonl").exits(2).records().last().unwrap()["exit"], 2);
    for asked in ["--version", "-h", "ask --help"] {
        assert!(!gone(asked).exits(0).stdout.is_empty());
    }
}

#[test]
fn a_bug_is_told_to_those_who_read_json() {
    let env = TestEnv::new().var("CONVERSE_TEST_PANIC", "HOME");
    let ran = env.run(&["ask", "1+1", "-o", "json"]).exits(1);
    assert_eq!((&ran.json()["exit"], &ran.json()["error"]["code"]), (&1.into(), &"internal".into()));
    let records = env.run(&["ask", "1+1", "-o", "jsonl"]).exits(1).records();
    assert_eq!((&records[0]["type"], &records[0]["exit"]), (&"done".into(), &1.into()));
}

#[test]
fn a_small_stack_is_grown_or_refused() {
    let env = TestEnv::new();
    let ran = env.shell("ulimit -S -s 256; exec \"$converse\" ask -q 2+2").exits(0);
    assert!(ran.stdout.contains('4'), "{ran:?}");
    let ran = env.shell("ulimit -s 256; exec \"$converse\" ask -q 2+2").exits(9);
    assert!(ran.stderr.contains("error[runtime]: the stack is limited to 256 KiB"), "{}", ran.stderr);
    assert!(ran.stderr.contains("`ulimit -s 8192`"), "{}", ran.stderr);
}
