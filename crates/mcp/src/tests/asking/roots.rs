//! The first call of a server that asks for the roots when it is initialized.

use super::*;

/// When a server asks, and what it does with a ping.
#[derive(Clone, Copy)]
struct Habit {
    /// The message after which it asks.
    asks_after: &'static str,
    answers_pings: bool,
    /// How long it looks at the directories.
    looks_for: Duration,
}

const PROMPT: Habit =
    Habit { asks_after: "notifications/initialized", answers_pings: true, looks_for: Duration::ZERO };

/// A server with this habit. The result of its tools says whether it has the roots.
fn server(era: Era, habit: Habit) -> Fixture {
    let mut known_from = None;
    let mut fixture = Fixture::new(move |_, request| {
        let method = request["method"].as_str();
        if method.is_none() {
            assert!(request["result"]["roots"].is_array(), "{request}");
            known_from = Some(Instant::now() + habit.looks_for);
        }
        let answer = match method {
            Some("notifications/initialized") => {
                known_from = None;
                Act::Nothing
            }
            Some("ping") if habit.answers_pings => result(request, &json!({})),
            None | Some("ping") => Act::Nothing,
            Some("tools/call") => {
                let is_known = known_from.is_some_and(|known| known <= Instant::now());
                answered_with(request, &json!(is_known))
            }
            _ if era == Era::Modern => modern(request),
            _ => legacy(request),
        };
        if method != Some(habit.asks_after) {
            return answer;
        }
        // Its request is before the answer, in the same write.
        let asked = json!({ "jsonrpc": "2.0", "id": "roots", "method": "roots/list" });
        let mut written = format!("{asked}\n").into_bytes();
        if let Act::Say(answer) = answer {
            written.extend(answer);
        }
        Act::Say(written)
    });
    fixture.grants.roots = vec![".".to_owned()];
    fixture
}

fn pings(fixture: &Fixture) -> usize {
    fixture.fake.heard().iter().filter(|method| *method == "ping").count()
}

#[tokio::test(start_paused = true)]
async fn the_first_call_waits_until_a_server_that_asks_for_roots_has_them() {
    let slow = Habit { looks_for: Duration::from_millis(90), ..PROMPT };
    for (what, habit) in [
        ("it asks at once", PROMPT),
        ("it asks before its next answer", Habit { asks_after: "ping", ..PROMPT }),
        ("it looks at the directories", slow),
        ("it answers no ping", Habit { answers_pings: false, ..slow }),
    ] {
        let fixture = server(Era::Legacy, habit);
        let (connection, _ensemble, tools) = fixture.connected().await;
        assert_eq!(got(call(&tools[0], json!({})).await), json!(true), "{what}");
        let after_first = (Instant::now(), pings(&fixture));
        assert_eq!(got(call(&tools[0], json!({})).await), json!(true), "{what}");
        assert_eq!((Instant::now(), pings(&fixture)), after_first, "{what}: only the first call waits");
        connection.server.current().unwrap().close().await;
        assert_eq!(got(call(&tools[0], json!({})).await), json!(true), "{what}: it is started again");
        assert_eq!(fixture.fake.starts(), 2, "{what}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_ask_for_roots_is_not_waited_for() {
    let silent = Habit { asks_after: "never", ..PROMPT };
    for (what, era, habit, is_granted, waited, pinged) in [
        ("it does not ask", Era::Legacy, silent, true, 0, 1),
        ("it may have none", Era::Legacy, silent, false, 0, 0),
        ("it is of the newer era", Era::Modern, silent, true, 0, 0),
        ("it answers no ping", Era::Legacy, Habit { answers_pings: false, ..silent }, true, 1000, 1),
    ] {
        let mut fixture = server(era, habit);
        if !is_granted {
            fixture.grants.roots.clear();
        }
        let (_connection, _ensemble, tools) = fixture.connected().await;
        let begun = Instant::now();
        assert_eq!(got(call(&tools[0], json!({})).await), json!(false), "{what}");
        assert_eq!((begun.elapsed().as_millis(), pings(&fixture)), (waited, pinged), "{what}");
    }
}

#[tokio::test(start_paused = true)]
async fn calls_that_come_together_wait_for_the_roots_together() {
    let fixture = server(Era::Legacy, Habit { looks_for: Duration::from_millis(90), ..PROMPT });
    let (_connection, _ensemble, tools) = fixture.connected().await;
    let calls = futures_util::future::join_all((0..20).map(|_| call(&tools[0], json!({})))).await;
    assert!(calls.into_iter().all(|answer| got(answer) == json!(true)));
    assert_eq!(pings(&fixture), 2);
}

/// Calls the tool with so much time.
async fn call_within(tool: &Tool, limit: Duration) -> Result<Answer, InvokeError> {
    tool.invocable.invoke(context(limit), &Arguments::parse("{}")).await
}

#[tokio::test(start_paused = true)]
async fn calls_with_little_time_wait_for_half_of_it_and_all_calls_for_a_second() {
    let mute = Habit { asks_after: "never", answers_pings: false, ..PROMPT };
    let fixture = server(Era::Legacy, mute);
    let (_connection, _ensemble, tools) = fixture.connected().await;
    let begun = Instant::now();
    for waited in [300, 600, 900, 1000, 1000, 1000] {
        let answer = call_within(&tools[0], Duration::from_millis(600)).await;
        assert_eq!(got(answer), json!(false));
        assert_eq!(begun.elapsed(), Duration::from_millis(waited));
    }
    assert_eq!(pings(&fixture), 4, "no call that did not wait has asked");
}

/// A server that asks for the roots when it is pinged. So many of its starts end then, or when they have the roots.
fn ending(starts: usize, with_roots: bool) -> Fixture {
    let mut fixture = Fixture::new(move |start, request| match request["method"].as_str() {
        Some("ping") if start > starts => result(request, &json!({})),
        Some("ping") if with_roots => {
            Act::Say(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"roots/list\"}\n".to_vec())
        }
        Some("ping") | None => Act::Exit,
        _ => legacy(request),
    });
    fixture.grants.roots = vec![".".to_owned()];
    fixture
}

#[tokio::test(start_paused = true)]
async fn a_call_is_not_sent_on_a_connection_that_was_lost_before_the_server_had_the_roots() {
    for with_roots in [false, true] {
        for (ending_starts, sent) in [(1, 1), (2, 0)] {
            let fixture = ending(ending_starts, with_roots);
            let (_connection, _ensemble, tools) = fixture.connected().await;
            let answer = call(&tools[0], json!({})).await;
            let heard = fixture.fake.heard();
            let calls = heard.iter().filter(|method| *method == "tools/call").count();
            assert_eq!((answer.is_ok(), calls, fixture.fake.starts()), (sent == 1, sent, 2), "{answer:?}");
            let why = answer.map_or_else(|error| error.to_string(), |_| "not sent".to_owned());
            assert!(why.contains("not sent"), "{why}");
            assert!(call(&tools[0], json!({})).await.is_ok(), "the next call starts it again");
        }
    }
}
