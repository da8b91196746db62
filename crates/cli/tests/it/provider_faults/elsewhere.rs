//! Faults that are held by other tests: which, and where. A test that is renamed or gone is missed here.

/// The id, the file below the workspace, the test.
const HELD: &[(&str, &str, &str)] = &[
    ("P18", "crates/cli/tests/it/provider_faults/hosts.rs", "p18_a_name_that_is_not_there"),
    ("P18", "crates/host/src/client.rs", "no_such_host_is_told_from_ask_me_later"),
    ("P18", "crates/engine/src/exchange_error.rs", "a_name_that_is_not_there_is_asked_for_twice_at_most"),
    ("P19", "crates/cli/tests/it/provider_faults/tls.rs", "p19_certificates"),
    ("P19", "crates/cli/tests/it/provider_faults/tls.rs", "p19_a_protocol_of_the_past"),
    ("P19", "crates/cli/tests/it/failures.rs", "a_certificate_nobody_vouches_for_is_not_tried_again"),
    ("P19", "crates/cli/tests/it/failures.rs", "a_server_that_speaks_no_tls_is_not_tried_again"),
    ("P22", "crates/cli/tests/it/provider_faults/hosts.rs", "p22_a_key_does_not_travel_to_another_origin"),
    ("P24", "crates/cli/tests/it/provider_faults/hosts.rs", "p24_a_dead_proxy_is_named"),
    ("P24", "crates/cli/tests/it/provider_faults/h2.rs", "p24_streams_that_are_reset_are_tried_again"),
    (
        "P24",
        "crates/cli/tests/it/provider_faults/h2.rs",
        "p24_going_away_is_tried_again_on_another_connection",
    ),
    // Every byte of every recorded stream is a place to cut at: no call survives, nothing is taken for whole.
    (
        "S2",
        "crates/provider/tests/conformance/main.rs",
        "a_body_that_ends_early_is_no_reply_and_holds_no_invocation",
    ),
    (
        "S3",
        "crates/cli/tests/it/provider_faults/turns.rs",
        "s3_a_whole_call_of_a_reply_that_is_not_whole_does_not_run",
    ),
    ("S5", "crates/provider/tests/conformance/main.rs", "replies_are_the_same_however_a_body_is_cut"),
    ("S5", "crates/provider/src/sse.rs", "every_form_of_an_event_is_read"),
    ("S5", "crates/provider/src/sse.rs", "cutting_is_invisible"),
    ("S7", "crates/cli/tests/it/provider_faults/pressed.rs", "s7_a_line_without_end"),
    ("S7", "crates/cli/tests/it/provider_faults/pressed.rs", "s7_a_flood_of_events"),
    // Events in any order, doubled, without their beginning, in any mixture.
    ("S8", "crates/provider/tests/conformance/hostile.rs", "any_body_gives_the_same_however_it_is_cut"),
];

pub(super) fn ids() -> impl Iterator<Item = String> {
    HELD.iter().map(|(id, _, _)| (*id).to_owned())
}

#[test]
fn they_are_still_there() {
    let workspace = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for (id, file, test) in HELD {
        let text = std::fs::read_to_string(workspace.join(file)).unwrap();
        assert!(text.contains(&format!("fn {test}(")), "{id}: no `{test}` in {file}");
    }
}
