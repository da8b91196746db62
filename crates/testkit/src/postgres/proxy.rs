//! A socket between a client and the server that cuts a connection at a chosen statement.

use std::fmt;
use std::io::{self, Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tempfile::TempDir;

/// The name of a server's socket.
const SOCKET: &str = ".s.PGSQL.5432";
/// A longer message is not of our tests.
const MAX_MESSAGE_BYTES: usize = 256 * 1024 * 1024;

/// When a connection is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cut {
    /// The server never gets the statement.
    Before,
    /// The client never gets the answer.
    After,
}

/// What happens when the statement has come, before the connection is closed.
type Meanwhile = Box<dyn FnOnce() + Send>;

#[derive(Default)]
struct Plan {
    /// Statements since the last [`Proxy::cut_at`].
    seen: usize,
    cut: Option<(usize, Cut)>,
    meanwhile: Option<Meanwhile>,
    has_cut: bool,
}

/// A proxy, which listens until the end of the program.
pub struct Proxy {
    dir: TempDir,
    plan: Arc<Mutex<Plan>>,
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proxy").field("dir", &self.dir).finish_non_exhaustive()
    }
}

impl Proxy {
    /// `socket` is the server's directory of sockets.
    ///
    /// # Errors
    ///
    /// It cannot listen.
    pub fn start(socket: &Path) -> io::Result<Self> {
        let dir = tempfile::Builder::new().prefix("px").tempdir_in("/tmp")?;
        let listener = UnixListener::bind(dir.path().join(SOCKET))?;
        let (server, plan) = (socket.join(SOCKET), Arc::<Mutex<Plan>>::default());
        let shared = plan.clone();
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let (Ok(client), plan, server) = (client, shared.clone(), server.clone()) else { return };
                std::thread::spawn(move || {
                    // A server that is away refuses.
                    let _ = UnixStream::connect(&server).and_then(|server| serve(&client, &server, &plan));
                });
            }
        });
        Ok(Self { dir, plan })
    }

    /// Returns the directory of the socket.
    pub fn dir(&self) -> PathBuf {
        self.dir.path().to_owned()
    }

    /// Cuts the connection once, at this statement from now on, from 0.
    pub fn cut_at(&self, statement: usize, cut: Cut, meanwhile: impl FnOnce() + Send + 'static) {
        let (cut, meanwhile) = (Some((statement, cut)), Some(Box::new(meanwhile) as Meanwhile));
        *locked(&self.plan) = Plan { seen: 0, cut, meanwhile, has_cut: false };
    }

    /// Returns whether a connection was cut, and cuts no more.
    pub fn has_cut(&self) -> bool {
        std::mem::take(&mut *locked(&self.plan)).has_cut
    }

    /// Returns the statements since the last [`Proxy::cut_at`] or [`Proxy::has_cut`].
    pub fn statements(&self) -> usize {
        locked(&self.plan).seen
    }
}

fn locked(plan: &Mutex<Plan>) -> MutexGuard<'_, Plan> {
    plan.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Plan {
    /// Counts a statement, and says whether it is the one.
    fn count(&mut self) -> Option<(Cut, Option<Meanwhile>)> {
        let cut = self.cut.filter(|(at, _)| *at == self.seen).map(|(_, cut)| cut);
        self.seen += 1;
        self.has_cut |= cut.is_some();
        cut.map(|cut| (cut, self.meanwhile.take()))
    }
}

fn happen(meanwhile: Option<Meanwhile>) {
    if let Some(meanwhile) = meanwhile {
        meanwhile();
    }
}

fn end(client: &UnixStream, server: &UnixStream) {
    let _ = client.shutdown(Shutdown::Both);
    let _ = server.shutdown(Shutdown::Both);
}

fn serve(client: &UnixStream, server: &UnixStream, plan: &Mutex<Plan>) -> io::Result<()> {
    // Set when the next answer goes nowhere.
    let muted = &Mutex::new(None::<Option<Meanwhile>>);
    let take = || muted.lock().unwrap_or_else(PoisonError::into_inner).take();
    let (mut answers, mut to_client) = (server.try_clone()?, client.try_clone()?);
    let (mut statements, mut to_server) = (client.try_clone()?, server.try_clone()?);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let mut bytes = vec![0; 65536];
            loop {
                let read = answers.read(&mut bytes).unwrap_or(0);
                if let Some(meanwhile) = take() {
                    // The statement has run: its answer is here.
                    happen(meanwhile);
                    break;
                }
                let answer = bytes.get(..read).unwrap_or_default();
                if answer.is_empty() || to_client.write_all(answer).is_err() {
                    break;
                }
            }
            end(client, server);
        });
        let mut is_first = true;
        while let Ok((kind, message)) = message(&mut statements, is_first) {
            is_first = false;
            // A simple query, or the end of an extended one.
            match matches!(kind, b'Q' | b'S').then(|| locked(plan).count()).flatten() {
                Some((Cut::Before, meanwhile)) => {
                    happen(meanwhile);
                    break;
                }
                Some((Cut::After, meanwhile)) => {
                    *muted.lock().unwrap_or_else(PoisonError::into_inner) = Some(meanwhile);
                    // The answer ends both.
                    return drop(to_server.write_all(&message));
                }
                None => {}
            }
            if to_server.write_all(&message).is_err() {
                break;
            }
        }
        end(client, server);
    });
    Ok(())
}

/// Reads a message: its type (0 for the first one, which has none), and its bytes.
fn message(from: &mut UnixStream, is_first: bool) -> io::Result<(u8, Vec<u8>)> {
    let mut kind = [0];
    if !is_first {
        from.read_exact(&mut kind)?;
    }
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let bytes = usize::try_from(u32::from_be_bytes(length)).unwrap_or(usize::MAX);
    let rest = bytes.checked_sub(4).filter(|rest| *rest <= MAX_MESSAGE_BYTES);
    let mut body = vec![0; rest.ok_or(io::ErrorKind::InvalidData)?];
    from.read_exact(&mut body)?;
    let head = if is_first { &[][..] } else { &kind };
    Ok((kind[0], [head, &length, &body].concat()))
}
