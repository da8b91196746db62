//! Questions within results: modern rounds, and addresses to open first.

use super::*;

#[tokio::test(start_paused = true)]
async fn an_address_that_has_to_be_opened_first_is_shown_and_the_call_made_again() {
    let address = |n: usize| json!({ "mode": "url", "message": "m", "url": format!("https://x.example/{n}"), "elicitationId": n.to_string() });
    for (elicitations, reply, expected, calls, works) in [
        (json!([address(1), address(2)]), ElicitationReply::Accept(None), 2, 2, true),
        (json!([address(1), address(2)]), ElicitationReply::Decline, 1, 1, false),
        (json!([address(1), named()]), ElicitationReply::Accept(None), 1, 1, false),
        (json!([]), ElicitationReply::Accept(None), 0, 1, false),
        (Value::Null, ElicitationReply::Accept(None), 0, 1, false),
    ] {
        let mut refused = false;
        let mut fixture = Fixture::new(move |_, request| {
            if request["method"] != "tools/call" {
                return legacy(request);
            }
            if std::mem::replace(&mut refused, true) {
                return answered_with(request, &json!("ok"));
            }
            let error =
                json!({ "code": -32042, "message": "first", "data": { "elicitations": elicitations } });
            Act::Say(format!("{}\n", json!({ "jsonrpc": "2.0", "id": request["id"], "error": error })).into())
        });
        let person = somebody(reply, SOON);
        fixture.responders.elicitor = Some(person.clone());
        let got = called(&fixture).await;
        assert_eq!(got == "ok", works, "{got}");
        assert_eq!(person.questions.lock().unwrap().len(), expected);
        let heard = fixture.fake.heard().iter().filter(|method| *method == "tools/call").count();
        assert_eq!(heard, calls);
    }
}

/// A modern server whose every call asks again until the round, with a state of its own each time.
fn endless(until: usize) -> Fixture {
    Fixture::new(move |_, request| {
        if request["method"] != "tools/call" {
            return modern(request);
        }
        let params = &request["params"];
        let who = params["arguments"]["who"].as_str().unwrap_or_default();
        let state = params["requestState"].as_str().unwrap_or_default();
        let round = state.matches('+').count();
        assert!(
            round == 0 || state.starts_with(who),
            "the state of {state:?} is no other call's than {who:?}'s"
        );
        if round >= until {
            return answered_with(request, &json!({ "state": state, "responses": params["inputResponses"] }));
        }
        let state = if round == 0 { format!("{who}\u{0}\u{e9}\"\\ \u{1f600}+") } else { format!("{state}+") };
        result(request, &json!({ "resultType": "input_required", "requestState": state }))
    })
}

#[tokio::test(start_paused = true)]
async fn what_a_server_wants_back_it_gets_as_it_was_and_nobody_else() {
    let fixture = endless(3);
    let (_connection, _ensemble, tools) = fixture.connected().await;
    let one = |who: &'static str| call(&tools[0], json!({ "who": who }));
    let answers = tokio::join!(one("a"), one("b"), one("c"));
    for (answer, who) in [(answers.0, "a"), (answers.1, "b"), (answers.2, "c")] {
        let got = got(answer);
        assert_eq!(got["state"], format!("{who}\u{0}\u{e9}\"\\ \u{1f600}+++"));
        assert_eq!(got["responses"], Value::Null, "what was not asked is not answered");
    }
}

#[tokio::test(start_paused = true)]
async fn ten_rounds_and_no_more() {
    for (rounds, fails) in [(10, false), (11, true)] {
        let fixture = endless(rounds);
        let got = called(&fixture).await;
        assert_eq!(got.get("failed").is_some(), fails, "{got}");
        let calls = fixture.fake.heard().iter().filter(|method| *method == "tools/call").count();
        assert_eq!(calls, 11);
        if fails {
            assert!(got["failed"].as_str().unwrap().contains("more than 10 times"), "{got}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn odd_rounds_fail_the_call_in_words() {
    let many: Map<_, _> = (0..17).map(|n| (n.to_string(), json!({ "method": "roots/list" }))).collect();
    for (odd, word) in [
        (json!({}), "neither `inputRequests` nor"),
        (json!({ "inputRequests": {} }), "neither `inputRequests` nor"),
        (json!({ "inputRequests": [] }), "is not an object"),
        (json!({ "inputRequests": { "a": 1 } }), "no `method`"),
        (json!({ "inputRequests": { "a": { "method": "ping" } } }), "`ping` and was refused"),
        (
            json!({ "inputRequests": { "a": { "method": "elicitation/create", "params": 5 } } }),
            "`message` is missing",
        ),
        (json!({ "inputRequests": many }), "more than 16"),
        (json!({ "requestState": 5 }), "is not a string"),
        (json!({ "requestState": "x".repeat(2 * 1024 * 1024) }), "too long"),
    ] {
        let mut fixture = Fixture::new(move |_, request| {
            if request["method"] != "tools/call" {
                return modern(request);
            }
            let mut odd = odd.clone();
            odd["resultType"] = json!("input_required");
            result(request, &odd)
        });
        fixture.responders.elicitor = Some(somebody(ElicitationReply::Cancel, SOON));
        let got = called(&fixture).await;
        assert!(got["failed"].as_str().is_some_and(|failed| failed.contains(word)), "{word}: {got}");
    }
}

#[tokio::test(start_paused = true)]
async fn only_a_modern_server_asks_in_its_result() {
    let text = json!([{ "type": "text", "text": "{\"input_required\": 1}" }]);
    for (era, kind, expected) in [
        (Era::Modern, "complete", Value::Null),
        (Era::Legacy, "complete", Value::Null),
        (
            Era::Legacy,
            "input_required",
            json!("the server asks for input in a way that its protocol version does not allow"),
        ),
    ] {
        let answer = json!({ "resultType": kind, "requestState": "x", "content": text });
        let fixture = Fixture::new(move |_, request| match (request["method"] == "tools/call", era) {
            (true, _) => result(request, &answer),
            (false, Era::Modern) => modern(request),
            (false, Era::Legacy) => legacy(request),
        });
        let got = called(&fixture).await;
        assert_eq!(got["failed"], expected, "{era:?}");
        assert_eq!(got["input_required"] == 1, expected.is_null(), "{era:?}");
    }
}
