//! A request on its way through the pipeline, with a scripted server behind the port.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use converse_canister::Outcome;
use converse_config::{BodyPlan, InvokerKind, InvokerPlan, Policy, RequestPlan, Scope};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{json_template, plan as request};
use crate::testing::{Scripted, TempDir, call, connect, plan, surroundings, text};
use crate::{FetchError, Fetched, Roster, Surroundings};

fn ok(body: &str) -> Result<Fetched, FetchError> {
    let body = Bytes::from(body.to_owned());
    let content_type = Some("text/plain".to_owned());
    Ok(Fetched { status: 200, content_type, body, truncated: false, location: None, challenges: vec![] })
}

/// `replies` in the order they are given.
async fn roster(
    request: RequestPlan,
    policy: Policy,
    mut replies: Vec<Result<Fetched, FetchError>>,
) -> (Roster, Arc<Scripted>) {
    replies.reverse();
    let server = Arc::new(Scripted { replies: replies.into(), ..Scripted::default() });
    let directory = TempDir::new();
    let plan = plan(InvokerKind::Http(request), policy, Scope::User);
    let (roster, failures) = connect(&plan, surroundings(directory.path(), Arc::clone(&server) as _)).await;
    assert!(failures.is_empty(), "{failures:?}");
    (roster, server)
}

