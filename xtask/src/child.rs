//! Runs one program and learns what it took.
//!
//! The surprising part: the kernel starts a child's peak memory at that of the process it was forked from, and keeps
//! it over `exec`. So a program is not started by the bench, which holds whole streams, but by a small helper: this
//! very binary, before it has done anything. Peaks below the helper's own (2 to 3 MB) cannot be told.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use wait4::Wait4 as _;

use crate::Result;

/// The first argument that makes this binary the helper: then a file for the account, then the command.
pub(crate) const HELPER: &str = "measure-child";

/// A run that takes longer is stuck.
const LIMIT: Duration = Duration::from_secs(60);

/// More output than any scenario makes.
const MAX_OUTPUT: u64 = 64 * 1024 * 1024;

/// What a finished program took and said.
#[derive(Debug)]
pub(crate) struct Run {
    /// User and system time, that of its waited-for descendants included.
    pub(crate) cpu: Duration,
    /// Peak resident memory in bytes, of its largest process.
    pub(crate) peak: u64,
    /// Page faults, those of its waited-for descendants included.
    pub(crate) faults: u64,
    /// From its start to its end.
    pub(crate) wall: Duration,
    /// When it was started.
    pub(crate) began: Instant,
    /// When its first byte of standard output arrived.
    pub(crate) first: Option<Instant>,
    pub(crate) stdout: Vec<u8>,
}

#[cfg(test)]
impl Run {
    /// A run that only said this.
    pub(crate) fn of(said: &str) -> Self {
        let [cpu, wall] = [Duration::ZERO; 2];
        let (began, stdout) = (Instant::now(), said.as_bytes().to_vec());
        Self { cpu, peak: 0, faults: 0, wall, began, first: None, stdout }
    }
}

/// A program to be run, in a bare environment.
#[derive(Debug, Clone)]
pub(crate) struct Program {
    pub(crate) command: Vec<OsString>,
    pub(crate) environment: Vec<(&'static str, OsString)>,
}

/// Runs the program in `dir`. An exit code other than 0 is an error that shows the end of its stderr.
pub(crate) fn run(program: &Program, dir: &Path) -> Result<Run> {
    let (account, errors) = (dir.join("account"), dir.join("stderr"));
    let mut helper = Command::new(std::env::current_exe()?)
        .arg(HELPER)
        .arg(&account)
        .args(&program.command)
        .env_clear()
        .envs(program.environment.iter().map(|(name, value)| (name, value)))
        .current_dir(dir)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(File::create(&errors)?)
        .process_group(0)
        .spawn()?;
    let stdout = helper.stdout.take().ok_or("no pipe")?;
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || sender.send(read(stdout.take(MAX_OUTPUT))));
    let read = receiver.recv_timeout(LIMIT);
    if read.is_err() {
        // The group is the helper and what it started, and nobody else.
        Command::new("kill").args(["-9", "--", &format!("-{}", helper.id())]).status()?;
    }
    let status = helper.wait()?;
    let said = || std::fs::read_to_string(&errors).unwrap_or_default();
    let name = program.command.first().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let Ok(read) = read else {
        return Err(format!("`{name}` did not end within {} s: {}", LIMIT.as_secs(), tail(&said())).into());
    };
    if !status.success() {
        return Err(format!("`{name}` failed ({status}): {}", tail(&said())).into());
    }
    let (stdout, first) = read?;
    let account = parse(&std::fs::read_to_string(&account)?).ok_or("the helper left no account")?;
    let [cpu, wall] = [account.cpu, account.wall].map(Duration::from_nanos);
    let age = Duration::from_nanos(monotonic().saturating_sub(account.began));
    let began = Instant::now().checked_sub(age).ok_or("it began before the machine")?;
    Ok(Run { cpu, peak: account.peak, faults: account.faults, wall, began, first, stdout })
}

fn read(mut pipe: impl std::io::Read) -> std::io::Result<(Vec<u8>, Option<Instant>)> {
    let (mut all, mut first) = (Vec::new(), None);
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let count = pipe.read(&mut buffer)?;
        if count == 0 {
            return Ok((all, first));
        }
        first.get_or_insert_with(Instant::now);
        all.extend_from_slice(buffer.get(..count).unwrap_or_default());
    }
}

fn tail(text: &str) -> String {
    let text = text.trim();
    let skip = text.chars().count().saturating_sub(500);
    text.chars().skip(skip).collect()
}

/// The helper's whole life: start, wait, write down, end as the child did.
pub(crate) fn helper(account: &str, command: &[&str]) -> ExitCode {
    match measure(account, command) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(127)
        }
    }
}

fn measure(account: &str, command: &[&str]) -> Result<ExitCode> {
    let (name, arguments) = command.split_first().ok_or("no command")?;
    let began = monotonic();
    let used = Command::new(name).args(arguments).spawn()?.wait4()?;
    let wall = monotonic().saturating_sub(began);
    let cpu = used.rusage.utime + used.rusage.stime;
    let faults = faults(&std::fs::read_to_string("/proc/self/stat")?).ok_or("no count of page faults")?;
    std::fs::write(account, format!("{} {} {faults} {wall} {began}", cpu.as_nanos(), used.rusage.maxrss))?;
    let code = used.status.code().and_then(|code| u8::try_from(code).ok());
    Ok(ExitCode::from(code.unwrap_or(128)))
}

/// Nanoseconds of the clock that all processes share.
fn monotonic() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    let part = |number: i64| u64::try_from(number).unwrap_or(0);
    part(now.tv_sec).saturating_mul(1_000_000_000).saturating_add(part(now.tv_nsec))
}

/// Minor and major page faults of the children that were waited for, from a `stat` of
/// <https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html> (checked 2026-11).
fn faults(stat: &str) -> Option<u64> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace();
    let (minor, major) = (fields.nth(8)?.parse::<u64>().ok()?, fields.nth(1)?.parse::<u64>().ok()?);
    Some(minor + major)
}

/// What the helper writes down: nanoseconds, bytes and numbers.
struct Account {
    cpu: u64,
    peak: u64,
    faults: u64,
    wall: u64,
    /// On the clock that all processes share.
    began: u64,
}

fn parse(account: &str) -> Option<Account> {
    let mut numbers = account.split(' ').map(|number| number.parse().ok());
    let mut next = || numbers.next().flatten();
    Some(Account { cpu: next()?, peak: next()?, faults: next()?, wall: next()?, began: next()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_of_children_are_the_ninth_and_eleventh_behind_the_name() {
        // flags, minflt, cminflt, majflt, cmajflt
        assert_eq!(faults("42 (a) b) S 1 42 42 0 -1 4194560 7 300 5 20 1 2 3 4"), Some(320));
        assert_eq!(faults("42 (a) S 1 42 42 0 -1 4194560 7 300 5"), None);
        assert_eq!(faults(""), None);
        assert!(faults(&std::fs::read_to_string("/proc/self/stat").unwrap()).is_some());
    }
}
