//! The program at a pseudo-terminal of util-linux' `script`, typed to and looked at.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use crate::Result;
use crate::bench::Bench;

const PATIENCE: Duration = Duration::from_secs(30);
/// The least of so many looks counts.
const LOOKS: usize = 60;
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);
/// Bytes of the screen that are kept to look for words in.
const KEPT: usize = 64 * 1024;

/// What a process holds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Resources {
    /// In bytes, resident.
    pub(super) memory: f64,
    pub(super) descriptors: usize,
    pub(super) threads: usize,
    pub(super) children: usize,
}

pub(super) struct ReplSession {
    script: Child,
    keyboard: ChildStdin,
    screen: Receiver<Vec<u8>>,
    shown: Vec<u8>,
    /// Of the program itself.
    process: PathBuf,
}

impl ReplSession {
    /// Its window is small: what does not fit is condensed all the time.
    pub(super) fn start(bench: &Bench, model: &SocketAddr) -> Result<Self> {
        let home = tempfile::TempDir::new_in(bench.dir.path())?.keep();
        let settings = home.join(".config/converse");
        fs::create_dir_all(&settings)?;
        fs::write(settings.join("config.toml"), "[models.\"openai-chat/stub\"]\nwindow = 8000\n")?;
        let line =
            format!("exec '{}' --plain repl -m openai-chat/stub -e essentials", bench.binary.display());
        let mut script = Command::new("script")
            .args(["--quiet", "--return", "--flush", "--command", &line, "/dev/null"])
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .envs([("TERM", "dumb"), ("SHELL", "/bin/sh"), ("OPENAI_API_KEY", "x")])
            .env("OPENAI_BASE_URL", format!("http://{model}/v1"))
            .env("HOME", &home)
            .current_dir(&home)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let keyboard = script.stdin.take().ok_or("no keyboard")?;
        let mut display = script.stdout.take().ok_or("no display")?;
        let (sender, screen) = channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 8192];
            while let Ok(count @ 1..) = display.read(&mut buffer) {
                if sender.send(buffer.get(..count).unwrap_or_default().to_vec()).is_err() {
                    return;
                }
            }
        });
        let mut session = Self { script, keyboard, screen, shown: Vec::new(), process: PathBuf::new() };
        session.shows("stub> ")?;
        let children = format!("/proc/{0}/task/{0}/children", session.script.id());
        session.process = format!("/proc/{}", fs::read_to_string(children)?.trim()).into();
        Ok(session)
    }

    /// One question, the call, the answer, and the prompt again.
    pub(super) fn turn(&mut self, turn: usize) -> Result<()> {
        self.says(&format!("turn {turn}"))?;
        self.shows(&format!("answer {turn}."))?;
        self.shows("stub> ")
    }

    pub(super) fn clear(&mut self) -> Result<()> {
        self.says("/clear")?;
        self.shows("new conversation")?;
        self.shows("stub> ")
    }

    pub(super) fn leave(mut self) -> Result<()> {
        self.says("/quit")?;
        self.shows("converse -c")?;
        let end = Instant::now() + PATIENCE;
        while self.script.try_wait()?.is_none() {
            if Instant::now() > end {
                return Err("the program does not end".into());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        if self.script.wait()?.success() { Ok(()) } else { Err("the program failed".into()) }
    }

    /// At rest: what a turn leaves to be closed behind it, such as a connection, is given a moment.
    pub(super) fn resources(&self) -> Result<Resources> {
        let mut least = self.now()?;
        for _ in 1..LOOKS {
            std::thread::sleep(BETWEEN_LOOKS);
            let now = self.now()?;
            least.descriptors = least.descriptors.min(now.descriptors);
            least.threads = least.threads.min(now.threads);
            least.children = least.children.min(now.children);
        }
        Ok(least)
    }

    fn now(&self) -> Result<Resources> {
        let entries = |below: &str| -> Result<usize> { Ok(fs::read_dir(self.process.join(below))?.count()) };
        let memory = memory(&fs::read_to_string(self.process.join("status"))?).ok_or("no memory is told")?;
        let mut children = 0;
        for thread in fs::read_dir(self.process.join("task"))? {
            children += fs::read_to_string(thread?.path().join("children"))?.split_whitespace().count();
        }
        Ok(Resources { memory, descriptors: entries("fd")?, threads: entries("task")?, children })
    }

    fn says(&mut self, line: &str) -> Result<()> {
        self.keyboard.write_all(format!("{line}\n").as_bytes())?;
        Ok(self.keyboard.flush()?)
    }

    /// Waits for the words; everything up to them is forgotten.
    fn shows(&mut self, words: &str) -> Result<()> {
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(at) = self.shown.windows(words.len()).position(|part| part == words.as_bytes()) {
                self.shown.drain(..at + words.len());
                return Ok(());
            }
            let excess = self.shown.len().saturating_sub(KEPT);
            self.shown.drain(..excess);
            match self.screen.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(bytes) => self.shown.extend(bytes),
                Err(_) => {
                    return Err(format!("no `{words}` in {}", String::from_utf8_lossy(&self.shown)).into());
                }
            }
        }
    }
}

impl Drop for ReplSession {
    fn drop(&mut self) {
        // With its terminal the program goes as well.
        let _ = self.script.kill();
        let _ = self.script.wait();
    }
}

/// In bytes, of the kernel's own account.
fn memory(status: &str) -> Option<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix(" kB")?.parse::<f64>().ok().map(|kibibytes| kibibytes * 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_is_found_in_the_account() {
        assert_eq!(memory("Name:\tx\nVmRSS:\t    12 kB\n"), Some(12.0 * 1024.0));
        assert_eq!(memory("Name:\tx\n"), None);
    }
}
