//! Nothing outlives a program that dies without a word. The program is a process of its own here, because a test
//! cannot die; and this test program starts no child itself, because it would adopt what it looks for.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test's helpers may panic")]

use std::fs;
use std::io::{BufRead, Read, Write, stdin};
use std::path::PathBuf;
use std::process::{ChildStdin, Command, Stdio};
use std::time::Duration;

use converse_process::{Child, Guardian};
use converse_testkit::hang_guard::{wait_for, wait_until};
use rustix::process::{Pid, Signal, kill_process};

#[path = "../stage/mod.rs"]
mod stage;

use stage::{FOREVER, body, children, guardian, lives, number_in, script, this_program};

/// How long a child is given for each step of its end.
const PATIENCE: Duration = Duration::from_secs(2);

#[test]
#[ignore = "the body of a guardian process, which the tests start"]
fn guardian_body() {
    converse_process::guard();
}

/// Reads a directory and scripts, one a line, starts them there, writes how the first ends, and stays. What begins
/// with `/` is no script but a program.
#[test]
#[ignore = "the body of a program that dies, which the tests start"]
fn program_body() {
    live(&guardian());
}

#[test]
#[ignore = "the body of a program that dies, which the tests start"]
fn program_without_guardian_body() {
    live(&Guardian::new("/not/there".into(), Vec::new()));
}

/// The same, but ends its children and sweeps, and writes that down, before it stays.
#[test]
#[ignore = "the body of a program that dies, which the tests start"]
fn program_that_sweeps_body() {
    let guardian = guardian();
    let mut lines = stdin().lock().lines().map(Result::unwrap);
    let directory = PathBuf::from(lines.next().unwrap());
    let text = lines.next().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut child = script(&text, &directory).start(&guardian).unwrap();
        child.wait().await.unwrap();
        child.end(PATIENCE).await;
        guardian.sweep();
        fs::write(directory.join("swept"), "1\n").unwrap();
        tokio::time::sleep(FOREVER).await;
    });
}

/// Ends in good order twice, with a child and without, and writes down how many children it has then, dead or alive.
#[test]
#[ignore = "the body of a program, which the tests start"]
fn program_that_buries_body() {
    let mut lines = stdin().lock().lines().map(Result::unwrap);
    let directory = PathBuf::from(lines.next().unwrap());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut left = Vec::new();
    for _ in 0..2 {
        let guardian = guardian();
        runtime.block_on(async {
            let mut child = script("exit 0", &directory).start(&guardian).unwrap();
            child.wait().await.unwrap();
            child.end(PATIENCE).await;
        });
        assert!(!children(std::process::id()).is_empty(), "the guardian");
        drop(guardian);
        left.extend(children(std::process::id()));
    }
    fs::write(directory.join("left"), format!("{}\n", left.len())).unwrap();
}

fn live(guardian: &Guardian) {
    let mut lines = stdin().lock().lines().map(Result::unwrap);
    let directory = PathBuf::from(lines.next().unwrap());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut running: Vec<Child> = Vec::new();
    for text in lines {
        let _inside = runtime.enter();
        let mut spawn = script(&text, &directory);
        if text.starts_with('/') {
            (spawn.program, spawn.arguments) = (text.into(), Vec::new());
        }
        running.push(spawn.start(guardian).unwrap());
    }
    runtime.block_on(async {
        let status = running[0].wait().await.unwrap();
        fs::write(directory.join("status"), format!("{}\n", status.code().unwrap())).unwrap();
        tokio::time::sleep(FOREVER).await;
    });
}

/// A program with children, in a directory where they leave their numbers.
struct Program {
    process: std::process::Child,
    words: Option<ChildStdin>,
    directory: tempfile::TempDir,
}

impl Program {
    fn start(command: &mut Command, body_name: &str, scripts: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        command.args(body(body_name)).stdin(Stdio::piped()).stdout(Stdio::null());
        let mut process = command.spawn().unwrap();
        let mut words = process.stdin.take().unwrap();
        writeln!(words, "{}", directory.path().display()).unwrap();
        scripts.iter().for_each(|text| writeln!(words, "{text}").unwrap());
        Self { process, words: Some(words), directory }
    }

