//! `converse-worker`: carries out the steps of conversations whose progress a Restate server keeps.
//!
//! ```text
//! Restate ── HTTP/2 ──► Sessions (an object of Restate: one turn of a session at a time, `Send`)
//!                          │ advance: one step
//!                          ▼
//!                       Turns ── queue ──► TurnQueue (turns of this process, on one task)
//!                                             │ Steps: the `Runner` of a turn
//!                                             ▼
//!                                          `Shared::run_durably` of batch: the same conversation as everywhere
//! ```
//!
//! Restate has the outcomes of steps, the session's journal what was said and started. After a loss, the steps whose outcomes
//! Restate has are not repeated, and the journal says where to go on.

mod approver;
mod args;
mod identity;
mod message;
mod serving;
mod sessions;
mod steps;
mod turns;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use clap::Parser as _;
use converse_host::failure::{Failure, Kind};
use converse_host::turn::database;
use converse_host::world::World;
use converse_terminal::render::output::write_stderr;

fn main() -> ExitCode {
    std::panic::set_hook(Box::new(|panic| tracing::error!("{panic}")));
    let ran = catch_unwind(AssertUnwindSafe(run));
    let crashed =
        |_| reported(&Failure::new(Kind::Internal, "internal", "the program has a bug and stopped"));
    ExitCode::from(ran.unwrap_or_else(crashed))
}

fn run() -> u8 {
    if let Some(code) = converse_host::child_process(&World::command_line()) {
        return code;
    }
    let args = match args::Args::try_parse() {
        Ok(args) => args,
        Err(error) => {
            let _ = error.print();
            return u8::try_from(error.exit_code()).unwrap_or(2);
        }
    };
    match served(&args) {
        Ok(()) => 0,
        Err(failure) => reported(&failure),
    }
}

fn served(args: &args::Args) -> Result<(), Failure> {
    converse_host::runtime::grow_stack()?;
    converse_host::world::own_what_is_made();
    let (world, warning) = World::snapshot()?;
    world.hide_secrets();
    converse_terminal::signals::outlive_limits_of_files();
    let database = database::configured(args.store.as_deref(), &world)?;
    let world = World { database, ..world };
    let console = serving::console(&world, args.verbose);
    serving::log(args.verbose, console.context.redactor.clone());
    console.warn_all(warning.map(str::to_owned));
    let cleaned = |failure: Failure| failure.redacted(|text| console.context.redactor.clean(text));
    serving::run(args, &console, &world).map_err(cleaned)
}

fn reported(failure: &Failure) -> u8 {
    write_stderr(&failure.lines());
    serving::exit_code(failure.kind)
}
