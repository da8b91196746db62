//! Chores of the workspace, run as `cargo xtask CHORE`: what is generated, what is measured.

#![allow(
    clippy::disallowed_methods,
    reason = "a chore is a program of its own: it reads its environment itself"
)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a chore speaks to who runs it")]

mod bench;
mod built;
mod canary;
mod child;
mod codegen;
mod conformance;
mod crash;
mod debian;
mod figures;
mod fuzz;
mod interop;
mod order;
mod real;
mod replicas;
mod request;
mod scenario;
mod screenshots;
mod serving;
mod stub;
mod validators;
mod wire;

use std::process::ExitCode;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

const USAGE: &str = "\
usage: cargo xtask CHORE

chores:
  bench [--json] [--rounds N] [--binary PATH] [--only curl|servers|check|decode|sessions|search|soak|genai|serve]
                                                measure the program; 1 if a gate fails
  canary [--suite PATH] [--only TEST] [--keep]  run the tests of the program with keys and look for them; 1 if one is found
  conformance [--binary PATH] [--only WORD]…    run the protocol's conformance suite; WORD: client, server, a revision,
                                                a scenario. 1 if something that is required does not pass
  count [COMMIT]                                count lines, files, crates and packages; a Markdown table
  crash [--binary PATH] [--seconds N] [--points N] [--scenario NAME] [--seed N]
                                                kill the program at every write; 1 if something is lost
  check [BASE]                                  format, lints and unit tests of the crates that changed since main
  codegen                                       write the generated pages of docs/reference
  fuzz [--runs N] [--only TARGET]… [--keep]     drive the decoders with libFuzzer
  interop [--binary PATH] [--only NAME]…        drive MCP servers of others; 1 if something is not as it should be
  order                                         build the release binary with what a run uses in one place (needs valgrind)
  real [--binary PATH]                          speak to llama.cpp's server with a model of random weights
  replicas [--binary PATH] [--seconds N]         restart gateways behind nginx under load; 1 if a call is lost
  screenshots [--binary PATH] [--only NAME]… [--check]
                                                draw the pictures of docs/images; with --check, 1 if one differs
  validators [--binary PATH] [--only NAME]…     give what we write to validators of others; 1 if one disagrees
  wire                                          hold requests against the types of the vendors' clients";

fn main() -> ExitCode {
    let arguments: Vec<String> =
        std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        // Before anything that needs memory: a measured child's peak cannot read below its parent's.
        [child::HELPER, account, command @ ..] => return child::helper(account, command),
        [conformance::WRAPPER, words @ ..] => conformance::wrapper(words),
        ["conformance", options @ ..] => conformance::run(options),
        ["bench", options @ ..] => bench::run(options),
        ["interop", options @ ..] => interop::run(options),
        ["validators", options @ ..] => validators::run(options),
        ["wire", options @ ..] => wire::run(options),
        ["canary", options @ ..] => canary::run(options),
        ["fuzz", options @ ..] => fuzz::run(options),
        ["real", options @ ..] => real::run(options),
        ["screenshots", options @ ..] => screenshots::run(options),
        ["crash", options @ ..] => crash::run(options),
        ["replicas", options @ ..] => replicas::run(options),
        ["check", options @ ..] => script("check.py", options),
        ["count", options @ ..] => script("count.py", options),
        ["order"] => order::run().map(|()| ExitCode::SUCCESS),
        ["codegen"] => codegen::run().map(|()| ExitCode::SUCCESS),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    done.unwrap_or_else(|error| {
        eprintln!("error: {error}");
        ExitCode::from(2)
    })
}

/// Runs a Python script of this directory with the options of the command, and ends as it does.
fn script(path: &str, options: &[&str]) -> Result<ExitCode> {
    let script = built::root().join("xtask").join(path);
    let code = std::process::Command::new("python3").arg(script).args(options).status()?.code();
    Ok(ExitCode::from(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(2)))
}