    fn starts(&mut self, text: &str) {
        writeln!(self.words.as_mut().unwrap(), "{text}").unwrap();
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn number(&self, name: &str) -> i32 {
        number_in(&self.file(name))
    }

    /// The child that was made to run the guardian's body.
    fn guardian(&self) -> i32 {
        wait_for("a guardian", || {
            let is_it = |id: &i32| {
                let line = fs::read_to_string(format!("/proc/{id}/cmdline")).unwrap_or_default();
                line.contains("guardian_body") && lives(*id)
            };
            children(self.process.id()).into_iter().find(is_it)
        })
    }

    /// SIGKILL, and then nobody of `names` may be left.
    fn dies(mut self, names: &[&str]) {
        let numbers = names.iter().map(|name| (*name, self.number(name))).collect::<Vec<_>>();
        for (name, number) in &numbers {
            assert!(lives(*number), "{name} is not there to be ended");
        }
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        wait_until(&format!("{numbers:?} are gone"), || numbers.iter().all(|(_, number)| !lives(*number)));
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// How often a process has read anything.
fn reads(id: i32) -> u64 {
    let mut io = String::new();
    fs::File::open(format!("/proc/{id}/io")).unwrap().read_to_string(&mut io).unwrap();
    io.lines().find_map(|line| line.strip_prefix("syscr: ")).unwrap().parse().unwrap()
}

fn signal(id: i32, signal: Signal) {
    kill_process(Pid::from_raw(id).unwrap(), signal).unwrap();
}

const IDLE: &str = "echo $$ > idle; exec sleep 1000";
const DEAF: &str = "trap '' TERM HUP INT PIPE; echo $$ > deaf; while :; do sleep 1; done";
const LAUNCHER: &str = "sleep 1000 & echo $! > launched; echo $$ > launcher; wait";
const GONE: &str = "sleep 1000 & echo $! > left; exit 0";
const DAEMON: &str = "setsid sh -c 'echo $$ > daemon; exec sleep 1000' & echo $$ > host; wait";
const DOUBLE: &str =
    "setsid sh -c 'echo $$ > orphan; exec sleep 1000' & while ! [ -s orphan ]; do sleep 0.01; done";

#[test]
fn groups_go_with_us() {
    let program =
        Program::start(&mut Command::new(this_program()), "program_body", &[IDLE, DEAF, LAUNCHER, GONE]);
    program.dies(&["idle", "deaf", "launcher", "launched", "left"]);
}

#[test]
fn so_do_those_who_fled_from_their_group() {
    let program =
        Program::start(&mut Command::new(this_program()), "program_body", &[LAUNCHER, DAEMON, DOUBLE]);
    let names = ["launcher", "launched", "host", "daemon", "orphan"];
    for name in names {
        program.number(name);
    }
    let guardian = program.guardian();
    // More than one look at so few processes takes.
    let before = reads(guardian);
    wait_until("the guardian looked around", || reads(guardian) > before + 40);
    program.dies(&names);
}

#[test]
fn leaders_go_even_without_a_guardian() {
    let command = &mut Command::new(this_program());
    let program = Program::start(command, "program_without_guardian_body", &[IDLE, DEAF]);
    program.dies(&["idle", "deaf"]);
}

#[test]
fn the_guardian_goes_too_and_cannot_be_asked_to_go_before() {
    let program = Program::start(&mut Command::new(this_program()), "program_body", &[LAUNCHER]);
    let guardian = program.guardian();
    for polite in [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT] {
        signal(guardian, polite);
    }
    program.dies(&["launcher", "launched"]);
    wait_until("the guardian is gone", || !lives(guardian));
}

#[test]
fn a_guardian_that_was_killed_is_replaced() {
    let mut program = Program::start(&mut Command::new(this_program()), "program_body", &[LAUNCHER]);
    let first = program.guardian();
    signal(first, Signal::KILL);
    wait_until("it is gone", || !lives(first));
    program.starts(IDLE);
    program.number("idle");
    assert_ne!(program.guardian(), first);
    // The new one knows of the child that is older than itself.
    program.dies(&["idle", "launcher", "launched"]);
}

/// Becomes the program, but first starts what is of nobody's business there: in a session of its own, and with more to
/// come; and in a group of its own as jobs of a shell are.
const BEFORE: &str = "cd \"$1\"; shift
    setsid sh -c 'echo $$ > before; while ! [ -s tidings ]; do sleep 0.01; done
        (sh -c \"echo \\$\\$ > begotten; exec sleep 1000\" &); exec sleep 1000' > theirs 2>&1 &
    perl -e 'setpgrp(0, 0); exec @ARGV' sleep 1000 > theirs 2>&1 & echo $! > job
    while ! [ -s before ]; do sleep 0.01; done
    exec \"$@\"";

fn after_others(body_name: &str, text: &str) -> (Program, tempfile::TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let mut command = Command::new("/bin/sh");
    command.args(["-c", BEFORE, "sh"]).arg(directory.path()).arg(this_program());
    (Program::start(&mut command, body_name, &[text]), directory)
}

/// Ended when dropped, so that a test that fails leaves nobody.
struct Others(Vec<i32>);

impl Drop for Others {
    fn drop(&mut self) {
        for id in self.0.iter().filter_map(|id| Pid::from_raw(*id)) {
            let _ = kill_process(id, Signal::KILL);
        }
    }
}

#[test]
fn who_was_there_before_us_is_left_alone() {
    for body_name in ["program_that_sweeps_body", "program_body"] {
        let (program, theirs) = after_others(body_name, DOUBLE);
        let directory = program.directory.path().to_owned();
        let before = ["before", "job"].map(|name| number_in(&theirs.path().join(name)));
        let mut others = Others(before.to_vec());
        let orphan = program.number("orphan");
        // Their child is born while we have one.
        fs::write(theirs.path().join("tidings"), "1\n").unwrap();
        others.0.push(number_in(&theirs.path().join("begotten")));
        if body_name == "program_body" {
            let guardian = program.guardian();
            let before = reads(guardian);
            wait_until("the guardian looked around", || reads(guardian) > before + 40);
            program.dies(&["orphan"]);
            wait_until("the guardian is gone", || !lives(guardian));
        } else {
            number_in(&directory.join("swept"));
            assert!(!lives(orphan), "{body_name}");
        }
        assert!(others.0.iter().all(|id| lives(*id)), "{body_name}: {:?}", others.0);
    }
}

#[test]
fn a_guardian_that_is_not_needed_any_more_is_buried() {
    let program = Program::start(&mut Command::new(this_program()), "program_that_buries_body", &[]);
    assert_eq!(program.number("left"), 0);
}

/// A set of signals of a process, as the kernel shows it.
fn signals(id: u32, name: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    // Of 32 and 33 libc says that there are no such signals.
    u64::from_str_radix(line.trim(), 16).unwrap() & !(3 << 31)
}

#[test]
fn who_started_us_does_not_decide_about_signals() {
    let mut command = Command::new("/usr/bin/env");
    command.args(["--ignore-signal=HUP", "--ignore-signal=CHLD", "--block-signal=USR1"]).arg(this_program());
    // A shell would begin with a mask of its own making.
    let mut program = Program::start(&mut command, "program_body", &["exit 5", "/bin/cat"]);
    let id = program.process.id();
    program.words = None;
    assert_eq!(program.number("status"), 5, "SIGCHLD was ignored, and still it is known how the child ended");
    let is_cat = |id: &i32| fs::read_to_string(format!("/proc/{id}/comm")).is_ok_and(|name| name == "cat\n");
    // The kernel lets a program's parent go on a little before it gives the program its name.
    let cat = wait_for("cat", || children(id).into_iter().find(is_cat));
    let cat = u32::try_from(cat).unwrap();
    assert!(signals(id, "SigIgn:") & 1 != 0 && signals(id, "SigBlk:") != 0, "or there is nothing to see");
    assert_eq!((signals(cat, "SigIgn:"), signals(cat, "SigBlk:")), (0, 0));
}
