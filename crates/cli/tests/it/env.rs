//! A place of its own for each test: an empty environment, a home, a working directory.

#[path = "canary.rs"]
pub(crate) mod canary;

use std::ffi::OsStr;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Once};
use std::time::Duration;

use converse_testkit::hang_guard::Deadline;
use serde_json::Value;

pub(crate) struct TestEnv {
    dir: tempfile::TempDir,
    vars: Vec<(String, String)>,
}

/// The one that was built with the tests, or the one that `CONVERSE_BINARY` names.
pub(crate) fn binary() -> PathBuf {
    std::env::var_os("CONVERSE_BINARY").unwrap_or_else(|| env!("CARGO_BIN_EXE_converse").into()).into()
}

/// How a run ended.
#[derive(Debug)]
pub(crate) struct Ran {
    /// The exit code, or 128 + the signal.
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, code, "stdout: {}\nstderr: {}", self.stdout, self.stderr);
        self
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("{e}: {}", self.stdout))
    }

    pub(crate) fn records(&self) -> Vec<Value> {
        self.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

impl TestEnv {
    pub(crate) fn new() -> Self {
        hear_signals();
        let dir = canary::place();
        for name in ["home", "work"] {
            std::fs::create_dir(dir.path().join(name)).unwrap();
        }
        let home = dir.path().join("home").display().to_string();
        let mut vars = canary::variables();
        vars.extend([
            ("HOME".to_owned(), home),
            ("PATH".to_owned(), std::env::var("PATH").unwrap_or_default()),
            ("LANG".to_owned(), "C.UTF-8".to_owned()),
        ]);
        Self { dir, vars }
    }

    /// With short waits, so that retries do not slow the tests.
    pub(crate) fn hasty() -> Self {
        let env = Self::new();
        env.write("home/.config/converse/config.toml", "[timeouts]\nretry_first = 1\nretry_cap = 5\n");
        env
    }

    pub(crate) fn var(mut self, name: &str, value: impl Into<String>) -> Self {
        self.vars.retain(|(known, _)| known != name);
        self.vars.push((name.to_owned(), value.into()));
        self
    }

    pub(crate) fn var_unless_set(self, name: &str, value: String) -> Self {
        if self.vars.iter().any(|(known, _)| known == name) { self } else { self.var(name, value) }
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.vars.retain(|(known, _)| known != name);
        self
    }

    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.dir.path().join(relative)
    }

    /// Writes a file below the test's directory (`work/…`, `home/…`).
    pub(crate) fn write(&self, relative: &str, text: &str) -> PathBuf {
        let path = self.path(relative);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        canary::wrote(&path, text);
        path
    }

    pub(crate) fn command(&self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
        let mut command = Command::new(binary());
        command.args(args).env_clear().envs(self.vars.iter().cloned()).current_dir(self.path("work"));
        command.envs(canary::run());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub(crate) fn run<S: AsRef<OsStr>>(&self, args: &[S]) -> Ran {
        wait(self.command(args).spawn().unwrap())
    }

    pub(crate) fn run_with_stdin<S: AsRef<OsStr>>(&self, args: &[S], stdin: &[u8]) -> Ran {
        let mut child = self.command(args).stdin(Stdio::piped()).spawn().unwrap();
        let mut pipe = child.stdin.take().unwrap();
        // A run that ends early closes the pipe; that is not this helper's business.
        let _ = pipe.write_all(stdin);
        drop(pipe);
        wait(child)
    }

    /// A shell line, for redirections; `$converse` is the binary.
    pub(crate) fn shell(&self, line: &str) -> Ran {
        let mut command = Command::new("bash");
        command
            .arg("-c")
            .arg(line)
            .env_clear()
            .envs(self.vars.iter().cloned())
            .current_dir(self.path("work"));
        command.env("converse", binary()).envs(canary::run());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        wait(command.spawn().unwrap())
    }
}

/// What was set to be ignored for us (the gate stands behind a script's `&`) would be so for all that is tried here, and
/// what is heard is not: the handler does nothing and goes when another program begins.
fn hear_signals() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap_or_default();
        let ignored = u64::from_str_radix(mask.trim(), 16).unwrap_or_default();
        for signal in (1..=3).filter(|number| ignored & (1 << (number - 1)) != 0) {
            signal_hook::flag::register(signal, Arc::default()).unwrap();
        }
    });
}

pub(crate) fn wait(child: Child) -> Ran {
    watch(child, |_| {})
}

/// A run with what it cost.
#[derive(Debug)]
pub(crate) struct Measured {
    pub(crate) ran: Ran,
    /// The most memory of its own that it held at a time, in MiB: without its children and without the files that it
    /// maps. How much of a program file is in memory depends on the machine and on how the program was built.
    pub(crate) peak: u64,
}

pub(crate) fn measure(child: Child) -> Measured {
    // A high-water mark: the last look is enough, and one comes every few milliseconds. The first may see the process
    // before it runs our program, with the memory of this one.
    let mut peak = None;
    let ran = watch(child, |pid| peak = high_water(pid).or(peak));
    // A run that has ended before the first look, on a busy machine, did not live long enough to hold much.
    Measured { ran, peak: peak.unwrap_or_default() / 1024 }
}

/// In KiB, without mapped files; none once it has ended.
fn high_water(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().strip_suffix(" kB")?.parse::<u64>().ok()
    };
    Some(field("VmHWM:")?.saturating_sub(field("RssFile:")?))
}

/// Looks at it until it has ended.
fn watch(mut child: Child, mut look: impl FnMut(u32)) -> Ran {
    let (stdout, stderr) = (drain(child.stdout.take()), drain(child.stderr.take()));
    let deadline = Deadline::begin();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if deadline.is_over() {
            let _ = child.kill();
            panic!("the program hangs");
        }
        look(child.id());
        std::thread::sleep(Duration::from_millis(2));
    };
    use std::os::unix::process::ExitStatusExt as _;
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap();
    let (stdout, stderr) = (stdout.join().unwrap(), stderr.join().unwrap());
    canary::heard(&stdout, &stderr);
    Ran { code, stdout, stderr }
}

fn drain(pipe: Option<impl std::io::Read + Send + 'static>) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            let _ = pipe.by_ref().read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// Every regular file below a directory.
pub(crate) fn files(below: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut waiting = vec![below.to_path_buf()];
    while let Some(dir) = waiting.pop() {
        for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
            let kind = entry.file_type().unwrap();
            if kind.is_dir() {
                waiting.push(entry.path());
            } else if kind.is_file() {
                found.push(entry.path());
            }
        }
    }
    found
}
