//! A least HTTP/1.1 server: one request a connection, and an answer that may come in pieces or break off.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::Sender;
use std::time::Duration;

#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }
}

/// What is sent back. Without a length the body ends when the connection does.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// Bytes of the body in each write.
    pub(crate) piece: usize,
    /// Announce the whole length but end here.
    pub(crate) cut_at: Option<usize>,
    /// Between two pieces.
    pub(crate) pause: Duration,
    /// After the body (or the cut) the connection stays open and silent.
    pub(crate) stall: bool,
    /// Told when the client has closed a connection that stalls.
    pub(crate) closed: Option<Sender<()>>,
}

impl Answer {
    pub(crate) fn new(status: u16, kind: &str, body: impl Into<Vec<u8>>) -> Self {
        let headers = vec![("content-type".to_owned(), kind.to_owned())];
        Self {
            status,
            headers,
            body: body.into(),
            piece: usize::MAX,
            pause: Duration::ZERO,
            cut_at: None,
            stall: false,
            closed: None,
        }
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }
}

/// Serves until the process ends; returns the port.
pub(crate) fn serve(answer: impl Fn(Request) -> Answer + Send + Sync + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let answer = std::sync::Arc::new(answer);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let answer = answer.clone();
            std::thread::spawn(move || {
                // A client that hangs up early is not this server's business.
                let _ = one(&stream, answer.as_ref());
            });
        }
    });
    port
}

fn one(stream: &TcpStream, answer: &(impl Fn(Request) -> Answer + ?Sized)) -> std::io::Result<()> {
    let request = read(stream)?;
    write(stream, &answer(request))
}

fn read(stream: &TcpStream) -> std::io::Result<Request> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let mut words = line.split(' ').map(str::to_owned);
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            // Whoever asked is gone.
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_owned(), value.trim().to_owned()));
    }
    let mut request = Request { method, path, headers, body: Vec::new() };
    let length = request.header("content-length").and_then(|value| value.parse().ok()).unwrap_or(0);
    request.body = vec![0; length];
    reader.read_exact(&mut request.body)?;
    Ok(request)
}

fn write(stream: &TcpStream, answer: &Answer) -> std::io::Result<()> {
    let written = write_and_wait(stream, answer);
    // Whoever closes the connection early may do so before the answer is written.
    if let Some(closed) = &answer.closed {
        let _ = closed.send(());
    }
    written
}

fn write_and_wait(mut stream: &TcpStream, answer: &Answer) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut head = format!("HTTP/1.1 {} X\r\nconnection: close\r\n", answer.status);
    if answer.cut_at.is_some() || answer.piece == usize::MAX {
        head.push_str(&format!("content-length: {}\r\n", answer.body.len()));
    }
    for (name, value) in &answer.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    stream.write_all((head + "\r\n").as_bytes())?;
    let body = &answer.body[..answer.cut_at.unwrap_or(answer.body.len())];
    for piece in body.chunks(answer.piece.max(1)) {
        stream.write_all(piece)?;
        if !answer.pause.is_zero() {
            std::thread::sleep(answer.pause);
        }
    }
    if answer.stall {
        // Until the client gives up.
        let patience = answer.closed.is_none().then_some(Duration::from_secs(120));
        stream.set_read_timeout(patience)?;
        let _ = stream.read(&mut [0]);
    }
    Ok(())
}
