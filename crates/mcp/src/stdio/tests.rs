use rmcp::model::{ClientRequest, DiscoverRequest, DiscoverRequestParams, ListToolsRequest, RequestId};
use tokio::io::{AsyncWriteExt, DuplexStream};

use super::*;
use crate::raw;

fn transport() -> (Stdio<DuplexStream>, DuplexStream, ConnectionEnd) {
    let (stdout, mouth) = tokio::io::duplex(1024 * 1024);
    let end = ConnectionEnd::default();
    let transport = Stdio::new(stdout, tokio::io::sink(), end.clone());
    (transport, mouth, end)
}

/// Sends a request of each id, so that answers to it are awaited.
async fn ask(transport: &mut Stdio<DuplexStream>, ids: &[i64]) {
    for &id in ids {
        let request = ClientRequest::ListToolsRequest(ListToolsRequest::default());
        let message = ClientJsonRpcMessage::request(request, RequestId::Number(id));
        transport.send(message).await.unwrap();
    }
}

/// What a message says: `id=result text`, `id!error`, or its debug form.
fn json_of(message: ServerJsonRpcMessage) -> String {
    match message {
        ServerJsonRpcMessage::Response(response) => format!("{}={}", response.id, raw::text(response.result)),
        ServerJsonRpcMessage::Error(error) => {
            format!("{}!{} {}", error.id.unwrap(), error.error.code.0, error.error.message)
        }
        ServerJsonRpcMessage::Notification(_) => "notification".to_owned(),
        ServerJsonRpcMessage::Request(request) => format!("{}?", request.id),
    }
}

async fn all(transport: &mut Stdio<DuplexStream>) -> Vec<String> {
    let mut messages = Vec::new();
    while let Some(message) = transport.receive().await {
        messages.push(json_of(message));
    }
    messages
}

