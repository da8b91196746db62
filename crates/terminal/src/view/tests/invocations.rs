//! Invocations: each has its line while it runs, and one when it has ended.

use super::*;

fn three() -> [Invocation; 3] {
    [
        call(0, "weather__forecast", r#"{"city":"Oslo","days":3}"#),
        call(1, "git__log", r#"{"count":20}"#),
        call(2, "web__search", r#"{"query":"fjords near Bergen"}"#),
    ]
}

#[test]
fn several_run_side_by_side() {
    let play = Play::new(100, RICH);
    let calls = three();
    play.asks();
    play.replied("");
    play.asked_for(&calls);
    play.hears(&Event::Started { invocations: &calls, has_effects: true });
    play.after(3000);
    let progress = |done, message: Option<&str>| {
        let message = message.map(str::to_owned);
        ToolProgress::Progress { done, total: Some(10.0), message }
    };
    play.says(&calls[0], progress(4.0, Some("fetching the map")));
    play.says(&calls[2], ToolProgress::Log { message: "first line\nsecond line\n".to_owned() });
    play.after(40);
    let spinner = play.rows()[0].chars().next().unwrap();
    play.shows(&[
        &format!("{spinner} weather.forecast city=\"Oslo\" days=3 3 s · 40 % fetching the map"),
        &format!("{spinner} git.log count=20 3 s"),
        &format!("{spinner} web.search query=\"fjords near Bergen\" 3 s · second line"),
    ]);
    play.finished(&calls[2], Outcome::Success, "one\ntwo\nthree", 3100);
    play.finished(&calls[1], Outcome::Timeout, "no answer within 30 s\nmore", 30_000);
    let rows = play.rows();
    assert_eq!(
        rows[..2],
        [
            "✓ [3] web.search query=\"fjords near Bergen\" 3.1 s → 3 lines, 13 B",
            "✗ [2] git.log count=20 30.0 s timeout: no answer within 30 s",
        ]
    );
    assert!(rows[2].contains("weather.forecast") && rows.len() == 3, "{rows:?}");
    play.finished(&calls[0], Outcome::Success, "sunny", 3200);
    assert_eq!(play.rows()[2], "✓ [1] weather.forecast city=\"Oslo\" days=3 3.2 s → sunny");
    play.view.end_turn(None);
    assert_eq!(play.rows().len(), 3);
    let numbers: Vec<_> = play.view.calls().iter().map(|call| (call.number, call.result.is_some())).collect();
    assert_eq!(numbers, [(1, true), (2, true), (3, true)], "in the order they were asked for");
}

#[test]
fn narrow_lines_keep_what_matters() {
    for columns in [20, 40] {
        let play = Play::new(columns, RICH);
        let calls = three();
        play.asks();
        play.replied("");
        play.asked_for(&calls);
        play.hears(&Event::Started { invocations: &calls, has_effects: true });
        play.says(&calls[0], ToolProgress::Log { message: "x".repeat(300) });
        play.after(5000);
        let rows = play.rows();
        assert_eq!(rows.len(), 3, "{rows:?}");
        for (row, tool) in rows.iter().zip(["weather", "git.log", "web.sea"]) {
            assert!(row.contains(tool) && row.chars().count() < columns, "{row}");
        }
        play.finished(&calls[2], Outcome::Success, "one\ntwo\nthree", 3100);
        play.finished(
            &calls[0],
            Outcome::Failed,
            "the station is away until next Monday, the server says",
            3100,
        );
        play.view.end_turn(None);
        let all = play.rows().join("\n");
        for part in ["[3] web.sea", "→ 3 lines", "[1] weather", "3.1 s", "failed:", "away", "cancelled"] {
            assert!(all.contains(part), "no {part:?} at {columns}:\n{all}");
        }
    }
}

#[test]
fn what_is_not_run_has_its_line_too() {
    let play = Play::new(100, RICH);
    let calls = three();
    play.asks();
    play.replied("");
    play.asked_for(&calls);
    let refused =
        InvocationResult::new(calls[1].id.clone(), Outcome::Refused, "refused by the user: not now");
    play.hears(&Event::Appended(&Canister::Result(refused)));
    play.shows(&["✗ [2] git.log count=20 refused by the user: not now"]);
}

#[test]
fn a_long_reason_goes_on_below_its_line_and_not_at_its_edge() {
    for arguments in ["{}", r#"{"path":"notes of today.txt"}"#] {
        let play = Play::new(60, RICH);
        let one = call(0, "io__write_file", arguments);
        play.asked_for(std::slice::from_ref(&one));
        let why = "refused: not allowed by the rule `deny io.write_file` of /home/anna/project/.converse.toml; nothing was run";
        play.finished(&one, Outcome::Refused, why, 5);
        let rows = play.rows();
        assert!(rows[0].starts_with("✗ [1] io.write_file") && rows.len() > 2, "{rows:?}");
        assert!(rows[1..].iter().all(|row| row.starts_with("  ") && row.chars().count() < 60), "{rows:?}");
        let told: Vec<&str> = rows[1..].iter().map(|row| row.trim()).collect();
        assert_eq!(told.join(" "), format!("5 ms {why}"));
    }
}

#[test]
fn a_result_that_does_not_fit_shows_that_it_goes_on() {
    let play = Play::new(40, RICH);
    let [one, ..] = three();
    play.asked_for(std::slice::from_ref(&one));
    play.finished(&one, Outcome::Success, "sunny in the morning, and rain in the evening", 3100);
    let rows = play.rows();
    assert!(rows.len() == 2 && rows[1].starts_with("  3.1 s → sunny"), "{rows:?}");
    assert!(rows[1].ends_with('…') && rows[1].chars().count() < 40, "{rows:?}");
}

#[test]
fn a_result_that_was_cut_says_of_how_much() {
    let play = Play::new(100, RICH);
    let one = call(0, "io__read_file", "{}");
    play.asked_for(std::slice::from_ref(&one));
    let artefact = Artefact { bytes: 165 << 10, kept: 6, digest: None };
    let text = InvocationResult::new(one.id.clone(), Outcome::Success, "a\nb\nc\n");
    let result = InvocationResult { truncated: Some(artefact), ..text };
    play.hears(&Event::Appended(&Canister::Result(result)));
    play.shows(&["✓ [1] io.read_file → 3 lines, 5 B, cut from 165.0 KiB"]);
}

#[test]
fn a_turn_of_before_has_its_invocations() {
    let play = Play::new(100, RICH);
    let calls = three();
    let result = |call: &Invocation| {
        Canister::Result(InvocationResult::new(call.id.clone(), Outcome::Success, call.tool.as_str()))
    };
    let mut turn: Vec<Canister> = calls.iter().cloned().map(Canister::Invocation).collect();
    turn.extend(calls.iter().rev().map(result));
    play.view.recall(&turn);
    let text =
        |lines: Vec<converse_screen::Line>| lines.iter().map(converse_screen::Line::text).collect::<Vec<_>>();
    assert_eq!(text(play.view.call_in_full(2).unwrap())[0], "[2] git.log success");
    assert_eq!(
        text(play.view.calls_in_short()),
        [
            "✓ [1] weather.forecast city=\"Oslo\" days=3 → weather__forecast",
            "✓ [2] git.log count=20 → git__log",
            "✓ [3] web.search query=\"fjords near Bergen\" → web__search",
        ]
    );
    play.view.recall(&[]);
    assert!(play.view.calls().is_empty());
    play.shows(&[]);
}

#[test]
fn what_runs_is_what_is_shown() {
    let play = Play::new(100, RICH);
    let (asked, edited) = (call(0, "io__write", r#"{"path":"a"}"#), call(0, "io__write", r#"{"path":"b"}"#));
    play.asks();
    play.replied("");
    play.asked_for(std::slice::from_ref(&asked));
    play.hears(&Event::Started { invocations: std::slice::from_ref(&edited), has_effects: true });
    play.finished(&edited, Outcome::Success, "", 5);
    play.shows(&["✓ [1] io.write path=\"b\" 5 ms → nothing"]);
}

#[test]
fn arguments_being_written_are_told() {
    let play = Play::new(100, RICH);
    play.asks();
    let started = Delta::InvocationStarted { index: 0, tool: "io__write".to_owned() };
    play.hears(&Event::Delta(&started));
    play.hears(&Event::Delta(&Delta::Arguments { index: 0, fragment: "x".repeat(2048) }));
    play.after(1000);
    let rows = play.rows();
    assert!(
        rows.len() == 1 && rows[0].ends_with("writes the arguments of io.write 2.0 KiB · 1 s"),
        "{rows:?}"
    );
    play.replied("");
    play.shows(&[]);
}

#[test]
fn everything_about_one_is_there_on_demand() {
    let play = Play::new(60, RICH);
    let long = format!(r#"{{"text":"{}","key":"sk-secret-0123456789"}}"#, "word ".repeat(100));
    let one = call(0, "io__write", &long);
    play.asks();
    play.replied("");
    play.asked_for(std::slice::from_ref(&one));
    play.hears(&Event::Started { invocations: std::slice::from_ref(&one), has_effects: true });
    play.finished(&one, Outcome::Failed, "line one\n\x1b[2Jline two", 40);
    let lines = play.view.call_in_full(1).unwrap();
    let text: Vec<String> = lines.iter().map(converse_screen::Line::text).collect();
    assert_eq!(
        text[..4],
        [
            "[1] io.write failed, 40 ms",
            "arguments",
            "  {",
            &format!("    \"text\": \"{}\",", "word ".repeat(100))
        ]
    );
    assert_eq!(
        text[4..],
        ["    \"key\": \"[redacted]\"", "  }", "result", "  line one", "  \\x1b[2Jline two"]
    );
    assert!(play.view.call_in_full(2).is_none());
    play.view.begin_turn();
    assert!(play.view.calls().is_empty(), "of the last turn only");
}

#[test]
fn many_at_once_leave_room_for_the_rest() {
    let play = Play::new(100, RICH);
    let calls: Vec<Invocation> = (0..50).map(|index| call(index, "a__b", "{}")).collect();
    play.asks();
    play.replied("");
    play.asked_for(&calls);
    play.hears(&Event::Started { invocations: &calls, has_effects: true });
    let rows = play.rows();
    assert!(rows.len() == 12 && rows[11].contains("39 more"), "{rows:?}");
}
