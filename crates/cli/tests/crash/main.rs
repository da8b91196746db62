//! The kill loop, a program of its own that `cargo xtask crash` builds and starts.
//!
//! A scenario is run once under strace, which counts its system calls; then once for each of them (and of each kind that
//! changes what is on the disk or what others see), and at that call the program is killed. Whatever is left must be as
//! the sessions promise: see `judge`. A kill loses nothing that was written, synced or not: a call that only reads ("read")
//! is known afterwards like one with effects ("effects"), and neither runs twice. What a power cut may take, which is only
//! what was not synced, is the subject of `power_tests` in `session`; ADR 4 has the rule. Everything the program does to files is done by its first thread, so only that one
//! is watched: calls are counted alike in each run, and tools and guardians are left alone.
//!
//! With `--store postgres`, sessions are in a database and the places are its statements: see `database`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "as in tests: a panic is a loss")]
#![allow(clippy::disallowed_methods, clippy::print_stdout, clippy::print_stderr, reason = "a chore")]

mod acknowledged;
mod database;
mod journals;
mod judge;
mod killing;
mod leftover;
mod options;
mod place;
mod points;
mod report;
mod scenario;
mod script;
mod work;

#[allow(dead_code, unused_imports, reason = "the tests use the rest")]
#[path = "../it"]
mod shared {
    pub(crate) mod body;
    pub(crate) mod check;
    pub(crate) mod env;
    pub(crate) mod http;
    pub(crate) mod provider;
    pub(crate) mod screen;
}

use std::process::ExitCode;

use shared::{body, check, env, http, provider, screen};

use crate::options::Options;

/// A full run that finds fewer places to be killed at is no proof.
const LEAST: usize = 1_000;

/// 0: nothing was lost. 1: something was. 2: it could not be tried.
fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let options = match Options::read(&words) {
        Ok(options) => options,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::from(2);
        }
    };
    let report = if options.on_postgres { database::work(&options) } else { work::work(&options) };
    print!("{report}");
    let few = options.is_full() && !options.on_postgres && report.killed() < LEAST;
    if few {
        eprintln!("error: it was killed at {} points, and {LEAST} are wanted", report.killed());
    }
    ExitCode::from(u8::from(few || report.has_losses()))
}
