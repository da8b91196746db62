//! Modes that are held by other tests: which, and where. A test that is renamed or gone is missed here.

const STARTS: &str = "crates/cli/tests/it/server_starts.rs";
const FAULTS: &str = "crates/cli/tests/it/server_faults.rs";
const DEATHS: &str = "crates/cli/tests/it/server_deaths.rs";
const LOCKED: &str = "crates/cli/tests/it/lock/running.rs";
const LIVING: &str = "crates/mcp/src/tests/living.rs";

/// The id, the mode, the file below the workspace, the test.
const HELD: &[(&str, &str, &str, &str)] = &[
    ("C1", "a program that is not there", STARTS, "a_server_that_does_not_start_is_left_out"),
    ("C1", "exits 1 at once", STARTS, "a_server_that_does_not_start_is_left_out"),
    ("C1", "exits 0 at once", STARTS, "a_server_that_does_not_start_is_left_out"),
    ("C1", "a banner, and then it ends", STARTS, "a_server_that_does_not_start_is_left_out"),
    (
        "C1",
        "a launcher that ends while a child holds its pipes",
        STARTS,
        "a_server_that_does_not_start_is_left_out",
    ),
    ("C2", "a banner on stdout", STARTS, "rubbish_between_messages_is_passed_over"),
    ("C2", "noise, HTML and invalid UTF-8", STARTS, "rubbish_between_messages_is_passed_over"),
    ("C2", "a byte order mark and CR LF", STARTS, "rubbish_between_messages_is_passed_over"),
    ("C2", "rubbish without end", STARTS, "rubbish_without_end_is_no_server"),
    ("C3", "mute on server/discover", STARTS, "old_servers_are_spoken_with"),
    ("C3", "ends on server/discover", STARTS, "old_servers_are_spoken_with"),
    ("C3", "an old version", STARTS, "old_servers_are_spoken_with"),
    ("C3", "mute on initialize", STARTS, "a_handshake_that_fails_is_told_in_time"),
    ("C3", "mute on tools/list", STARTS, "a_handshake_that_fails_is_told_in_time"),
    ("C3", "an unknown version", STARTS, "a_handshake_that_fails_is_told_in_time"),
    ("C3", "a wrong id", STARTS, "a_handshake_that_fails_is_told_in_time"),
    ("C7", "the same cursor for ever", STARTS, "a_list_of_tools_without_end_is_no_list"),
    ("C7", "a hundred thousand tools", STARTS, "a_list_of_tools_without_end_is_no_list"),
    ("C7", "one malformed tool", STARTS, "a_bad_tool_costs_only_itself"),
    ("C7", "names twice", STARTS, "the_reason_a_tool_is_left_out_is_told"),
    ("C7", "invisible and reversed names", STARTS, "a_bad_tool_costs_only_itself"),
    ("C4", "a call that hangs", FAULTS, "a_call_that_hangs_is_given_up_and_the_server_is_told"),
    ("C4 T14", "progress for ever", FAULTS, "progress_keeps_a_call_alive_but_not_for_ever"),
    ("T14", "progress without a pause", FAULTS, "progress_without_end_costs_no_memory"),
    ("C4", "a late answer", FAULTS, "a_late_answer_is_dropped_and_the_server_goes_on"),
    ("C4", "ignores a cancel", FAULTS, "a_late_answer_is_dropped_and_the_server_goes_on"),
    ("C5", "ends in a call", FAULTS, "a_server_that_dies_in_a_call_interrupts_all_that_run"),
    ("C5", "SIGSEGV in a call", FAULTS, "a_server_that_dies_in_a_call_interrupts_all_that_run"),
    ("C5", "closes its stdout only", FAULTS, "a_server_that_dies_in_a_call_interrupts_all_that_run"),
    ("C5", "closes its stdin only", FAULTS, "a_server_that_closes_its_stdin_is_given_up"),
    ("C5", "ends once", FAULTS, "a_server_that_dies_once_is_started_again"),
    ("C5", "ends again and again", FAULTS, "a_server_that_dies_again_and_again_is_started_for_each_call"),
    (
        "C5",
        "ends while a grandchild holds the pipes",
        FAULTS,
        "a_server_that_dies_before_its_children_is_seen_to_be_dead",
    ),
    ("C6 T14", "a line of 17 MiB", FAULTS, "a_line_beyond_the_limit_ends_the_call_at_once"),
    ("C6 T14", "a line of 100 MB", FAULTS, "a_line_beyond_the_limit_ends_the_call_at_once"),
    ("C6 T14", "a million items", FAULTS, "a_line_beyond_the_limit_ends_the_call_at_once"),
    ("C6 T14", "an image of 90 MB", FAULTS, "a_line_beyond_the_limit_ends_the_call_at_once"),
    ("C6 T14", "a large result", FAULTS, "a_large_result_is_cut"),
    ("C7", "tools that change in a session", FAULTS, "a_list_of_tools_that_changes_is_asked_for_again"),
    ("C7", "a tool that vanished", FAULTS, "a_tool_that_vanished_is_a_failed_call"),
    (
        "C7",
        "accepted tools that change in a session",
        LOCKED,
        "a_tool_that_changes_in_mid_session_is_held_back",
    ),
    (
        "C7",
        "accepted tools that change between runs",
        LOCKED,
        "a_list_from_an_earlier_run_passes_the_same_gate",
    ),
    ("C7", "says five times that its tools have changed", LIVING, "a_burst_of_changes_is_one_list"),
    ("C8", "a broken output schema", FAULTS, "odd_results_are_results"),
    ("C8", "content of a kind that nobody knows", FAULTS, "odd_results_are_results"),
    ("C8", "a link to a secret file", FAULTS, "odd_results_are_results"),
    ("C10", "a flood on stderr", FAULTS, "a_flood_on_stderr_stops_nothing"),
    ("C10", "never reads its stdin", FAULTS, "a_server_that_does_not_read_is_given_up"),
    ("C10", "asks us without end", "crates/mcp/src/guard.rs", "a_server_that_takes_no_answers_is_given_up"),
    ("C11", "ignores the end of its stdin", DEATHS, "nothing_is_left_of_one_server_after_a_call"),
    ("C11", "ignores SIGTERM", DEATHS, "nothing_is_left_of_one_server_after_a_call"),
    ("C11", "forks twice", DEATHS, "nothing_is_left_of_one_server_after_a_call"),
    ("C11", "ten servers that will not go", DEATHS, "nothing_is_left_of_ten_servers_after_a_run"),
    ("C12", "we are killed", DEATHS, "nothing_is_left_when_we_are_killed"),
    ("C12", "we are killed while connecting", DEATHS, "nothing_is_left_when_we_are_ended_while_connecting"),
];

pub(super) fn ids() -> impl Iterator<Item = &'static str> {
    HELD.iter().flat_map(|(ids, ..)| ids.split(' '))
}

pub(super) fn names() -> impl Iterator<Item = &'static str> {
    HELD.iter().map(|(_, name, ..)| *name)
}

#[test]
fn they_are_still_there() {
    let workspace = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for (_, name, file, test) in HELD {
        let text = std::fs::read_to_string(workspace.join(file)).unwrap();
        assert!(text.contains(&format!("fn {test}(")), "{name}: no `{test}` in {file}");
    }
}
