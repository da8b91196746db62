//! What is asked, and what a cassette answers.

use super::*;

#[test]
fn equal_questions_get_their_answers_in_order_and_then_none() {
    let player = player(&[
        exchange(json!({ "q": 1 }), "one"),
        exchange(json!({ "q": 2 }), "other"),
        exchange(json!({ "q": 1 }), "two"),
    ]);
    assert_eq!(player.models(), ["p/m"]);
    assert_eq!(player.reply(&question(json!({ "q": 1 }))).unwrap(), reply("one"));
    assert_eq!(player.reply(&question(json!({ "q": 1 }))).unwrap(), reply("two"));
    let miss = player.reply(&question(json!({ "q": 1 }))).unwrap_err();
    assert_eq!(miss.message, "f.cassette answers this request of p/m 2 times, but the run asks again");
    assert_eq!((miss.line, miss.diff.as_str()), (Some(4), ""));
    let after = player.reply(&question(json!({ "q": 2 }))).unwrap_err();
    assert_eq!(after, miss, "what is asked after a miss follows from it");
    assert_eq!(player.call("e.t", &json!({})).unwrap_err(), miss);
    assert_eq!(player.miss(), Some(miss));
}

#[test]
fn a_question_is_the_same_whoever_asks_it_and_whenever() {
    let artefact = |digit: &str| format!("[cut; the whole is kept as artefact {}] on", digit.repeat(64));
    let same = [
        json!({ "a": 1, "b": { "x": "t", "y": 2.0, "cache_control": { "type": "ephemeral" } }, "text": artefact("0") }),
        json!({ "b": { "y": 2.0, "x": "t" }, "a": 1, "text": artefact("a"), "user": "me", "metadata": { "u": 1 } }),
        json!({ "a": 1, "b": { "x": "t", "y": 2 }, "text": "[cut] on", "prompt_cache_key": "k", "session_id": "1" }),
    ];
    let first = question(same[0].clone());
    for body in &same {
        assert_eq!(question(body.clone()).request.body.to_string(), first.request.body.to_string(), "{body}");
    }
    for body in [
        json!({ "a": 2, "b": { "x": "t", "y": 2.0 }, "text": "[cut] on" }),
        json!({ "a": 1, "b": { "x": "t", "y": 2.0, "user": "inside" }, "text": "[cut] on" }),
        json!({ "a": 1, "b": { "x": "t", "y": 2.0, "cache_control": { "type": "object" } }, "text": "[cut] on" }),
        json!({ "a": 1, "b": { "x": "t", "y": 2.0 }, "text": "[cut; the whole is kept as artefact 00] on" }),
    ] {
        assert_ne!(question(body.clone()), first, "{body}");
    }
    let long = |letter: &str| question(json!({ "data": letter.repeat(5000) }));
    assert_ne!(long("x"), long("y"));
    assert!(long("x").request.body.to_string().len() < 200, "a picture is not in it");
    assert_eq!(
        question(json!({ "data": "x y".repeat(5000) })).request.body["data"].as_str().unwrap().len(),
        15_000
    );
    assert_eq!(question(json!({ "k": WORD })), question(json!({ "k": "[redacted]" })));
}

#[test]
fn a_miss_shows_what_is_otherwise_in_the_nearest_question() {
    let long: String = (0..40).map(|n| format!("line {n} of a long text\n")).collect();
    let body = |text: &str| json!({ "messages": [{ "role": "user", "content": text }], "model": "m" });
    let player = player(&[
        exchange(json!({ "nothing": "like it" }), "a"),
        exchange(body(&long), "b"),
        call(json!({ "x": 1 }), answer("t")),
    ]);
    let miss = player.reply(&question(body(&long.replace("line 7 ", "line seven ")))).unwrap_err();
    assert_eq!(miss.message, "f.cassette has no answer to this request of p/m; the nearest is in line 3");
    assert_eq!(miss.line, Some(3));
    let changed: Vec<&str> =
        miss.diff.lines().filter(|line| line.starts_with(['-', '+'])).map(str::trim_end).collect();
    assert_eq!(
        changed,
        [
            "--- recorded (line 3)",
            "+++ asked",
            r#"-          "line 7 of a long text\n""#,
            r#"+          "line seven of a long text\n""#,
        ]
    );
    let none = self::player(&[]).call("e.t", &json!({ "x": 2 })).unwrap_err();
    assert_eq!(
        none.message,
        "f.cassette has no answer to this invocation of e.t: the cassette has nothing similar"
    );
}

