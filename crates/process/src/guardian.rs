//! The client side of the guardian process: starts it, reports which groups are alive, replaces it when it exits.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use rustix::net::{SendFlags, send};
use rustix::process::{Pid, Signal, getpid, kill_process, set_child_subreaper};

use crate::child_table::{ChildTable, child_table, exits_within};
use crate::error::{VOID, no_void};
use crate::process_count::counting_method;
use crate::process_tree;
use crate::vfork::{Program, Role};

/// Maximum number of guardians started in one run: a killed guardian is replaced, one that cannot run is given up.
const STARTS: u8 = 3;
/// Rounds of a sweep, and the time killed processes have to exit in each.
const ROUNDS: u8 = 20;
const ROUND: Duration = Duration::from_millis(5);
/// How long to wait for a dismissed guardian to exit; it takes about a millisecond.
const LEAVES_WITHIN: Duration = Duration::from_millis(50);
/// Maximum number of preexisting processes that are reported to it.
const MOST: usize = 1024;
const UNGUARDED: &str =
    "the guardian process cannot be started: if converse is killed, processes of its tools may continue";

/// Handle to the guardian: a process that kills the remaining children when converse dies. Clones share one process,
/// which is started with the first child.
///
/// A program needs exactly one. It treats every descendant of its children as its own, even after a change of the
/// process group.
#[derive(Clone, Debug)]
pub struct Guardian {
    state: Arc<Mutex<GuardianState>>,
}

#[derive(Debug)]
struct GuardianState {
    program: PathBuf,
    arguments: Vec<String>,
    groups: BTreeSet<i32>,
    process: Option<GuardianProcess>,
    starts: u8,
    /// Not reported yet.
    lacks: Vec<String>,
}

#[derive(Debug)]
struct GuardianProcess {
    id: Pid,
    /// A socket rather than a pipe: `send` takes the flags DONTWAIT and NOSIGNAL, `write` does not.
    socket: UnixStream,
}

impl Guardian {
    /// `program arguments…` must run [`guard()`](crate::guard()); usually our own binary with a hidden subcommand.
    pub fn new(program: PathBuf, arguments: Vec<String>) -> Self {
        let state = GuardianState {
            program,
            arguments,
            groups: BTreeSet::new(),
            process: None,
            starts: 0,
            lacks: Vec::new(),
        };
        Self { state: Arc::new(Mutex::new(state)) }
    }

    /// Kills adopted processes: those that a child left behind in process groups of their own (double forks). Call it once,
    /// after everything else has ended. Groups of children that are still running are left alone.
    ///
    /// Blocks for at most a tenth of a second, and only if there is something to kill.
    pub fn sweep(&self) {
        for _ in 0..ROUNDS {
            let adopted = child_table().reap_dead();
            if adopted.is_empty() {
                return;
            }
            process_tree::descendants(adopted.iter().map(|process| process.id))
                .into_values()
                .for_each(process_tree::kill);
            thread::sleep(ROUND);
        }
        tracing::warn!("processes that a tool left behind could not be ended");
    }

    /// Returns what the guardian cannot do on this machine, as text for the user; each item once.
    pub fn lacks(&self) -> Vec<String> {
        std::mem::take(&mut self.state().lacks)
    }

    /// Announces that a child is about to be started. Returns the socket on which the child reports its process id.
    pub(crate) fn announce(&self, table: &mut ChildTable) -> Option<OwnedFd> {
        let mut state = self.state();
        if state.process.is_none() {
            state.start(table);
        }
        state.tell("?\n", table);
        state.process.as_ref().and_then(|process| process.socket.try_clone().ok()).map(OwnedFd::from)
    }

    /// Registers the group of a child that was started.
    pub(crate) fn register(&self, group: Pid, table: &mut ChildTable) {
        let group = group.as_raw_nonzero().get();
        let mut state = self.state();
        state.groups.insert(group);
        state.tell(&format!("+{group}\n"), table);
    }

    /// Withdraws the announcement after a failed spawn.
    pub(crate) fn withdraw(&self, table: &mut ChildTable) {
        self.state().tell("?\n", table);
    }

