//! What an OpenTelemetry collector is told, and that nobody waits for it or hears from it.

use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use converse_testkit::hang_guard::wait_until;
use serde_json::{Value, json};

use crate::body::{calls, text};
use crate::env::TestEnv;
use crate::http::{Answer, Request, serve};
use crate::provider::{KEY, Line, Provider};
use crate::screen::Screen;

const SECRET: &str = "otlp-canary-0123456789";
const SAID: &str = "WORDS-NOBODY-ELSE-READS";

/// A collector on loopback, and what it was sent.
pub(crate) struct Collector {
    port: u16,
    heard: Arc<Mutex<Vec<Request>>>,
}

impl Collector {
    fn answering(answer: fn() -> Answer) -> Self {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let shared = Arc::clone(&heard);
        let port = serve(move |request| {
            shared.lock().unwrap().push(request);
            answer()
        });
        Self { port, heard }
    }

    pub(crate) fn new() -> Self {
        Self::answering(|| Answer::new(200, "application/json", "{}"))
    }

    pub(crate) fn address(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    pub(crate) fn bodies(&self, path: &str) -> Vec<Value> {
        let heard = self.heard.lock().unwrap();
        let fitting = heard.iter().filter(|request| request.path == path);
        fitting.map(|request| serde_json::from_slice(&request.body).unwrap()).collect()
    }

    #[track_caller]
    fn spans(&self) -> Vec<Value> {
        let body = self.bodies("/v1/traces").pop().expect("no traces");
        body["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap().clone()
    }
}

/// A turn with a call that runs, one with bad arguments, and an answer.
fn provider() -> Provider {
    let good = ("essentials__calculator", json!({ "expression": "6*7" }));
    let bad = ("essentials__calculator", json!({ "expression": ["no"] }));
    Provider::chat([calls([good, bad]), text("It is 42.")])
}

fn env(provider: &Provider, collector: &Collector) -> TestEnv {
    provider.env(TestEnv::hasty()).var("OTEL_EXPORTER_OTLP_ENDPOINT", collector.address())
}

/// The attributes of a span or a point, as plain values.
pub(crate) fn attributes(of: &Value) -> Value {
    let attributes = of["attributes"].as_array().unwrap().iter();
    let plain = attributes.map(|attribute| {
        let value = attribute["value"].as_object().unwrap().values().next().unwrap().clone();
        (attribute["key"].as_str().unwrap().to_owned(), value)
    });
    Value::Object(plain.collect())
}

fn named<'a>(spans: &'a [Value], name: &str) -> Vec<&'a Value> {
    spans.iter().filter(|span| span["name"] == name).collect()
}

fn nanos(span: &Value, key: &str) -> u64 {
    span[key].as_str().unwrap().parse().unwrap()
}

fn is_id(value: &Value, digits: usize) -> bool {
    let text = value.as_str().unwrap();
    text.len() == digits
        && text.bytes().all(|byte| byte.is_ascii_hexdigit())
        && text.bytes().any(|byte| byte != b'0')
}

