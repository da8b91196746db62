//! What is to be started, and how.

use std::io;
use std::path::PathBuf;
use std::process::{self, Command, Stdio};

use rustix::process::Pid;
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::birth::{Birth, prepare};
use crate::child::{Child, Running};
use crate::error::{self, SpawnError};
use crate::exit::Exit;
use crate::group::Group;
use crate::guardian::Guardian;
use crate::ours::ours;
use crate::stderr::Stderr;

/// What is to be started.
#[derive(Debug, Clone)]
pub struct Spawn {
    /// Absolute: [`find_program()`](crate::find_program()) looks for it.
    pub program: PathBuf,
    pub arguments: Vec<String>,
    /// Exactly this: nothing is inherited.
    pub environment: Vec<(String, String)>,
    pub cwd: PathBuf,
    /// A pipe; `/dev/null` if not.
    pub stdin: bool,
}

impl Spawn {
    /// Starts it in a group of its own: stdout and stderr are pipes, the latter is read from now on.
    ///
    /// Must be called within a tokio runtime with IO and time, on a thread that lives as long as the child shall: the
    /// kernel kills it when *the thread* that started it ends.
    pub fn start(self, guardian: &Guardian) -> Result<Child, SpawnError> {
        let fail = |reason: String| SpawnError { program: self.program.clone(), reason };
        let runtime = Handle::try_current().map_err(|_| fail("not within a runtime".to_owned()))?;
        if !self.program.is_absolute() {
            return Err(fail("not an absolute path".to_owned()));
        }
        // Before the birth: it also makes sure that SIGCHLD, which who started us may have left ignored, is not.
        let exit = Exit::new().map_err(|error| fail(format!("cannot hear of its end: {error}")))?;
        let (mut child, group) =
            self.give_birth(guardian).map_err(|error| fail(error::why(&self, &error)))?;
        // From here on what fails drops the group, which kills it.
        let running = Some(Running { group, exit });
        let broken = |error: io::Error| fail(format!("its pipes cannot be used: {error}"));
        let stdin = child.stdin.take().map(ChildStdin::from_std).transpose().map_err(broken)?;
        let stdout = child.stdout.take().map(ChildStdout::from_std).transpose().map_err(broken)?;
        let stderr = child.stderr.take().map(ChildStderr::from_std).transpose().map_err(broken)?;
        let stderr = stderr.ok_or_else(|| broken(io::ErrorKind::NotFound.into()))?;
        let (alive, dead) = oneshot::channel();
        let stderr = Stderr::drain(stderr, dead);
        Ok(Child { stdin, stdout, stderr, running, id: child.id(), status: None, runtime, _alive: alive })
    }

    fn give_birth(&self, guardian: &Guardian) -> io::Result<(process::Child, Group)> {
        let mut ours = ours();
        ours.tidy();
        let birth = Birth::Child { guardian: guardian.expect(&mut ours) };
        let child = match self.command(birth).spawn() {
            Ok(child) => child,
            Err(error) => {
                guardian.unexpect(&mut ours);
                return Err(error);
            }
        };
        let id = i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::InvalidData)?;
        ours.started(id);
        guardian.register(id, &mut ours);
        Ok((child, Group::new(id, guardian.clone())))
    }

    fn command(&self, birth: Birth) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).env_clear().current_dir(&self.cwd);
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.stdin(if self.stdin { Stdio::piped() } else { Stdio::null() });
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        prepare(&mut command, birth);
        command
    }
}
