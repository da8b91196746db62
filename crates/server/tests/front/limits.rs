//! What one client may take.

use std::time::Duration;

use converse_server::Limits;
use converse_testkit::hang_guard::ends;

use crate::stage::{Request, Set, Stage};

fn limited(change: impl FnOnce(&mut Limits)) -> Stage {
    let mut limits = Limits::default();
    change(&mut limits);
    Stage::new(Set { limits, ..Set::default() })
}

const SHORT: Duration = Duration::from_millis(200);

#[tokio::test]
async fn bodies_are_bounded_however_they_are_sent() {
    let stage = limited(|limits| limits.body_bytes = 1000);
    let mut request = Request::call("echo");
    assert_eq!(stage.ask(&request).await.status, 200);
    request.body.push_str(&" ".repeat(1000));
    assert_eq!(stage.ask(&request).await.status, 413);
    let mut client = stage.connect().await;
    client.send(format!("{}transfer-encoding: chunked\r\n\r\n", request.head()).as_bytes()).await;
    client.send(format!("{:x}\r\n{}\r\n", request.body.len(), request.body).as_bytes()).await;
    assert_eq!(client.answer().await.status, 413);
    assert!(stage.counters.text().contains("refused_total{reason=\"too_large\"} 2\n"));
}

#[tokio::test]
async fn bodies_are_bounded_together_and_room_is_given_back() {
    let stage = limited(|limits| (limits.bodies_of_principal, limits.bodies) = (2000, 3000));
    let mut request = Request::call("echo");
    request.body.push_str(&" ".repeat(1500 - request.body.len()));
    let head = format!("{}content-length: {}\r\n\r\n", request.head(), request.body.len());
    let mut slow = stage.connect().await;
    slow.send(format!("{head}{}", &request.body[..1400]).as_bytes()).await;
    // Until what came of it is read.
    ends("waiting for its bytes", async { while stage.ask(&request).await.status == 200 {} }).await;
    let refused = stage.ask(&request).await;
    assert_eq!((refused.status, refused.header("retry-after")), (429, Some("1")));
    slow.send(&request.body.as_bytes()[1400..]).await;
    assert_eq!(slow.answer().await.status, 200);
    assert_eq!(stage.ask(&request).await.status, 200);
    assert!(stage.counters.text().contains("refused_total{reason=\"busy\"}"));
}

#[tokio::test]
async fn a_body_that_does_not_come_is_not_waited_for() {
    let stage = limited(|limits| limits.body = SHORT);
    let request = Request::call("echo");
    let mut client = stage.connect().await;
    client.send(format!("{}content-length: 100\r\n\r\n{{", request.head()).as_bytes()).await;
    assert_eq!(client.answer().await.status, 408);
    assert!(client.is_closed().await);
}

#[tokio::test]
async fn headers_that_trickle_are_not_waited_for() {
    let stage = limited(|limits| limits.headers = SHORT);
    let mut silent = stage.connect().await;
    let mut slow = stage.connect().await;
    slow.send(b"POST /mcp HTTP/1.1\r\nhost: ").await;
    assert!(silent.is_closed().await && slow.is_closed().await);
    // The same between two requests of one connection.
    let mut second = stage.connect().await;
    second.send(&Request::call("echo").bytes()).await;
    assert_eq!(second.answer().await.status, 200);
    second.send(b"POST").await;
    assert!(second.is_closed().await);
}

#[tokio::test]
async fn a_connection_that_asks_nothing_is_closed_and_one_that_waits_is_not() {
    let stage = limited(|limits| (limits.idle, limits.headers) = (SHORT, SHORT));
    let (mut waiting, mut idle) = (stage.connect().await, stage.connect().await);
    waiting.send(&Request::call("wait").bytes()).await;
    stage.tools.0.began.notified().await;
    idle.send(&Request::call("echo").bytes()).await;
    assert_eq!(idle.answer().await.status, 200);
    assert!(idle.is_closed().await);
    // It has waited for longer than the other was idle.
    stage.tools.0.go.add_permits(1);
    assert_eq!(waiting.answer().await.said(), "let go");
}

#[tokio::test]
async fn a_header_has_a_size() {
    let stage = limited(|_| {});
    let request = Request::call("echo").with("x", &"y".repeat(200_000));
    let mut client = stage.connect().await;
    client.send(&request.bytes()).await;
    assert_eq!(client.answer().await.status, 431);
}

#[tokio::test]
async fn who_comes_when_all_places_are_taken_waits_for_one() {
    let stage = limited(|limits| limits.connections = 1);
    let mut first = stage.connect().await;
    first.send(&Request::call("echo").bytes()).await;
    assert_eq!(first.answer().await.status, 200);
    let mut second = stage.connect().await;
    second.send(&Request::call("echo").bytes()).await;
    assert!(stage.counters.text().contains("\nconverse_connections_total 1\n"));
    drop(first);
    assert_eq!(second.answer().await.status, 200);
    assert!(stage.counters.text().contains("\nconverse_connections_total 2\n"));
}
