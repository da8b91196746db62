//! Legacy servers over HTTP that ask for the roots when they are initialized: on the stream of the transport of 2024-11-05,
//! and on the one that a client of the later transport opens.

use std::sync::{Arc, Mutex};

use converse_ensemble::Answer;
use converse_testkit::hang_guard::ends;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};

use crate::site::{Request, read, tools, with_roots};
use crate::stage::call;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Transport {
    /// A stream names the address for messages and has all answers.
    OneStream,
    /// Each request is answered at once. What the server asks comes on a stream.
    AnswersAndStream,
}

/// A server that answers pings once it has the roots. The result of its tool is what it has.
struct Asking {
    transport: Transport,
    roots: watch::Sender<Value>,
    stream: Mutex<Option<mpsc::UnboundedSender<String>>>,
    heard: Mutex<Vec<String>>,
}

fn event(message: &Value) -> String {
    format!("event: message\ndata: {message}\n\n")
}

impl Asking {
    async fn start(transport: Transport) -> (String, Arc<Self>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let (roots, stream, heard) = (watch::Sender::default(), Mutex::default(), Mutex::default());
        let server = Arc::new(Self { transport, roots, stream, heard });
        let accepting = Arc::clone(&server);
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let server = Arc::clone(&accepting);
                tokio::spawn(async move {
                    if let Some((request, socket)) = read(socket).await {
                        server.take(request, socket).await;
                    }
                });
            }
        });
        (url, server)
    }

    async fn take(&self, request: Request, socket: TcpStream) {
        let line = format!("{} {} {}", request.method, request.target, request.asks());
        self.heard.lock().unwrap().push(line.trim_end().to_owned());
        match request.method.as_str() {
            "GET" => return self.open_stream(socket).await,
            "POST" => {}
            _ => return reply(socket, "200 OK", "").await,
        }
        let is_old = self.transport == Transport::OneStream;
        if is_old && request.target == "/mcp" {
            return reply(socket, "405 Method Not Allowed", "").await;
        }
        if let Some(roots) = request.body.pointer("/result/roots") {
            self.roots.send_replace(roots.clone());
        }
        if is_old && request.asks() == "notifications/initialized" {
            self.ask();
        }
        if request.asks() == "ping" {
            let mut roots = self.roots.subscribe();
            roots.wait_for(|roots| !roots.is_null()).await.unwrap();
        }
        let answer = self.answer(&request);
        match answer {
            Some(answer) if is_old => {
                self.say(event(&answer));
                reply(socket, "202 Accepted", "").await;
            }
            Some(answer) => reply(socket, "200 OK", &answer.to_string()).await,
            None if request.asks() == "server/discover" => reply(socket, "400 Bad Request", "").await,
            None => reply(socket, "202 Accepted", "").await,
        }
    }

    fn answer(&self, request: &Request) -> Option<Value> {
        let result = match request.asks() {
            "initialize" => json!({
                "protocolVersion": if self.transport == Transport::OneStream { "2024-11-05" } else { "2025-11-25" },
                "capabilities": { "tools": {} }, "serverInfo": { "name": "asking", "version": "1" },
            }),
            "tools/list" => tools(),
            "tools/call" => {
                json!({ "content": [{ "type": "text", "text": self.roots.borrow().to_string() }] })
            }
            "ping" => json!({}),
            _ => return None,
        };
        Some(json!({ "jsonrpc": "2.0", "id": request.body["id"], "result": result }))
    }

    async fn open_stream(&self, mut socket: TcpStream) {
        let (sender, mut events) = mpsc::unbounded_channel();
        *self.stream.lock().unwrap() = Some(sender);
        match self.transport {
            Transport::OneStream => self.say("event: endpoint\ndata: /messages\n\n".to_owned()),
            Transport::AnswersAndStream => self.ask(),
        }
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
        let _ = socket.write_all(head.as_bytes()).await;
        while let Some(event) = events.recv().await {
            let _ = socket.write_all(event.as_bytes()).await;
        }
    }

    fn ask(&self) {
        self.say(event(&json!({ "jsonrpc": "2.0", "id": "r", "method": "roots/list" })));
    }

    fn say(&self, event: String) {
        self.stream.lock().unwrap().as_ref().unwrap().send(event).unwrap();
    }
}

async fn reply(mut socket: TcpStream, status: &str, body: &str) {
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\nmcp-session-id: s1\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    let _ = socket.write_all(head.as_bytes()).await;
}

#[tokio::test]
async fn the_first_call_waits_for_roots_that_are_asked_for_on_a_stream() {
    for transport in [Transport::OneStream, Transport::AnswersAndStream] {
        let (url, server) = Asking::start(transport).await;
        let web = with_roots(&url);
        let tools = ends("connecting", web.connect()).await.unwrap();
        let has = Answer::text(json!([{ "uri": "file:///", "name": "/" }]).to_string());
        for _ in 0..2 {
            assert_eq!(call(&tools[0]).await.unwrap(), has, "{transport:?}");
        }
        web.disconnect().await;
        let heard = server.heard.lock().unwrap();
        let requests: Vec<&str> = heard.iter().filter_map(|line| line.split(' ').nth(2)).collect();
        let calling = requests.iter().position(|asks| *asks == "tools/call").unwrap();
        let pings = requests.iter().filter(|asks| **asks == "ping").count();
        assert!(requests[..calling].contains(&"ping") && pings == 2, "{transport:?}: {requests:?}");
    }
}
