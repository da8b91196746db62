//! A server that is there before the program and stays after it: reached by HTTP.

use std::io::{Read as _, Seek as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::process::{end_group, send, wait};
use super::report::tail;
use crate::Result;

const LIMIT: Duration = Duration::from_secs(20);

/// Runs until it is dropped.
#[derive(Debug)]
pub(crate) struct Remote {
    child: Child,
    address: SocketAddr,
    /// Its directory and home: not the scratch directory, which must name nobody after a run.
    _dir: TempDir,
}

impl Remote {
    /// Starts the command with `PORT` in its environment (and `{port}` replaced in its words) and waits until it listens
    /// there.
    pub(crate) fn start(command: &[String], environment: &[(&'static str, String)]) -> Result<Self> {
        // Free now; whoever takes it in between makes this fail, not lie.
        let address = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?;
        let (program, arguments) = command.split_first().ok_or("no command")?;
        let (dir, mut said) = (TempDir::new()?, tempfile::tempfile()?);
        let mut command = Command::new(program);
        let port = address.port().to_string();
        command.args(arguments.iter().map(|word| word.replace("{port}", &port)));
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", dir.path()).env("PORT", port).current_dir(dir.path());
        command.envs(environment.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null()).stdout(said.try_clone()?).stderr(said.try_clone()?).process_group(0);
        let child = command.spawn().map_err(|error| format!("`{program}` does not start: {error}"))?;
        let mut remote = Self { child, address, _dir: dir };
        if !remote.listens()? {
            let mut words = String::new();
            said.rewind()?;
            said.read_to_string(&mut words)?;
            return Err(format!("`{program}` does not listen on {address}: {}", tail(&words)).into());
        }
        Ok(remote)
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Tells it to end, and what was not as it should be then.
    pub(crate) fn end(mut self) -> Result<Option<String>> {
        send("TERM", &self.child.id().to_string())?;
        Ok(match wait(&mut self.child, Instant::now() + LIMIT)? {
            Some(status) if status.success() => None,
            Some(status) => Some(format!("expected: told to end, it ends well, and not with {status}")),
            None => Some("expected: told to end, it ends".to_owned()),
        })
    }

    fn listens(&mut self) -> Result<bool> {
        let until = Instant::now() + LIMIT;
        while Instant::now() < until {
            if TcpStream::connect_timeout(&self.address, LIMIT).is_ok() {
                return Ok(true);
            }
            if wait(&mut self.child, Instant::now() + Duration::from_millis(50))?.is_some() {
                return Ok(false);
            }
        }
        Ok(false)
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        let _ = end_group(&mut self.child);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Vec<String> {
        ["/bin/sh", "-c", script].map(str::to_owned).to_vec()
    }

    /// The server of the test below, in a process of its own: this very program again.
    #[test]
    #[ignore = "it is a server"]
    fn serve() {
        let Ok(port) = std::env::var("PORT") else { return };
        let listener = TcpListener::bind(("127.0.0.1", port.parse().unwrap())).unwrap();
        assert_eq!(listener.incoming().flatten().map(drop).count(), 0, "it is killed");
    }

    #[test]
    fn it_listens_until_it_is_dropped() {
        let program = std::env::current_exe().unwrap().to_string_lossy().into_owned();
        let name = "interop::remote::tests::serve".to_owned();
        let words = [program, "--ignored".to_owned(), "--exact".to_owned(), name];
        let remote = Remote::start(&words, &[]).unwrap();
        let address = remote.address();
        assert!(TcpStream::connect(address).is_ok() && remote.id() > 1);
        drop(remote);
        assert!(TcpStream::connect(address).is_err());
    }

    #[test]
    fn one_that_ends_says_why() {
        let error = Remote::start(&shell("echo {port} $PORT $A >&2; exit 1"), &[("A", "no room".to_owned())])
            .unwrap_err()
            .to_string();
        let words: Vec<&str> = error.split_whitespace().rev().take(4).collect();
        assert!(error.contains("does not listen") && words[..2] == ["room", "no"], "{error}");
        assert_eq!(words[2], words[3], "its port in its words and in its environment: {error}");
        assert!(Remote::start(&[], &[]).is_err());
    }
}