    /// Removes a group that is gone.
    pub(crate) fn forget(&self, group: Pid) {
        let group = group.as_raw_nonzero().get();
        let mut table = child_table();
        let mut state = self.state();
        state.groups.remove(&group);
        state.tell(&format!("-{group}\n"), &mut table);
    }

    /// Locks the state. Lock order: first the child table, then this.
    fn state(&self) -> MutexGuard<'_, GuardianState> {
        self.state.lock()
    }
}

impl GuardianState {
    /// Starts the guardian. A failure is only a warning: the kernel still kills direct children with converse, but not
    /// what those leave behind.
    fn start(&mut self, table: &mut ChildTable) {
        if self.starts == 0 {
            adopt();
            self.lacks.extend(counting_method().blindness().map(str::to_owned));
        }
        let preexisting =
            table.start_adopting().ids().take(MOST).map(|id| format!("!{id}\n")).collect::<String>();
        while self.process.is_none() && self.starts < STARTS {
            self.starts += 1;
            let groups = self.groups.iter().map(|group| format!("+{group}\n")).collect::<String>();
            let words = format!("={}\n{preexisting}{groups}", getpid().as_raw_nonzero());
            match GuardianProcess::start(&self.program, &self.arguments, &words) {
                Ok(process) => {
                    table.started(process.id);
                    self.process = Some(process);
                }
                Err(error) => {
                    tracing::warn!(%error, program = %self.program.display(), "no guardian for child processes");
                    if self.starts == STARTS {
                        let why =
                            no_void(&error).unwrap_or_else(|| format!("{}: {error}", self.program.display()));
                        self.lacks.push(format!("{UNGUARDED}: {why}"));
                    }
                }
            }
        }
    }

    /// Sends a line. A guardian that does not take it is replaced, and the new one gets the whole state.
    fn tell(&mut self, words: &str, table: &mut ChildTable) {
        if self.process.as_ref().is_none_or(|process| send_line(&process.socket, words)) {
            return;
        }
        if let Some(process) = self.process.take() {
            process.replace(table);
        }
        tracing::warn!("the guardian of child processes ended or hangs");
        self.start(table);
    }
}

impl Drop for GuardianState {
    /// If something may be left, the guardian sees the end of its input and does its work. Otherwise it is dismissed and
    /// reaped here, because PID 1 of a container may never reap it.
    fn drop(&mut self) {
        let Some(process) = self.process.take() else { return };
        let nothing_is_left = self.groups.is_empty() && child_table().reap_dead().is_empty();
        let gone = nothing_is_left && process.exits_on_dismissal();
        let mut table = child_table();
        if gone { table.reaped_child(process.id) } else { table.abandon(process.id) }
    }
}

impl GuardianProcess {
    /// Starts a guardian. Its first lines are in the socket before it runs, because converse may die in between.
    fn start(program: &Path, arguments: &[String], words: &str) -> io::Result<Self> {
        let (socket, input) = UnixStream::pair()?;
        if !send_line(&socket, words) {
            return Err(io::Error::other("the state does not fit into the socket buffer"));
        }
        let null = File::options().read(true).write(true).open(VOID)?;
        let streams = [input.as_fd(), null.as_fd(), null.as_fd()];
        let program = Program { path: program, arguments, environment: &[], cwd: Path::new("/"), streams };
        Ok(Self { id: program.start(&Role::Guardian)?, socket })
    }

    /// Sends the dismissal and returns whether the guardian exited in time to be reaped.
    fn exits_on_dismissal(&self) -> bool {
        send_line(&self.socket, ".\n") && exits_within(self.id, LEAVES_WITHIN)
    }

    /// Kills the guardian before its input ends, because it would take the end for the death of converse.
    fn replace(self, table: &mut ChildTable) {
        let _ = kill_process(self.id, Signal::KILL);
        table.abandon(self.id);
    }
}

fn send_line(socket: &UnixStream, words: &str) -> bool {
    let sent = send(socket, words.as_bytes(), SendFlags::DONTWAIT | SendFlags::NOSIGNAL);
    sent.is_ok_and(|sent| sent == words.len())
}

/// Makes this process the parent of what its children leave behind.
fn adopt() {
    if let Err(error) = set_child_subreaper(Some(getpid())) {
        tracing::warn!(%error, "cannot adopt what child processes leave behind");
    }
}