#[test]
fn a_turn_is_one_trace_by_the_conventions() {
    let (provider, collector) = (provider(), Collector::new());
    let env = env(&provider, &collector)
        .var("OTEL_EXPORTER_OTLP_HEADERS", format!("x-token={SECRET}"))
        .var("OTEL_SERVICE_NAME", "night-shift")
        .var("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=ci%20box,service.name=not-this");
    let ran = env.run(&["ask", SAID, "-m", provider.model(), "-o", "json"]).exits(0);
    assert!(ran.stderr.is_empty(), "{}", ran.stderr);
    let spans = collector.spans();
    assert_eq!(spans.len(), 5, "{spans:#?}");
    let agent = named(&spans, "invoke_agent converse")[0];
    assert!(
        is_id(&agent["traceId"], 32) && is_id(&agent["spanId"], 16) && agent.get("parentSpanId").is_none()
    );
    for span in &spans {
        assert_eq!(span["traceId"], agent["traceId"]);
        assert_eq!(attributes(span)["gen_ai.conversation.id"], ran.json()["session"]);
        let (from, to) = (nanos(span, "startTimeUnixNano"), nanos(span, "endTimeUnixNano"));
        let (began, ended) = (nanos(agent, "startTimeUnixNano"), nanos(agent, "endTimeUnixNano"));
        assert!(began <= from && from <= to && to <= ended && began > 1_600_000_000_000_000_000, "{span}");
        if span["spanId"] != agent["spanId"] {
            assert_eq!(span["parentSpanId"], agent["spanId"]);
        }
    }
    let chats = named(&spans, "chat stub");
    let reasons =
        |span: &Value| attributes(span)["gen_ai.response.finish_reasons"]["values"][0]["stringValue"].clone();
    assert_eq!((chats.len(), reasons(chats[0]), reasons(chats[1])), (2, json!("tool_call"), json!("stop")));
    let chat = attributes(chats[0]);
    for (key, value) in [
        ("gen_ai.operation.name", "chat"),
        ("gen_ai.provider.name", "openai"),
        ("gen_ai.request.model", "stub"),
    ] {
        assert_eq!(chat[key], value, "{chat}");
    }
    // Whole numbers of 64 bits are strings.
    assert!(chat["gen_ai.usage.input_tokens"].as_str().unwrap().parse::<u64>().unwrap() > 0, "{chat}");
    assert_eq!((&chats[0]["kind"], &agent["kind"]), (&json!(3), &json!(1)));
    let tools = named(&spans, "execute_tool essentials.calculator");
    let outcomes: Vec<_> =
        tools.iter().map(|tool| attributes(tool)["converse.tool.outcome"].clone()).collect();
    let mut sorted: Vec<_> = outcomes.iter().map(|outcome| outcome.as_str().unwrap()).collect();
    sorted.sort_unstable();
    assert_eq!(sorted, ["invalid", "success"]);
    for tool in tools {
        let of = attributes(tool);
        assert_eq!(of["gen_ai.tool.name"], "essentials.calculator");
        assert!(of["gen_ai.tool.call.id"].as_str().unwrap().starts_with("inv_"), "{of}");
        let failed = of["converse.tool.outcome"] == "invalid";
        assert_eq!((of.get("error.type").is_some(), tool["status"]["code"] == 2), (failed, failed));
    }
    metrics(&collector);
    let heard = collector.heard.lock().unwrap();
    assert_eq!(heard.len(), 2);
    for request in heard.iter() {
        assert_eq!(
            (request.header("content-type"), request.header("x-token")),
            (Some("application/json"), Some(SECRET))
        );
        let body = String::from_utf8(request.body.clone()).unwrap();
        for secret in [SAID, "6*7", "It is 42", KEY, SECRET] {
            assert!(!body.contains(secret), "{secret} in {body}");
        }
        for told in ["night-shift", "ci box"] {
            assert!(body.contains(told), "{told}: {body}");
        }
        assert!(!body.contains("not-this"));
    }
}

fn metrics(collector: &Collector) {
    let body = collector.bodies("/v1/metrics").pop().unwrap();
    let metrics = body["resourceMetrics"][0]["scopeMetrics"][0]["metrics"].as_array().unwrap();
    let names: Vec<_> =
        metrics.iter().map(|metric| (metric["name"].as_str().unwrap(), &metric["unit"])).collect();
    assert_eq!(
        names,
        [("gen_ai.client.token.usage", &json!("{token}")), ("gen_ai.client.operation.duration", &json!("s"))]
    );
    for metric in metrics {
        let histogram = &metric["histogram"];
        assert_eq!(histogram["aggregationTemporality"], 2);
        for point in histogram["dataPoints"].as_array().unwrap() {
            assert_eq!(point["count"], "2", "{point}");
            let buckets = point["bucketCounts"].as_array().unwrap();
            assert_eq!(buckets.len(), point["explicitBounds"].as_array().unwrap().len() + 1);
            let sum: u64 = buckets.iter().map(|count| count.as_str().unwrap().parse::<u64>().unwrap()).sum();
            assert_eq!(sum, 2);
        }
    }
    let points = metrics[0]["histogram"]["dataPoints"].as_array().unwrap();
    let kinds: Vec<_> = points.iter().map(|point| attributes(point)["gen_ai.token.type"].clone()).collect();
    assert_eq!(kinds, ["input", "output"]);
}

#[test]
fn a_trace_goes_on_where_the_caller_left_it() {
    let (provider, collector) = (provider(), Collector::new());
    let (trace, span) = ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7");
    let env = env(&provider, &collector)
        .var("TRACEPARENT", format!("00-{trace}-{span}-01"))
        .var("TRACESTATE", "a=b");
    env.run(&["ask", "x", "-m", provider.model()]).exits(0);
    let spans = collector.spans();
    assert!(spans.iter().all(|span| span["traceId"] == trace && span["traceState"] == "a=b"));
    assert_eq!(named(&spans, "invoke_agent converse")[0]["parentSpanId"], span);
}

#[test]
fn a_failed_turn_is_told_with_its_kind() {
    let refusal = || Answer::new(401, "application/json", "{\"error\":{\"message\":\"no\"}}");
    let provider = Provider::chat([Line::Raw(refusal())]);
    let collector = Collector::new();
    let ran = env(&provider, &collector).run(&["ask", "x", "-m", provider.model()]);
    assert_ne!(ran.code, 0);
    let spans = collector.spans();
    assert_eq!(spans.len(), 2);
    for span in &spans {
        assert_eq!(span["status"]["code"], 2, "{span}");
        assert!(attributes(span)["error.type"].is_string());
    }
}