#[tokio::test]
async fn each_line_is_what_it_is() {
    for (line, wanted) in [
        (
            r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"odd":true}]}}"#,
            vec!["1={\"tools\":[{\"odd\":true}]}"],
        ),
        (r#"{"jsonrpc":"2.0","id":"1","result":{}}"#, vec!["1={}"]),
        (r#"{"jsonrpc":"2.0","id":1.0,"result":{}}"#, vec!["1={}"]),
        (r#"{"jsonrpc":"2.0","id":"1.0","result":{}}"#, vec!["1={}"]),
        (r#"{"jsonrpc":"2.0","id":1e0,"result":{}}"#, vec!["1={}"]),
        (r#"{"jsonrpc":"2.0","id":1.5,"result":{}}"#, vec![]),
        (r#"{"jsonrpc":"2.0","id":1e300,"result":{}}"#, vec![]),
        (r#"{"jsonrpc":null,"id":1,"result":{}}"#, vec![]),
        ("\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":[]}\r", vec!["1=[]"]),
        (r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"bad"}}"#, vec!["1!-32602 bad"]),
        (r#"{"jsonrpc":"2.0","id":1,"error":"just words"}"#, vec!["1!-32603 \"just words\""]),
        (
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":"E1","message":"x"}}"#,
            vec![r#"1!-32603 {"code":"E1","message":"x"}"#],
        ),
        (
            r#"{"jsonrpc":"2.0","id":1}"#,
            vec!["1!-32603 the server's answer could not be read: neither `result` nor `error` is present"],
        ),
        (r#"{"jsonrpc":"2.0","id":7,"result":{}}"#, vec![]),
        (r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse"}}"#, vec!["1!-32700 parse"]),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, vec!["1?"]),
        (r#"{"jsonrpc":"2.0","method":"notifications/odd","params":{"a":1}}"#, vec!["notification"]),
        (
            r#"[{"jsonrpc":"2.0","id":1,"result":1},{"jsonrpc":"2.0","method":"notifications/odd"}]"#,
            vec!["1=1", "notification"],
        ),
        (r#"{"level":"info","id":1,"result":"a log"}"#, vec![]),
        ("starting…", vec![]),
        ("<html>", vec![]),
        ("[1,2]", vec![]),
        ("", vec![]),
    ] {
        for unended in [false, true] {
            let (mut transport, mut mouth, end) = transport();
            ask(&mut transport, &[1]).await;
            mouth.write_all(line.as_bytes()).await.unwrap();
            if !unended {
                mouth.write_all(b"\n").await.unwrap();
            }
            drop(mouth);
            assert_eq!(all(&mut transport).await, wanted, "{line}");
            assert_eq!(end.cause(), Some(EndCause::Closed), "{line}");
        }
    }
}

#[tokio::test]
async fn an_error_without_an_id_is_nobodys_if_two_wait() {
    let (mut transport, mut mouth, _end) = transport();
    ask(&mut transport, &[1, 2]).await;
    mouth.write_all(b"{\"jsonrpc\":\"2.0\",\"error\":{\"code\":1,\"message\":\"x\"}}\n").await.unwrap();
    drop(mouth);
    assert!(all(&mut transport).await.is_empty());
}

#[tokio::test]
async fn a_handshake_that_cannot_be_read_is_answered_with_an_error() {
    let (mut transport, mut mouth, _end) = transport();
    let request = ClientRequest::DiscoverRequest(DiscoverRequest::new(DiscoverRequestParams {}));
    transport.send(ClientJsonRpcMessage::request(request, RequestId::Number(0))).await.unwrap();
    mouth.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{}}\n").await.unwrap();
    let answer = json_of(transport.receive().await.unwrap());
    assert!(answer.starts_with("0!-32603 the server's answer could not be read: missing field"), "{answer}");
}

#[tokio::test]
async fn what_is_too_long_to_be_decoded_is_an_error() {
    let long = format!("[{}0]", "0,".repeat(1024 * 1024));
    let request = ClientRequest::DiscoverRequest(DiscoverRequest::new(DiscoverRequestParams {}));
    let (mut transport, mut mouth, _end) = transport();
    transport.send(ClientJsonRpcMessage::request(request, RequestId::Number(0))).await.unwrap();
    ask(&mut transport, &[1]).await;
    let error = format!(r#"{{"code":7,"message":"words","data":{long}}}"#);
    let lines = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{long}}}\n{{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{error}}}\n"
    );
    tokio::spawn(async move { drop(mouth.write_all(lines.as_bytes()).await) });
    let first = json_of(transport.receive().await.unwrap());
    assert_eq!(first, "0!-32603 the server's answer could not be read: more than 1048576 bytes");
    let Some(ServerJsonRpcMessage::Error(second)) = transport.receive().await else { panic!() };
    assert_eq!((&*second.error.message, second.error.data), ("words", None));
}

#[tokio::test]
async fn an_unreadable_answer_is_quoted_in_a_few_words() {
    let (mut transport, mut mouth, _end) = transport();
    let request = ClientRequest::DiscoverRequest(DiscoverRequest::new(DiscoverRequestParams {}));
    transport.send(ClientJsonRpcMessage::request(request, RequestId::Number(0))).await.unwrap();
    let text = "\\u001b]0;".to_owned() + &"x".repeat(500_000);
    mouth
        .write_all(format!("{{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":\"{text}\"}}\n").as_bytes())
        .await
        .unwrap();
    let answer = json_of(transport.receive().await.unwrap());
    assert!(answer.len() < 400 && !answer.contains('\u{1b}'), "{} bytes", answer.len());
}

#[tokio::test]
async fn a_batch_is_read_up_to_a_limit() {
    let (mut transport, mut mouth, _end) = transport();
    ask(&mut transport, &[1, 2]).await;
    let numbers = vec!["0"; 999].join(",");
    let [one, two] = [1, 2].map(|id| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":1}}"#));
    mouth.write_all(format!("[{numbers},{one},{two}]\n").as_bytes()).await.unwrap();
    drop(mouth);
    assert_eq!(all(&mut transport).await, ["1=1"]);
}

#[tokio::test]
async fn text_cut_within_a_character_is_still_an_answer() {
    let (mut transport, mut mouth, _end) = transport();
    ask(&mut transport, &[1]).await;
    mouth.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"a\xd0\"}\n").await.unwrap();
    drop(mouth);
    assert_eq!(all(&mut transport).await, ["1=\"a\u{fffd}\""]);
}

#[tokio::test]
async fn an_over_long_line_ends_the_connection_and_says_why() {
    let (mut transport, mut mouth, end) = transport();
    ask(&mut transport, &[1]).await;
    let flood = tokio::spawn(async move {
        let mut sent = 0_usize;
        while mouth.write_all(&[b'x'; 65536]).await.is_ok() && sent < 17 * 1024 * 1024 {
            sent += 65536;
        }
        // The pipe stays open: only the limit can end it.
        std::future::pending::<()>().await;
    });
    let message = converse_testkit::hang_guard::ends("a line without end", transport.receive()).await;
    flood.abort();
    assert!(message.is_none());
    let reason = "the server sent a line of more than 16 MiB".to_owned();
    assert_eq!(end.cause(), Some(EndCause::GivenUp(reason)));
    assert!(transport.lines.capacity() < 2 * MAX_LINE + CHUNK, "memory is bounded");
}

#[tokio::test]
async fn stray_output_is_ignored_within_a_budget() {
    for (line, count, given_up) in [
        ("log", MAX_STRAY_LINES, false),
        ("log", MAX_STRAY_LINES + 1, true),
        ("", MAX_STRAY_LINES * 2, false),
        (&*"x".repeat(MAX_STRAY_BYTES / 4), 4, false),
        (&*"x".repeat(MAX_STRAY_BYTES / 4), 5, true),
    ] {
        let (mut transport, mut mouth, end) = transport();
        ask(&mut transport, &[1]).await;
        let text = format!("{line}\n").repeat(count) + "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":1}\n";
        let writing = tokio::spawn(async move { drop(mouth.write_all(text.as_bytes()).await) });
        let messages = all(&mut transport).await;
        writing.await.unwrap();
        assert_eq!(messages.len(), usize::from(!given_up), "{count} lines of {} bytes", line.len());
        let cause = end.cause().unwrap();
        assert_eq!(
            matches!(&cause, EndCause::GivenUp(why) if why.contains("not MCP")),
            given_up,
            "{cause:?}"
        );
    }
}

#[tokio::test]
async fn a_late_answer_to_a_cancelled_request_is_dropped() {
    use rmcp::model::{CancelledNotification, CancelledNotificationParam};
    let (mut transport, mut mouth, _end) = transport();
    ask(&mut transport, &[1]).await;
    let cancelled =
        CancelledNotification::new(CancelledNotificationParam::new(Some(RequestId::Number(1)), None));
    transport.send(ClientJsonRpcMessage::notification(cancelled.into())).await.unwrap();
    mouth.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":1}\n").await.unwrap();
    drop(mouth);
    assert!(all(&mut transport).await.is_empty());
}

#[tokio::test]
async fn nothing_can_be_sent_once_it_is_over() {
    let (mut transport, mouth, end) = transport();
    drop(mouth);
    assert!(transport.receive().await.is_none());
    assert!(end.is_over());
    let request = ClientRequest::ListToolsRequest(ListToolsRequest::default());
    assert!(transport.send(ClientJsonRpcMessage::request(request, RequestId::Number(1))).await.is_err());
}
