//! A model server on the loopback that answers at once, and remembers when.

use std::io::{self, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::request::Request;
use crate::scenario::{Part, Scenario};

const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n";
const NOT_FOUND: &[u8] = b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n";

/// One request that was answered.
#[derive(Debug, Clone)]
pub(crate) struct Exchange {
    pub(crate) path: String,
    pub(crate) body: Vec<u8>,
    /// Just before the first byte of the answer was written.
    pub(crate) first: Instant,
}

/// Runs until the program ends.
#[derive(Debug)]
pub(crate) struct Stub {
    address: SocketAddr,
    log: Arc<Mutex<Vec<Exchange>>>,
}

type Answers = Arc<Vec<(Scenario, Vec<Part>)>>;

impl Stub {
    pub(crate) fn start() -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let address = listener.local_addr()?;
        let log = Arc::default();
        let answers: Answers = Arc::new(Scenario::ALL.map(|scenario| (scenario, scenario.parts())).into());
        let shared = Arc::clone(&log);
        std::thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let (answers, log) = (Arc::clone(&answers), Arc::clone(&shared));
                std::thread::spawn(move || serve(&connection, &answers, &log));
            }
        });
        Ok(Self { address, log })
    }

    /// The base URL under which a scenario is served, as OpenAI's SDKs take it.
    pub(crate) fn base_url(&self, scenario: Scenario) -> String {
        format!("http://{}/{}/v1", self.address, scenario.name())
    }

    /// What was asked since the last time.
    pub(crate) fn take_log(&self) -> Vec<Exchange> {
        std::mem::take(&mut *self.log.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A client that goes away ends its own connection only.
fn serve(connection: &TcpStream, answers: &Answers, log: &Mutex<Vec<Exchange>>) -> io::Result<()> {
    connection.set_nodelay(true)?;
    connection.set_read_timeout(Some(Duration::from_secs(60)))?;
    let mut reader = BufReader::new(connection);
    while let Some(Request { path, body }) = Request::read(&mut reader)? {
        let asked =
            |scenario: &Scenario| path.trim_start_matches('/').split('/').next() == Some(scenario.name());
        let Some((_, parts)) = answers.iter().find(|(scenario, _)| asked(scenario)) else {
            let mut connection = connection;
            connection.write_all(NOT_FOUND)?;
            continue;
        };
        // Remembered before it is answered: the client may be gone by the time the last byte is.
        let remember = |first| {
            let exchange = Exchange { path: path.clone(), body: body.clone(), first };
            log.lock().unwrap_or_else(PoisonError::into_inner).push(exchange);
        };
        answer(connection, parts, remember)?;
    }
    Ok(())
}

/// The head goes out with the first part: it is the first byte that the delay is for.
fn answer(mut connection: &TcpStream, parts: &[Part], begins: impl FnOnce(Instant)) -> io::Result<()> {
    let (mut head, mut begins) = (HEAD, Some(begins));
    for part in parts {
        let bytes = [std::mem::take(&mut head), &part.bytes].concat();
        std::thread::sleep(part.pause);
        if let Some(begins) = begins.take() {
            begins(Instant::now());
        }
        connection.write_all(&bytes)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    fn post(stub: &Stub, path: &str) -> String {
        let mut connection = TcpStream::connect(stub.address).unwrap();
        let body = "{\"a\":1}";
        write!(connection, "POST {path} HTTP/1.1\r\nContent-Length: {}\r\n\r\n{body}", body.len()).unwrap();
        connection.shutdown(std::net::Shutdown::Write).unwrap();
        let mut answer = String::new();
        connection.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn it_answers_by_path_and_remembers() {
        let stub = Stub::start().unwrap();
        let url = stub.base_url(Scenario::OneShot);
        let path = url.split_once(&stub.address.to_string()).unwrap().1;
        let answer = post(&stub, &format!("{path}/chat/completions"));
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("0\r\n\r\n"), "{answer}");
        assert_eq!(answer.matches("\"content\":\"quick \"").count(), 6);
        assert!(post(&stub, "/other/v1").starts_with("HTTP/1.1 404"));
        let before = Instant::now();
        assert!(post(&stub, "/paced/v1/chat/completions").contains("[DONE]"));

        let log = stub.take_log();
        assert_eq!(log.len(), 2);
        assert_eq!(
            (log[0].path.as_str(), log[0].body.as_slice()),
            ("/one-shot/v1/chat/completions", b"{\"a\":1}".as_slice())
        );
        // A sleep is never shorter than it says.
        assert!(log[1].first - before >= Duration::from_millis(200));
        assert!(stub.take_log().is_empty());
    }
}
