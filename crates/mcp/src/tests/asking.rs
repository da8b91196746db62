//! Questions of servers, of both eras: who is asked, what is sent back, and whose time it is.

mod clients;
mod forms;
mod granted;
mod pauses;
mod roots;
mod rounds;
mod tasks;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use converse_canister::{Arguments, Cost};
use converse_ensemble::{Answer, Context, CostMeter, InvokeError, Tool};
use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use crate::testing::{Act, Fixture, call, context, legacy, modern, result};
use crate::{Elicitation, ElicitationReply, Elicitor, Era, Responders, Sampler};

/// Somebody who takes so long and answers this, and remembers what was asked.
struct Somebody {
    reply: ElicitationReply,
    after: Duration,
    questions: Mutex<Vec<(String, Elicitation)>>,
    /// Asked and left before the answer.
    left: Mutex<usize>,
}

struct Left<'a>(&'a Somebody);

impl Drop for Left<'_> {
    fn drop(&mut self) {
        *self.0.left.lock().unwrap() += 1;
    }
}

impl Elicitor for Somebody {
    fn elicit<'a>(&'a self, ensemble: &'a str, question: Elicitation) -> BoxFuture<'a, ElicitationReply> {
        Box::pin(async move {
            self.questions.lock().unwrap().push((ensemble.to_owned(), question));
            let left = Left(self);
            tokio::time::sleep(self.after).await;
            std::mem::forget(left);
            self.reply.clone()
        })
    }
}

fn somebody(reply: ElicitationReply, after: Duration) -> Arc<Somebody> {
    Arc::new(Somebody { reply, after, questions: Mutex::default(), left: Mutex::default() })
}

/// A model that says `hello` for three millionths.
struct Model;

impl Sampler for Model {
    fn sample<'a>(
        &'a self,
        ensemble: &'a str,
        params: Value,
        meter: CostMeter,
    ) -> BoxFuture<'a, Result<Value, String>> {
        Box::pin(async move {
            if params["messages"][0]["content"]["text"] == "forbidden" {
                return Err(format!("{ensemble} was refused"));
            }
            let content = json!({ "type": "text", "text": "hello" });
            let result =
                json!({ "role": "assistant", "model": "m", "stopReason": "endTurn", "content": content });
            meter.add(Cost(3));
            Ok(result)
        })
    }
}

/// `tools/call` asks these first, by the keys `q0`, `q1`…; its result is the text of what it got.
fn asks(era: Era, questions: &[(&str, Value)]) -> Fixture {
    let questions: Vec<(String, Value)> =
        questions.iter().map(|(method, params)| ((*method).to_owned(), params.clone())).collect();
    match era {
        Era::Modern => Fixture::new(move |_, request| {
            if request["method"] != "tools/call" {
                return modern(request);
            }
            match request["params"].get("inputResponses") {
                Some(got) => answered_with(request, got),
                None => asked_in_result(request, &questions),
            }
        }),
        Era::Legacy => {
            let (mut calling, mut got) = (Value::Null, Map::new());
            Fixture::new(move |_, request| {
                if request["method"] == "tools/call" {
                    calling = request.clone();
                    let lines = questions.iter().enumerate().map(|(n, (method, params))| {
                        format!("{}\n", json!({ "jsonrpc": "2.0", "id": format!("q{n}"), "method": method, "params": params }))
                    });
                    return Act::Say(lines.collect::<String>().into());
                }
                if request.get("method").is_some() {
                    return legacy(request);
                }
                let answer = request.get("result").or(request.get("error")).cloned().unwrap_or_default();
                got.insert(request["id"].as_str().unwrap().to_owned(), answer);
                if got.len() < questions.len() {
                    Act::Nothing
                } else {
                    answered_with(&calling, &Value::Object(got.clone()))
                }
            })
        }
    }
}

fn answered_with(request: &Value, what: &Value) -> Act {
    result(request, &json!({ "content": [{ "type": "text", "text": what.to_string() }] }))
}

fn asked_in_result(request: &Value, questions: &[(String, Value)]) -> Act {
    let questions = questions.iter().enumerate();
    let questions: Map<String, Value> = questions
        .map(|(n, (method, params))| (format!("q{n}"), json!({ "method": method, "params": params })))
        .collect();
    result(request, &json!({ "resultType": "input_required", "inputRequests": questions }))
}

fn form(properties: Value) -> Value {
    json!({ "message": "Who are\u{1b}[31m you?", "requestedSchema": { "type": "object", "properties": properties } })
}

fn named() -> Value {
    form(json!({ "name": { "type": "string" } }))
}

fn filled(content: Value) -> ElicitationReply {
    ElicitationReply::Accept(Some(content.as_object().unwrap().clone()))
}

/// What the server got, or the failure of the call.
fn got(answer: Result<Answer, InvokeError>) -> Value {
    match answer {
        Ok(answer) => serde_json::from_str(answer.content[0].as_text().unwrap()).unwrap(),
        Err(error) => json!({ "failed": error.to_string() }),
    }
}

async fn called(fixture: &Fixture) -> Value {
    let (_connection, _ensemble, tools) = fixture.connected().await;
    got(call(&tools[0], json!({})).await)
}

const ERAS: [Era; 2] = [Era::Legacy, Era::Modern];
const SOON: Duration = Duration::from_secs(1);
