//! Pages on the loopback, for the server that fetches some.

use std::io::{self, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use crate::request::Request;

/// The one page there is, and its words. Plain text: from HTML the server would make Markdown, with a tool that installs
/// itself at the first use.
pub(crate) const PAGE: &str = "/moon.txt";
pub(crate) const WORDS: &str = "the moon is made of cheese";

/// Served until the program ends.
#[derive(Debug)]
pub(crate) struct Pages {
    address: SocketAddr,
}

impl Pages {
    pub(crate) fn start() -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let address = listener.local_addr()?;
        std::thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                std::thread::spawn(move || serve(&connection));
            }
        });
        Ok(Self { address })
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}

/// A client that goes away ends its own connection only.
fn serve(mut connection: &TcpStream) -> io::Result<()> {
    connection.set_read_timeout(Some(Duration::from_secs(20)))?;
    let mut reader = BufReader::new(connection);
    while let Some(request) = Request::read(&mut reader)? {
        let (status, words) =
            if request.path == PAGE { ("200 OK", WORDS) } else { ("404 Not Found", "there is no such page") };
        let head =
            format!("HTTP/1.1 {status}\r\ncontent-type: text/plain\r\ncontent-length: {}", words.len());
        connection.write_all(format!("{head}\r\n\r\n{words}").as_bytes())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn there_is_one_page() {
        let pages = Pages::start().unwrap();
        for (path, status, words) in [(PAGE, "200", WORDS), ("/other", "404", "no such page")] {
            assert_eq!(pages.url(path), format!("http://{}{path}", pages.address));
            let mut connection = TcpStream::connect(pages.address).unwrap();
            write!(connection, "GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
            connection.shutdown(std::net::Shutdown::Write).unwrap();
            let mut answer = String::new();
            connection.read_to_string(&mut answer).unwrap();
            assert!(answer.starts_with(&format!("HTTP/1.1 {status}")) && answer.contains(words), "{answer}");
        }
    }
}
