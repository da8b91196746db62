//! A request on its way through the pipeline, with a scripted server behind the port.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use converse_canister::Outcome;
use converse_config::{
    BodyPlan, InvokerKind, InvokerPlan, PartPlan, Permission, Policy, RequestPlan, Scope, SourceMap, Style,
    parse_settings,
};
use converse_text::trace_context::TraceContext;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{json_template, plan as request};
use crate::testing::{Scripted, TempDir, call, call_heard, connect, invocation, plan, surroundings, text};
use crate::{CancelScope, FetchError, Fetched, Host, Roster, Surroundings, Verdict};

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
    let wanted = "ensemble `t`: a tool is left out: x: the environment variable `NONE` is not set; set it: `export NONE=…`";
    assert_eq!(*warnings, [wanted]);
}

#[tokio::test]
async fn a_call_in_a_trace_says_so_unless_the_descriptor_does() {
    let trace = TraceContext::root(1, 2);
    let own = format!("00-{:032x}-{:016x}-01", 1, 2);
    for (headers, expected) in [(&[][..], own.as_str()), (&[("Traceparent", "mine")], "mine")] {
        let request = request("https://api.test/", &[], headers, None);
        let (roster, server) = roster(request, Policy::default(), vec![ok("done")]).await;
        let host = Host::default().traced(Some(trace.clone()));
        call_heard(&roster, json!({}), &CancellationToken::new(), host).await;
        assert_eq!(server.requests.lock().unwrap()[0].headers()["traceparent"], expected);
    }
}

/// A tool that sends a form with a file below this directory.
async fn form_with_file(directory: &TempDir) -> (Roster, Arc<Scripted>) {
    let part = |name: &str, text: &str, is_file, media_type: Option<&str>| PartPlan {
        name: name.into(),
        value: crate::testing::template(text),
        is_file,
        media_type: media_type.map(str::to_owned),
    };
    let parts = vec![
        part("title", "{title}", false, None),
        part("tag", "{tags}", false, None),
        part("none", "{none}", false, None),
        part("meta", "{meta}", false, Some("application/json")),
        part("the \"file\"", "{file}", true, None),
    ];
    let request = RequestPlan {
        method: "POST".into(),
        styles: vec![("tags".to_owned(), Style::Repeat)],
        ..request("https://h/", &[], &[], Some(BodyPlan::Multipart(parts)))
    };
    let server = Arc::new(Scripted { replies: vec![ok("kept")].into(), ..Scripted::default() });
    let plan = plan(InvokerKind::Http(request), Policy::default(), Scope::User);
    let (roster, failures) = connect(&plan, surroundings(directory.path(), Arc::clone(&server) as _)).await;
    assert!(failures.is_empty(), "{failures:?}");
    (roster, server)
}

async fn upload(directory: &TempDir, path: &str) -> (String, Option<http::Request<Bytes>>) {
    let (roster, server) = form_with_file(directory).await;
    let arguments = json!({ "title": "a\r\nb", "tags": ["x", 1], "meta": { "k": [true] }, "file": path });
    let result = call(&roster, arguments, &CancellationToken::new()).await;
    let sent = server.requests.lock().unwrap().pop();
    (text(&result).to_owned(), sent)
}

#[tokio::test]
async fn a_form_has_its_parts_and_the_file_of_the_working_directory() {
    let directory = TempDir::new();
    std::fs::create_dir(directory.path().join("out")).unwrap();
    std::fs::write(directory.path().join("out/p\"1.bin"), b"\x89P\r\n--x\0").unwrap();
    let (told, sent) = upload(&directory, "out/p\"1.bin").await;
    assert_eq!(told, "kept");
    let sent = sent.unwrap();
    let kind = sent.headers()["content-type"].to_str().unwrap().to_owned();
    let boundary = kind.strip_prefix("multipart/form-data; boundary=").unwrap();
    let part = |head: &str, content: &str| {
        format!("--{boundary}\r\nContent-Disposition: form-data; name={head}\r\n\r\n{content}\r\n")
    };
    let mut expected = part("\"title\"", "a\r\nb");
    expected += &part("\"tag\"", "x");
    expected += &part("\"tag\"", "1");
    expected += &part("\"meta\"\r\nContent-Type: application/json", r#"{"k":[true]}"#);
    let head = "\"the %22file%22\"; filename=\"p%221.bin\"\r\nContent-Type: application/octet-stream";
    let file = part(head, "FILE");
    let (before, after) = file.split_once("FILE").unwrap();
    let end = format!("{after}--{boundary}--\r\n");
    let expected = [expected.as_bytes(), before.as_bytes(), b"\x89P\r\n--x\0", end.as_bytes()].concat();
    assert_eq!(String::from_utf8_lossy(sent.body()), String::from_utf8_lossy(&expected));
    assert_eq!(sent.body().as_ref(), expected);
}

#[tokio::test]
async fn no_file_outside_of_the_working_directory_or_with_credentials_is_sent() {
    let (directory, outside) = (TempDir::new(), TempDir::new());
    std::fs::write(outside.path().join("x"), "private").unwrap();
    std::fs::write(directory.path().join("id_ed25519"), "-----BEGIN OPENSSH PRIVATE KEY-----\nx").unwrap();
    std::os::unix::fs::symlink(outside.path().join("x"), directory.path().join("link")).unwrap();
    let elsewhere = outside.path().join("x").to_str().unwrap().to_owned();
    for (path, telling) in [
        (elsewhere.as_str(), "leads outside"),
        ("../x", "leads outside"),
        ("link", "leads outside"),
        ("none", "does not exist"),
        ("", "`file` is empty"),
    ] {
        let (told, sent) = upload(&directory, path).await;
        assert!(told.contains(telling) && sent.is_none(), "{path}: {told} {sent:?}");
    }
    let (roster, server) = form_with_file(&directory).await;
    let judged = |path: &str| roster.judge(&invocation(json!({ "file": path })));
    assert!(
        !matches!(judged("id_ed25519"), Verdict::Allowed(_)),
        "a key needs more than a rule for all tools"
    );
    std::fs::write(directory.path().join("plain"), "x").unwrap();
    assert!(matches!(judged("plain"), Verdict::Allowed(_)));
    let (told, sent) = (call(&roster, json!({ "file": ["plain"] }), &CancellationToken::new()).await, server);
    assert!(text(&told).contains("`file` must be a text: a path"), "{told:?}");
    assert!(sent.requests.lock().unwrap().is_empty());
}

/// Replaces the rules of the roster by those of this settings file.
fn set_rules(roster: &Roster, settings: &str) {
    let mut sources = SourceMap::new();
    let id = sources.add("config.toml", Scope::User, settings);
    let parsed = parse_settings(&sources, id);
    assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics);
    roster.rules().replace(parsed.value.rules);
}

