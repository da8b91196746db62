//! What can go wrong between us and a provider, through the binary: each ends as the contract says.

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;

use crate::body::{Dialect, Says, calls, text};
use crate::env::{Ran, TestEnv};
use crate::http::Answer;
use crate::provider::{KEY, Line, Provider};

fn ask(provider: &Provider, extra: &[&str]) -> Ran {
    let mut args = vec!["ask", "hello", "-m", provider.model()];
    args.extend(extra);
    let ran = provider.env(TestEnv::hasty()).run(&args);
    assert!(!ran.stdout.contains(KEY) && !ran.stderr.contains(KEY), "the key leaked: {ran:?}");
    assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
    ran
}

fn error(status: u16, body: &str) -> Answer {
    Answer::new(status, "application/json", body)
}

fn bent(says: Says, bend: fn(&mut Answer)) -> Line {
    Line::Bent(says, bend)
}

const OVERLOADED: &str = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;

#[test]
fn what_may_pass_is_tried_again() {
    for status in [408, 409, 429, 500, 502, 503, 504, 529] {
        for dialect in [Dialect::Anthropic, Dialect::Chat] {
            let script: Vec<Line> = vec![error(status, OVERLOADED).into(), text("Back.").into()];
            let provider = Provider::new(dialect, script);
            let ran = ask(&provider, &[]).exits(0);
            assert_eq!(ran.stdout, "Back.\n", "{status}");
            provider.is_content();
            let bodies: Vec<Vec<u8>> =
                provider.raw_requests().into_iter().map(|request| request.body).collect();
            assert_eq!(bodies[0], bodies[1], "a retry sends the same bytes");
        }
    }
}

#[test]
fn patience_ends_after_five_tries() {
    let script: Vec<Line> = (0..5).map(|_| error(529, OVERLOADED).into()).collect();
    let provider = Provider::new(Dialect::Anthropic, script);
    let ran = ask(&provider, &[]).exits(5);
    assert!(ran.stderr.contains("error[overloaded]") && ran.stderr.contains("5 attempts"), "{}", ran.stderr);
    assert_eq!(ran.stdout, "");
    provider.is_content();
}

