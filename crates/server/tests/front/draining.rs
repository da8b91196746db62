//! How it ends: nobody who was let in goes without an answer, as long as there is time.

use std::time::Duration;

use converse_testkit::hang_guard::ends;
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};

use crate::stage::{Request, Set, Stage};

#[tokio::test]
async fn what_was_accepted_is_answered_and_nothing_else_is_accepted() {
    let stage = Stage::new(Set::default());
    let mut running = stage.connect().await;
    running.send(&Request::call("wait").bytes()).await;
    stage.tools.0.began.notified().await;
    let mut kept = stage.connect().await;
    kept.send(&Request::call("echo").bytes()).await;
    assert_eq!(kept.answer().await.header("connection"), None);
    let mut fresh = stage.connect().await;
    stage.stop.cancel();
    // They were there before.
    kept.send(&Request::get("/healthz").bytes()).await;
    let health = kept.answer().await;
    assert_eq!((health.status, health.header("connection")), (503, Some("close")));
    assert!(kept.is_closed().await);
    // Until it is refused; in between it may be neither.
    while !matches!(timeout(Duration::from_millis(100), TcpStream::connect(stage.address)).await, Ok(Err(_)))
    {
    }
    fresh.send(&Request::call("echo").bytes()).await;
    let last = fresh.answer().await;
    assert_eq!((last.status, last.header("connection")), (200, Some("close")));
    assert!(!stage.ended.is_finished(), "a call still runs");
    stage.tools.0.go.add_permits(1);
    assert_eq!(running.answer().await.said(), "let go");
    ends("draining", stage.ended).await.unwrap();
}

#[tokio::test]
async fn who_only_keeps_a_connection_does_not_keep_it_from_ending() {
    let stage = Stage::new(Set { drain: Duration::from_secs(3600), ..Set::default() });
    let mut idle = stage.connect().await;
    idle.send(&Request::call("echo").bytes()).await;
    assert_eq!(idle.answer().await.status, 200);
    stage.stop.cancel();
    ends("draining", stage.ended).await.unwrap();
    assert!(idle.is_closed().await);
}

#[tokio::test]
async fn what_takes_too_long_is_cut_off() {
    let stage = Stage::new(Set { drain: Duration::from_millis(500), ..Set::default() });
    let mut running = stage.connect().await;
    running.send(&Request::call("wait").bytes()).await;
    stage.tools.0.began.notified().await;
    let began = Instant::now();
    stage.stop.cancel();
    ends("draining", stage.ended).await.unwrap();
    assert!(began.elapsed() >= Duration::from_millis(500), "it was not waited for");
    assert!(running.is_closed().await);
}

/// Connections come one after another while it stops: whoever could connect is answered.
#[tokio::test]
async fn a_request_on_its_way_is_not_lost() {
    let stage = Stage::new(Set::default());
    let address = stage.address;
    let clients: Vec<_> = (0..8)
        .map(|_| {
            tokio::spawn(async move {
                let mut answered = 0;
                // Refused, or not let through: another replica's turn.
                while let Ok(Ok(stream)) =
                    timeout(Duration::from_millis(500), TcpStream::connect(address)).await
                {
                    let mut client = crate::stage::Client(stream);
                    client.send(&Request::call("echo").bytes()).await;
                    assert_eq!(client.answer().await.status, 200);
                    answered += 1;
                }
                answered
            })
        })
        .collect();
    ends("waiting for connections", async {
        while !stage.counters.text().contains("\nconverse_connections_total 1") {
            tokio::task::yield_now().await;
        }
    })
    .await;
    stage.stop.cancel();
    ends("draining", stage.ended).await.unwrap();
    for client in clients {
        assert!(client.await.unwrap() > 0);
    }
}
