//! The binary: everything is in the library beside it, so that tests can turn on its test-only tools.

use std::process::ExitCode;

fn main() -> ExitCode {
    converse::main()
}
