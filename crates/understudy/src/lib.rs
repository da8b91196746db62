//! The understudy: the built-in keyword router that stands in where no model is configured.
//!
//! One pure function, [`respond()`], takes an OpenAI Chat Completions request and returns the response, whole or streamed.
//! The last user message is cut into clauses, each clause is compared with the *declared* tools (their names, descriptions
//! and schemas; no tool is known beforehand), required arguments are taken from the text, and results become the answer.
//! The explicit form `@ensemble.invoker key=value …` needs no guessing.
//!
//! It makes no argument up, composes no text and remembers nothing between two requests. Equal requests get equal bytes:
//! the second round of a turn plans the prompt again and counts the calls already made.
//!
//! ```
//! use bytes::Bytes;
//!
//! let tool = r#"{"type": "function", "function": {"name": "desk__sum", "description": "Arithmetic",
//!     "parameters": {"required": ["expression"], "properties": {"expression": {"type": "string"}}}}}"#;
//! let body = format!(r#"{{"model": "understudy", "tools": [{tool}], "messages": [{{"role": "user", "content": "What is 2+2?"}}]}}"#);
//! let request = http::Request::post("/v1/chat/completions").body(Bytes::from(body)).unwrap();
//! let response = converse_understudy::respond(&request);
//! assert!(String::from_utf8_lossy(response.body()).contains(r#"{\"expression\":\"2 + 2\"}"#));
//! ```

mod answer;
mod arithmetic;
mod clause;
mod evidence;
mod explicit;
mod fill;
mod numbers;
mod places;
mod plan;
mod reply;
mod request;
mod route;
mod text;
mod tokens;
mod tool;
mod value;
mod words;

use bytes::Bytes;
use http::{Method, Request as HttpRequest, Response, StatusCode};
use serde_json::Value;

use crate::answer::{Language, answer, guide, is_failure, telling_text, unrouted};
use crate::plan::{Arguments, Call, Plan, plan};
use crate::reply::{Reply, malformed, refusal, response};
use crate::request::Request;
use crate::route::Toolbox;

/// Returns the response to a Chat Completions request (`POST …/chat/completions` with a JSON body), whole or as an event
/// stream as `stream` asks. A malformed body gets status 400 and OpenAI's error object, another path 404, another method
/// 405.
pub fn respond(request: &HttpRequest<Bytes>) -> Response<Bytes> {
    if !request.uri().path().trim_end_matches('/').ends_with("/chat/completions") {
        let message = "the understudy answers chat completions only";
        return refusal(StatusCode::NOT_FOUND, message, None, Some("unknown_url"));
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
    // Without tools nothing can be called, but existing results can be shown.
    let plan = if toolbox.tools.is_empty() { Plan::default() } else { plan(&request.prompt, toolbox) };
    let round = next_round(&plan, request);
    if !round.is_empty() {
        return Reply::Calls(round);
    }
    if request.made.is_empty() {
        return Reply::Text(guide(toolbox, language));
    }
    let text = answer(&request.made, toolbox, language);
    let left_out = plan.calls.len() > request.made.len();
    Reply::Text(match unrouted(&plan.unrouted, left_out, language) {
        Some(more) => format!("{text}\n\n{more}"),
        None => text,
    })
}

/// The calls of this round: as many as may be made, up to one that needs the answer of the one before it.
fn next_round(plan: &Plan, request: &Request) -> Vec<(String, String)> {
    let mut round = Vec::new();
    for call in plan.calls.iter().skip(request.made.len()).take(request.most_calls) {
        let Some(arguments) = ready(call, request, round.is_empty()) else { break };
        round.push((call.tool.clone(), arguments));
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
            arguments.insert(parameter.clone(), Value::String(telling_text(result)));
            Some(Value::Object(arguments).to_string())
        }
    }
}
