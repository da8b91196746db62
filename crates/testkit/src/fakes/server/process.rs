//! The behaviour of the process: it ends in every possible way, and leaves other processes behind.

use std::fs::File;
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Signal, getpid, kill_process};

use super::flags::Flags;

#[allow(clippy::disallowed_methods, reason = "a server that dies has nothing to tidy up")]
pub(super) fn leave(code: i32) -> ! {
    std::process::exit(code)
}

pub(super) fn idle() -> ! {
    loop {
        std::thread::sleep(Duration::from_secs(3600));
    }
}

pub(in crate::fakes) fn complain(text: &str) {
    // An unread stderr is not a reason to fail.
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Ends as a crash does. Rust's own handler takes the first signal and steps back; the second one ends the process.
pub(super) fn crash() -> ! {
    for _ in 0..2 {
        let _ = kill_process(getpid(), Signal::SEGV);
    }
    std::process::abort()
}

pub(super) fn abort() -> ! {
    std::process::abort()
}

/// The pipe's other end sees the end, while this process lives on.
pub(super) fn close_stdout() {
    if let Ok(null) = File::options().write(true).open("/dev/null") {
        let _ = rustix::stdio::dup2_stdout(null);
    }
}

/// The other end cannot write any more, while this process lives on and still has its stdout.
pub(super) fn close_stdin() {
    if let Ok(null) = File::open("/dev/null") {
        let _ = rustix::stdio::dup2_stdin(null);
    }
}

pub(super) fn flood_stderr() {
    std::thread::spawn(|| {
        let text = "stderr is where servers say what nobody asked for ".repeat(1000) + "\n";
        while std::io::stderr().write_all(text.as_bytes()).is_ok() {}
    });
}

/// A shell can ignore signals for the program it becomes; std cannot.
pub(super) fn restart_deaf_to_signals() {
    let Ok(own) = std::env::current_exe() else { return };
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", r#"trap "" TERM INT HUP; exec "$0" "$@""#]).arg(own).arg("fake-server");
    shell.args(std::env::args_os().skip(2).filter(|word| word != "--ignore-term"));
    complain(&format!("fake-server: {}", shell.exec()));
    leave(65);
}

/// Starts the processes to leave behind.
pub(super) fn offspring(flags: &Flags) {
    let Ok(own) = std::env::current_exe() else { return };
    let mark = format!("--mark={}", flags.value("mark").unwrap_or_default());
    let idle = ["fake-server", "--idle", "--ignore-term", &mark];
    if flags.has("child") {
        start(Command::new(&own).args(idle));
    }
    if flags.has("daemon") {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", r#"setsid "$0" "$@" </dev/null >/dev/null 2>&1 &"#]).arg(&own).args(idle);
        // The shell ends at once; without this it would stay as a zombie.
        if let Some(mut shell) = start(shell.stdout(Stdio::null())) {
            let _ = shell.wait();
        }
    }
}

fn start(command: &mut Command) -> Option<Child> {
    command.spawn().inspect_err(|error| complain(&format!("fake-server: {error}"))).ok()
}
