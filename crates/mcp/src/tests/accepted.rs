//! A tool that was accepted and has become another one is not called.

use std::time::Duration;

use converse_ensemble::{Connection, InvokeError};
use serde_json::{Value, json};

use crate::testing::{Act, Fixture, call, error, legacy, result, tool};

/// From its second start on `echo` says something else of itself.
fn other(start: usize, request: &Value) -> Act {
    let mut echo = tool("echo");
    echo["title"] = json!("Now it is another one");
    match request["method"].as_str() {
        Some("tools/list") if start > 1 => result(request, &json!({ "tools": [tool("other"), echo] })),
        _ => legacy(request),
    }
}

fn fixture(script: impl FnMut(usize, &Value) -> Act + Send + 'static) -> Fixture {
    let mut fixture = Fixture::new(script);
    fixture.verify_accepted = true;
    fixture.plan.lazy = true;
    fixture
}

fn calls(fixture: &Fixture) -> usize {
    fixture.fake.heard().iter().filter(|method| *method == "tools/call").count()
}

fn lists(fixture: &Fixture) -> usize {
    fixture.fake.heard().iter().filter(|method| *method == "tools/list").count()
}

#[tokio::test(start_paused = true)]
async fn a_lazy_server_that_has_changed_is_not_called() {
    let fixture = fixture(other);
    let (first, ..) = fixture.connected().await;
    first.disconnect().await;
    let (_connection, ensemble, tools) = fixture.connected().await;
    let both = || futures_util::future::join_all([call(&tools[0], json!({})), call(&tools[0], json!({}))]);
    for outcome in both().await {
        let Err(InvokeError::HeldBack(reason)) = outcome else { panic!("{outcome:?}") };
        assert!(reason.contains("held back: it is not what it was when it was accepted"), "{reason}");
        assert!(reason.ends_with("`converse ensembles lock --accept`"), "{reason}");
    }
    assert_eq!(
        (fixture.fake.starts(), calls(&fixture), lists(&fixture)),
        (2, 0, 2),
        "one list for all that wait"
    );
    call(&tools[1], json!({})).await.unwrap();
    assert_eq!((calls(&fixture), lists(&fixture)), (1, 2), "another one is as it was");
    // What is offered now has passed the gate, whatever that made of it.
    let fresh = ensemble.refresh().await.unwrap();
    call(&fresh[1], json!({})).await.unwrap();
    assert_eq!((calls(&fixture), lists(&fixture)), (2, 3));
}

#[tokio::test(start_paused = true)]
async fn one_that_comes_back_as_another_is_not_called() {
    let mut fixture = fixture(|start, request| match request["method"].as_str() {
        Some("tools/call") if start == 1 => Act::Exit,
        _ => other(start, request),
    });
    fixture.plan.lazy = false;
    let (_connection, _ensemble, tools) = fixture.connected().await;
    assert!(matches!(call(&tools[0], json!({})).await, Err(InvokeError::Interrupted(_))));
    let outcome = call(&tools[0], json!({})).await;
    assert!(matches!(outcome, Err(InvokeError::HeldBack(_))), "{outcome:?}");
    assert_eq!((fixture.fake.starts(), calls(&fixture)), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn a_list_that_cannot_be_had_is_never_taken_for_the_same() {
    type DeliveryError = fn(&Value) -> Act;
    let faults: [DeliveryError; 2] = [|request| error(request, -32000, "not now"), |_| Act::Nothing];
    for fault in faults {
        let fixture = fixture(move |start, request| match request["method"].as_str() {
            Some("tools/list") if start > 1 => fault(request),
            _ => legacy(request),
        });
        let (first, ..) = fixture.connected().await;
        first.disconnect().await;
        let (_connection, ensemble, tools) = fixture.connected().await;
        for _ in 0..5 {
            let outcome = call(&tools[0], json!({})).await;
            let Err(InvokeError::Unreachable { message, sent: false }) = outcome else {
                panic!("{outcome:?}")
            };
            assert!(message.contains("not sent: the tool could not be compared"), "{message}");
            assert!(ensemble.refresh().await.is_none());
        }
        assert_eq!(calls(&fixture), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_never_accepted_is_called_as_before() {
    let mut fixture = fixture(other);
    fixture.verify_accepted = false;
    let (first, ..) = fixture.connected().await;
    first.disconnect().await;
    let (_connection, _ensemble, tools) = fixture.connected().await;
    tokio::time::timeout(Duration::from_secs(5), call(&tools[0], json!({}))).await.unwrap().unwrap();
    assert_eq!((calls(&fixture), lists(&fixture)), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn what_is_looked_at_is_remembered_for_the_lazy() {
    let mut fixture = fixture(other);
    let (first, ..) = fixture.connected().await;
    first.disconnect().await;
    fixture.plan.lazy = false;
    let (looked, ..) = fixture.connected().await;
    looked.disconnect().await;
    fixture.plan.lazy = true;
    let (_connection, _ensemble, tools) = fixture.connected().await;
    assert_eq!(tools[1].definition().value()["title"], "Now it is another one");
}

#[tokio::test(start_paused = true)]
async fn what_is_accepted_while_it_is_served_is_verified_from_then_on() {
    let mut fixture = fixture(other);
    fixture.verify_accepted = false;
    let (first, ..) = fixture.connected().await;
    first.disconnect().await;
    let (connection, _ensemble, tools) = fixture.connected().await;
    call(&tools[0], json!({})).await.unwrap();
    connection.set_verify_accepted(true);
    let refused = call(&tools[0], json!({})).await;
    assert!(matches!(refused, Err(InvokeError::HeldBack(_))), "{refused:?}");
    assert_eq!((calls(&fixture), lists(&fixture)), (1, 2));
}