#[test]
fn what_waiting_cannot_cure_is_not_repeated() {
    let quota = r#"{"error":{"message":"You exceeded your quota","type":"insufficient_quota","code":"insufficient_quota"}}"#;
    let spend = r#"{"type":"error","error":{"type":"rate_limit_error","message":"spend limit","details":{"error_code":"enforced_spend_limit_reached"}}}"#;
    for (dialect, status, body, exit) in [
        (Dialect::Chat, 401, r#"{"error":{"message":"Incorrect API key"}}"#, 4),
        (Dialect::Chat, 401, r#"{"detail":"Unauthorized"}"#, 4),
        (Dialect::Chat, 403, r#"{"error":{"message":"no"}}"#, 4),
        (Dialect::Chat, 402, r#"{"error":{"message":"pay"}}"#, 4),
        (Dialect::Chat, 429, quota, 4),
        (Dialect::Anthropic, 429, spend, 4),
        (
            Dialect::Anthropic,
            401,
            r#"{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}"#,
            4,
        ),
        (Dialect::Chat, 400, r#"{"error":{"message":"bad"}}"#, 6),
        (Dialect::Chat, 404, r#"{"error":{"message":"no such model"}}"#, 6),
        (
            Dialect::Anthropic,
            413,
            r#"{"type":"error","error":{"type":"request_too_large","message":"too large"}}"#,
            6,
        ),
        (Dialect::Chat, 422, r#"{"error":{"message":"unprocessable"}}"#, 6),
    ] {
        let provider = Provider::new(dialect, [error(status, body)]);
        let ran = ask(&provider, &[]).exits(exit);
        assert!(ran.stderr.contains("error["), "{}", ran.stderr);
        provider.is_content();
    }
}

#[test]
fn a_provider_that_echoes_the_key_does_not_get_it_printed() {
    let provider =
        Provider::chat([error(401, &format!(r#"{{"error":{{"message":"Incorrect API key: {KEY}"}}}}"#))]);
    let ran = ask(&provider, &["-vvv"]).exits(4);
    assert!(ran.stderr.contains("[redacted]"), "{}", ran.stderr);
    let provider =
        Provider::chat([error(401, &format!(r#"{{"error":{{"message":"Incorrect API key: {KEY}"}}}}"#))]);
    ask(&provider, &["-o", "jsonl"]).exits(4);
    // Not while it is tried again either, in records or in lines.
    let echo = || error(500, &format!(r#"{{"error":{{"message":"broke for {KEY}"}}}}"#));
    for extra in [&["-o", "jsonl"][..], &["-v"]] {
        let provider = Provider::chat([Line::from(echo()), text("Ok.").into()]);
        let ran = ask(&provider, extra).exits(0);
        assert!(format!("{ran:?}").contains("[redacted]"), "{ran:?}");
    }
}

#[test]
fn half_a_key_is_no_less_a_secret() {
    // In the line of a tool, which is cut; and in a provider's error, which is cut too.
    let key = format!("sk-proj-{}", "Q".repeat(85));
    let script: Vec<Line> = vec![
        calls([("io__read_file", json!({ "path": "keys.txt" }))]).into(),
        error(401, &format!(r#"{{"error":{{"message":"{}{key}"}}}}"#, "x".repeat(2010))).into(),
    ];
    let provider = Provider::chat(script);
    let env = provider.env(TestEnv::new()).var("OTHER_API_KEY", key.as_str());
    env.write("work/keys.txt", &key);
    let ran = env.run(&["ask", "go", "-m", provider.model(), "-v"]).exits(4);
    assert!(ran.stderr.contains("[redacted]") && !ran.stderr.contains("sk-proj-QQ"), "{}", ran.stderr);
}

#[test]
fn a_key_is_a_key_whatever_its_variable_is_called() {
    let provider = Provider::chat([error(401, r#"{"error":{"message":"bad key corp-0123456789abcdef"}}"#)]);
    let base = provider.base_url();
    let env = TestEnv::hasty().var("CORP_PASS", "corp-0123456789abcdef");
    let settings = format!("[providers.corp]\nbase_url = \"{base}\"\nkey_env = \"CORP_PASS\"\n");
    env.write("home/.config/converse/config.toml", &settings);
    let ran = env.run(&["ask", "hello", "-m", "corp/x", "-vvv"]).exits(4);
    assert!(ran.stderr.contains("[redacted]") && !ran.stderr.contains("corp-0123456789abcdef"), "{ran:?}");
    assert_eq!(provider.raw_requests()[0].header("authorization"), Some("Bearer corp-0123456789abcdef"));
}

/// A server with a certificate that nobody vouches for; counts who came.
fn self_signed() -> (u16, Arc<AtomicUsize>) {
    use rustls::pki_types::{CertificateDer, PrivateKeyDer};
    let certificate = CertificateDer::from(include_bytes!("tls/self-signed.der").to_vec());
    let key = PrivateKeyDer::try_from(include_bytes!("tls/self-signed.key.der").to_vec()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (config, visits) = (Arc::new(config), Arc::new(AtomicUsize::new(0)));
    let counted = Arc::clone(&visits);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            counted.fetch_add(1, Ordering::SeqCst);
            let mut connection = rustls::ServerConnection::new(Arc::clone(&config)).unwrap();
            let _ = connection.complete_io(&mut stream);
        }
    });
    (port, visits)
}

#[test]
fn a_certificate_nobody_vouches_for_is_not_tried_again() {
    let (port, visits) = self_signed();
    let env = TestEnv::hasty()
        .var("OPENAI_BASE_URL", format!("https://127.0.0.1:{port}/v1"))
        .var("OPENAI_API_KEY", KEY);
    let ran = env.run(&["ask", "hello", "-m", "openai-chat/x"]).exits(5);
    assert!(ran.stderr.contains("error[tls]") && !ran.stderr.contains("attempts"), "{}", ran.stderr);
    assert_eq!(visits.load(Ordering::SeqCst), 1);
}

#[test]
fn a_server_that_speaks_no_tls_is_not_tried_again() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n");
        }
    });
    let env = TestEnv::hasty()
        .var("OPENAI_BASE_URL", format!("https://127.0.0.1:{port}/v1"))
        .var("OPENAI_API_KEY", KEY);
    let ran = env.run(&["ask", "hello", "-m", "openai-chat/x"]).exits(5);
    assert!(ran.stderr.contains("error[tls]") && !ran.stderr.contains("attempts"), "{}", ran.stderr);
}

#[test]
fn retry_after_in_its_forms() {
    let wait = |header: &'static str, value: &'static str| {
        let script: Vec<Line> = vec![error(429, OVERLOADED).header(header, value).into(), text("Ok.").into()];
        let provider = Provider::new(Dialect::Anthropic, script);
        let records = ask(&provider, &["-o", "jsonl"]).exits(0).records();
        provider.is_content();
        records.iter().find(|record| record["type"] == "retry").unwrap()["delay_ms"].as_u64().unwrap()
    };
    assert_eq!(wait("retry-after", "0"), 0);
    assert_eq!(wait("retry-after", "0.25"), 250);
    assert_eq!(wait("retry-after-ms", "120"), 120);
    assert!(wait("retry-after", "-1") <= 1 && wait("retry-after", "garbage") <= 1, "our own backoff");
    assert!(wait("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT") <= 1);

    let provider = Provider::new(Dialect::Anthropic, [error(429, OVERLOADED).header("retry-after", "86400")]);
    let ran = ask(&provider, &[]).exits(5);
    assert!(ran.stderr.contains("retry after 24 h"), "{}", ran.stderr);
    // Without a `Date` beside it, which a server should send: our clock counts.
    let far = error(429, OVERLOADED).header("retry-after", "Fri, 31 Dec 2100 23:59:59 GMT");
    let provider = Provider::new(Dialect::Anthropic, [far]);
    let ran = ask(&provider, &[]).exits(5);
    assert!(ran.stderr.contains("retry after"), "{}", ran.stderr);
    provider.is_content();
    let provider =
        Provider::new(Dialect::Anthropic, [error(503, OVERLOADED).header("x-should-retry", "false")]);
    ask(&provider, &[]).exits(5);
    provider.is_content();
}

#[test]
fn pages_that_are_no_api() {
    let page =
        "<!doctype html><html><head><title>Bad \x1b[31mgateway</title></head><body>nginx</body></html>";
    let script: Vec<Line> = (0..5).map(|_| Answer::new(502, "text/html", page).into()).collect();
    let ran = ask(&Provider::chat(script), &[]).exits(5);
    assert!(ran.stderr.contains("HTML page titled") && !ran.stderr.contains('\x1b'), "{}", ran.stderr);
    assert!(!ran.stderr.contains("<html>"), "no tag soup: {}", ran.stderr);
    for (kind, body) in [
        ("text/html", page),
        ("application/json", ""),
        ("application/json", "[1,2]"),
        ("text/plain", "hello"),
    ] {
        let provider = Provider::chat([Answer::new(200, kind, body)]);
        ask(&provider, &[]).exits(6);
        provider.is_content();
    }
    let provider = Provider::chat([Answer::new(
        200,
        "text/event-stream",
        r#"{"error":{"message":"in disguise","code":400}}"#,
    )]);
    ask(&provider, &[]).exits(6);
}

#[test]
fn an_error_after_200_is_an_error() {
    let late = |says: &str| Answer::new(200, "text/event-stream", format!("event: error\ndata: {says}\n\n"));
    let script: Vec<Line> = vec![late(OVERLOADED).into(), text("Fine.").into()];
    let provider = Provider::new(Dialect::Anthropic, script);
    assert_eq!(ask(&provider, &[]).exits(0).stdout, "Fine.\n");
    provider.is_content();
}

#[test]
fn a_stream_cut_before_any_word_is_tried_again() {
    for dialect in [Dialect::Anthropic, Dialect::Chat] {
        let cut = |answer: &mut Answer| answer.cut_at = Some(answer.body.len() / 8);
        let script: Vec<Line> = vec![bent(text("Whole."), cut), text("Whole.").into()];
        let provider = Provider::new(dialect, script);
        assert_eq!(ask(&provider, &[]).exits(0).stdout, "Whole.\n");
        provider.is_content();
    }
}

#[test]
fn a_stream_cut_after_words_keeps_them_on_a_pipe_and_retracts_them_in_records() {
    fn cut(answer: &mut Answer) {
        let text = String::from_utf8(answer.body.clone()).unwrap();
        answer.cut_at = Some(text.find("three").unwrap());
    }
    for dialect in [Dialect::Anthropic, Dialect::Chat] {
        let provider = Provider::new(dialect, [bent(text("one two three four"), cut)]);
        let ran = ask(&provider, &[]).exits(5);
        assert_eq!(ran.stdout, "one two \n");
        assert!(
            ran.stderr.contains("error[cut-short]") && ran.stderr.contains("--session"),
            "{}",
            ran.stderr
        );
        provider.is_content();

        let script: Vec<Line> = vec![bent(text("one two three four"), cut), text("again").into()];
        let provider = Provider::new(dialect, script);
        let records = ask(&provider, &["-o", "jsonl"]).exits(0).records();
        let retry = records.iter().find(|record| record["type"] == "retry").unwrap();
        assert_eq!(retry["discard"], true);
        let completed = records.iter().find(|record| record["type"] == "message.completed").unwrap();
        assert_eq!(completed["text"], "again");
        provider.is_content();
    }
}

#[test]
fn no_tool_of_a_cut_stream_runs() {
    for dialect in [Dialect::Anthropic, Dialect::Chat] {
        // The whole call has come; the end of the message has not.
        let cut = |answer: &mut Answer| {
            let body = String::from_utf8(answer.body.clone()).unwrap();
            let end =
                body.find("message_delta").or_else(|| body.find("\"finish_reason\":\"tool_calls\"")).unwrap();
            answer.cut_at = Some(end - 200);
        };
        let expression = json!({ "expression": "6*7" });
        let script: Vec<Line> =
            vec![bent(calls([("essentials__calculator", expression)]), cut), text("None.").into()];
        let provider = Provider::new(dialect, script);
        let ran = ask(&provider, &["-o", "json"]).exits(0);
        assert_eq!(ran.json()["invocations"], json!([]));
        provider.is_content();
    }
}

#[test]
fn a_silent_stream_ends() {
    let stall = |answer: &mut Answer| {
        answer.cut_at = Some(answer.body.len() / 3);
        answer.stall = true;
    };
    let script: Vec<Line> = vec![bent(text("Slow."), stall), text("Quick.").into()];
    let provider = Provider::chat(script);
    let env = provider.env(TestEnv::new());
    env.write("home/.config/converse/config.toml", "[timeouts]\nstream_idle = 100\nretry_first = 1\n");
    let ran = env.run(&["ask", "hello", "-m", provider.model(), "-o", "json"]).exits(0);
    assert_eq!(ran.json()["answer"], "Quick.");
}

#[test]
fn nobody_listens() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let env = TestEnv::hasty()
        .var("OPENAI_BASE_URL", format!("http://127.0.0.1:{port}/v1"))
        .var("OPENAI_API_KEY", KEY);
    let ran = env.run(&["ask", "hello", "-m", "openai-chat/x"]).exits(5);
    assert!(
        ran.stderr.contains("error[unreachable]") && ran.stderr.contains(&port.to_string()),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_model_that_cannot_be_used_is_said_before_anything_is_sent() {
    let env = TestEnv::new();
    let ran = env.run(&["ask", "hello", "-m", "anthropic/claude-x"]).exits(4);
    assert!(
        ran.stderr.contains("error[no-key]") && ran.stderr.contains("ANTHROPIC_API_KEY"),
        "{}",
        ran.stderr
    );
    let ran = env.run(&["ask", "hello", "-m", "antropic/claude-x"]).exits(2);
    assert!(ran.stderr.contains("did you mean `anthropic`"), "{}", ran.stderr);
    let ran = env.run(&["ask", "hello", "-m", "nothing-known"]).exits(2);
    assert!(ran.stderr.contains("error[unknown-model]"), "{}", ran.stderr);
}
