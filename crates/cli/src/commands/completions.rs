//! `converse completions SHELL`.

use clap::CommandFactory as _;

use crate::args::Cli;
use converse_host::failure::Failure;
use converse_terminal::render::output::write_stdout;

pub(crate) fn run(shell: clap_complete::Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "converse", &mut script);
    Ok(write_stdout(&String::from_utf8_lossy(&script))?)
}