#[tokio::test]
async fn rules_count_for_the_file_that_an_argument_of_any_name_leads_to() {
    let directory = TempDir::new();
    for inner in ["docs", "private"] {
        std::fs::create_dir(directory.path().join(inner)).unwrap();
    }
    for file in ["docs/plain", "private/y", "docs/.env", "private/.env"] {
        std::fs::write(directory.path().join(file), "x").unwrap();
    }
    std::os::unix::fs::symlink("../private/y", directory.path().join("docs/x")).unwrap();
    std::os::unix::fs::symlink("plain", directory.path().join("docs/same")).unwrap();
    let (roster, _) = form_with_file(&directory).await;
    let judged = |path: &str| match roster.judge(&invocation(json!({ "file": path }))) {
        Verdict::Allowed(_) => Permission::Allow,
        Verdict::Ask(_) => Permission::Ask,
        Verdict::Answered(_) => Permission::Deny,
    };
    let rule = |decision: &str, argument: &str, pattern: &str| {
        format!(
            "[[rules]]\ntools = \"*\"\ndecision = \"{decision}\"\narguments = {{ {argument} = {{ path = \"{pattern}\" }} }}\n"
        )
    };
    let docs = rule("allow", "file", "docs/**");
    let all = rule("allow", "file", "**");
    for (rules, path, expected) in [
        (docs.clone(), "docs/plain", Permission::Allow),
        (docs.clone(), "docs/same", Permission::Allow),
        (docs.clone(), "docs/x", Permission::Ask),
        (docs.clone(), "private/y", Permission::Ask),
        (format!("{all}{}", rule("deny", "file", "private/**")), "docs/x", Permission::Deny),
        (format!("{all}{}", rule("ask", "file", "private/**")), "docs/x", Permission::Ask),
        // A rule about the files of all tools.
        (format!("{all}{}", rule("deny", "path", "private/**")), "docs/x", Permission::Deny),
        (format!("{all}{}", rule("deny", "path", "private/**")), "private/y", Permission::Deny),
        (format!("{all}{}", rule("deny", "path", "private/**")), "docs/plain", Permission::Allow),
        // Credentials need a rule that names them in the argument.
        (all.clone(), "docs/.env", Permission::Ask),
        (rule("allow", "file", "docs/.env"), "docs/.env", Permission::Allow),
        (format!("{all}{}", rule("allow", "path", "docs/.env")), "docs/.env", Permission::Ask),
    ] {
        set_rules(&roster, &rules);
        assert_eq!(judged(path), expected, "{rules}{path}");
    }
}

#[tokio::test]
async fn a_file_that_was_not_found_when_the_call_was_judged_is_not_sent() {
    let directory = TempDir::new();
    let (roster, server) = form_with_file(&directory).await;
    let cancel = CancellationToken::new();
    let later = directory.path().join("later");
    for (at_first, told) in
        [(false, "`later` is not allowed: it could not be found when the call was judged"), (true, "kept")]
    {
        assert_eq!(later.exists(), at_first);
        let Verdict::Allowed(approved) = roster.judge(&invocation(json!({ "file": "later" }))) else {
            panic!()
        };
        std::fs::write(&later, "x").unwrap();
        let turn = roster.turn(&approved, &CancelScope::below(&cancel)).await.unwrap();
        let result = roster.invoke(&approved, turn, Host::default(), &cancel).await.result;
        assert!(text(&result).contains(told), "{result:?}");
        assert_eq!(server.requests.lock().unwrap().len(), usize::from(at_first));
    }
}

#[tokio::test]
async fn a_file_must_be_exactly_one_argument() {
    for path in ["a.bin", "out/{file}", "{a}{b}", "${KEY}"] {
        let body = BodyPlan::File(crate::testing::template(path));
        let request = request("https://h/", &[], &[], Some(body));
        let directory = TempDir::new();
        let plan = plan(InvokerKind::Http(request), Policy::default(), Scope::User);
        let (_, failures) =
            connect(&plan, surroundings(directory.path(), Arc::new(Scripted::default()))).await;
        assert!(failures[0].to_string().contains("exactly one argument"), "{path}: {failures:?}");
    }
}
