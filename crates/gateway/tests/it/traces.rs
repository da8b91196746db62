//! The spans of calls: below the span of their client, and with the kind of error with which they ended.

use std::sync::{Arc, Mutex};

use converse_engine::{CallSpan, CallSpans};
use converse_testkit::hang_guard::ends;
use converse_text::trace_context::TraceContext;
use serde_json::{Value, json};

use crate::stage::Set;

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN: &str = "00f067aa0ba902b7";

#[derive(Default)]
struct Recorded(Mutex<Vec<CallSpan>>);

impl CallSpans for Recorded {
    fn begin(&self, caller: Option<&TraceContext>) -> Option<TraceContext> {
        Some(caller.map_or(TraceContext::root(1, 2), |caller| caller.child(3)))
    }

    fn end(&self, call: CallSpan) {
        self.0.lock().unwrap().push(call);
    }
}

impl Recorded {
    /// The spans that ended: tool, trace, state and error.
    async fn taken(&self, count: usize) -> Vec<(Option<String>, Option<String>, String, Option<String>)> {
        let waiting = async {
            while self.0.lock().unwrap().len() < count {
                tokio::time::sleep(std::time::Duration::from_millis(2)).await;
            }
        };
        ends("waiting for spans", waiting).await;
        let spans = std::mem::take(&mut *self.0.lock().unwrap());
        let caller = |span: &CallSpan| span.caller.as_ref().map(TraceContext::trace_id);
        let state = |span: &CallSpan| span.context.as_ref().unwrap().state().to_owned();
        spans
            .iter()
            .map(|span| {
                (span.tool.as_deref().map(str::to_owned), caller(span), state(span), span.error.clone())
            })
            .collect()
    }
}

#[tokio::test]
async fn a_call_is_a_span_below_that_of_its_client() {
    let spans = Arc::new(Recorded::default());
    let stage = Set { spans: Some(Arc::clone(&spans) as _), ..Set::default() }.up().await;
    let mut client = stage.client();
    client.initialize().await;
    let (whole, trace) = (format!("00-{TRACE}-{SPAN}-01"), Some(TRACE.to_owned()));
    for (id, (meta, tool, expected)) in (1..).zip([
        (json!({}), "one__echo", (Some("one.echo"), None, "", None)),
        (
            json!({ "traceparent": whole, "tracestate": "a=b" }),
            "one__echo",
            (Some("one.echo"), trace.clone(), "a=b", None),
        ),
        (
            json!({ "traceparent": whole, "tracestate": "a=b\u{1b}[2J" }),
            "one__echo",
            (Some("one.echo"), trace, "", None),
        ),
        (json!({ "traceparent": "00-x" }), "one__fails", (Some("one.fails"), None, "", Some("tool_error"))),
        (json!({ "traceparent": 7, "tracestate": [] }), "no\u{1b}body", (None, None, "", Some("-32602"))),
    ]) {
        let params = json!({ "name": tool, "arguments": {}, "_meta": meta });
        client.request(id, "tools/call", params).await;
        let answer: Value = client.answer(id).await;
        let (tool, caller, state, error) = expected;
        let expected = (tool.map(str::to_owned), caller, state.to_owned(), error.map(str::to_owned));
        assert_eq!(spans.taken(1).await, [expected], "{answer}");
    }
}

#[tokio::test]
async fn a_call_whose_client_has_gone_is_a_cancelled_span() {
    let spans = Arc::new(Recorded::default());
    let stage = Set { spans: Some(Arc::clone(&spans) as _), ..Set::default() }.up().await;
    let mut client = stage.client();
    client.initialize().await;
    client.call(1, "one__waits", json!({})).await;
    stage.started(1).await;
    client
        .say(json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } }))
        .await;
    let [(tool, .., error)] = &spans.taken(1).await[..] else { panic!("one call, one span") };
    assert_eq!((tool.as_deref(), error.is_some()), (Some("one.waits"), true));
}
