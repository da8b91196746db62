//! One module for each command: parsed arguments in, output and an exit code out.

pub(crate) mod approvals;
pub(crate) mod ask;
pub(crate) mod audit;
pub(crate) mod doctor;
pub(crate) mod ensembles;
pub(crate) mod explain;
pub(crate) mod mcp;
pub(crate) mod models;
pub(crate) mod serve;
pub(crate) mod sessions;
pub(crate) mod stats;

use std::path::Path;

use converse_host::failure::{Failure, Kind};
use converse_terminal::render::output::write_stdout;
use converse_text::safe;

use crate::args;

/// Prints the page of `converse`, or writes the pages of all commands to a directory.
pub(crate) fn man(directory: Option<&Path>) -> Result<(), Failure> {
    let command = args::command();
    let failed = |error: std::io::Error| {
        let place = directory.map_or_else(|| "stdout".into(), |directory| directory.to_string_lossy());
        Failure::new(Kind::Output, "write-failed", format!("cannot write to `{}`: {error}", safe(&place)))
    };
    let Some(directory) = directory else {
        let mut page = Vec::new();
        clap_mangen::Man::new(command).render(&mut page).map_err(failed)?;
        return Ok(write_stdout(&String::from_utf8_lossy(&page))?);
    };
    std::fs::create_dir_all(directory).map_err(failed)?;
    clap_mangen::generate_to(command, directory).map_err(failed)
}

/// Prints the completion script of a shell.
pub(crate) fn completions(shell: clap_complete::Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut args::command(), "converse", &mut script);
    Ok(write_stdout(&String::from_utf8_lossy(&script))?)
}
