//! `sessions resume`: the REPL, on a conversation that was.

use super::Shelf;
use converse_host::failure::Failure;
use converse_host::options::TurnOptions;
use converse_host::world::Input;
use converse_terminal::repl;

impl Shelf<'_> {
    pub(super) fn resume(&self, session: &str) -> Result<(), Failure> {
        let id = self.named(session)?.to_string();
        if self.world.stdin != Input::Terminal || !self.world.stdout_tty {
            return Err(Failure::usage("no-terminal", "a conversation is gone on with at a terminal")
                .hint(format!("in a script: `converse ask --session {id} …`")));
        }
        let options = TurnOptions { session: Some(id), ..TurnOptions::default() };
        repl::run(options, self.console, self.world)
    }
}
