//! `converse sessions …`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, ValueHint};

use super::examples;

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum Sessions {
    /// List the sessions of this project, most recently used first
    #[command(after_help = examples::SESSIONS_LIST)]
    List(SessionsListArgs),
    /// Show a conversation
    #[command(after_help = examples::SESSIONS_SHOW)]
    Show(SessionsShowArgs),
    /// Search all conversations for words
    #[command(after_help = examples::SESSIONS_SEARCH)]
    Search(SearchArgs),
    /// Continue a session in the terminal
    #[command(after_help = examples::SESSIONS_RESUME)]
    Resume {
        /// Session: its id, a prefix of the id, its name, or `last`
        session: String,
    },
    /// Start a new session from the messages of another
    #[command(after_help = examples::SESSIONS_FORK)]
    Fork(ForkArgs),
    /// Name a session; an empty name removes the name
    #[command(after_help = examples::SESSIONS_RENAME)]
    Rename {
        /// Session: its id, a prefix of the id, its name, or `last`
        session: String,
        /// The new name
        name: String,
    },
    /// Add tags to a session, or remove them
    #[command(after_help = examples::SESSIONS_TAG)]
    Tag(TagArgs),
    /// Export a session as Markdown, JSON or HTML, with known secrets redacted
    #[command(after_help = examples::SESSIONS_EXPORT)]
    Export(SessionsExportArgs),
    /// Import a session written by `export --format json`
    #[command(after_help = examples::SESSIONS_IMPORT)]
    Import(SessionsImportArgs),
    /// Delete sessions permanently
    #[command(after_help = examples::SESSIONS_DELETE)]
    Delete {
        /// Sessions: ids, prefixes of ids, names, or `last`
        #[arg(required = true)]
        session: Vec<String>,
        /// Do not ask for confirmation
        #[arg(short, long)]
        yes: bool,
    },
    /// Check the stored sessions for damage; exit 9 if any is found
    #[command(after_help = examples::SESSIONS_CHECK)]
    Check(SessionsCheckArgs),
    /// Remove leftover files and unused content, and the sessions selected by the options
    #[command(after_help = examples::SESSIONS_GC)]
    Gc(GcArgs),
    /// Copy all sessions to a database, or from a database to files
    #[command(after_help = examples::SESSIONS_MIGRATE)]
    Migrate(MigrateArgs),
}

#[derive(Debug, Args)]
#[group(required = true, multiple = true)]
pub(crate) struct MigrateArgs {
    /// Copy from here: a database as postgres://USER@HOST/DATABASE, or `files` [default: where sessions are kept]
    #[arg(long, value_name = "STORE")]
    pub(crate) from: Option<String>,
    /// Copy to here: a database as postgres://USER@HOST/DATABASE, or `files` [default: where sessions are kept]
    #[arg(long, value_name = "STORE")]
    pub(crate) to: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct SessionsListArgs {
    /// List the sessions of all projects
    #[arg(short, long)]
    pub(crate) all: bool,
    /// List only sessions with this tag (repeatable: with all of them)
    #[arg(short, long)]
    pub(crate) tag: Vec<String>,
    /// List at most N sessions
    #[arg(short = 'n', long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    /// Print a JSON array
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SessionsShowArgs {
    /// Session: its id, a prefix of the id, its name, or `last`
    pub(crate) session: String,
    /// Show arguments and results in full
    #[arg(long)]
    pub(crate) full: bool,
    /// Print a JSON object with the messages as stored
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SearchArgs {
    /// Words that must all occur in one message, in any case; quote a phrase to search for it as a whole
    #[arg(required = true, value_name = "WORD")]
    pub(crate) words: Vec<String>,
    /// Show at most N messages, latest first
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    pub(crate) limit: usize,
    /// Search only these messages
    #[arg(long = "in", value_enum, value_name = "WHO")]
    pub(crate) within: Option<SearchIn>,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SearchIn {
    User,
    Assistant,
    /// Tool calls with their arguments, and results
    Tools,
}

#[derive(Debug, Args)]
pub(crate) struct ForkArgs {
    /// Session: its id, a prefix of the id, its name, or `last`
    pub(crate) session: String,
    /// Copy the messages up to and including this one, as numbered by `show` [default: all]
    #[arg(long, value_name = "MESSAGE")]
    pub(crate) at: Option<usize>,
    /// Name of the new session
    #[arg(long)]
    pub(crate) name: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct TagArgs {
    /// Session: its id, a prefix of the id, its name, or `last`
    pub(crate) session: String,
    /// `work` or `+work` adds a tag, `-work` removes it
    #[arg(allow_hyphen_values = true, value_name = "TAG", required_unless_present = "remove")]
    pub(crate) tags: Vec<String>,
    /// Remove this tag (repeatable)
    #[arg(long, value_name = "TAG")]
    pub(crate) remove: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct SessionsExportArgs {
    /// Session: its id, a prefix of the id, its name, or `last`
    pub(crate) session: String,
    /// Format [default: by the extension of the file, else Markdown]
    #[arg(long, value_enum)]
    pub(crate) format: Option<TranscriptFormat>,
    /// Write to this file; `-` is stdout [default: stdout]
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
    /// Replace an existing file
    #[arg(long, requires = "output")]
    pub(crate) force: bool,
    /// Do not redact known secrets
    #[arg(long)]
    pub(crate) raw: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TranscriptFormat {
    /// Markdown, for reading
    Md,
    /// Everything, for `converse sessions import`
    Json,
    /// The same as JSON Lines, one message a line
    Jsonl,
    /// One self-contained page
    Html,
}

#[derive(Debug, Args)]
pub(crate) struct SessionsImportArgs {
    /// The file; `-` reads stdin
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct SessionsCheckArgs {
    /// Check only this session
    pub(crate) session: Option<String>,
    /// Repair what can be repaired. The readable part of a damaged session is copied to a new one; the original stays
    #[arg(long)]
    pub(crate) repair: bool,
    /// Print a JSON array
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct GcArgs {
    /// Remove sessions unused for this time, such as 90d, 12w or 48h
    #[arg(long, value_name = "TIME", value_parser = hours)]
    pub(crate) older_than: Option<u64>,
    /// Keep the latest N sessions and remove the others; with --older-than only those that are also older
    #[arg(long, value_name = "N")]
    pub(crate) keep: Option<usize>,
    /// Remove sessions without messages
    #[arg(long)]
    pub(crate) empty: bool,
    /// Show what would be removed, and remove nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do not ask for confirmation
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Parses a time of at most a hundred years into hours.
fn hours(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(char::is_alphabetic);
    let unit = match text.get(digits.len()..).unwrap_or_default() {
        "h" => 1,
        "d" => 24,
        "w" => 24 * 7,
        _ => 0,
    };
    match digits.parse::<u64>().ok().and_then(|number| number.checked_mul(unit)) {
        Some(hours) if unit > 0 && hours <= 24 * 36_525 => Ok(hours),
        _ => Err("a time is a number with h, d or w behind it, such as 90d".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_or_refused() {
        for (text, expected) in
            [("90d", Some(2160)), ("2w", Some(336)), ("0h", Some(0)), ("36525d", Some(876_600))]
        {
            assert_eq!(hours(text).ok(), expected, "{text}");
        }
        for bad in
            ["", "d", "90", "90m", "-1d", "1.5d", "36526d", "99999999999999999999d", "18446744073709551615w"]
        {
            assert!(hours(bad).is_err(), "{bad}");
        }
    }
}
