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

type Answers = Arc<Vec<Script>>;

#[derive(Debug)]
struct Script {
    scenario: Scenario,
    replies: Vec<Vec<Part>>,
}

impl Stub {
    pub(crate) fn start() -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let address = listener.local_addr()?;
        let log = Arc::default();
        let answers: Answers = Arc::new(Scenario::ALL.map(Script::new).into());
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

impl Script {
    fn new(scenario: Scenario) -> Self {
        Self { scenario, replies: (0..scenario.replies()).map(|before| scenario.reply(before)).collect() }
    }

    /// Whether the results are right is looked at after the run: here it would cost time.
    fn parts(&self, body: &[u8]) -> &[Part] {
        let results = count(body, b"\"role\":\"tool\"");
        let before = results.checked_div(self.scenario.at_once()).unwrap_or(0);
        self.replies.get(before).or(self.replies.last()).map(Vec::as_slice).unwrap_or_default()
    }
}

fn count(text: &[u8], part: &[u8]) -> usize {
    text.windows(part.len()).filter(|window| *window == part).count()
}

/// A client that goes away ends its own connection only.
fn serve(connection: &TcpStream, answers: &Answers, log: &Mutex<Vec<Exchange>>) -> io::Result<()> {
    connection.set_nodelay(true)?;
    connection.set_read_timeout(Some(Duration::from_secs(60)))?;
    let mut reader = BufReader::new(connection);
    while let Some(Request { path, body }) = Request::read(&mut reader)? {
        let asked = path.trim_start_matches('/').split('/').next().unwrap_or_default();
        let Some(script) = answers.iter().find(|script| script.scenario.name() == asked) else {
            let mut connection = connection;
            connection.write_all(NOT_FOUND)?;
            continue;
        };
        // Remembered before it is answered: the client may be gone by the time the last byte is.
        let remember = |first| {
            let exchange = Exchange { path: path.clone(), body: body.clone(), first };
            log.lock().unwrap_or_else(PoisonError::into_inner).push(exchange);
        };
        answer(connection, script.parts(&body), remember)?;
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
        post_body(stub, path, "{\"a\":1}")
    }

    fn post_body(stub: &Stub, path: &str, body: &str) -> String {
        let mut connection = TcpStream::connect(stub.address).unwrap();
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

    #[test]
    fn results_get_the_answer() {
        let stub = Stub::start().unwrap();
        let path = "/trip/v1/chat/completions";
        let (asks, answers) = ("\"name\":\"s0__echo\"", "\"content\":\"quick \"");
        let results = "{\"messages\":[{\"role\":\"user\"},{\"role\":\"tool\",\"content\":\"x\"}]}";
        for (body, with, without) in
            [("{\"messages\":[{\"role\":\"user\"}]}", asks, answers), (results, answers, asks)]
        {
            let answer = post_body(&stub, path, body);
            assert!(answer.contains(with) && !answer.contains(without), "{answer}");
        }
    }

    #[test]
    fn a_chain_asks_for_one_tool_after_each_result() {
        let stub = Stub::start().unwrap();
        let results = |count| vec!["{\"role\":\"tool\",\"content\":\"x\"}"; count].join(",");
        for (count, expected) in
            [(0, "hello 0"), (1, "hello 1"), (19, "hello 19"), (20, "\"content\":\"quick \"")]
        {
            let answer = post_body(
                &stub,
                "/chain/v1/chat/completions",
                &format!("{{\"messages\":[{}]}}", results(count)),
            );
            assert!(answer.contains(expected), "{count}: {answer}");
        }
    }
}
