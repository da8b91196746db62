//! Our side of the guardian: starts it, tells it which groups live, replaces it when it is gone.

use std::collections::BTreeSet;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::net::{SendFlags, send};
use rustix::process::{Pid, Signal, getpid, kill_process, set_child_subreaper};

use crate::birth::{Birth, prepare};
use crate::crowd::counting;
use crate::error::no_void;
use crate::kin;
use crate::ours::{Ours, ends_within, ours};

/// How often one is started: what was killed is replaced, what cannot live is given up.
const STARTS: u8 = 3;
/// How often a sweep looks again, and how long what it killed has to go.
const ROUNDS: u8 = 20;
const ROUND: Duration = Duration::from_millis(5);
/// How long one that has nothing left to do is waited for; it takes a millisecond.
const LEAVES_WITHIN: Duration = Duration::from_millis(50);
/// It is told of no more strangers than these.
const MOST: usize = 1024;
const UNGUARDED: &str = "if this program is killed, what its tools have started may go on: the process that would end it cannot be started";

/// The process that ends what outlives us. A clone is the same one. Nothing is started before the first child.
///
/// A program needs one. It takes for its own all that descends from its children, wherever they moved to.
#[derive(Clone, Debug)]
pub struct Guardian {
    post: Arc<Mutex<Post>>,
}

#[derive(Debug)]
struct Post {
    program: PathBuf,
    arguments: Vec<String>,
    groups: BTreeSet<i32>,
    on_duty: Option<OnDuty>,
    starts: u8,
    /// Not told yet.
    lacks: Vec<String>,
}

#[derive(Debug)]
struct OnDuty {
    id: Pid,
    /// A socket and not a pipe: only there can a single write say that it shall neither wait nor raise SIGPIPE.
    ear: UnixStream,
}

impl Guardian {
    /// `program arguments…` must run [`guard()`](crate::guard()); usually our own binary with a hidden subcommand.
    pub fn new(program: PathBuf, arguments: Vec<String>) -> Self {
        let post =
            Post { program, arguments, groups: BTreeSet::new(), on_duty: None, starts: 0, lacks: Vec::new() };
        Self { post: Arc::new(Mutex::new(post)) }
    }

    /// Kills what was adopted: processes that a child left behind in groups of their own (double forks). Called once
    /// when everything else has ended. Groups of children that were not ended yet are left alone.
    ///
    /// Blocks, a tenth of a second at most, and only if there is something to kill.
    pub fn sweep(&self) {
        for _ in 0..ROUNDS {
            let adopted = ours().tidy();
            if adopted.is_empty() {
                return;
            }
            kin::families(adopted.iter().map(|process| process.id)).into_values().for_each(kin::kill);
            thread::sleep(ROUND);
        }
        tracing::warn!("processes that a tool left behind could not be ended");
    }

    /// What it cannot do here although a child was started, in words; each once.
    pub fn lacks(&self) -> Vec<String> {
        std::mem::take(&mut self.post().lacks)
    }

    /// Before a child is started: makes sure that it is heard. Returns where it announces itself.
    pub(crate) fn expect(&self, ours: &mut Ours) -> Option<OwnedFd> {
        let mut post = self.post();
        if post.on_duty.is_none() {
            post.start(ours);
        }
        post.tell("?\n", ours);
        post.on_duty.as_ref().and_then(|on_duty| on_duty.ear.try_clone().ok()).map(OwnedFd::from)
    }

    /// It was born.
    pub(crate) fn register(&self, group: Pid, ours: &mut Ours) {
        let group = group.as_raw_nonzero().get();
        let mut post = self.post();
        post.groups.insert(group);
        post.tell(&format!("+{group}\n"), ours);
    }

    /// It was not: its announcement means nobody.
    pub(crate) fn unexpect(&self, ours: &mut Ours) {
        self.post().tell("?\n", ours);
    }

