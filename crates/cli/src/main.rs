//! The binary: everything is in the library beside it, so that tests can turn on its test-only tools.

use std::process::ExitCode;

/// A gateway makes a hundred allocations for each call: ADR 41.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    converse::main()
}