#[test]
fn nothing_is_sent_unless_it_is_asked_for() {
    for off in [
        &[][..],
        &[("OTEL_SDK_DISABLED", "true")],
        &[("OTEL_TRACES_EXPORTER", "none"), ("OTEL_METRICS_EXPORTER", "none")],
    ] {
        let (provider, collector) = (provider(), Collector::new());
        let mut env = env(&provider, &collector);
        if off.is_empty() {
            env = env.without("OTEL_EXPORTER_OTLP_ENDPOINT");
        }
        env = off.iter().fold(env, |env, (name, value)| env.var(name, *value));
        env.run(&["ask", "x", "-m", provider.model()]).exits(0);
        assert!(collector.heard.lock().unwrap().is_empty(), "{off:?}");
    }
    // What only speaks of it never says anything either.
    let collector = Collector::new();
    let env = TestEnv::new().var("OTEL_EXPORTER_OTLP_ENDPOINT", collector.address());
    env.run(&["sessions", "list"]).exits(0);
    assert!(collector.heard.lock().unwrap().is_empty());
}

#[test]
fn a_collector_that_fails_is_heard_of_with_v_alone() {
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let broken = Collector::answering(|| Answer::new(500, "text/plain", "no"));
    for (address, problem) in [(format!("http://{gone}"), "cannot be reached"), (broken.address(), "500")] {
        for (flag, told) in [("-q", 0), ("--plain", 0), ("-v", 1)] {
            let provider = provider();
            let env = provider.env(TestEnv::hasty()).var("OTEL_EXPORTER_OTLP_ENDPOINT", &address);
            let ran = env.run(&["ask", "x", "-m", provider.model(), flag]).exits(0);
            assert_eq!(ran.stdout, "It is 42.\n");
            let warnings: Vec<_> = ran.stderr.lines().filter(|line| line.contains("collector:")).collect();
            assert_eq!(warnings.len(), told, "{flag}: {}", ran.stderr);
            assert!(warnings.iter().all(|warning| warning.contains(problem)), "{warnings:?}");
        }
    }
}

#[test]
fn a_slow_collector_delays_no_answer_and_the_end_by_two_seconds() {
    // Nobody ever accepts what the system has accepted already.
    let stalling = TcpListener::bind("127.0.0.1:0").unwrap();
    let provider = provider();
    let address = format!("http://{}", stalling.local_addr().unwrap());
    let env = provider.env(TestEnv::hasty()).var("OTEL_EXPORTER_OTLP_ENDPOINT", address);
    let began = Instant::now();
    let (read, write) = std::io::pipe().unwrap();
    let mut command = env.command(["ask", "x", "-m", provider.model(), "-o", "json", "-v"]);
    let child = command.stdout(write).spawn().unwrap();
    // The other end of the pipe is the program's alone.
    drop(command);
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(read), &mut line).unwrap();
    let answered = began.elapsed();
    assert!(line.contains("It is 42"), "{line}");
    let ran = crate::env::wait(child).exits(0);
    let waited = began.elapsed() - answered;
    assert!(waited > Duration::from_millis(1500), "it was not waited for: {waited:?}");
    assert!(ran.stderr.contains("did not answer within 2 s"), "{}", ran.stderr);
}

#[test]
fn what_is_not_spoken_is_said_and_nothing_is_sent() {
    let (provider, collector) = (provider(), Collector::new());
    let env = env(&provider, &collector).var("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc");
    let ran = env.run(&["ask", "x", "-m", provider.model()]).exits(0);
    assert_eq!(ran.stderr.matches("OTLP by `grpc` is not spoken here").count(), 1, "{}", ran.stderr);
    assert!(collector.heard.lock().unwrap().is_empty());
}

#[test]
fn each_turn_of_a_conversation_is_told_when_it_ends() {
    let provider = Provider::chat([text("First."), text("Second.")]);
    let collector = Collector::new();
    let env = env(&provider, &collector);
    let mut screen = Screen::run(&env, &["-m", provider.model()]);
    for (words, answer, traces) in [("one", "First.", 1), ("two", "Second.", 2)] {
        screen.says(words);
        screen.shows(answer);
        wait_until("it is told before the end", || collector.bodies("/v1/traces").len() >= traces);
    }
    screen.says("/quit");
    assert_eq!(screen.ends(), 0);
    let bodies = collector.bodies("/v1/traces");
    let trace = |body: &Value| body["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["traceId"].clone();
    assert_ne!(trace(&bodies[0]), trace(&bodies[1]));
    let counts: Vec<_> = collector
        .bodies("/v1/metrics")
        .iter()
        .map(|body| {
            let metrics = &body["resourceMetrics"][0]["scopeMetrics"][0]["metrics"];
            metrics[1]["histogram"]["dataPoints"][0]["count"].clone()
        })
        .collect();
    assert_eq!(counts, ["1", "2"], "since the beginning");
}
