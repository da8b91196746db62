//! A wire that is listened to: which words the program says to a server, in which order.
//!
//! What the program prints of an era is its own account; this is the evidence.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// More than the program says to a server in one run.
const MAX_HEARD: usize = 4 * 1024 * 1024;

/// Hears what goes to a server.
#[derive(Debug)]
pub(crate) enum Relay {
    /// A shell between: `tee` writes down what it hands on.
    Pipe { log: PathBuf },
    /// Connections to `address` go on to the server.
    Socket { address: SocketAddr, heard: Arc<Mutex<Vec<u8>>> },
}

impl Relay {
    /// The command that runs `command` with an ear at its stdin.
    pub(crate) fn pipe(command: &[String], log: &Path) -> (Self, Vec<String>) {
        let shell = ["/bin/sh", "-c", r#"tee -a "$0" | "$@""#, &log.to_string_lossy()];
        let words = shell.into_iter().map(str::to_owned).chain(command.iter().cloned()).collect();
        (Self::Pipe { log: log.to_owned() }, words)
    }

    /// Listens until the program ends.
    pub(crate) fn socket(server: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let (address, heard) = (listener.local_addr()?, Arc::default());
        let ear = Arc::clone(&heard);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let ear = Arc::clone(&ear);
                std::thread::spawn(move || relay(client, server, &ear));
            }
        });
        Ok(Self::Socket { address, heard })
    }

    /// Where a client of the relay connects to.
    pub(crate) fn address(&self) -> Option<SocketAddr> {
        match self {
            Self::Pipe { .. } => None,
            Self::Socket { address, .. } => Some(*address),
        }
    }

    /// What was said since the last time.
    pub(crate) fn take(&self) -> String {
        let bytes = match self {
            Self::Pipe { log } => {
                let bytes = fs::read(log).unwrap_or_default();
                let _ = fs::remove_file(log);
                bytes
            }
            Self::Socket { heard, .. } => {
                std::mem::take(&mut *heard.lock().unwrap_or_else(PoisonError::into_inner))
            }
        };
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// One connection, in both directions. Either end may end it.
fn relay(mut client: TcpStream, server: SocketAddr, ear: &Mutex<Vec<u8>>) -> io::Result<()> {
    let mut server = TcpStream::connect(server)?;
    let (mut answers, mut back) = (server.try_clone()?, client.try_clone()?);
    std::thread::spawn(move || {
        let _ = io::copy(&mut answers, &mut back);
        back.shutdown(Shutdown::Both)
    });
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let count = client.read(&mut buffer).unwrap_or(0);
        let bytes = buffer.get(..count).unwrap_or_default();
        if bytes.is_empty() {
            return server.shutdown(Shutdown::Write);
        }
        let mut heard = ear.lock().unwrap_or_else(PoisonError::into_inner);
        if heard.len() < MAX_HEARD {
            heard.extend_from_slice(bytes);
        }
        drop(heard);
        server.write_all(bytes)?;
    }
}

/// How a client opened, told from what it said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Opening {
    /// It asked as a modern client does.
    pub(crate) discovers: bool,
    /// It shook hands as a legacy client does.
    pub(crate) initializes: bool,
}

impl Opening {
    pub(crate) fn of(said: &str) -> Self {
        Self {
            discovers: said.contains(r#""server/discover""#),
            initializes: said.contains(r#""initialize""#),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_pipe_is_heard_and_handed_on() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("a log");
        let (relay, words) = Relay::pipe(&["/bin/sed".to_owned(), "s/^/got /".to_owned()], &log);
        for said in ["one\n", "two\n"] {
            let mut command = Command::new(&words[0]);
            command.args(&words[1..]).stdin(Stdio::piped()).stdout(Stdio::piped());
            let mut child = command.spawn().unwrap();
            child.stdin.take().unwrap().write_all(said.as_bytes()).unwrap();
            let output = child.wait_with_output().unwrap();
            assert_eq!(String::from_utf8(output.stdout).unwrap(), format!("got {said}"));
        }
        assert_eq!((relay.take(), relay.take()), ("one\ntwo\n".to_owned(), String::new()));
        assert_eq!(relay.address(), None);
    }

    #[test]
    fn a_socket_is_heard_and_handed_on() {
        let server = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let relay = Relay::socket(server.local_addr().unwrap()).unwrap();
        let mut client = TcpStream::connect(relay.address().unwrap()).unwrap();
        client.write_all(b"question").unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        let (mut connection, _) = server.accept().unwrap();
        let (mut asked, mut answer) = (String::new(), String::new());
        connection.read_to_string(&mut asked).unwrap();
        connection.write_all(b"answer").unwrap();
        drop(connection);
        client.read_to_string(&mut answer).unwrap();
        assert_eq!((asked.as_str(), answer.as_str()), ("question", "answer"));
        assert_eq!((relay.take(), relay.take()), ("question".to_owned(), String::new()));
    }

    #[test]
    fn an_opening_is_told_by_its_methods() {
        let opening = |discovers, initializes| Opening { discovers, initializes };
        for (said, wanted) in [
            (r#"{"method":"server/discover"}"#, opening(true, false)),
            (r#"{"method": "initialize"}{"method":"notifications/initialized"}"#, opening(false, true)),
            (r#"{"method":"notifications/initialized"}"#, opening(false, false)),
            (r#"{"method":"server/discover"}{"method":"initialize"}"#, opening(true, true)),
            ("", opening(false, false)),
        ] {
            assert_eq!(Opening::of(said), wanted, "{said}");
        }
    }
}
