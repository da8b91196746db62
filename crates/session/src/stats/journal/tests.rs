use crate::Origin;
use converse_canister::{Arguments, Assistant, Condensed, Content, Invocation, TurnId, User};
use jiff::civil::date;
use jiff::tz::TimeZone;

use super::*;
use crate::stats::{Figures, Folding, Pattern, StatsFilter};

const EVERYTHING: StatsFilter =
    StatsFilter { zone: TimeZone::UTC, since: None, until: None, model: None, tool: None };

/// Seconds after the first of November 2026, and what is written then.
type Line = (i64, Body);

fn at(seconds: i64) -> Timestamp {
    let first = "2026-11-01T00:00:00Z".parse::<Timestamp>().unwrap();
    Timestamp::from_second(first.as_second() + seconds).unwrap()
}

fn user() -> Body {
    Canister::User(User::text("x")).into()
}

fn stopped(stop: Stop) -> Body {
    let content = vec![Content::text("y")];
    Canister::Assistant(Assistant { turn: TurnId(1), content, native: None, stop, response_id: None }).into()
}

fn words() -> Body {
    stopped(Stop::End)
}

fn used(model: &str, tokens: Option<u64>, cost: Option<u64>) -> Body {
    let usage = Usage { input: tokens, output: tokens.map(|_| 5), ..Usage::default() };
    let (provider, model) = match model.split_once('/') {
        Some((provider, model)) => (Some(provider.to_owned()), model),
        None => (None, model),
    };
    Body::Used { usage, cost: cost.map(Cost), model: model.to_owned(), provider }
}

fn id(index: usize) -> InvocationId {
    InvocationId::of(TurnId(1), index)
}

fn call(index: usize, tool: &str) -> Body {
    let arguments = Arguments::parse("");
    let (turn, id) = (TurnId(1), id(index));
    Canister::Invocation(Invocation { turn, id, wire_id: None, tool: tool.to_owned(), arguments, seal: None })
        .into()
}

fn started(index: usize) -> Body {
    Body::Started { id: id(index) }
}

fn result(index: usize, outcome: Outcome) -> Body {
    let mut result = InvocationResult::new(id(index), outcome, "");
    result.cost = Some(Cost(7));
    Canister::Result(result).into()
}

fn header() -> Header {
    Header::new("p", at(0))
}

fn fold(wanted: StatsFilter, journals: Vec<(Header, Vec<Line>)>) -> Figures {
    let mut folding = Folding::new(wanted);
    for (header, lines) in journals {
        let mut journal = folding.journal();
        for (seq, (seconds, body)) in (2..).zip(lines) {
            journal.line(&header, Entry { seq, at: at(seconds), body });
        }
        journal.end();
    }
    folding.figures()
}

/// A turn with two calls, one of which never ran, and one that failed in a second reply.
fn talk() -> Vec<Line> {
    vec![
        (0, user()),
        (4, words()),
        (4, call(0, "io.read")),
        (4, call(1, "io__write")),
        (5, used("m", Some(100), Some(30))),
        (6, result(1, Outcome::Invalid)),
        (10, started(0)),
        (13, result(0, Outcome::Success)),
        (20, words()),
        (20, call(2, "io.read")),
        (20, used("n", Some(50), None)),
        (21, started(2)),
        (23, result(2, Outcome::Failed)),
    ]
}

#[test]
fn a_turn_is_counted_by_day_model_and_tool() {
    let figures = fold(EVERYTHING, vec![(header(), talk())]);
    assert_eq!((figures.sessions, figures.turns, figures.unreadable), (1, 1, 0));
    let spent = figures.spent;
    assert_eq!((spent.replies, spent.input, spent.output, spent.tokens()), (2, 150, 10, 160));
    assert_eq!((spent.cost, spent.unpriced, spent.uncounted), (Cost(30), 1, 0));
    assert_eq!((figures.calls.calls, figures.calls.failed(), figures.calls.invalid()), (3, 1, 1));
    assert_eq!(figures.calls.cost, Cost(21));
    let (m, n) = (&figures.models["m"], &figures.models["n"]);
    assert_eq!((m.time.quantile(0.5), n.time.quantile(0.5)), (Some(5000), Some(7000)));
    assert_eq!((m.calls.calls, m.calls.invalid(), n.calls.calls, n.calls.invalid()), (2, 1, 1, 0));
    let (read, write) = (&figures.tools["io.read"], &figures.tools["io.write"]);
    assert_eq!(
        (read.calls.calls, read.time.quantile(0.0), read.time.quantile(1.0)),
        (2, Some(2000), Some(3000))
    );
    assert_eq!((write.calls.invalid(), write.time.quantile(0.5)), (1, None), "it never ran");
    let pair = figures.pairs[&("m".to_owned(), "io.write".to_owned())];
    assert_eq!((pair.calls, pair.invalid), (1, 1));
    let day = &figures.days[&date(2026, 11, 1)];
    assert_eq!((day.sessions, day.turns, day.spent.replies, day.calls.calls), (1, 1, 2, 3));
    assert_eq!(day.models["m"], crate::stats::Share { tokens: 105, cost: Cost(30) });
}

