//! What is where, and for which hosts and pages.

use converse_server::HttpListener;

use crate::stage::{Client, Request, Set, Stage, here};

#[tokio::test]
async fn paths_and_methods() {
    let stage = Stage::new(Set::default());
    for (request, status) in [
        (Request::get("/healthz"), 200),
        (Request::get("/healthz").with("host", "10.1.2.3"), 200),
        (Request::get("/healthz").method("POST"), 405),
        (Request::get("/metrics"), 200),
        (Request::get("/metrics").method("POST"), 405),
        (Request::get("/"), 404),
        (Request::get("/mcp/"), 404),
        (Request::get("/.well-known/oauth-protected-resource"), 404),
        (Request::get("/metrics").with("host", "evil.example"), 403),
        (Request::call("echo").with("host", "evil.example"), 403),
        (Request::call("echo").with("host", "gw.example:8443"), 200),
        (Request::call("echo").with("origin", "http://evil.example"), 403),
        (Request::call("echo").with("origin", "null"), 403),
    ] {
        let answer = stage.ask(&request).await;
        assert_eq!(answer.status, status, "{}", request.head());
    }
}

#[tokio::test]
async fn a_page_that_may_call_may_also_read() {
    let stage = Stage::new(Set { origins: vec!["https://app.example".to_owned()], ..Set::default() });
    let asked = Request::get("/mcp")
        .method("OPTIONS")
        .with("origin", "https://app.example")
        .with("access-control-request-headers", "authorization,mcp-method");
    let allowed = stage.ask(&asked).await;
    assert_eq!(
        (allowed.status, allowed.header("access-control-allow-origin")),
        (204, Some("https://app.example"))
    );
    assert_eq!(allowed.header("access-control-allow-headers"), Some("authorization,mcp-method"));
    let called = stage.ask(&Request::call("echo").with("origin", "https://app.example")).await;
    assert_eq!(
        (called.status, called.header("access-control-allow-origin")),
        (200, Some("https://app.example"))
    );
    let other = stage.ask(&asked.with("origin", "https://evil.example")).await;
    assert_eq!((other.status, other.header("access-control-allow-origin")), (403, None));
    let none = stage.ask(&Request::call("echo")).await;
    assert_eq!(none.header("access-control-allow-origin"), None);
}

#[tokio::test]
async fn numbers_have_an_address_of_their_own_if_asked() {
    let metrics = HttpListener::bind(here()).unwrap();
    let address = metrics.address();
    let stage = Stage::new(Set { metrics: Some(metrics), ..Set::default() });
    assert_eq!(stage.ask(&Request::get("/metrics")).await.status, 404);
    for (path, status) in [("/metrics", 200), ("/healthz", 200), ("/readyz", 200), ("/mcp", 404)] {
        let mut client = Client(tokio::net::TcpStream::connect(address).await.unwrap());
        client.send(&Request::get(path).with("host", "anything").bytes()).await;
        let answer = client.answer().await;
        assert_eq!(answer.status, status, "{path}");
        if path == "/metrics" {
            assert_eq!(answer.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
            assert!(
                answer.body.contains("\nconverse_connections 1\n")
                    || answer.body.contains("converse_connections ")
            );
        }
    }
    stage.stop.cancel();
    stage.ended.await.unwrap();
    assert!(tokio::net::TcpStream::connect(address).await.is_err(), "it stays behind");
}
