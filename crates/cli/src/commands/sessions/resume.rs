//! `sessions resume`: the REPL, on a conversation that was.

use clap::Parser as _;

use super::Shelf;
use crate::args::{Cli, Command};
use crate::commands::repl;
use crate::failure::{Failure, Kind};
use crate::world::Input;

impl Shelf<'_> {
    pub(super) fn resume(&self, session: &str) -> Result<(), Failure> {
        let id = self.named(session)?.to_string();
        if self.world.stdin != Input::Terminal || !self.world.stdout_tty {
            return Err(Failure::usage("no-terminal", "a conversation is gone on with at a terminal")
                .hint(format!("in a script: `converse ask --session {id} …`")));
        }
        // As if it had been typed: no flag can be forgotten here.
        match Cli::try_parse_from(["converse", "repl", "--session", &id]).map(|cli| cli.command) {
            Ok(Command::Repl(args)) => repl::run(&args, self.manners, self.world),
            _ => Err(Failure::new(Kind::Internal, "internal", "the command line of the REPL has changed")),
        }
    }
}
