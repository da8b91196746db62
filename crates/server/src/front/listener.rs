//! The listening socket, and how it goes without losing anybody.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

#[cfg(target_os = "linux")]
use socket2::SockFilter;
use socket2::SockRef;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, timeout_at};

use super::FrontError;

/// Connections that wait to be accepted; the kernel may know better (`net.core.somaxconn`).
const BACKLOG: u32 = 4096;

/// After an error of the whole process, such as too many open files.
const PAUSE: Duration = Duration::from_millis(50);

/// Time for connections that are being made when we stop to be made.
const SETTLING: Duration = Duration::from_millis(200);

/// An address that is listened at.
#[derive(Debug)]
pub struct Bound {
    listener: TcpListener,
    address: SocketAddr,
}

impl Bound {
    /// Within a runtime. Connections wait from now on.
    pub fn bind(address: SocketAddr) -> Result<Self, FrontError> {
        let bound = || {
            let socket = if address.is_ipv4() {
                tokio::net::TcpSocket::new_v4()
            } else {
                tokio::net::TcpSocket::new_v6()
            }?;
            // A replica that is started again must not wait for the connections of the one before.
            socket.set_reuseaddr(true)?;
            socket.bind(address)?;
            let listener = socket.listen(BACKLOG)?;
            let address = listener.local_addr()?;
            Ok(Self { listener, address })
        };
        bound().map_err(|reason| FrontError::Bind { address, reason })
    }

    /// Where it really is: a port of 0 was any free one.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The next connection, whatever goes wrong with others.
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

    /// The last ones: who has connected may have sent a request by now, and closing would lose it. So first the kernel
    /// is told to take no new ones (they are refused when they try again), and those that wait are taken.
    pub(super) async fn close(self, mut take: impl FnMut(TcpStream)) {
        if let Err(error) = self.refuse_new() {
            tracing::debug!("new connections cannot be kept out: {error}");
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

    /// Drops what would begin a connection: the other side tries again in a second, and finds the door closed.
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