#[test]
fn one_name_of_two_providers_is_two_models() {
    // The last is of a version that did not say who served it; a name may have a slash of its own.
    let used = || {
        [
            used("a/m", Some(1), None),
            used("b/m", Some(2), None),
            used("b/c/m", None, None),
            used("m", None, None),
        ]
    };
    let lines = || [user()].into_iter().chain(used()).map(|body| (1, body)).collect();
    let fold = |model: Option<&str>| {
        fold(StatsFilter { model: model.map(Pattern::new), ..EVERYTHING }, vec![(header(), lines())])
    };
    let names: Vec<_> = fold(None).models.into_keys().collect();
    assert_eq!(names, ["a/m", "b/c/m", "b/m", "m"]);
    for (pattern, replies) in [("m", 3), ("a/m", 1), ("b/*", 2), ("*m", 4), ("a", 0), ("c/m", 1)] {
        assert_eq!(fold(Some(pattern)).spent.replies, replies, "{pattern}");
    }
}

#[test]
fn what_was_taken_over_counts_where_it_was_spent() {
    let forked =
        Header { forked: Some(Origin { session: "s".to_owned(), seq: 14 }), ..Header::new("p", at(30)) };
    // As old as what was taken in.
    let imported = Header { imported: Some("s".to_owned()), ..header() };
    let note = |text: &str| (30, Body::Note { text: text.to_owned() });
    let more = |between: Line| {
        let own = [between, (31, user()), (32, words()), (33, used("m", Some(1), Some(1)))];
        talk().into_iter().chain(own).collect::<Vec<_>>()
    };
    for (header, between) in [(forked, note("a fork")), (imported, note("taken in from s"))] {
        let figures = fold(EVERYTHING, vec![(header, more(between))]);
        let found = (figures.turns, figures.spent.replies, figures.spent.input, figures.calls.calls);
        assert_eq!(found, (1, 1, 1, 0));
    }
    assert_eq!(fold(EVERYTHING, vec![(header(), more(note("x")))]).spent.replies, 3);
}

#[test]
fn replies_that_came_to_nothing_are_told_apart() {
    let condensed = Condensed { covers: 1, summary: "s".to_owned(), model: "m".to_owned() };
    for (lines, broken, truncated, refused) in [
        (vec![words(), used("m", None, None)], 0, 0, 0),
        (vec![used("m", None, None)], 1, 0, 0),
        (vec![used("m", None, None), used("m", None, None), words(), used("m", None, None)], 2, 0, 0),
        (vec![used("m", None, None), Body::Condensed { condensed }], 0, 0, 0),
        (vec![stopped(Stop::Cut), used("m", None, None)], 1, 0, 0),
        (vec![stopped(Stop::Truncated), used("m", None, None)], 0, 1, 0),
        (vec![stopped(Stop::Refused { reason: None }), used("m", None, None)], 0, 0, 1),
    ] {
        let told = format!("{lines:?}");
        let replies = lines.iter().filter(|line| matches!(line, Body::Used { .. })).count() as u64;
        let lines = [user()].into_iter().chain(lines).map(|body| (1, body)).collect();
        let figures = fold(EVERYTHING, vec![(header(), lines)]);
        let m = &figures.models["m"];
        assert_eq!((m.broken, m.truncated, m.refused), (broken, truncated, refused), "{told}");
        assert_eq!((m.spent.replies, m.spent.uncounted, m.spent.unpriced), (replies, replies, replies));
    }
}

