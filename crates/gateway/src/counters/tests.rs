use super::*;

fn line<'t>(text: &'t str, beginning: &str) -> Option<&'t str> {
    text.lines().find_map(|line| line.strip_prefix(beginning)).map(str::trim)
}

#[test]
fn calls_are_counted_by_tool_and_outcome() {
    let counters = Arc::new(Counters::default());
    counters.call("a", None).ended(Outcome::Success);
    counters.call("a", None).ended(Outcome::Success);
    counters.call("b\"\\\n", None).ended(Outcome::Refused);
    drop(counters.call("a", None));
    let running = counters.call("a", None);
    let text = counters.text();
    assert_eq!(line(&text, "converse_calls_total{tool=\"a\",outcome=\"success\"}"), Some("2"));
    assert_eq!(line(&text, "converse_calls_total{tool=\"a\",outcome=\"cancelled\"}"), Some("1"));
    assert_eq!(line(&text, "converse_calls_total{tool=\"b\\\"\\\\\\n\",outcome=\"refused\"}"), Some("1"));
    assert_eq!(line(&text, "converse_calls_running "), Some("1"));
    assert_eq!(line(&text, "converse_call_duration_seconds_count "), Some("4"));
    running.ended(Outcome::Failed);
    assert_eq!(counters.running(), 0);
}

#[test]
fn names_are_bounded_whoever_calls() {
    let counters = Arc::new(Counters::default());
    for index in 0..MAX_TOOLS + 10 {
        counters.call(&format!("t{index}"), None).ended(Outcome::Success);
        counters.call(&format!("t{index}"), None).ended(Outcome::Failed);
    }
    let text = counters.text();
    let lines = text.lines().filter(|line| line.starts_with("converse_calls_total{")).count();
    assert_eq!(lines, 2 * (MAX_TOOLS + 1));
    assert_eq!(line(&text, "converse_calls_total{tool=\"other\",outcome=\"failed\"}"), Some("10"));
    // A tool that is known stays so when the others are not.
    counters.call("t0", None).ended(Outcome::Success);
    assert_eq!(line(&counters.text(), "converse_calls_total{tool=\"t0\",outcome=\"success\"}"), Some("2"));
}

#[test]
fn a_duration_is_in_its_step_and_in_all_above() {
    let counters = Counters::default();
    for millis in [1, 2, 700, 3_600_000] {
        counters.totals().durations.add(Duration::from_millis(millis));
    }
    let text = counters.text();
    let step = |end: &str| line(&text, &format!("converse_call_duration_seconds_bucket{{le=\"{end}\"}}"));
    assert_eq!(
        ["0.001", "0.002", "0.5", "1", "600", "+Inf"].map(step),
        ["1", "2", "2", "3", "3", "4"].map(Some)
    );
    assert_eq!(line(&text, "converse_call_duration_seconds_sum "), Some("3600.703"));
}

#[test]
fn connections_are_open_until_they_are_not() {
    let counters = Arc::new(Counters::default());
    let (one, two) = (counters.connection(), counters.connection());
    drop(one);
    counters.refused(RefusalReason::Token);
    let text = counters.text();
    assert_eq!(line(&text, "converse_connections "), Some("1"));
    assert_eq!(line(&text, "converse_connections_total "), Some("2"));
    assert_eq!(line(&text, "converse_requests_refused_total{reason=\"token\"}"), Some("1"));
    drop(two);
}

#[test]
fn every_line_is_one_that_prometheus_reads() {
    let counters = Arc::new(Counters::default());
    counters.call("a", None).ended(Outcome::Success);
    for line in counters.text().lines() {
        let (name, value) = line.rsplit_once(' ').unwrap();
        assert!(line.starts_with("# ") || value.parse::<f64>().is_ok(), "{line}");
        assert!(line.starts_with("# ") || name.split('{').next().unwrap().is_ascii(), "{line}");
    }
}
