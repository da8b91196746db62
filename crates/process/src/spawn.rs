//! Starting a child process.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::process;

use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::child::{Child, Running};
use crate::child_table::child_table;
use crate::descriptors::lacks_descriptors;
use crate::error::{self, SpawnError, VOID};
use crate::group::{Exit, Group};
use crate::guardian::Guardian;
use crate::stderr::Stderr;
use crate::vfork::{Program, Role};

/// A command to be started.
#[derive(Debug, Clone)]
pub struct Spawn {
    /// Absolute path; see [`find_program()`](crate::find_program()).
    pub program: PathBuf,
    pub arguments: Vec<String>,
    /// The whole environment: nothing is inherited.
    pub environment: Vec<(String, String)>,
    pub cwd: PathBuf,
    /// Whether stdin is a pipe; otherwise it is `/dev/null`.
    pub stdin: bool,
}

impl Spawn {
    /// Starts the program in its own process group. stdout and stderr are pipes; stderr is drained from now on.
    ///
    /// Call it within a tokio runtime with IO and time, on a thread that lives at least as long as the child: the kernel
    /// kills the child when *the thread* that started it exits.
    ///
    /// # Errors
    /// [`SpawnError`] if the path is not absolute, there is no runtime, or the system cannot start the program.
    pub fn start(self, guardian: &Guardian) -> Result<Child, SpawnError> {
        let fail =
            |reason: String| SpawnError { program: self.program.clone(), reason, lacks_descriptors: false };
        let failed = |error: io::Error, reason: String| SpawnError {
            lacks_descriptors: lacks_descriptors(&error),
            ..fail(reason)
        };
        let runtime = Handle::try_current().map_err(|_| fail("not within a runtime".to_owned()))?;
        if !self.program.is_absolute() {
            return Err(fail("not an absolute path".to_owned()));
        }
        // Before the spawn: this also enables SIGCHLD, which the parent of converse may have left ignored.
        let exit = Exit::new().map_err(|error| {
            let reason = format!("cannot listen for SIGCHLD: {error}");
            failed(error, reason)
        })?;
        let (streams, group) = self.spawn_in_group(guardian).map_err(|error| {
            let reason = error::why(&self, &error);
            failed(error, reason)
        })?;
        let id = group.id();
        // From here on, an error drops the group, which kills it.
        let running = Some(Running { group, exit });
        let broken = |error: io::Error| fail(format!("its pipes cannot be used: {error}"));
        let stdin = streams.stdin.map(process::ChildStdin::from).map(ChildStdin::from_std).transpose();
        let stdin = stdin.map_err(broken)?;
        let stdout = Some(ChildStdout::from_std(streams.stdout.into()).map_err(broken)?);
        let stderr = ChildStderr::from_std(streams.stderr.into()).map_err(broken)?;
        let (alive, dead) = oneshot::channel();
        let stderr = Stderr::drain(stderr, dead);
        Ok(Child { stdin, stdout, stderr, running, id, status: None, runtime, _alive: alive })
    }

    fn spawn_in_group(&self, guardian: &Guardian) -> io::Result<(Streams, Group)> {
        let (stdin, ours) = if self.stdin {
            let (theirs, ours) = io::pipe()?;
            (OwnedFd::from(theirs), Some(ours.into()))
        } else {
            (File::open(VOID)?.into(), None)
        };
        let ((stdout, theirs_out), (stderr, theirs_err)) = (io::pipe()?, io::pipe()?);
        let program = Program {
            path: &self.program,
            arguments: &self.arguments,
            environment: &self.environment,
            cwd: &self.cwd,
            streams: [stdin.as_fd(), theirs_out.as_fd(), theirs_err.as_fd()],
        };
        let mut table = child_table();
        table.reap_dead_now_and_then();
        let role = Role::Child { guardian: guardian.announce(&mut table) };
        let id = program.start(&role).inspect_err(|_| guardian.withdraw(&mut table))?;
        table.started(id);
        guardian.register(id, &mut table);
        let streams = Streams { stdin: ours, stdout: stdout.into(), stderr: stderr.into() };
        Ok((streams, Group::new(id, guardian.clone())))
    }
}

/// Our ends of the pipes of a child.
struct Streams {
    stdin: Option<OwnedFd>,
    stdout: OwnedFd,
    stderr: OwnedFd,
}

/// Names of the variables that a child inherits. Behind a proxy with its own certificates, nothing can be reached without
/// the last group.
pub const INHERITED: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TERM",
    "TMPDIR",
    "TZ",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "AWS_CA_BUNDLE",
];

/// Selects the variables of `environment` that are [`INHERITED`]. Empty and relative entries are removed from PATH, so that
/// a lookup (for example of `#!/usr/bin/env`) never finds a program planted in the current directory.
pub fn inherited<'a>(environment: impl IntoIterator<Item = (&'a str, &'a str)>) -> Vec<(String, String)> {
    environment
        .into_iter()
        .filter(|(name, _)| INHERITED.contains(name))
        .filter_map(|(name, value)| {
            let value = if name == "PATH" { absolute_entries(value)? } else { value.to_owned() };
            Some((name.to_owned(), value))
        })
        .collect()
}

/// Returns `None` if no entry is left: some programs read an empty PATH as the current directory.
fn absolute_entries(path: &str) -> Option<String> {
    let entries: Vec<&str> = path.split(':').filter(|entry| entry.starts_with('/')).collect();
    (!entries.is_empty()).then(|| entries.join(":"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_and_its_certificates_reach_a_child() {
        let given = [
            ("HTTPS_PROXY", "http://proxy:3128"),
            ("no_proxy", "localhost"),
            ("SSL_CERT_FILE", "/etc/ca.pem"),
            ("NODE_EXTRA_CA_CERTS", "/etc/ca.pem"),
            ("REQUESTS_CA_BUNDLE", "/etc/ca.pem"),
        ];
        let others =
            [("NODE_OPTIONS", "--require x"), ("SSLKEYLOGFILE", "/tmp/keys"), ("PROXY_PASSWORD", "x")];
        let all = inherited(given.into_iter().chain(others));
        assert_eq!(all, given.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }

    #[test]
    fn what_is_not_listed_stays_here_and_path_is_absolute() {
        for (path, left) in [
            ("/a:/b", Some("/a:/b")),
            (".:/a::node_modules/.bin:/b:", Some("/a:/b")),
            (".", None),
            ("", None),
        ] {
            let all = inherited([("PATH", path), ("LD_PRELOAD", "x"), ("HOME", "."), ("API_KEY", "k")]);
            let path = all.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.as_str());
            assert_eq!(path, left);
            let others: Vec<_> = all.iter().filter(|(name, _)| name != "PATH").collect();
            assert_eq!(others, [&("HOME".to_owned(), ".".to_owned())]);
        }
    }
}