#[test]
fn what_a_person_waits_with_is_no_time_of_a_model() {
    let condensed = || Body::Condensed {
        condensed: Condensed { covers: 1, summary: "s".to_owned(), model: "m".to_owned() },
    };
    let used = || used("m", None, None);
    for (told, lines, times) in [
        ("a reply", vec![(0, user()), (3, words()), (3, used())], vec![3000]),
        (
            "a summary that is asked for in between, and the next turn",
            vec![
                (0, user()),
                (3, words()),
                (3, used()),
                (28, used()),
                (28, condensed()),
                (90, user()),
                (92, words()),
                (92, used()),
            ],
            vec![3000, 2000],
        ),
        (
            "one that broke off in between",
            vec![(0, user()), (3, words()), (3, used()), (28, used()), (99, user())],
            vec![3000],
        ),
        ("one after a turn that came to nothing", vec![(0, user()), (60, used()), (60, condensed())], vec![]),
        (
            "a summary within a turn, and the reply after it",
            vec![(0, user()), (4, used()), (4, condensed()), (9, words()), (9, used())],
            vec![5000],
        ),
        (
            "a second try, and a pause",
            vec![
                (0, user()),
                (4, used()),
                (9, stopped(Stop::Paused)),
                (9, used()),
                (11, words()),
                (11, used()),
            ],
            vec![4000, 5000, 2000],
        ),
    ] {
        let figures = fold(EVERYTHING, vec![(header(), lines)]);
        let (mut times, time) = (times, &figures.models["m"].time);
        times.sort_unstable();
        assert_eq!(time.count(), times.len() as u64, "{told}");
        assert_eq!(
            (time.quantile(0.0), time.quantile(1.0)),
            (times.first().copied(), times.last().copied()),
            "{told}"
        );
    }
}

/// A turn that nobody wanted answers before it.
fn two() -> Vec<Line> {
    [(0, user()), (1, words()), (1, used("m", None, None))].into_iter().chain(talk()).collect()
}

#[test]
fn what_is_not_wanted_is_not_counted() {
    let since = |day| StatsFilter { since: Some(date(2026, 11, day)), ..EVERYTHING };
    let model = |pattern| StatsFilter { model: Some(Pattern::new(pattern)), ..EVERYTHING };
    let tool = |pattern| StatsFilter { tool: Some(Pattern::new(pattern)), ..EVERYTHING };
    let late: Vec<Line> = talk().into_iter().map(|(seconds, body)| (seconds + 86_400 - 10, body)).collect();
    for (wanted, lines, sessions, turns, replies, calls) in [
        (EVERYTHING, talk(), 1, 1, 2, 3),
        (since(1), talk(), 1, 1, 2, 3),
        (since(2), talk(), 0, 0, 0, 0),
        // Midnight comes between the first result and the second reply.
        (since(2), late, 1, 0, 1, 2),
        (model("n"), talk(), 1, 1, 1, 1),
        (model("x*"), talk(), 0, 0, 0, 0),
        (model("n"), two(), 1, 1, 1, 1),
        (tool("*.read"), talk(), 1, 1, 2, 2),
    ] {
        let told = format!("{wanted:?}");
        let figures = fold(wanted, vec![(header(), lines)]);
        let found = (figures.sessions, figures.turns, figures.spent.replies, figures.calls.calls);
        assert_eq!(found, (sessions, turns, replies, calls), "{told}");
    }
}

#[test]
fn an_interrupted_run_and_a_clock_that_goes_back_have_no_time() {
    let lines = vec![
        (0, user()),
        (1, call(0, "a")),
        (1, call(1, "b")),
        (1, used("m", None, None)),
        (2, started(0)),
        (2, started(1)),
        (1, result(1, Outcome::Success)),
        (90_000, result(0, Outcome::Interrupted)),
    ];
    let figures = fold(EVERYTHING, vec![(header(), lines)]);
    assert_eq!((figures.tools["a"].time.count(), figures.tools["b"].time.count()), (0, 0));
    assert_eq!(figures.calls.failed(), 1);
    assert_eq!(figures.days.len(), 2);
}

#[test]
fn names_and_days_are_bounded() {
    let replies = (0..5000).flat_map(|n| {
        let model = format!("m{n}");
        [
            (n * 86_400, call(0, &format!("t{n}"))),
            (n * 86_400, used(&model, Some(1), None)),
            (n * 86_400, result(0, Outcome::Success)),
        ]
    });
    let figures = fold(EVERYTHING, vec![(header(), replies.collect())]);
    assert_eq!((figures.spent.replies, figures.calls.calls), (5000, 5000));
    assert_eq!((figures.models.len(), figures.tools.len(), figures.pairs.len()), (1001, 1001, 1001));
    assert_eq!((figures.models[OTHERS].spent.replies, figures.days.len()), (4000, MOST_DAYS));
    assert_eq!(name(&"x".repeat(1000)).chars().count(), 201);
}