    /// Only after the group is gone.
    pub(crate) fn forget(&self, group: Pid) {
        let group = group.as_raw_nonzero().get();
        let mut ours = ours();
        let mut post = self.post();
        post.groups.remove(&group);
        post.tell(&format!("-{group}\n"), &mut ours);
    }

    /// Lock order: first `ours()`, then this.
    fn post(&self) -> MutexGuard<'_, Post> {
        self.post.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Post {
    /// Its failure is a warning: children are still bound to us by the kernel, only what they leave behind is not.
    fn start(&mut self, ours: &mut Ours) {
        if self.starts == 0 {
            adopt();
            self.lacks.extend(counting().blindness().map(str::to_owned));
        }
        let strangers =
            ours.begin_to_adopt().ids().take(MOST).map(|id| format!("!{id}\n")).collect::<String>();
        while self.on_duty.is_none() && self.starts < STARTS {
            self.starts += 1;
            let groups = self.groups.iter().map(|group| format!("+{group}\n")).collect::<String>();
            let words = format!("={}\n{strangers}{groups}", getpid().as_raw_nonzero());
            match OnDuty::start(&self.program, &self.arguments, &words) {
                Ok(on_duty) => {
                    ours.started(on_duty.id);
                    self.on_duty = Some(on_duty);
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

    /// One that does not listen is replaced; the new one is told everything.
    fn tell(&mut self, words: &str, ours: &mut Ours) {
        if self.on_duty.as_ref().is_none_or(|on_duty| hear(&on_duty.ear, words)) {
            return;
        }
        if let Some(on_duty) = self.on_duty.take() {
            on_duty.relieve(ours);
        }
        tracing::warn!("the guardian of child processes ended or hangs");
        self.start(ours);
    }
}

impl Drop for Post {
    /// Where something may be left, it sees the end of its input and does its work by itself. Else it is buried here: who
    /// adopts what we leave behind, in a container, may bury nobody.
    fn drop(&mut self) {
        let Some(on_duty) = self.on_duty.take() else { return };
        let nothing_is_left = self.groups.is_empty() && ours().tidy().is_empty();
        let gone = nothing_is_left && on_duty.goes();
        let mut ours = ours();
        if gone { ours.buried(on_duty.id) } else { ours.abandon(on_duty.id) }
    }
}

impl OnDuty {
    /// What it shall know is there before it is: we may die in between.
    fn start(program: &Path, arguments: &[String], words: &str) -> io::Result<Self> {
        let (ear, mouth) = UnixStream::pair()?;
        if !hear(&ear, words) {
            return Err(io::Error::other("there is too much to tell"));
        }
        let mut command = Command::new(program);
        command.args(arguments).env_clear().current_dir("/");
        command.stdin(OwnedFd::from(mouth)).stdout(Stdio::null()).stderr(Stdio::null());
        prepare(&mut command, Birth::Guardian);
        let id = command.spawn()?.id();
        let id = i32::try_from(id).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::InvalidData)?;
        Ok(Self { id, ear })
    }

    /// Told to go. Has it gone, soon enough to be waited for?
    fn goes(&self) -> bool {
        hear(&self.ear, ".\n") && ends_within(self.id, LEAVES_WITHIN)
    }

    /// Killed before its input ends: it must not take that for our death.
    fn relieve(self, ours: &mut Ours) {
        let _ = kill_process(self.id, Signal::KILL);
        ours.abandon(self.id);
    }
}

fn hear(ear: &UnixStream, words: &str) -> bool {
    let sent = send(ear, words.as_bytes(), SendFlags::DONTWAIT | SendFlags::NOSIGNAL);
    sent.is_ok_and(|sent| sent == words.len())
}

/// Makes us the parent of what our children leave behind.
fn adopt() {
    if let Err(error) = set_child_subreaper(Some(getpid())) {
        tracing::warn!(%error, "cannot adopt what child processes leave behind");
    }
}
