//! The example runs.

use std::process::Command;

#[test]
#[allow(clippy::disallowed_methods, reason = "an example is a program")]
fn a_processor_alone() {
    let test = std::env::current_exe().unwrap();
    // target/PROFILE/deps/TEST beside target/PROFILE/examples/EXAMPLE
    let program = test.parent().and_then(|deps| deps.parent()).unwrap().join("examples/processor_alone");
    assert!(
        program.exists(),
        "`cargo test -p converse-provider` builds the examples; {program:?} is not there"
    );
    let output = Command::new(program).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