#[tokio::test]
async fn what_is_declared_is_sent() {
    let body = BodyPlan::Json(json_template(&json!({ "title": "{title}", "n": "{n}" })));
    let headers = [("Authorization", "Bearer ${KEY}"), ("X-Trace", "{trace}")];
    let post = request("https://api.test/v1/{owner}/issues", &[("draft", "{draft}")], &headers, Some(body));
    let (roster, server) =
        roster(RequestPlan { method: "POST".into(), ..post }, Policy::default(), vec![ok("made")]).await;
    let arguments = json!({ "owner": "a/b", "title": "x", "n": 3, "draft": true });
    let result = call(&roster, arguments, &CancellationToken::new()).await;
    assert_eq!((result.outcome, text(&result)), (Outcome::Success, "made"));
    let requests = server.requests.lock().unwrap();
    let [sent] = requests.as_slice() else { panic!("{requests:?}") };
    assert_eq!(sent.method(), "POST");
    assert_eq!(sent.uri(), "https://api.test/v1/a%2Fb/issues?draft=true");
    assert_eq!(sent.body(), r#"{"title":"x","n":3}"#);
    let mut names: Vec<&str> = sent.headers().keys().map(http::HeaderName::as_str).collect();
    names.sort_unstable();
    assert_eq!(names, ["authorization", "content-type"]);
    assert_eq!(sent.headers()["authorization"], "Bearer s3cret");
    assert!(!format!("{sent:?}").contains("s3cret"), "a key can be seen: {sent:?}");
}

#[tokio::test]
async fn only_what_cannot_have_happened_twice_is_tried_again() {
    let fails = |error: fn(String) -> FetchError| vec![Err(error("no".into())), ok("at last")];
    for (replies, idempotent, outcome, told, tries) in [
        (fails(FetchError::Unreachable), false, Outcome::Success, "at last", 2),
        (
            fails(FetchError::Broken),
            false,
            Outcome::Unreachable,
            "no; the request may have been carried out",
            1,
        ),
        (fails(FetchError::Broken), true, Outcome::Success, "at last", 2),
        (fails(FetchError::Refused), false, Outcome::Failed, "no", 1),
        (vec![ok("first"), ok("second")], true, Outcome::Success, "first", 1),
    ] {
        let policy = Policy { max_retries: 3, idempotent, ..Policy::default() };
        let (roster, server) = roster(request("https://h/", &[], &[], None), policy, replies).await;
        let result = call(&roster, json!({}), &CancellationToken::new()).await;
        assert_eq!((result.outcome, text(&result)), (outcome, told));
        assert_eq!(server.requests.lock().unwrap().len(), tries, "{told}");
    }
}

#[tokio::test]
async fn what_must_not_be_sent_is_not() {
    for (url, arguments, outcome) in [
        ("https://h/{x}", json!({ "x": ".." }), Outcome::Invalid),
        ("https://h/{x}", json!({}), Outcome::Invalid),
        ("https://h{x}/", json!({ "x": ".evil.test" }), Outcome::Failed),
    ] {
        let (roster, server) =
            roster(request(url, &[], &[], None), Policy::default(), vec![ok("sent")]).await;
        assert_eq!(call(&roster, arguments, &CancellationToken::new()).await.outcome, outcome, "{url}");
        assert!(server.requests.lock().unwrap().is_empty(), "{url}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_answers_is_left() {
    let policy = Policy { timeout: Duration::from_secs(5), ..Policy::default() };
    let (roster, _) = roster(request("https://h/", &[], &[], None), policy, vec![]).await;
    let began = tokio::time::Instant::now();
    let result = call(&roster, json!({}), &CancellationToken::new()).await;
    assert_eq!(result.outcome, Outcome::Timeout);
    assert_eq!(began.elapsed(), Duration::from_secs(5), "it does not use up the grace");
}

#[tokio::test]
async fn what_is_wrong_with_a_descriptor_is_told_when_connecting() {
    let json = |value| Some(BodyPlan::Json(json_template(&value)));
    for (request, telling) in [
        (request("${NONE}/x", &[], &[], None), "`NONE` is not set"),
        (request("https://h", &[("a", "{x}${NONE}")], &[], None), "`NONE` is not set"),
        (request("https://h", &[], &[("a", "${NONE}")], None), "`NONE` is not set"),
        (request("https://h", &[], &[], json(json!({ "a": [{ "b": "{x}${NONE}" }] }))), "`NONE` is not set"),
        (
            request(
                "https://h",
                &[],
                &[],
                Some(BodyPlan::Form(vec![("a".into(), crate::testing::template("${NONE}"))])),
            ),
            "`NONE` is not set",
        ),
        (request("https://h", &[], &[("Host", "{x}")], None), "`Host` cannot be declared"),
        (
            RequestPlan { method: "G T".into(), ..request("https://h", &[], &[], None) },
            "`G T` is not a method",
        ),
    ] {
        let directory = TempDir::new();
        let plan = plan(InvokerKind::Http(request), Policy::default(), Scope::User);
        let (_, failures) =
            connect(&plan, surroundings(directory.path(), Arc::new(Scripted::default()))).await;
        assert!(failures[0].to_string().contains(telling), "{failures:?}");
    }
}

#[tokio::test]
async fn an_unset_variable_disables_one_invoker_and_not_its_ensemble() {
    let directory = TempDir::new();
    let needs = plan(
        InvokerKind::Http(request("https://h", &[], &[("a", "${NONE}")], None)),
        Policy::default(),
        Scope::User,
    );
    let works = plan(InvokerKind::Http(request("https://h", &[], &[], None)), Policy::default(), Scope::User);
    let mut both = needs.clone();
    both.invokers.push(InvokerPlan { name: "y".to_owned().try_into().unwrap(), ..works.invokers[0].clone() });
    let warnings = Arc::<std::sync::Mutex<Vec<String>>>::default();
    let heard = Arc::clone(&warnings);
    let surroundings = Surroundings {
        warn: Arc::new(move |line| heard.lock().unwrap().push(line)),
        ..surroundings(directory.path(), Arc::new(Scripted::default()))
    };
    let (roster, failures) = connect(&both, surroundings).await;
    assert!(failures.is_empty(), "{failures:?}");
    let names: Vec<_> = roster.offer().tools().map(|tool| tool.qualified.clone()).collect();
    assert_eq!(names, ["t.y"]);
    let warnings = warnings.lock().unwrap();
    let wanted = "ensemble `t`: a tool is left out: x: the environment variable `NONE` is not set";
    assert_eq!(*warnings, [wanted]);
}
