//! From a request to its response: what is still to be called is called, and when nothing is, the results are worded.

use bytes::Bytes;
use http::{Method, Request as HttpRequest, Response, StatusCode};
use serde_json::Value;

use crate::guide::{Language, guide, unrouted};
use crate::plan::{Arguments, Call, Plan, plan};
use crate::reply::{Reply, malformed, refusal, response};
use crate::request::Request;
use crate::toolbox::Toolbox;
use crate::wording::{is_failure, telling, worded};

/// The response to a Chat Completions request (`POST …/chat/completions` with a JSON body), whole or as an event stream
/// as the body's `stream` asks. What is malformed is answered with status 400 and OpenAI's error object, another path
/// with 404, another method with 405. Equal requests get equal responses.
pub fn respond(request: &HttpRequest<Bytes>) -> Response<Bytes> {
    if !request.uri().path().trim_end_matches('/').ends_with("/chat/completions") {
        return refusal(
            StatusCode::NOT_FOUND,
            "the understudy speaks only chat completions",
            None,
            Some("unknown_url"),
        );
    }
    if request.method() != Method::POST {
        return refusal(StatusCode::METHOD_NOT_ALLOWED, "only `POST` is answered here", None, None);
    }
    match Request::read(request.body()) {
        Ok(mut read) => {
            let toolbox = Toolbox::new(std::mem::take(&mut read.tools));
            let reply = reply(&read, &toolbox);
            response(&read, request.body(), reply)
        }
        Err(error) => malformed(&error),
    }
}

fn reply(request: &Request, toolbox: &Toolbox) -> Reply {
    let language = Language::of(&request.prompt);
    // Without tools nothing can be called, but results that are there can be worded.
    let plan = if toolbox.tools.is_empty() { Plan::default() } else { plan(&request.prompt, toolbox) };
    let next = next(&plan, request);
    if !next.is_empty() {
        return Reply::Calls(next);
    }
    if request.made.is_empty() {
        return Reply::Text(guide(toolbox, language));
    }
    let mut text = worded(&request.made, toolbox, language);
    let left_out = plan.calls.len() > request.made.len();
    if let Some(more) = unrouted(&plan.unrouted, left_out, language) {
        text.push_str("\n\n");
        text.push_str(&more);
    }
    Reply::Text(text)
}

/// The calls of this round: as many as may be made, up to one that needs the answer of the one before it.
fn next(plan: &Plan, request: &Request) -> Vec<(String, String)> {
    let mut round = Vec::new();
    for call in plan.calls.iter().skip(request.made.len()).take(request.most_calls) {
        match ready(call, request, round.is_empty()) {
            Some(arguments) => round.push((call.tool.clone(), arguments)),
            None => break,
        }
    }
    round
}

fn ready(call: &Call, request: &Request, first: bool) -> Option<String> {
    match &call.arguments {
        Arguments::Ready(text) => Some(text.clone()),
        Arguments::Carry { .. } if !first => None,
        Arguments::Carry { arguments, parameter } => {
            let result = request.made.last()?.result.as_deref().filter(|result| !is_failure(result))?;
            let mut arguments = arguments.clone();
            arguments.insert(parameter.clone(), Value::String(telling(result)));
            Some(Value::Object(arguments).to_string())
        }
    }
}
