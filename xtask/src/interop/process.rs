//! Runs one program to its end, or to its time limit.

use std::fs::File;
use std::io::{Read as _, Seek as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::Result;

/// More than any of these programs has to say.
const MAX_OUTPUT: u64 = 4 * 1024 * 1024;

/// How often a running program is looked at.
const TICK: Duration = Duration::from_millis(5);

/// A program that ended, or was ended.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ran {
    /// As one would type it.
    pub(crate) command: String,
    /// `None`: a signal ended it, ours after the limit or another.
    pub(crate) code: Option<i32>,
    pub(crate) late: bool,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) took: Duration,
}

impl Ran {
    /// What it said, if that is JSON; else null.
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_default()
    }
}

/// A program that runs.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    command: String,
    stdout: File,
    stderr: File,
    began: Instant,
}

/// Runs it to its end.
pub(crate) fn run(command: &mut Command, limit: Duration) -> Result<Ran> {
    Running::start(command)?.end(limit)
}

impl Running {
    /// Starts it in a process group of its own. Its output goes through files: a process that it leaves behind and
    /// that holds on to the output keeps nobody waiting.
    pub(crate) fn start(command: &mut Command) -> Result<Self> {
        let (stdout, stderr) = (tempfile::tempfile()?, tempfile::tempfile()?);
        command.stdin(Stdio::null()).stdout(stdout.try_clone()?).stderr(stderr.try_clone()?).process_group(0);
        let began = Instant::now();
        let child =
            command.spawn().map_err(|error| format!("`{}` does not start: {error}", typed(command)))?;
        Ok(Self { child, command: typed(command), stdout, stderr, began })
    }

    /// Signals it alone, not its group. One that has ended hears nothing.
    pub(crate) fn signal(&self, name: &str) -> Result<()> {
        send(name, &self.child.id().to_string())
    }

    /// Waits until it ends, and ends it if it does not in time.
    pub(crate) fn end(mut self, limit: Duration) -> Result<Ran> {
        let ended = wait(&mut self.child, Instant::now() + limit)?;
        let took = self.began.elapsed();
        if ended.is_none() {
            end_group(&mut self.child)?;
        }
        Ok(Ran {
            command: self.command,
            code: ended.and_then(|status| status.code()),
            late: ended.is_none(),
            stdout: text(&mut self.stdout)?,
            stderr: text(&mut self.stderr)?,
            took,
        })
    }
}

/// How it ended, if it did until then.
pub(crate) fn wait(child: &mut Child, until: Instant) -> Result<Option<std::process::ExitStatus>> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= until {
            return Ok(None);
        }
        std::thread::sleep(TICK);
    }
}

/// Ends a child that leads a group, and the group.
pub(crate) fn end_group(child: &mut Child) -> Result<()> {
    send("KILL", &format!("-{}", child.id()))?;
    child.wait()?;
    Ok(())
}

/// Signals a process by its id, or a group by its negative id.
pub(crate) fn send(signal: &str, who: &str) -> Result<()> {
    Command::new("kill").args(["-s", signal, "--", who]).stderr(Stdio::null()).status()?;
    Ok(())
}

fn text(file: &mut File) -> Result<String> {
    file.rewind()?;
    let mut bytes = Vec::new();
    file.take(MAX_OUTPUT).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The command line, with quotes where a shell would need them.
fn typed(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let quoted = words.map(|word| quoted(&word.to_string_lossy()));
    quoted.collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, limit: Duration) -> Ran {
        run(Command::new("/bin/sh").args(["-c", script]), limit).unwrap()
    }

    #[test]
    fn what_it_said_and_how_it_ended() {
        let ran = shell("echo out; echo err >&2; exit 3", Duration::from_secs(20));
        assert_eq!((ran.code, ran.late), (Some(3), false));
        assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("out\n", "err\n"));
        assert_eq!(ran.command, "/bin/sh -c 'echo out; echo err >&2; exit 3'");
    }

    #[test]
    fn one_that_does_not_end_is_ended_with_its_children() {
        let ran = shell("sleep 600 & echo $!; wait", Duration::from_millis(500));
        assert_eq!((ran.code, ran.late), (None, true));
        let child = ran.stdout.trim().to_owned();
        let until = Instant::now() + Duration::from_secs(5);
        let alive = || std::fs::read_to_string(format!("/proc/{child}/cmdline")).unwrap_or_default();
        while !alive().is_empty() {
            assert!(Instant::now() < until, "{child} lives on");
        }
    }

    #[test]
    fn a_signal_is_for_the_program_alone() {
        let script = "trap 'exit 5' TERM; sleep 600 & echo $!; wait";
        let running = Running::start(Command::new("/bin/sh").args(["-c", script])).unwrap();
        let until = Instant::now() + Duration::from_secs(20);
        while running.stdout.metadata().unwrap().len() == 0 {
            assert!(Instant::now() < until, "it says nothing");
        }
        running.signal("TERM").unwrap();
        let ran = running.end(Duration::from_secs(20)).unwrap();
        let child = ran.stdout.trim();
        let alive = || std::fs::read(format!("/proc/{child}/cmdline")).is_ok_and(|words| !words.is_empty());
        // One that is just becoming another program has no words for a moment.
        let until = Instant::now() + Duration::from_secs(2);
        while !alive() && Instant::now() < until {}
        let alive = alive();
        send("KILL", child).unwrap();
        assert_eq!((ran.code, ran.late, alive), (Some(5), false, true));
    }

    #[test]
    fn a_child_that_holds_the_output_keeps_nobody_waiting() {
        let ran = shell("sleep 600 & echo $!", Duration::from_secs(20));
        send("KILL", ran.stdout.trim()).unwrap();
        assert!(!ran.late && ran.took < Duration::from_secs(10), "{ran:?}");
    }

    #[test]
    fn words_are_quoted_where_a_shell_needs_it() {
        for (word, typed) in
            [("a-b=1.2", "a-b=1.2"), ("", "''"), ("a b", "'a b'"), ("x'y", r"'x'\''y'"), ("*", "'*'")]
        {
            assert_eq!(quoted(word), typed);
        }
    }
}
