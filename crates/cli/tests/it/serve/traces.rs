//! What a collector is told of the calls of clients, and what upstream servers are told of the trace.

use std::sync::{Arc, Mutex};

use converse_testkit::hang_guard::wait_until;
use serde_json::{Value, json};

use super::{Gate, text};
use crate::env::TestEnv;
use crate::fake_server::FakeServer;
use crate::http::{Answer, Request, serve};
use crate::telemetry::{Collector, attributes};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN: &str = "00f067aa0ba902b7";

/// An MCP server whose input is kept in a file, and an HTTP service.
fn upstream(env: &TestEnv) -> Arc<Mutex<Vec<Request>>> {
    let input = env.path("input");
    let kept = format!("tee -a \"{}\" | \"$0\" \"$@\"", input.display());
    FakeServer::new("up", &[]).in_a_shell(&kept).write(env);
    let heard = Arc::new(Mutex::new(Vec::new()));
    let shared = Arc::clone(&heard);
    let port = serve(move |request| {
        shared.lock().unwrap().push(request);
        Answer::new(200, "text/plain", "served")
    });
    env.write(
        "servers/web.toml",
        &format!(
            "[ensemble]\nname = \"web\"\ndescription = \"A service\"\n\n[[invokers]]\nname = \"get\"\n\
             description = \"Get it\"\npermission = \"allow\"\nhttp = {{ url = \"http://127.0.0.1:{port}/\" }}\n"
        ),
    );
    heard
}

/// The `_meta` of the calls that the MCP server got.
fn metas(env: &TestEnv) -> Vec<Value> {
    let input = std::fs::read_to_string(env.path("input")).unwrap_or_default();
    let messages = input.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    messages
        .filter(|message| message["method"] == "tools/call")
        .map(|call| call["params"]["_meta"].clone())
        .collect()
}

fn call(gate: &mut Gate, id: u64, tool: &str, meta: Value) {
    let arguments = if tool == "up__echo" { json!({ "text": "SAID" }) } else { json!({}) };
    gate.request(id, "tools/call", json!({ "name": tool, "arguments": arguments, "_meta": meta }));
}

fn spans(collector: &Collector) -> Vec<Value> {
    let bodies = collector.bodies("/v1/traces");
    let spans = |body: &Value| body["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap().clone();
    bodies.iter().flat_map(spans).collect()
}

#[test]
fn a_call_continues_the_trace_of_its_client_and_its_servers_continue_that_of_the_call() {
    let (env, collector) = (TestEnv::new(), Collector::new());
    let heard = upstream(&env);
    let env =
        env.var("OTEL_EXPORTER_OTLP_ENDPOINT", collector.address()).var("OTEL_BSP_SCHEDULE_DELAY", "10");
    let mut gate = Gate::begun(&env, &[]);
    let sampled =
        json!({ "traceparent": format!("00-{TRACE}-{SPAN}-01"), "tracestate": "a=b", "baggage": "user=zoe" });
    call(&mut gate, 1, "up__echo", sampled.clone());
    assert_eq!(text(&gate.answer(1)), "SAID");
    wait_until("it is told while the gateway runs", || spans(&collector).len() == 1);
    call(&mut gate, 2, "web__get", sampled);
    assert_eq!(text(&gate.answer(2)), "served");
    call(&mut gate, 3, "up__fail", json!({ "traceparent": format!("00-{TRACE}-{SPAN}-00") }));
    assert_eq!(gate.answer(3)["result"]["isError"], true);
    call(&mut gate, 4, "up__no_such\u{1b}", json!({ "traceparent": "00-ff" }));
    assert_eq!(gate.answer(4)["error"]["code"], -32602);
    assert_eq!(gate.hang_up().0.code, 0);

    let spans = spans(&collector);
    let [echo, get, unknown] = &spans[..] else {
        panic!("a call that its client does not record: {spans:#?}")
    };
    for (span, name) in [(echo, "tools/call up.echo"), (get, "tools/call web.get")] {
        assert_eq!((&span["name"], &span["kind"]), (&json!(name), &json!(2)));
        assert_eq!(
            (&span["traceId"], &span["parentSpanId"], &span["traceState"]),
            (&json!(TRACE), &json!(SPAN), &json!("a=b"))
        );
        assert_eq!(attributes(span)["network.transport"], "pipe");
    }
    assert_eq!(
        (&unknown["name"], &attributes(unknown)["error.type"]),
        (&json!("tools/call"), &json!("-32602"))
    );
    assert!(unknown.get("parentSpanId").is_none() && unknown["traceId"] != TRACE);

    let metas = metas(&env);
    let of = |span: &Value| format!("00-{TRACE}-{}-01", span["spanId"].as_str().unwrap());
    assert_eq!((&metas[0]["traceparent"], &metas[0]["tracestate"]), (&json!(of(echo)), &json!("a=b")));
    assert!(metas[0].get("baggage").is_none(), "{metas:?}");
    let heard = heard.lock().unwrap();
    assert_eq!(
        (heard[0].header("traceparent"), heard[0].header("tracestate")),
        (Some(of(get).as_str()), Some("a=b"))
    );
    assert_eq!(metas[1]["traceparent"], format!("00-{TRACE}-{SPAN}-00"), "what is not recorded is passed on");

    let metrics = collector.bodies("/v1/metrics").pop().expect("metrics");
    let metric = &metrics["resourceMetrics"][0]["scopeMetrics"][0]["metrics"][0];
    assert_eq!(metric["name"], "mcp.server.operation.duration");
    let points = metric["histogram"]["dataPoints"].as_array().unwrap();
    let errors: Vec<_> = points.iter().map(|point| attributes(point)["error.type"].clone()).collect();
    assert_eq!(errors, [Value::Null, Value::Null, json!("tool_error"), json!("-32602")]);
    for sent in ["/v1/traces", "/v1/metrics"].map(|path| format!("{:?}", collector.bodies(path))) {
        assert!(!sent.contains("SAID") && !sent.contains("no_such") && !sent.contains("zoe"), "{sent}");
    }
}

#[test]
fn without_a_collector_the_trace_of_the_client_is_passed_on() {
    let env = TestEnv::new();
    let heard = upstream(&env);
    let mut gate = Gate::begun(&env, &[]);
    let whole = format!("00-{TRACE}-{SPAN}-01");
    call(&mut gate, 1, "web__get", json!({ "traceparent": whole, "tracestate": "not a state" }));
    call(&mut gate, 2, "up__echo", json!({ "traceparent": "00-x\r\ny: z" }));
    assert_eq!((text(&gate.answer(1)), text(&gate.answer(2))), ("served", "SAID"));
    assert_eq!(gate.hang_up().0.code, 0);
    let heard = heard.lock().unwrap();
    assert_eq!((heard[0].header("traceparent"), heard[0].header("tracestate")), (Some(whole.as_str()), None));
    assert!(metas(&env)[0].get("traceparent").is_none());
}
