//! However we end, no server of ours outlives us: nor its children, nor what it put elsewhere, nor who watches them.

use std::collections::HashSet;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Child;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use converse_testkit::hang_guard::{Deadline, wait_until};
use serde_json::{Value, json};

use crate::body::{calls, text};
use crate::env::canary::overhear;
use crate::env::{Ran, TestEnv, wait};
use crate::fake_server::{FakeServer, at_once};
use crate::provider::{Line, Provider};

/// A word in the command line of every process of one test.
fn mark() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("mark-{}-{}-", std::process::id(), NEXT.fetch_add(1, Ordering::SeqCst))
}

/// A process that cannot be mistaken for a later one of its number.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Process {
    pid: u32,
    parent: u32,
    started: String,
    words: String,
}

/// Every process there is, without those that have ended and were not yet buried.
fn processes() -> Vec<Process> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    entries.filter_map(|entry| process(&entry.path())).collect()
}

/// <https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html>, checked 2026-11.
fn process(directory: &Path) -> Option<Process> {
    let pid = directory.file_name()?.to_str()?.parse().ok()?;
    let words = String::from_utf8_lossy(&std::fs::read(directory.join("cmdline")).ok()?).replace('\0', " ");
    let stat = std::fs::read_to_string(directory.join("stat")).ok()?;
    let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split(' ').collect();
    let (state, parent, started) = (fields.first()?, fields.get(1)?.parse().ok()?, fields.get(19)?);
    (!["Z", "X"].contains(state)).then(|| Process { pid, parent, started: (*started).to_owned(), words })
}

fn marked(mark: &str) -> Vec<Process> {
    processes().into_iter().filter(|process| process.words.contains(mark)).collect()
}

/// All that come from a process, and those that bear the mark.
fn household(root: u32, mark: &str) -> Vec<Process> {
    let all = processes();
    let mut pids = HashSet::from([root]);
    loop {
        let before = pids.len();
        pids.extend(
            all.iter()
                .filter(|process| pids.contains(&process.parent))
                .map(|process| process.pid)
                .collect::<Vec<_>>(),
        );
        if pids.len() == before {
            break;
        }
    }
    let of_it = |process: &Process| {
        (pids.contains(&process.pid) && process.pid != root) || process.words.contains(mark)
    };
    all.into_iter().filter(of_it).collect()
}

