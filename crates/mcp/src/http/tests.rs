//! Tests of challenges and tokens, and of the first call of a session.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::BoxFuture;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientJsonRpcMessage, ClientRequest, InitializeRequest,
    RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::streamable_http_client::{
    StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::error::{ClientError, HttpError};
use super::*;

/// Tokens in their order; the last one stays.
#[derive(Debug)]
struct Tokens {
    left: Mutex<Vec<&'static str>>,
    requests: Mutex<Vec<(u16, Option<String>, String)>>,
}

impl Bearer for Tokens {
    fn token(&self) -> BoxFuture<'_, Result<Option<String>, String>> {
        Box::pin(async { Ok(None) })
    }

    fn challenged<'a>(
        &'a self,
        status: u16,
        sent: Option<&'a str>,
        challenge: &'a str,
    ) -> BoxFuture<'a, Result<String, String>> {
        self.requests.lock().unwrap().push((status, sent.map(str::to_owned), challenge.to_owned()));
        let token = self.left.lock().unwrap().pop();
        Box::pin(async move { token.map(str::to_owned).ok_or_else(|| "nobody is logged in".to_owned()) })
    }
}

/// Takes the token `good` only; how often it was asked is counted.
async fn picky(status: &'static str, challenge: &'static str) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let requests = Arc::<AtomicUsize>::default();
    let count = Arc::clone(&requests);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            count.fetch_add(1, Ordering::SeqCst);
            let (mut seen, mut piece) = (Vec::new(), [0; 4096]);
            while !String::from_utf8_lossy(&seen).contains("}}") {
                let read = stream.read(&mut piece).await.unwrap();
                seen.extend_from_slice(&piece[..read]);
            }
            let good = String::from_utf8_lossy(&seen).contains("authorization: Bearer good\r\n");
            let body = r#"{"jsonrpc":"2.0","id":1,"result":{"odd":true}}"#;
            let (status, headers, body) = match good {
                true => ("200 OK", "content-type: application/json\r\n".to_owned(), body),
                false => (status, format!("www-authenticate: {challenge}\r\n"), ""),
            };
            let length = body.len();
            let head = format!(
                "HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n"
            );
            stream.write_all((head + body).as_bytes()).await.unwrap();
        }
    });
    (url, requests)
}

fn client(tokens: Option<Arc<Tokens>>) -> Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let config = rustls::ClientConfig::builder()
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    let http = reqwest::Client::builder().tls_backend_preconfigured(config).no_proxy();
    // Idle connections would have timers.
    let http = http.pool_max_idle_per_host(0).build().unwrap();
    let bearer = tokens.map(|tokens| tokens as Arc<dyn Bearer>);
    Client::new(http, bearer, Arc::default(), Arc::default())
}

fn call() -> ClientJsonRpcMessage {
    let params = CallToolRequestParams::new("t").with_arguments(serde_json::Map::new());
    let call = ClientRequest::CallToolRequest(CallToolRequest::new(params));
    ClientJsonRpcMessage::request(call, RequestId::Number(1))
}

async fn posted(url: &str, tokens: Option<Arc<Tokens>>) -> Result<StreamableHttpPostResponse, HttpError> {
    client(tokens).post_message(url.into(), call(), None, None, HashMap::new()).await
}

#[tokio::test]
async fn another_token_is_asked_for_as_often_as_is_sensible() {
    const SCOPE: &str = "Bearer error=\"insufficient_scope\"";
    for (status, challenge, tokens, expected, count) in [
        ("401 X", "Bearer", vec!["good"], "answered", 2),
        ("401 X", "Bearer", vec!["good", "old", "older"], "answered", 4),
        ("403 X", SCOPE, vec!["good", "narrow"], "answered", 3),
        ("401 X", "Bearer", vec!["good", "5", "4", "3", "2", "1"], "unauthorized (401)", 5),
        ("401 X", "Bearer", vec!["old"], "nobody is logged in", 2),
        ("401 X", "Bearer", vec!["not\na token"], "the access token is not a valid header value", 1),
        // Not for want of a scope: no other token helps.
        ("403 X", "Bearer", vec!["good"], "unauthorized (403)", 1),
    ] {
        let (url, requests) = picky(status, challenge).await;
        let tokens = Arc::new(Tokens { left: Mutex::new(tokens), requests: Mutex::default() });
        let outcome = match posted(&url, Some(Arc::clone(&tokens))).await {
            Ok(StreamableHttpPostResponse::Json(ServerJsonRpcMessage::Response(_), None)) => {
                "answered".to_owned()
            }
            Err(StreamableHttpError::Client(error)) => error.to_string(),
            other => panic!("{other:?}"),
        };
        assert_eq!(
            (outcome.as_str(), requests.load(Ordering::SeqCst)),
            (expected, count),
            "{status} {challenge}"
        );
        let requests = tokens.requests.lock().unwrap();
        assert!(
            requests.first().is_none_or(|first| first.1.is_none() && first.2 == challenge),
            "{requests:?}"
        );
    }
}

#[tokio::test]
async fn without_anybody_to_ask_it_is_said_who_was_asked_for() {
    let (url, requests) = picky("401 X", "Bearer").await;
    let refused = posted(&url, None).await;
    assert!(
        matches!(refused, Err(StreamableHttpError::Client(ClientError::Unauthorized(401)))),
        "{refused:?}"
    );
    assert_eq!(requests.load(Ordering::SeqCst), 1);
}

/// A server with sessions that refuses the stream of its questions.
async fn with_sessions() -> Arc<str> {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let (mut seen, mut piece) = (Vec::new(), [0; 4096]);
            while !seen.ends_with(b"\r\n\r\n") && !seen.ends_with(b"}") {
                let read = stream.read(&mut piece).await.unwrap();
                seen.extend_from_slice(&piece[..read]);
            }
            let body = r#"{"jsonrpc":"2.0","id":1,"result":{"odd":true}}"#;
            let (status, body) = if seen.starts_with(b"GET") { ("405 X", "") } else { ("200 OK", body) };
            let length = body.len();
            let head = format!(
                "HTTP/1.1 {status}\r\ncontent-type: application/json\r\nmcp-session-id: s\r\ncontent-length: {length}\r\n\r\n"
            );
            stream.write_all((head + body).as_bytes()).await.unwrap();
        }
    });
    url.into()
}

/// The clock moves only while something waits for it.
#[tokio::test(start_paused = true)]
async fn the_first_call_of_a_session_waits_until_its_server_can_ask() {
    for (listening, waited) in [(Some("s"), 0), (None, 1), (Some("earlier"), 1)] {
        let (url, client) = (with_sessions().await, client(None));
        let post = |message, session: Option<&str>| {
            client.post_message(url.clone(), message, session.map(Into::into), None, HashMap::new())
        };
        let begun = tokio::time::Instant::now();
        let initialize = ClientRequest::InitializeRequest(InitializeRequest::default());
        post(ClientJsonRpcMessage::request(initialize, RequestId::Number(1)), None).await.unwrap();
        if let Some(session) = listening {
            let refused =
                client.get_stream(url.clone(), Some(session.into()), None, None, HashMap::new()).await;
            assert!(matches!(refused, Err(StreamableHttpError::ServerDoesNotSupportSse)));
        }
        for _ in 0..3 {
            post(call(), Some("s")).await.unwrap();
        }
        assert_eq!(begun.elapsed().as_secs(), waited, "{listening:?}");
    }
}
