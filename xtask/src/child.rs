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
    /// From its start to its end.
    pub(crate) wall: Duration,
    /// When its first byte of standard output arrived.
    pub(crate) first: Option<Instant>,
    pub(crate) stdout: Vec<u8>,
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
    Ok(Run { cpu, peak: account.peak, wall, first, stdout })
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
    let began = Instant::now();
    let used = Command::new(name).args(arguments).spawn()?.wait4()?;
    let wall = began.elapsed();
    let cpu = used.rusage.utime + used.rusage.stime;
    std::fs::write(account, format!("{} {} {}", cpu.as_nanos(), used.rusage.maxrss, wall.as_nanos()))?;
    let code = used.status.code().and_then(|code| u8::try_from(code).ok());
    Ok(ExitCode::from(code.unwrap_or(128)))
}

/// What the helper writes down: nanoseconds and bytes.
struct Account {
    cpu: u64,
    peak: u64,
    wall: u64,
}

fn parse(account: &str) -> Option<Account> {
    let mut numbers = account.split(' ').map(|number| number.parse().ok());
    Some(Account { cpu: numbers.next()??, peak: numbers.next()??, wall: numbers.next()?? })
}
