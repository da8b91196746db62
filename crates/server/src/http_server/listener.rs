//! The listening socket, which closes without losing connections.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

#[cfg(target_os = "linux")]
use socket2::SockFilter;
use socket2::SockRef;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, timeout_at};

use super::HttpError;

/// Maximum connections that wait to be accepted; the kernel may have a lower limit (`net.core.somaxconn`).
const BACKLOG: u32 = 4096;

/// Pause after an error of the process, such as too many open files.
const PAUSE: Duration = Duration::from_millis(50);

/// Time at shutdown for connections that are being established.
const SETTLING: Duration = Duration::from_millis(200);

/// A socket that listens at an address.
#[derive(Debug)]
pub struct HttpListener {
    listener: TcpListener,
    address: SocketAddr,
}

impl HttpListener {
    /// Starts to listen; connections wait until they are accepted. Requires a Tokio runtime.
    ///
    /// # Errors
    ///
    /// Fails if the address cannot be used.
    pub fn bind(address: SocketAddr) -> Result<Self, HttpError> {
        let bound = || {
            let socket = if address.is_ipv4() {
                tokio::net::TcpSocket::new_v4()
            } else {
                tokio::net::TcpSocket::new_v6()
            }?;
            // A restarted replica must not wait for the connections of the previous process.
            socket.set_reuseaddr(true)?;
            socket.bind(address)?;
            let listener = socket.listen(BACKLOG)?;
            let address = listener.local_addr()?;
            Ok(Self { listener, address })
        };
        bound().map_err(|reason| HttpError::Bind { address, reason })
    }

    /// The actual address. Port 0 was replaced with a free port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the next connection. Errors of other connections are logged.
    pub(super) async fn accept(&self) -> TcpStream {
        loop {
            match self.listener.accept().await {
                Ok((stream, _)) => return stream,
                Err(error) => {
                    tracing::warn!("a connection could not be accepted: {error}");
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }

    /// Closes the socket and passes the waiting connections to `take`. They may have sent a request already, which a plain
    /// close would lose. So new connections are dropped first, and refused when they try again.
    pub(super) async fn close(self, mut take: impl FnMut(TcpStream)) {
        if let Err(error) = self.refuse_new() {
            tracing::debug!("new connections cannot be refused: {error}");
        }
        let end = Instant::now() + SETTLING;
        while let Ok(stream) = timeout_at(end, self.accept()).await {
            take(stream);
        }
        let Ok(listener) = self.listener.into_std() else { return };
        while let Ok((stream, _)) = listener.accept() {
            let stream = stream.set_nonblocking(true).and_then(|()| TcpStream::from_std(stream));
            stream.into_iter().for_each(&mut take);
        }
    }

    /// Drops packets that start a connection. The client tries again after a second and is refused.
    #[cfg(target_os = "linux")]
    fn refuse_new(&self) -> io::Result<()> {
        // Classic BPF on the TCP header: its 14th byte holds the flags; SYN without ACK begins a connection.
        const LOAD_BYTE: u16 = 0x30;
        const AND: u16 = 0x54;
        const JUMP_IF_EQUAL: u16 = 0x15;
        const RETURN: u16 = 0x06;
        const FLAGS: u32 = 13;
        const SYN: u32 = 0x02;
        const SYN_OR_ACK: u32 = 0x12;
        SockRef::from(&self.listener).attach_filter(&[
            SockFilter::new(LOAD_BYTE, 0, 0, FLAGS),
            SockFilter::new(AND, 0, 0, SYN_OR_ACK),
            SockFilter::new(JUMP_IF_EQUAL, 0, 1, SYN),
            SockFilter::new(RETURN, 0, 0, 0),
            SockFilter::new(RETURN, 0, 0, u32::MAX),
        ])
    }

    #[cfg(not(target_os = "linux"))]
    fn refuse_new(&self) -> io::Result<()> {
        let _ = SockRef::from(&self.listener);
        Err(io::ErrorKind::Unsupported.into())
    }
}
