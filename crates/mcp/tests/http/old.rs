//! Servers of the HTTP+SSE transport of 2024-11-05: a stream that names the address for messages, and answers on it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use converse_config::SecretRef;
use converse_mcp::Era;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use crate::site::{Request, at_url, echo, echoed, ensemble, read, tools};
use crate::stage::{Remembered, call};

/// What a server does differently.
#[derive(Clone, Copy, PartialEq)]
enum Manner {
    Usual,
    /// Its messages go to this address.
    Elsewhere(&'static str),
    /// The stream says nothing.
    Mute,
    /// The first stream ends after the first call.
    Ends,
}

/// Requests with their headers.
type Heard = Arc<Mutex<Vec<(String, HashMap<String, String>)>>>;

struct OldSite {
    url: String,
    heard: Heard,
}

impl OldSite {
    async fn new(manner: Manner) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/sse", listener.local_addr().unwrap());
        let heard = Heard::default();
        let log = Arc::clone(&heard);
        tokio::spawn(async move {
            let stream = Arc::<Mutex<Option<mpsc::UnboundedSender<String>>>>::default();
            let mut streams = 0;
            while let Ok((socket, _)) = listener.accept().await {
                let Some((request, mut socket)) = read(socket).await else { continue };
                let line = format!("{} {} {}", request.method, request.target, request.asks());
                log.lock().unwrap().push((line, request.headers.clone()));
                if request.method == "GET" {
                    let (sender, answers) = mpsc::unbounded_channel();
                    let endpoint = match manner {
                        Manner::Elsewhere(endpoint) => endpoint,
                        _ => "/messages?session=1",
                    };
                    if manner != Manner::Mute {
                        sender.send(format!("event: endpoint\ndata: {endpoint}\n\n")).unwrap();
                    }
                    *stream.lock().unwrap() = Some(sender);
                    streams += 1;
                    tokio::spawn(streaming(socket, answers));
                    continue;
                }
                let is_ours = request.target == "/messages?session=1";
                let status = if is_ours { "202 Accepted" } else { "405 Method Not Allowed" };
                let head = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
                let _ = socket.write_all(head.as_bytes()).await;
                let ends = manner == Manner::Ends && streams == 1 && request.asks() == "tools/call";
                let mut stream = stream.lock().unwrap();
                if ends {
                    *stream = None;
                } else if let (true, Some(stream), Some(answer)) = (is_ours, &*stream, answer(&request)) {
                    let _ = stream.send(format!("event: message\ndata: {answer}\n\n"));
                }
            }
        });
        Self { url, heard }
    }

    fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().iter().map(|(line, _)| line.clone()).collect()
    }
}

async fn streaming(mut socket: TcpStream, mut answers: mpsc::UnboundedReceiver<String>) {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n: hello\n\n";
    let _ = socket.write_all(head.as_bytes()).await;
    while let Some(answer) = answers.recv().await {
        let _ = socket.write_all(answer.as_bytes()).await;
    }
}

fn answer(request: &Request) -> Option<Value> {
    let result = match request.asks() {
        "initialize" => json!({ "protocolVersion": "2024-11-05", "capabilities": { "tools": {} },
                                "serverInfo": { "name": "old", "version": "1" } }),
        "tools/list" => tools(),
        "tools/call" => echoed(request),
        _ => return None,
    };
    Some(json!({ "jsonrpc": "2.0", "id": request.body["id"], "result": result }))
}

#[tokio::test]
async fn a_server_of_the_old_transport_is_spoken_to() {
    let site = OldSite::new(Manner::Usual).await;
    let eras = Arc::new(Remembered::default());
    let headers = vec![("x-key".to_owned(), SecretRef::Environment("TOKEN".to_owned()))];
    let web = ensemble(SecretRef::Literal(site.url.clone()), headers, &eras);
    let tools = web.connect().await.unwrap();
    assert_eq!(call(&tools[0]).await, echo());
    web.disconnect().await;
    let heard = site.heard();
    assert_eq!(
        heard[..4],
        [
            "POST /sse server/discover",
            "POST /sse initialize",
            "GET /sse ",
            "POST /messages?session=1 initialize"
        ]
    );
    assert_eq!(heard.iter().filter(|line| line.ends_with("tools/call")).count(), 1);
    assert_eq!(eras.0.lock().unwrap().values().collect::<Vec<_>>(), [&Era::Legacy]);
    assert!(site.heard.lock().unwrap().iter().all(|(_, headers)| headers["x-key"] == "s3cret-token"));
}

/// Headers and tokens of the descriptor go to the origin of its address alone.
#[tokio::test]
async fn messages_go_to_no_other_host() {
    for endpoint in ["http://127.0.0.1:9/messages", "https://evil.example/", "//evil.example/x", "data:,x"] {
        let site = OldSite::new(Manner::Elsewhere(endpoint)).await;
        let failed = at_url(&site.url).connect().await.unwrap_err();
        assert!(failed.reason.contains("on another host, which is not used"), "{endpoint}: {failed:?}");
        assert!(!site.heard().iter().any(|line| line.starts_with("POST /messages")), "{endpoint}");
    }
}

#[tokio::test]
async fn an_address_of_neither_transport_says_so() {
    tokio::time::pause();
    let site = OldSite::new(Manner::Mute).await;
    let failed = at_url(&site.url).connect().await.unwrap_err();
    assert!(failed.reason.contains("HTTP 405, and the address opens no event stream"), "{failed:?}");
}

#[tokio::test]
async fn a_stream_that_ends_interrupts_its_call_and_the_next_call_opens_another() {
    let site = OldSite::new(Manner::Ends).await;
    let web = at_url(&site.url);
    let tools = web.connect().await.unwrap();
    let lost = call(&tools[0]).await.unwrap_err();
    assert!(lost.to_string().contains("the server closed its event stream"), "{lost:?}");
    assert_eq!(call(&tools[0]).await, echo());
    let calls = site.heard().iter().filter(|line| line.ends_with("tools/call")).count();
    assert_eq!(calls, 2, "the lost call was not repeated");
}
