//! What a person is asked, and what is made of the answer.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_form_is_answered_as_the_person_answers_it() {
    let name = json!({ "name": "Ada" });
    for era in ERAS {
        for (reply, sent) in [
            (filled(name.clone()), json!({ "action": "accept", "content": name })),
            (filled(json!({})), json!({ "action": "accept", "content": {} })),
            (ElicitationReply::Decline, json!({ "action": "decline" })),
            (ElicitationReply::Cancel, json!({ "action": "cancel" })),
            (filled(json!({ "name": 1 })), json!({ "action": "cancel" })),
            (filled(json!({ "other": "x" })), json!({ "action": "cancel" })),
        ] {
            let mut fixture = asks(era, &[("elicitation/create", named())]);
            let person = somebody(reply.clone(), SOON);
            fixture.responders.elicitor = Some(person.clone());
            assert_eq!(called(&fixture).await, json!({ "q0": sent }), "{era:?} {reply:?}");
            let schema = named()["requestedSchema"].clone();
            let question =
                (String::from("fake"), Elicitation::Form { message: "Who are\\x1b[31m you?".into(), schema });
            assert_eq!(*person.questions.lock().unwrap(), [question], "without control characters");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_form_is_shown_with_all_that_it_wants() {
    let question = form(json!({ "code": { "type": "string", "pattern": "^[A-Z]{3}$", "x-own": [1] } }));
    for era in ERAS {
        let mut fixture = asks(era, &[("elicitation/create", question.clone())]);
        let person = somebody(filled(json!({ "code": "abc" })), SOON);
        fixture.responders.elicitor = Some(person.clone());
        assert_eq!(called(&fixture).await, json!({ "q0": { "action": "cancel" } }), "{era:?}");
        let Elicitation::Form { schema, .. } = &person.questions.lock().unwrap()[0].1 else {
            panic!("no form")
        };
        assert_eq!(*schema, question["requestedSchema"], "{era:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_person_or_a_grant_it_is_declined() {
    for era in ERAS {
        for (person, granted) in [(false, true), (true, false), (false, false)] {
            let mut fixture = asks(era, &[("elicitation/create", named())]);
            let nobody = somebody(filled(json!({ "name": "x" })), SOON);
            fixture.responders.elicitor = person.then(|| nobody.clone() as Arc<dyn Elicitor>);
            fixture.grants.elicitation = granted;
            assert_eq!(called(&fixture).await, json!({ "q0": { "action": "decline" } }), "{era:?}");
            assert!(nobody.questions.lock().unwrap().is_empty());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_nobody_shall_be_asked_is_declined_with_a_word() {
    let url = |url: &str| json!({ "mode": "url", "message": "m", "url": url, "elicitationId": "1" });
    for (params, word) in [
        (
            form(json!({ "name": { "type": "string" }, "dbPassword": { "type": "string" } })),
            "`dbPassword` looks like a secret",
        ),
        (
            json!({ "message": "Give me your API key", "requestedSchema": { "type": "object", "properties": { "value": { "type": "string" } } } }),
            "asks for a secret",
        ),
        (form(json!({ "deep": { "type": "object" } })), "`deep` is neither"),
        (url("http://example.com/"), "is not https"),
        (url("javascript:alert(1)"), "has no host"),
        (url("https://bank.example@evil.example/"), "contains a user name"),
        (url("nonsense"), "is not valid"),
        (url(&format!("https://e.example/{}", "x".repeat(5000))), "too long"),
    ] {
        for era in ERAS {
            let mut fixture = asks(era, &[("elicitation/create", params.clone())]);
            let person = somebody(filled(json!({})), SOON);
            fixture.responders.elicitor = Some(person.clone());
            assert_eq!(called(&fixture).await, json!({ "q0": { "action": "decline" } }), "{era:?} {params}");
            assert!(person.questions.lock().unwrap().is_empty());
            let warnings = fixture.warnings.lock().unwrap().join("\n");
            assert!(warnings.contains(word), "{warnings:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_address_is_shown_as_a_browser_reads_it() {
    for era in ERAS {
        for (url, shown) in [
            ("https://example.com/a?b=c", "https://example.com/a?b=c"),
            ("http://127.0.0.1:9/x", "http://127.0.0.1:9/x"),
            ("HTTPS://exämple.com", "https://xn--exmple-cua.com/"),
        ] {
            let params = json!({ "mode": "url", "message": "Sign in", "url": url, "elicitationId": "1" });
            let mut fixture = asks(era, &[("elicitation/create", params)]);
            let person = somebody(ElicitationReply::Accept(None), SOON);
            fixture.responders.elicitor = Some(person.clone());
            assert_eq!(called(&fixture).await, json!({ "q0": { "action": "accept" } }));
            let question = Elicitation::Url { message: "Sign in".into(), url: shown.into() };
            assert_eq!(person.questions.lock().unwrap()[0].1, question);
        }
    }
}
