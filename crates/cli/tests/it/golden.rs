//! Golden snapshots of everything that users and scripts depend on. A changed output fails its test; look at the change
//! with `cargo insta review` (or `INSTA_UPDATE=always cargo test …`) and commit the snapshot if it is intended.
//!
//! The snapshots of the REPL's screens are in `scenes/screens`.

mod check_formats;
mod help;
mod records;
mod references;

/// Parts of an output that differ from run to run, and their replacements.
const VARIABLE_PARTS: [(&str, &str); 10] = [
    (r"/[^\s\x22]*/\.tmp[A-Za-z0-9]+", "[DIRECTORY]"),
    (r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "[ID]"),
    (r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", "[TIME]"),
    (r"127\.0\.0\.1:\d+", "127.0.0.1:[PORT]"),
    (r#""(delay_ms|time_ms)":\d+"#, r#""$1":"[MILLISECONDS]""#),
    (r#"time="[0-9.]+""#, r#"time="[SECONDS]""#),
    (r#""tokens_(before|after)":\d+"#, r#""tokens_$1":"[TOKENS]""#),
    (r"~\d+ → ~\d+ tokens", "[TOKENS]"),
    (r"(lorem ipsum ){3,}", "[LONG TEXT]"),
    (r"\b0\.1\.0\b", "[VERSION]"),
];

/// Compares a text with the snapshot of this name.
#[track_caller]
fn is_golden(name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("golden");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.set_filters(VARIABLE_PARTS.to_vec());
    settings.bind(|| insta::assert_snapshot!(name, text));
}
