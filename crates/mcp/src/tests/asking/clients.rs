//! Calls of a client that is a program itself: it gets every report, and the questions that it can answer.

use std::collections::BTreeMap;

use converse_config::{Grants, LogLevel};
use converse_ensemble::{CallClient, ClientRefusal, Host, ServerLog, ServerNotice, ToolProgress};
use futures_util::FutureExt as _;

use super::*;
use crate::in_flight::InFlightRequest;
use crate::roots::Roots;
use crate::server_requests::{Asker, ServerRequestHandler};
use crate::surroundings::Warn;
use crate::testing::error;

/// A client that declares what it can.
#[derive(Default)]
struct Peer {
    principal: &'static str,
    asks: bool,
    rounds: bool,
    round: (BTreeMap<String, Value>, Option<String>),
    heard: Mutex<Vec<String>>,
    handed_on: Mutex<Option<Value>>,
}

impl CallClient for Peer {
    fn principal(&self) -> Arc<str> {
        self.principal.into()
    }

    fn report(&self, progress: ToolProgress) {
        if let ToolProgress::Progress { done, .. } = progress {
            self.heard.lock().unwrap().push(format!("progress {done}"));
        }
    }

    fn log(&self, log: ServerLog) {
        let logger = log.logger.unwrap_or_default();
        self.heard.lock().unwrap().push(format!("{:?} {logger} {}", log.level, log.data));
    }

    fn answers(&self, _: &str, _: &Value) -> bool {
        self.asks
    }

    fn ask<'a>(&'a self, method: &'a str, params: Value) -> BoxFuture<'a, Result<Value, ClientRefusal>> {
        self.heard.lock().unwrap().push(method.to_owned());
        let answer = match params["message"].as_str() {
            // It does not answer.
            Some("wait") => return Box::pin(std::future::pending()),
            Some("refuse") => Err(ClientRefusal { code: -7, message: "no".to_owned() }),
            _ if method == "sampling/createMessage" => Ok(json!({ "role": "assistant", "model": "m",
                "content": { "type": "text", "text": method } })),
            _ => Ok(json!({ "action": "accept", "content": { "asked": method } })),
        };
        Box::pin(std::future::ready(answer))
    }

    fn takes_round(&self, _: &str, _: &Value) -> bool {
        self.rounds
    }

    fn hand_on(&self, round: Value) {
        *self.handed_on.lock().unwrap() = Some(round);
    }

    fn round(&self) -> (BTreeMap<String, Value>, Option<String>) {
        self.round.clone()
    }
}

async fn called_by(fixture: &Fixture, peer: &Arc<Peer>) -> Result<Answer, InvokeError> {
    let (_connection, _ensemble, tools) = fixture.connected().await;
    let host = Host::of_client(Arc::clone(peer) as Arc<dyn CallClient>);
    let context = Context { host, ..context(Duration::from_secs(30)) };
    tools[0].invocable.invoke(context, &Arguments::parse("{}")).await
}

fn granting(mut fixture: Fixture) -> Fixture {
    fixture.responders.to_client = true;
    fixture.grants.sampling = true;
    fixture
}

