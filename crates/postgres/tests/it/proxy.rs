//! A socket between a client and the server that cuts a connection at a chosen statement.

use std::io::{Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use tempfile::TempDir;

/// When a connection is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cut {
    /// The server never gets the statement.
    Before,
    /// The client never gets the answer.
    After,
}

#[derive(Debug)]
pub(crate) struct Proxy {
    dir: TempDir,
    /// Statements until the cut; negative: no cut any more.
    left: Arc<AtomicI64>,
}

impl Proxy {
    /// `socket` is the server's directory of sockets.
    pub(crate) fn start(socket: &Path, cut: Cut) -> Self {
        let dir = tempfile::Builder::new().prefix("px").tempdir_in("/tmp").unwrap();
        let listener = UnixListener::bind(dir.path().join(".s.PGSQL.5432")).unwrap();
        let (server, left) = (socket.join(".s.PGSQL.5432"), Arc::new(AtomicI64::new(-1)));
        let counted = left.clone();
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let (Ok(client), left, server) = (client, counted.clone(), server.clone()) else { return };
                std::thread::spawn(move || serve(&client, &server, &left, cut));
            }
        });
        Self { dir, left }
    }

    pub(crate) fn dir(&self) -> PathBuf {
        self.dir.path().to_owned()
    }

    /// Cuts the connection at this statement from now on, from 0.
    pub(crate) fn cut_at(&self, statement: i64) {
        self.left.store(statement, Ordering::SeqCst);
    }

    /// Returns whether a connection was cut, and cuts no more.
    pub(crate) fn has_cut(&self) -> bool {
        self.left.swap(-1, Ordering::SeqCst) < 0
    }
}

fn serve(client: &UnixStream, server: &Path, left: &AtomicI64, cut: Cut) {
    let Ok(server) = UnixStream::connect(server) else { return };
    let end = |client: &UnixStream, server: &UnixStream| {
        let _ = client.shutdown(Shutdown::Both);
        let _ = server.shutdown(Shutdown::Both);
    };
    let muted = &AtomicI64::new(0);
    std::thread::scope(|scope| {
        let (mut from, mut to) = (server.try_clone().unwrap(), client.try_clone().unwrap());
        scope.spawn(move || {
            let mut bytes = [0; 65536];
            while let Ok(read @ 1..) = from.read(&mut bytes) {
                if muted.load(Ordering::SeqCst) > 0 {
                    // The statement has run: its answer is here, and goes nowhere.
                    break;
                }
                if to.write_all(&bytes[..read]).is_err() {
                    break;
                }
            }
            end(&to, &from);
        });
        let (mut from, mut to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
        let mut is_first = true;
        while let Some((kind, message)) = message(&mut from, is_first) {
            is_first = false;
            // A simple query, or the end of an extended one.
            if matches!(kind, b'Q' | b'S') && left.fetch_sub(1, Ordering::SeqCst) == 0 {
                match cut {
                    Cut::Before => break,
                    Cut::After => muted.store(1, Ordering::SeqCst),
                }
            }
            if to.write_all(&message).is_err() {
                break;
            }
        }
        if muted.load(Ordering::SeqCst) == 0 {
            end(client, &server);
        }
    });
}

/// Reads a message: its type (0 for the first one, which has none), and its bytes.
fn message(from: &mut UnixStream, is_first: bool) -> Option<(u8, Vec<u8>)> {
    let mut head = vec![0; if is_first { 4 } else { 5 }];
    from.read_exact(&mut head).ok()?;
    let kind = if is_first { 0 } else { head[0] };
    let length = u32::from_be_bytes(head[head.len() - 4..].try_into().unwrap()) as usize;
    let mut body = vec![0; length - 4];
    from.read_exact(&mut body).ok()?;
    head.extend(body);
    Some((kind, head))
}
