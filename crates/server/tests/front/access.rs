//! Tokens, before anything else is read.

use std::sync::Arc;

use converse_ensemble::Upstream;
use converse_gateway::{ServedUpstream, Upstreams};
use converse_server::{Access, Tokens};

use crate::stage::{Request, Set, Stage};

const TOKEN: &str = "0123456789abcdef";

fn guarded() -> (Stage, Arc<Tokens>) {
    let tokens = Arc::new(Tokens::read(TOKEN).unwrap());
    let access = Access::open().with_tokens(Arc::clone(&tokens));
    (Stage::new(Set { access, ..Set::default() }), tokens)
}

#[tokio::test]
async fn a_token_lets_in_and_goes_no_further() {
    let (stage, tokens) = guarded();
    let with = |token: &str| Request::call("echo").with("authorization", &format!("Bearer {token}"));
    assert_eq!(stage.ask(&with(TOKEN)).await.said(), "via token 9f9f5111 at 127.0.0.1, token seen: false");
    let wrong = stage.ask(&with("0123456789abcdeg")).await;
    assert_eq!(
        (wrong.status, wrong.header("www-authenticate")),
        (401, Some("Bearer error=\"invalid_token\""))
    );
    let none = stage.ask(&Request::call("echo")).await;
    assert_eq!((none.status, none.header("www-authenticate")), (401, Some("Bearer")));
    let mut in_address = Request::call("echo");
    in_address.line = format!("POST /mcp?access_token={TOKEN} HTTP/1.1");
    assert_eq!(stage.ask(&in_address).await.status, 401);
    tokens.replace("fedcba9876543210").unwrap();
    assert_eq!(stage.ask(&with(TOKEN)).await.status, 401);
    assert_eq!(stage.ask(&with("fedcba9876543210")).await.status, 200);
    let text = stage.counters.text();
    assert!(text.contains("converse_requests_refused_total{reason=\"token\"} 4\n"), "{text}");
}

#[tokio::test]
async fn whoever_is_not_let_in_is_told_before_the_body_is_there() {
    let (stage, _) = guarded();
    let mut client = stage.connect().await;
    client.send(format!("{}content-length: 1000000\r\n\r\n", Request::call("echo").head()).as_bytes()).await;
    assert_eq!(client.answer().await.status, 401);
}

#[tokio::test]
async fn numbers_need_the_token_too_and_health_does_not() {
    let (stage, _) = guarded();
    let ask = async |path: &str| stage.ask(&Request::get(path)).await.status;
    assert_eq!(ask("/healthz").await, 200);
    assert_eq!(ask("/metrics").await, 401);
    let let_in = Request::get("/metrics").with("authorization", &format!("Bearer {TOKEN}"));
    assert_eq!(stage.ask(&let_in).await.status, 200);
}

#[tokio::test]
async fn readiness_follows_required_servers_and_their_states_need_the_token() {
    let upstream = Arc::<Upstream>::default();
    let ensemble = "needed".to_owned().try_into().unwrap();
    let served = ServedUpstream { ensemble, is_required: true, upstream: Arc::clone(&upstream) };
    let access = Access::open().with_tokens(Arc::new(Tokens::read(TOKEN).unwrap()));
    let upstreams = Upstreams::new(vec![served]);
    let stage = Stage::new(Set { access, upstreams, ..Set::default() });
    let open = Stage::new(Set::default());
    let with_token = || Request::get("/readyz").with("authorization", &format!("Bearer {TOKEN}"));
    for (is_up, status) in [(false, 503), (true, 200), (false, 503)] {
        match is_up {
            true => drop(upstream.connected()),
            false => drop(upstream.failed("no such file".to_owned())),
        }
        let answer = stage.ask(&Request::get("/readyz")).await;
        assert_eq!((answer.status, answer.body.trim_end()), (status, &*format!("{{\"ready\":{is_up}}}")));
        let detailed = stage.ask(&with_token()).await;
        assert_eq!(detailed.status, status);
        let state = if is_up { "\"state\":\"connected\"" } else { "\"state\":\"down\"" };
        assert!(
            detailed.body.contains("\"ensemble\":\"needed\"") && detailed.body.contains(state),
            "{}",
            detailed.body
        );
        assert!(!detailed.body.contains("no such file"), "{}", detailed.body);
    }
    let elsewhere = stage.ask(&with_token().with("host", "evil.example")).await;
    assert!(!elsewhere.body.contains("needed"), "{}", elsewhere.body);
    assert_eq!(stage.ask(&Request::get("/readyz").method("POST")).await.status, 405);
    assert_eq!(stage.ask(&Request::get("/healthz")).await.status, 200, "alive all the same");
    let nothing_behind = open.ask(&Request::get("/readyz")).await;
    assert_eq!((nothing_behind.status, nothing_behind.body.contains("upstreams")), (200, true));
}
