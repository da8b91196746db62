//! Whose time a question takes, and when it ends.

use super::*;

#[tokio::test(start_paused = true)]
async fn while_a_person_thinks_no_limit_runs() {
    for era in ERAS {
        let mut fixture = asks(era, &[("elicitation/create", named())]);
        fixture.responders.elicitor = Some(somebody(filled(json!({})), Duration::from_secs(300)));
        let (_connection, _ensemble, tools) = fixture.connected().await;
        let begun = Instant::now();
        let got =
            got(tools[0].invocable.invoke(context(Duration::from_secs(5)), &Arguments::parse("{}")).await);
        assert_eq!(got["q0"]["action"], "accept", "{got}");
        assert_eq!(begun.elapsed().as_secs(), 300);
    }
}

#[tokio::test(start_paused = true)]
async fn nobody_is_waited_for_longer_than_ten_minutes() {
    for era in ERAS {
        let mut fixture = asks(era, &[("elicitation/create", named())]);
        let person = somebody(filled(json!({})), Duration::from_secs(100_000));
        fixture.responders.elicitor = Some(person.clone());
        let begun = Instant::now();
        assert_eq!(called(&fixture).await, json!({ "q0": { "action": "cancel" } }));
        assert_eq!((begun.elapsed().as_secs(), *person.left.lock().unwrap()), (600, 1));
    }
}

async fn cancelled_after(tool: &Tool, context: Context, long: Duration) -> Result<Answer, InvokeError> {
    let cancel = context.cancel.clone();
    tokio::spawn(async move {
        tokio::time::sleep(long).await;
        cancel.cancel();
    });
    tool.invocable.invoke(context, &Arguments::parse("{}")).await
}