/// Waits until none of them is left.
#[track_caller]
fn all_gone(household: &[Process], mark: &str) {
    let deadline = Deadline::begin();
    loop {
        let alive = processes();
        let known = |process: &&Process| {
            household.iter().any(|one| (one.pid, &one.started) == (process.pid, &process.started))
        };
        let left: Vec<&Process> =
            alive.iter().filter(|process| known(process) || process.words.contains(mark)).collect();
        if left.is_empty() {
            return;
        }
        if deadline.is_over() {
            let told =
                left.iter().map(|process| format!("{} {}", process.pid, process.words)).collect::<Vec<_>>();
            // They must not stay behind a test that failed.
            left.iter().for_each(|process| send("KILL", process.pid));
            panic!("there are still {told:#?}");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn send(signal: &str, pid: u32) {
    let status = std::process::Command::new("kill").arg(format!("-{signal}")).arg(pid.to_string()).status();
    assert!(status.is_ok());
}

/// Of the ten servers: their shells, themselves, and whom they start.
const PROCESSES: usize = 19;

/// Ten servers, each with a way of its own to stay.
fn ten_servers(env: &TestEnv, mark: &str) {
    let mark = format!("--mark={mark}");
    let background = r#""$0" fake-server --idle --ignore-term "$2" & "#;
    let launcher = format!("{background}exec \"$0\" \"$@\"");
    // What a shell starts in the background reads nothing, unless it is told to.
    let waiter = format!("exec 3<&0; {background}\"$0\" \"$@\" <&3 & wait");
    for (name, flags, script) in [
        ("plain", &["--faulty"][..], None),
        ("stays", &["--ignore-eof"], None),
        ("stubborn", &["--ignore-eof", "--ignore-term"], None),
        ("parent", &["--child"], None),
        ("daemon", &["--daemon"], None),
        ("everything", &["--child", "--daemon", "--ignore-eof", "--ignore-term"], None),
        ("deaf", &["--deaf-after=tools/list", "--flood-stderr"], None),
        ("launcher", &[], Some(launcher.as_str())),
        ("grandchild", &["--ignore-eof"], Some(r#"/bin/sh -c '"$0" "$@"; :' "$0" "$@"; :"#)),
        ("waiter", &["--ignore-eof"], Some(waiter.as_str())),
    ] {
        // The mark comes first: the scripts hand it on.
        let flags: Vec<&str> = [mark.as_str()].iter().chain(flags).copied().collect();
        let server = FakeServer::new(name, &flags);
        script.map_or(FakeServer::new(name, &flags), |script| server.in_a_shell(script)).write(env);
    }
}

struct Running {
    child: Child,
    household: Vec<Process>,
    mark: String,
    // Kept until the end: the provider answers, the directory stays.
    _provider: Provider,
    _env: TestEnv,
}

impl Running {
    /// A run with all ten, in the middle of a call that hangs.
    fn new() -> Self {
        let mark = mark();
        let nap = calls([("plain__sleep", json!({ "ms": 700 }))]);
        let provider = Provider::chat(vec![Line::from(nap), calls([("plain__hang", json!({}))]).into()]);
        let env = provider.env(TestEnv::new());
        ten_servers(&env, &mark);
        let mut command = env.command(["ask", "go", "-m", provider.model(), "-o", "jsonl", "--ensembles"]);
        let mut child = command.arg(env.path("servers")).spawn().unwrap();
        let mut reader = BufReader::new(overhear(child.stdout.take().unwrap()));
        // The nap gives whoever watches for strays the quarter of a second that they may have.
        next_call(&mut reader);
        next_call(&mut reader);
        std::thread::spawn(move || reader.lines().for_each(drop));
        let household = household(child.id(), &mark);
        let marked = household.iter().filter(|process| process.words.contains(&mark)).count();
        assert!(marked >= PROCESSES, "only {marked} were there to be ended: {household:#?}");
        Self { child, household, mark, _provider: provider, _env: env }
    }

    #[track_caller]
    fn takes_all_along(self, signal: &str, code: i32) {
        send(signal, self.child.id());
        all_gone(&self.household, &self.mark);
        wait(self.child).exits(code);
    }
}

fn next_call(reader: &mut impl BufRead) {
    let mut line = String::new();
    loop {
        line.clear();
        assert_ne!(reader.read_line(&mut line).unwrap(), 0, "it ended before the call was started");
        let record: Value = serde_json::from_str(&line).unwrap();
        if record["type"] == "invocation.started" {
            return;
        }
    }
}

/// A run to its end, with all ten there for a while; nothing is there when it has ended.
#[track_caller]
fn leaves_nothing(env: &TestEnv, mark: &str, args: &[&str]) -> Ran {
    let deadline = Deadline::begin();
    let mut command = env.command(args);
    let mut child = command.arg("--ensembles").arg(env.path("servers")).spawn().unwrap();
    let mut most = 0;
    while child.try_wait().unwrap().is_none() {
        most = most.max(marked(mark).len());
        deadline.check(|| "it does not end");
        std::thread::sleep(Duration::from_millis(20));
    }
    let ran = wait(child);
    assert!(most >= PROCESSES, "only {most} were there to be ended: {ran:?}");
    // The ladder has been climbed before we end, whatever they ignored.
    all_gone(&[], mark);
    ran
}

/// C11.
#[test]
fn nothing_is_left_of_ten_servers_after_a_run() {
    let (mark, env) = (mark(), TestEnv::new());
    ten_servers(&env, &mark);
    let ran = leaves_nothing(&env, &mark, &["ask", "@plain.echo text=hello"]).exits(0);
    assert!(ran.stdout.contains("hello"), "{ran:?}");
}

/// C11, each alone.
#[test]
fn nothing_is_left_of_one_server_after_a_call() {
    let cases = [&[][..], &["--child"], &["--daemon"], &["--ignore-eof"], &["--ignore-eof", "--ignore-term"]];
    at_once(cases, |flags| {
        let (mark, env) = (mark(), TestEnv::new());
        let marking = format!("--mark={mark}");
        let flags: Vec<&str> = [marking.as_str()].iter().chain(flags).copied().collect();
        let called = FakeServer::new("alone", &flags).call(&env, "echo", json!({ "text": "x" }));
        called.is("success");
        all_gone(&[], &mark);
    });
}

/// C12.
#[test]
fn nothing_is_left_when_we_are_killed() {
    Running::new().takes_all_along("KILL", 128 + 9);
}

#[test]
fn nothing_is_left_when_we_are_told_to_end() {
    at_once([("INT", 130), ("TERM", 143)], |(signal, code)| {
        Running::new().takes_all_along(signal, code);
    });
}

/// Before anything is connected there is nobody to disconnect; yet there are processes.
#[test]
fn nothing_is_left_when_we_are_ended_while_connecting() {
    for (signal, code) in [("INT", 130), ("TERM", 143), ("KILL", 137)] {
        let (mark, env) = (mark(), TestEnv::new());
        let marking = format!("--mark={mark}");
        let flags = [&marking, "--child", "--mute=initialize", "--mute=server/discover"];
        FakeServer::new("mute", &flags).connection("connect_timeout = 60").write(&env);
        let dir = env.path("servers").display().to_string();
        let child = env.command(["ask", "hello", "-m", "understudy", "--ensembles", &dir]).spawn().unwrap();
        wait_until("the server starts", || marked(&mark).len() >= 2);
        let household = household(child.id(), &mark);
        send(signal, child.id());
        all_gone(&household, &mark);
        wait(child).exits(code);
    }
}

/// A run that fails must tidy up like one that does not.
#[test]
fn nothing_is_left_when_a_required_one_fails() {
    let (mark, env) = (mark(), TestEnv::new());
    ten_servers(&env, &mark);
    FakeServer::new("required", &["--slow=2500", "--exit=1"])
        .ensemble("required = true")
        .connection("protocol = \"legacy\"")
        .write(&env);
    leaves_nothing(&env, &mark, &["ask", "hello", "-m", "understudy"]).exits(10);
}

/// The limit of a whole run is no way around the tidying up.
#[test]
fn a_deadline_ends_servers_too() {
    let (mark, env) = (mark(), TestEnv::new());
    let provider = Provider::chat(vec![Line::from(calls([("plain__hang", json!({}))])), text("?").into()]);
    let env = provider.env(env);
    let marking = format!("--mark={mark}");
    FakeServer::new("plain", &["--faulty", "--child", &marking]).write(&env);
    let dir = env.path("servers").display().to_string();
    let args = ["ask", "go", "-m", provider.model(), "--deadline", "1.5", "--ensembles", &dir];
    env.run(&args).exits(7);
    all_gone(&[], &mark);
}