#[test]
fn a_diff_has_sixty_lines_at_most() {
    let body =
        |word: &str| json!((0..300).map(|n| format!("{word} {n} {}", "x ".repeat(300))).collect::<Vec<_>>());
    let miss = player(&[exchange(body("a"), "x")]).reply(&question(body("b"))).unwrap_err();
    assert_eq!(miss.diff.lines().count(), 60);
    assert!(miss.diff.lines().last().unwrap().ends_with("more lines"), "{}", miss.diff);
    assert!(miss.diff.lines().all(|line| line.chars().count() <= 201));
}

#[test]
fn invocations_are_answered_as_they_were() {
    use ErrorKind::{
        Failed, HeldBack, Interrupted, Invalid, NoDescriptors, Timeout, Unreachable, Unsandboxed,
    };
    let content = vec![Content::text("t"), Content::Structured { value: json!({ "a": 1 }) }];
    let mut all = vec![
        Given::Answer { content: content.clone(), is_error: true, kept: false },
        Given::Answer { content, is_error: false, kept: true },
        Given::Error { kind: Unreachable, message: "b".to_owned(), sent: true, kept: false },
        Given::Error { kind: Timeout, message: "h".to_owned(), sent: false, kept: true },
    ];
    all.extend(
        [Invalid, Unreachable, NoDescriptors, Failed, Interrupted, Unsandboxed, HeldBack, Timeout]
            .map(failed),
    );
    let entries: Vec<Entry> = all.iter().map(|one| call(json!({ "b": 1, "a": [] }), one.clone())).collect();
    let player = player(&entries);
    for given in all {
        let call = player.call("e.t", &json!({ "a": [], "b": 1 })).unwrap();
        assert_eq!(call.given, given);
    }
    assert!(player.call("e.t", &json!({ "a": [], "b": 1 })).is_err());
}

#[test]
fn equal_questions_side_by_side_are_answered_as_they_were_asked() {
    let began = |entry: Entry, began: u64| match entry {
        Entry::Model(exchange) => Entry::Model(Exchange { began, ..exchange }),
        Entry::Invocation(call) => Entry::Invocation(Call { began, ..call }),
        offer @ Entry::Offer(_) => offer,
    };
    // As they ended.
    let player = player(&[
        began(call(json!({}), answer("second")), 4),
        began(exchange(json!({}), "second"), 3),
        began(exchange(json!({}), "first"), 1),
        began(call(json!({}), answer("first")), 2),
        began(call(json!({}), answer("third")), 5),
    ]);
    let texts = ["first", "second", "third"];
    assert_eq!(texts.map(|_| player.call("e.t", &json!({})).unwrap().given), texts.map(answer));
    let texts = ["first", "second"];
    assert_eq!(texts.map(|_| player.reply(&question(json!({}))).unwrap()), texts.map(reply));
}

#[test]
fn the_last_offer_of_a_look_counts() {
    let offer = |look, reason: &str| {
        Entry::Offer(Offer {
            ensemble: "e".to_owned(),
            look,
            offered: Offered::Failed(reason.to_owned()),
            instructions: None,
        })
    };
    let player = player(&[offer(0, "first"), offer(3, "third"), offer(0, "again")]);
    let reason = |look| match player.offer("e", look).map(|offer| &offer.offered) {
        Some(Offered::Failed(reason)) => Some(reason.as_str()),
        _ => None,
    };
    assert_eq!([0, 1, 3].map(reason), [Some("again"), None, Some("third")]);
    assert!(player.offer("other", 0).is_none());
}