#[tokio::test(start_paused = true)]
async fn a_question_ends_with_the_call_it_is_for() {
    for era in ERAS {
        let mut fixture = asks(era, &[("elicitation/create", named())]);
        let person = somebody(ElicitationReply::Decline, Duration::from_secs(100));
        fixture.responders.elicitor = Some(person.clone());
        let (_connection, _ensemble, tools) = fixture.connected().await;
        let begun = Instant::now();
        let ended =
            cancelled_after(&tools[0], context(Duration::from_secs(30)), Duration::from_secs(7)).await;
        assert_eq!(ended, Err(InvokeError::Failed("cancelled before it had answered".to_owned())));
        assert!(begun.elapsed() < Duration::from_secs(9), "{:?}", begun.elapsed());
        tokio::time::sleep(Duration::from_millis(10)).await;
        assert_eq!(*person.left.lock().unwrap(), 1, "{era:?}: nobody is asked any more");
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_that_is_taken_back_is_asked_no_more() {
    let taken_back =
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": "q" } });
    let question = json!({ "jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": named() });
    // The call itself goes on, and is never answered.
    let mut fixture = Fixture::new(move |_, request| match request["method"].as_str() {
        Some("tools/call") => Act::Say(format!("{question}\n{taken_back}\n").into()),
        None => Act::Nothing,
        _ => legacy(request),
    });
    let person = somebody(ElicitationReply::Decline, Duration::from_secs(100));
    fixture.responders.elicitor = Some(person.clone());
    let (_connection, _ensemble, tools) = fixture.connected().await;
    let begun = Instant::now();
    let late = tools[0].invocable.invoke(context(Duration::from_secs(5)), &Arguments::parse("{}")).await;
    assert!(matches!(late, Err(InvokeError::Timeout(_))), "{late:?}");
    assert_eq!(begun.elapsed().as_secs(), 5, "its time runs on at once");
    let count = person.questions.lock().unwrap().len();
    assert_eq!(*person.left.lock().unwrap(), count);
}

#[tokio::test(start_paused = true)]
async fn a_question_that_is_for_nothing_is_declined() {
    let (mut answers, seen) = (Vec::new(), Arc::new(Mutex::new(Vec::new())));
    let shared = Arc::clone(&seen);
    let mut fixture = Fixture::new(move |_, request| match request["method"].as_str() {
        Some("notifications/initialized") => {
            let request =
                json!({ "jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": named() });
            Act::Say(format!("{request}\n").into())
        }
        None => {
            answers.push(request["result"].clone());
            shared.lock().unwrap().clone_from(&answers);
            Act::Nothing
        }
        _ => legacy(request),
    });
    let person = somebody(filled(json!({})), SOON);
    fixture.responders.elicitor = Some(person.clone());
    let _connected = fixture.connected().await;
    tokio::time::sleep(SOON).await;
    assert_eq!(*seen.lock().unwrap(), [json!({ "action": "decline" })]);
    assert!(person.questions.lock().unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn too_many_questions_at_once_are_declined_and_the_server_lives() {
    let questions: Vec<_> = (0..60).map(|_| ("elicitation/create", named())).collect();
    let mut fixture = asks(Era::Legacy, &questions);
    let person = somebody(filled(json!({})), SOON);
    fixture.responders.elicitor = Some(person.clone());
    let got = called(&fixture).await;
    let answers: Vec<_> =
        got.as_object().unwrap().values().map(|one| one["action"].as_str().unwrap()).collect();
    assert_eq!(answers.iter().filter(|one| **one == "accept").count(), 8, "{got}");
    assert_eq!(answers.iter().filter(|one| **one == "decline").count(), 52, "{got}");
}

#[tokio::test(start_paused = true)]
async fn after_the_answer_the_limits_run_on() {
    for era in ERAS {
        let mut asking = asks(era, &[("elicitation/create", named())]);
        // It asks, and falls silent once it has what it asked for.
        let script = asking.fake.clone();
        let fake = crate::testing::Fake::new(move |start, request| {
            let knows = request.get("method").is_none() || request["params"].get("inputResponses").is_some();
            if knows { Act::Nothing } else { script.act(start, request) }
        });
        asking.fake = fake;
        asking.responders.elicitor = Some(somebody(filled(json!({})), Duration::from_secs(300)));
        let (_connection, _ensemble, tools) = asking.connected().await;
        let begun = Instant::now();
        let late = tools[0].invocable.invoke(context(Duration::from_secs(5)), &Arguments::parse("{}")).await;
        assert!(matches!(late, Err(InvokeError::Timeout(_))), "{era:?} {late:?}");
        assert_eq!(begun.elapsed().as_secs(), 305, "{era:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_asks_ten_times_and_after_two_refusals_no_more() {
    let questions: Vec<_> = (0..14).map(|_| ("elicitation/create", named())).collect();
    for (reply, most, word) in [
        (filled(json!({})), 10, "the server asked ten times"),
        (ElicitationReply::Decline, 2, "you declined twice"),
        (ElicitationReply::Cancel, 2, "you declined twice"),
    ] {
        for era in ERAS {
            // A legacy one may only have so many open at once.
            let questions = if era == Era::Legacy { &questions[..most.min(8) + 1] } else { &questions };
            let mut fixture = asks(era, questions);
            let person = somebody(reply.clone(), Duration::ZERO);
            fixture.responders.elicitor = Some(person.clone());
            called(&fixture).await;
            let count = person.questions.lock().unwrap().len();
            let warnings = fixture.warnings.lock().unwrap().join("\n");
            if era == Era::Modern || most < 8 {
                assert_eq!(
                    (count, warnings.matches(word).count()),
                    (most, 1),
                    "{era:?} {reply:?}: {warnings}"
                );
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_fills_no_screen_with_warnings() {
    let secret = form(json!({ "apiKey": { "type": "string" } }));
    let questions: Vec<_> = (0..60).map(|_| ("elicitation/create", secret.clone())).collect();
    let mut fixture = asks(Era::Legacy, &questions);
    fixture.responders.elicitor = Some(somebody(ElicitationReply::Decline, SOON));
    called(&fixture).await;
    assert_eq!(fixture.warnings.lock().unwrap().len(), 1, "{:?}", fixture.warnings.lock().unwrap());
}
