//! The port to what several servers with the same sessions share: which turns run and where, and that there is more to read.
//!
//! Sessions in files have one server, which knows all this itself. In a database, each server is a *process* with a
//! heartbeat. A turn belongs to the process that runs it. If its heartbeat stops, another process takes the turn over.

use std::fmt;
use std::io;
use std::sync::Arc;

use uuid::Uuid;

/// Is called, on any thread, when [`Replicas::news`] has something. It must return at once.
pub type Wake = Arc<dyn Fn() + Send + Sync>;

/// A change that another process has made.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum News {
    /// Whatever it is: messages may have been lost, or there were too many.
    Anything,
    /// The journal of a session has grown.
    Grown { owner: String, session: Uuid },
    /// A turn began or ended, a question was asked or answered, or the session was deleted.
    Changed { owner: String, session: Uuid },
    /// This turn of a session, if this process still runs it, is to be cancelled.
    Cancelled { owner: String, session: Uuid, run: String },
    /// The process that ran the turn of this session is gone, and its lease with it.
    Lost { owner: String, session: Uuid, process: Uuid },
}

/// The last turn of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedTurn {
    /// The client's name for it.
    pub run: String,
    pub is_running: bool,
    /// Messages of the session when it began; `None` if it had not read them.
    pub began: Option<usize>,
    /// How it ended, in the form in which [`Replicas::end`] got it.
    pub ending: Option<String>,
}

/// A session with questions, answered or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingSession {
    pub owner: String,
    pub session: Uuid,
    /// Another one after each change of the questions or their answers.
    pub version: i64,
}

/// What servers share. All methods but [`Replicas::announce`], [`Replicas::news`] and [`Replicas::is_connected`] wait for
/// the database on this thread.
pub trait Replicas: fmt::Debug + Send + Sync {
    /// Returns the id of this process.
    fn process(&self) -> Uuid;

    /// Returns whether the last heartbeat is recent. Asks nobody.
    fn is_connected(&self) -> bool;

    /// Returns whether a process has a recent heartbeat.
    ///
    /// # Errors
    ///
    /// That cannot be found out.
    fn is_alive(&self, process: Uuid) -> io::Result<bool>;

    /// Takes the changes that came since the last call.
    fn news(&self) -> Vec<News>;

    /// Tells the other processes. Does not wait, and may be lost with the connection: they learn of it when it is back.
    fn announce(&self, news: News);

    /// Begins a turn. Returns false if one runs in the session, in whatever process, or if the session is another owner's.
    ///
    /// # Errors
    ///
    /// It may not have begun. This process has no recent heartbeat.
    fn begin(&self, owner: &str, session: Uuid, run: &str) -> io::Result<bool>;

    /// Notes how many messages the session had before the turn. Returns false if the turn does not run here: another process
    /// has taken it over.
    ///
    /// # Errors
    ///
    /// It may not be noted.
    fn began(&self, session: Uuid, messages: usize) -> io::Result<bool>;

    /// Ends a turn of this process, before anybody learns of its end. If this fails, the turn ends without a text.
    ///
    /// # Errors
    ///
    /// It may not be noted yet.
    fn end(&self, session: Uuid, ending: &str) -> io::Result<()>;

    /// Returns the last turn of a session.
    ///
    /// # Errors
    ///
    /// It cannot be read.
    fn turn(&self, owner: &str, session: Uuid) -> io::Result<Option<SharedTurn>>;

    /// Returns the sessions of an owner in which a turn runs.
    ///
    /// # Errors
    ///
    /// They cannot be read.
    fn running(&self, owner: &str) -> io::Result<Vec<Uuid>>;

    /// Asks the process that runs the turn of a session to cancel it. Returns false if none runs.
    ///
    /// # Errors
    ///
    /// The request may not be saved.
    fn cancel(&self, owner: &str, session: Uuid) -> io::Result<bool>;

    /// Takes over a turn whose process is gone. Of several processes, one gets true; none, if the process is back or still
    /// writes.
    ///
    /// # Errors
    ///
    /// It may not be taken over.
    fn take_over(&self, session: Uuid, from: Uuid) -> io::Result<bool>;

    /// Gives a turn that was taken over back to the process that lost it, so that a heartbeat finds it again.
    ///
    /// # Errors
    ///
    /// It may not be given back, and ends without a text.
    fn give_back(&self, session: Uuid, to: Uuid) -> io::Result<()>;

    /// Returns the questions that have waited for some seconds while no turn runs in their session, with one statement.
    ///
    /// # Errors
    ///
    /// They cannot be listed.
    fn waiting(&self) -> io::Result<Vec<WaitingSession>>;
}
