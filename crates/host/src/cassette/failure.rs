//! What goes wrong with a cassette, in words for the user.

use converse_session::cassette::{CassetteError, Miss};

use crate::failure::{Failure, Kind};
use crate::options::TurnOptions;

pub(super) fn unreadable(error: CassetteError) -> Failure {
    let message = error.to_string();
    match error {
        CassetteError::Io { .. } | CassetteError::NoFile(_) => Failure::usage("cassette-file", message),
        CassetteError::Newer { .. } => Failure::new(Kind::Configuration, "cassette-newer", message)
            .hint("use that version, or record it again"),
        _ => Failure::new(Kind::Configuration, "cassette-damaged", message)
            .hint("`converse ask --record FILE …` makes one; restore it, or record it again"),
    }
}

pub(super) fn unwritable(error: CassetteError) -> Failure {
    let message = error.to_string();
    match error {
        CassetteError::NoCassette(_) | CassetteError::NoFile(_) | CassetteError::NotOurs(_) => {
            let failure = Failure::usage("cassette-file", format!("{message}, and is not overwritten"));
            failure.hint("name a new file or a cassette")
        }
        CassetteError::Busy(_) => Failure::usage("cassette-busy", message),
        _ => Failure::new(Kind::Output, "record-failed", format!("the run could not be recorded: {message}")),
    }
}

/// The diff is part of the message: it is what the message is about.
pub(super) fn missed(miss: Miss) -> Failure {
    let Miss { message, line, diff } = miss;
    let message = if diff.is_empty() { message } else { format!("{message}\n{diff}") };
    let mut failure = Failure::new(Kind::ProviderNonsense, "cassette-miss", message)
        .hint("if this is intended, record the cassette again: `--record FILE` instead of `--replay FILE`")
        .hint("allow the calls that were approved in the recording: `--allow 'ensemble.invoker'`");
    failure.facts.extend(line.map(|line| ("cassette_line", line.into())));
    failure
}

/// What comes of the network before any model is asked is on no cassette.
pub(super) fn refused(talk: &TurnOptions) -> Result<(), Failure> {
    let reaches_out = |named: &&String| {
        ["http:", "https:", "mcp:"].iter().any(|scheme| named.to_ascii_lowercase().starts_with(scheme))
    };
    match talk.attach.iter().find(reaches_out) {
        None => Ok(()),
        Some(named) => {
            let message =
                format!("`--attach {named}` is fetched from a URL, which a cassette does not record");
            Err(Failure::usage("not-recordable", message).hint("attach a file"))
        }
    }
}
