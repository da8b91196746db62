//! The references that other programs rely on: diagnostic codes, exit codes, JSON Schemas.

use super::is_golden;
use crate::env::TestEnv;

const CODES: &str = include_str!("../../../../../docs/reference/codes.md");
const EVENTS: &str = include_str!("../../../../../docs/reference/events.schema.json");
const EXIT_CODES: &str = include_str!("../../../../../docs/reference/exit-codes.md");

#[test]
fn diagnostic_codes() {
    is_golden("codes", CODES);
}

#[test]
fn exit_codes() {
    let table: Vec<&str> = EXIT_CODES.lines().filter(|line| line.starts_with('|')).collect();
    assert!(table.len() > 10, "{table:?}");
    is_golden("exit-codes", &table.join("\n"));
}

#[test]
fn schema_of_records() {
    is_golden("events.schema", EVENTS);
}

/// The files of the reference equal this output; the module `schemas` tests that.
#[test]
fn schemas_of_descriptors() {
    let env = TestEnv::new();
    for of in ["ensemble", "invoker"] {
        let ran = env.run(&["ensembles", "schema", of]).exits(0);
        is_golden(&format!("{of}.schema"), &ran.stdout);
    }
}