fn questions() -> [(&'static str, Value); 2] {
    [("elicitation/create", named()), ("sampling/createMessage", json!({ "messages": [], "maxTokens": 1 }))]
}

#[tokio::test(start_paused = true)]
async fn a_client_that_can_is_asked_as_the_server_asks() {
    for era in ERAS {
        let peer = Arc::new(Peer { asks: true, ..Peer::default() });
        let answer = got(called_by(&granting(asks(era, &questions())), &peer).await);
        assert_eq!(answer["q0"]["content"]["asked"], "elicitation/create", "{era:?} {answer}");
        assert_eq!(answer["q1"]["content"]["text"], "sampling/createMessage", "{era:?} {answer}");
        // The words of a refusal are the client's.
        let refusing = json!({ "message": "refuse", "requestedSchema": { "type": "object" } });
        let answer = got(called_by(&granting(asks(era, &[("elicitation/create", refusing)])), &peer).await);
        match era {
            Era::Legacy => assert_eq!(answer["q0"], json!({ "code": -7, "message": "no" })),
            Era::Modern => {
                assert!(answer["failed"].as_str().unwrap().ends_with("was refused: no"), "{answer}")
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_is_not_asked_what_it_cannot_answer_or_the_descriptor_does_not_grant() {
    for era in ERAS {
        for (asks_client, to_client, granted) in
            [(false, true, true), (true, false, true), (true, true, false)]
        {
            let peer = Arc::new(Peer { asks: asks_client, ..Peer::default() });
            let mut fixture = asks(era, &[("elicitation/create", named())]);
            fixture.responders.to_client = to_client;
            fixture.grants.elicitation = granted;
            let answer = got(called_by(&fixture, &peer).await);
            assert_eq!(answer, json!({ "q0": { "action": "decline" } }), "{era:?}");
            assert!(peer.heard.lock().unwrap().is_empty());
        }
        // A form that asks for a secret does not reach the client.
        let secret = form(json!({ "password": { "type": "string" } }));
        let peer = Arc::new(Peer { asks: true, rounds: true, ..Peer::default() });
        let answer = got(called_by(&granting(asks(era, &[("elicitation/create", secret)])), &peer).await);
        assert_eq!(answer, json!({ "q0": { "action": "decline" } }), "{era:?}");
        // Sampling needs the grant of the descriptor, whatever the client can.
        let mut fixture = asks(era, &[("sampling/createMessage", questions()[1].1.clone())]);
        fixture.responders.to_client = true;
        let answer = got(called_by(&fixture, &peer).await).to_string();
        assert!(answer.contains("may not ask the model"), "{answer}");
        assert!(peer.heard.lock().unwrap().is_empty() && peer.handed_on.lock().unwrap().is_none());
    }
}

#[tokio::test(start_paused = true)]
async fn unanswered_questions_of_one_principal_leave_places_to_others() {
    let responders = Responders { to_client: true, ..Responders::default() };
    let (warn, grants): (Warn, _) = (Arc::new(|_| {}), Grants::default());
    let handler = ServerRequestHandler::new("fake".to_owned(), grants, responders, Roots::default(), warn);
    let of = |principal: String| {
        let peer = Peer { principal: principal.leak(), asks: true, ..Peer::default() };
        let host = Host::of_client(Arc::new(peer) as Arc<dyn CallClient>);
        InFlightRequest { host, ..InFlightRequest::within(Duration::from_secs(30)) }
    };
    let (method, mut waiting) = ("elicitation/create", named());
    waiting["message"] = json!("wait");
    let requests: Vec<InFlightRequest> = (0..8).map(|n| of(format!("principal {n}"))).collect();
    let asked = |by: &InFlightRequest| {
        let answered = handler.answer(method, &named(), &Asker::One(by)).now_or_never();
        answered.unwrap().map_err(|refusal| refusal.message.into_owned())
    };
    let full = Err("too many questions are waiting".to_owned());
    let mut open = Vec::new();
    for (n, by) in requests.iter().enumerate() {
        for _ in 0..8 {
            assert!(asked(by).is_ok(), "{n}: it has a place left");
            let mut one = Box::pin(async { handler.answer(method, &waiting, &Asker::One(by)).await });
            assert!((&mut one).now_or_never().is_none());
            open.push(one);
        }
        assert_eq!(asked(by), full, "{n}: it has none left");
    }
    // All places together.
    let last = of("last".to_owned());
    assert_eq!(asked(&last), full);
    open.pop();
    assert!(asked(&last).is_ok());
    assert_eq!(asked(&requests[0]), full);
}

#[tokio::test(start_paused = true)]
async fn a_client_of_the_newer_era_gets_the_round_and_repeats_its_call() {
    let peer = Arc::new(Peer { rounds: true, ..Peer::default() });
    called_by(&granting(asks(Era::Modern, &questions())), &peer).await.unwrap();
    let handed_on = peer.handed_on.lock().unwrap().take().unwrap();
    assert_eq!(handed_on["resultType"], "input_required");
    assert_eq!(handed_on["inputRequests"]["q1"]["method"], "sampling/createMessage");
    assert_eq!(peer.heard.lock().unwrap().len(), 0, "it is not asked while the call runs");
    let answers = BTreeMap::from([("q0".to_owned(), json!({ "action": "accept" }))]);
    let again = Arc::new(Peer { rounds: true, round: (answers, Some("s".to_owned())), ..Peer::default() });
    let fixture = granting(Fixture::new(|_, request| match request["params"].get("requestState") {
        Some(_) => answered_with(request, &request["params"]),
        None => modern(request),
    }));
    let params = got(called_by(&fixture, &again).await);
    assert_eq!(params["inputResponses"]["q0"], json!({ "action": "accept" }));
    assert_eq!(params["requestState"], "s");
    // The server's next question goes to the client again.
    let fixture = granting(Fixture::new(|_, request| {
        if request["method"] == "tools/call" {
            return asked_in_result(request, &[("elicitation/create".to_owned(), named())]);
        }
        modern(request)
    }));
    called_by(&fixture, &again).await.unwrap();
    assert!(again.handed_on.lock().unwrap().is_some());
}

#[tokio::test(start_paused = true)]
async fn a_server_is_told_what_the_client_of_the_call_can() {
    for (can, granted, mut declared) in [
        (true, true, json!({ "elicitation": { "form": {}, "url": {} }, "sampling": {} })),
        (true, false, json!({ "elicitation": { "form": {}, "url": {} } })),
        (false, true, json!({})),
    ] {
        let peer = Arc::new(Peer { rounds: can, ..Peer::default() });
        let key = "io.modelcontextprotocol/clientCapabilities";
        let mut fixture = granting(Fixture::new(move |_, request| match request["method"].as_str() {
            Some("tools/call") => answered_with(request, &request["params"]["_meta"][key]),
            _ => modern(request),
        }));
        fixture.grants.sampling = granted;
        declared["extensions"] = json!({ "io.modelcontextprotocol/tasks": {} });
        assert_eq!(got(called_by(&fixture, &peer).await), declared, "{can} {granted}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_about_the_client_is_handed_on_to_it() {
    let needed = json!({ "requiredCapabilities": { "sampling": {} } });
    let again = (BTreeMap::new(), Some("forged".to_owned()));
    for (code, rounds, granted, round, is_handed_on) in [
        (-32021, false, true, Default::default(), true),
        (-32021, false, false, Default::default(), false),
        (-32021, true, true, Default::default(), false),
        (-32602, true, true, again, true),
        (-32602, true, true, Default::default(), false),
    ] {
        let peer = Arc::new(Peer { rounds, round, ..Peer::default() });
        let error = json!({ "code": code, "message": "no\u{1b}[31m", "data": needed });
        let answer = error.clone();
        let mut fixture = granting(Fixture::new(move |_, request| match request["method"].as_str() {
            Some("tools/call") => {
                let answer = json!({ "jsonrpc": "2.0", "id": request["id"], "error": answer });
                Act::Say(format!("{answer}\n").into())
            }
            _ => modern(request),
        }));
        fixture.grants.sampling = granted;
        let result = called_by(&fixture, &peer).await;
        assert!(matches!(result, Err(InvokeError::Failed(_))), "it is a failure for the records: {result:?}");
        let handed_on = peer.handed_on.lock().unwrap().take();
        assert_eq!(handed_on.is_some(), is_handed_on, "{code} {rounds} {granted}");
        if let Some(handed_on) = handed_on {
            assert_eq!((&handed_on["error"]["code"], &handed_on["error"]["data"]), (&error["code"], &needed));
            assert!(!handed_on.to_string().contains("u001b"), "{handed_on}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_gets_every_report_and_every_log_message() {
    let fixture = Fixture::new(|_, request| {
        if request["method"] != "tools/call" {
            return legacy(request);
        }
        let token = &request["params"]["_meta"]["progressToken"];
        let notice = |method: &str, params: Value| {
            format!("{}\n", json!({ "jsonrpc": "2.0", "method": method, "params": params }))
        };
        let mut text: String = (0..300)
            .map(|done| notice("notifications/progress", json!({ "progressToken": token, "progress": done })))
            .collect();
        let log = json!({ "level": "debug", "logger": "l", "data": { "a": ["\u{1b}"] } });
        text.push_str(&notice("notifications/message", log));
        let Act::Say(answer) = legacy(request) else { unreachable!() };
        Act::Say([text.into_bytes(), answer].concat())
    });
    let peer = Arc::new(Peer::default());
    called_by(&fixture, &peer).await.unwrap();
    let mut wanted: Vec<String> = (0..300).map(|done| format!("progress {done}")).collect();
    wanted.push(r#"Debug l {"a":["\u001b"]}"#.to_owned());
    assert_eq!(*peer.heard.lock().unwrap(), wanted, "as it was written, and in order");
}

#[tokio::test(start_paused = true)]
async fn a_log_message_of_an_ended_call_reaches_no_other_principal() {
    // Each call is preceded by a message about the call before it, as a slow server writes it.
    let fixture = Fixture::new(|_, request| {
        if request["method"] != "tools/call" {
            return legacy(request);
        }
        let log = json!({ "level": "error", "data": "of the call before" });
        let log = json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": log });
        let Act::Say(answer) = legacy(request) else { unreachable!() };
        Act::Say([format!("{log}\n").into_bytes(), answer].concat())
    });
    let (connection, _ensemble, tools) = fixture.connected().await;
    let mut notices = converse_ensemble::Relay::notices(connection.as_ref());
    let call = async |principal| {
        let peer = Arc::new(Peer { principal, ..Peer::default() });
        let host = Host::of_client(Arc::clone(&peer) as Arc<dyn CallClient>);
        let context = Context { host, ..context(Duration::from_secs(30)) };
        tools[0].invocable.invoke(context, &Arguments::parse("{}")).await.unwrap();
        peer.heard.lock().unwrap().len()
    };
    assert_eq!((call("ada").await, call("ada").await), (1, 1), "one principal gets what its calls wrote");
    assert_eq!((call("eve").await, call("ada").await), (0, 0));
    let nothing = tokio::time::timeout(Duration::from_secs(1), notices.next()).await;
    assert!(nothing.is_err(), "nor as a message to all: {nothing:?}");
}

#[tokio::test(start_paused = true)]
async fn what_belongs_to_no_call_is_a_notice() {
    let fixture = Fixture::new(|_, request| {
        if request["method"] != "tools/list" {
            return legacy(request);
        }
        let Act::Say(answer) = legacy(request) else { unreachable!() };
        let notices = [
            ("notifications/message", json!({ "level": "info", "data": "x" })),
            ("notifications/resources/list_changed", json!({})),
            ("notifications/prompts/list_changed", json!({})),
            ("notifications/resources/updated", json!({ "uri": "x:y" })),
        ];
        let text: String = notices
            .iter()
            .map(|(method, params)| {
                format!("{}\n", json!({ "jsonrpc": "2.0", "method": method, "params": params }))
            })
            .collect();
        Act::Say([text.into_bytes(), answer].concat())
    });
    let (connection, ensemble) = fixture.open();
    let mut notices = converse_ensemble::Relay::notices(connection.as_ref());
    ensemble.connect().await.unwrap();
    let log = ServerLog { level: LogLevel::Info, logger: None, data: json!("x") };
    let wanted = [
        ServerNotice::Log(log),
        ServerNotice::Changed(converse_ensemble::OfferKind::Resources),
        ServerNotice::Changed(converse_ensemble::OfferKind::Prompts),
        ServerNotice::Updated { uri: "x:y".to_owned() },
    ];
    for notice in wanted {
        assert_eq!(notices.next().await, Some(notice));
    }
}

#[tokio::test(start_paused = true)]
async fn readers_return_what_the_server_wrote() {
    for era in ERAS {
        let answer = match era {
            Era::Legacy => legacy,
            Era::Modern => modern,
        };
        let fixture = Fixture::new(move |_, request| match request["method"].as_str() {
            Some("resources/read") if request["params"]["uri"] == "x:1" => {
                result(request, &json!({ "contents": [{ "uri": "x:1", "blob": "AA==", "vendor": 1 }] }))
            }
            Some("prompts/get") => {
                let messages = [
                    json!({ "role": "user", "content": { "type": "text", "text": request["params"]["arguments"]["a"] } }),
                ];
                result(request, &json!({ "messages": messages }))
            }
            Some("resources/read") => error(request, -32002, "no such thing"),
            _ => answer(request),
        });
        let (_connection, ensemble, _) = fixture.connected().await;
        let readers = ensemble.relay().unwrap().readers(&ensemble);
        let qualified: Vec<&str> = readers.iter().map(|tool| tool.qualified.as_str()).collect();
        assert_eq!(qualified, ["fake.read_resource", "fake.get_prompt", "fake.complete"]);
        let value = |answer: Result<Answer, InvokeError>| match answer {
            Ok(answer) => match answer.content.into_iter().next() {
                Some(converse_canister::Content::Structured { value }) => value,
                other => panic!("{other:?}"),
            },
            Err(error) => json!(error.to_string()),
        };
        let read = value(call(&readers[0], json!({ "uri": "x:1" })).await);
        assert_eq!(read["contents"][0], json!({ "uri": "x:1", "blob": "AA==", "vendor": 1 }));
        let missing = call(&readers[0], json!({ "uri": "x:2" })).await;
        assert!(matches!(missing, Err(InvokeError::Invalid(_))), "{missing:?}");
        let prompt = value(call(&readers[1], json!({ "name": "p", "arguments": { "a": "b" } })).await);
        assert_eq!(prompt["messages"][0]["content"]["text"], "b");
        // A server without completions is not asked.
        let about =
            json!({ "ref": { "type": "ref/prompt", "name": "p" }, "argument": { "name": "a", "value": "" } });
        let completed = value(call(&readers[2], about).await);
        assert_eq!(completed["completion"]["values"], json!([]));
        assert!(!fixture.fake.heard().contains(&"completion/complete".to_owned()));
    }
}
