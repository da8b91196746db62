//! `converse sessions …`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, ValueHint};

#[derive(Debug, Subcommand)]
pub(crate) enum Sessions {
    /// All of them, the one that was used last first
    List(SessionsListArgs),
    /// One conversation, to be read
    Show(SessionsShowArgs),
    /// Look for words in all conversations
    Search(SearchArgs),
    /// Go on with one at the terminal
    Resume {
        /// Its id, the beginning of it, its name, or `last`
        session: String,
    },
    /// Begin a new one with the messages of another, up to one of them
    Fork(ForkArgs),
    /// Give it a name; an empty one takes the name away
    Rename { session: String, name: String },
    /// Put tags on it or take them off: `+work` or `work` adds, `-work` removes
    Tag(TagArgs),
    /// Write one to a file or to stdout, without known secrets, for others to read or to take in
    Export(SessionsExportArgs),
    /// Take in what `export --format json` wrote, as a new session
    Import(SessionsImportArgs),
    /// Remove sessions for good
    Delete {
        #[arg(required = true)]
        session: Vec<String>,
        /// Without a question
        #[arg(short, long)]
        yes: bool,
    },
    /// Is everything as it should be? Exit 9 if something is not
    Check(SessionsCheckArgs),
    /// Remove what killed processes left and content that nothing refers to; and sessions, as asked
    Gc(GcArgs),
}

#[derive(Debug, Args)]
pub(crate) struct SessionsListArgs {
    /// Only those with this tag (repeatable: with all of them)
    #[arg(short, long)]
    pub(crate) tag: Vec<String>,
    /// At most so many
    #[arg(short = 'n', long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    /// As a JSON array
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SessionsShowArgs {
    /// Its id, the beginning of it, its name, or `last`
    pub(crate) session: String,
    /// Arguments and results in full
    #[arg(long)]
    pub(crate) full: bool,
    /// As a JSON object, with the messages as they are kept
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SearchArgs {
    /// All of them must be in one message; large and small letters are the same, a quoted phrase is one word
    #[arg(required = true, value_name = "WORD")]
    pub(crate) words: Vec<String>,
    /// Show at most so many messages, the latest first
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    pub(crate) limit: usize,
    /// Only in what these say
    #[arg(long = "in", value_enum, value_name = "WHO")]
    pub(crate) within: Option<SearchIn>,
    /// As a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SearchIn {
    User,
    Assistant,
    /// Calls, with their arguments, and results
    Tools,
}

#[derive(Debug, Args)]
pub(crate) struct ForkArgs {
    pub(crate) session: String,
    /// Up to this message and with it, as `show` counts them; all, if nothing is said
    #[arg(long, value_name = "MESSAGE")]
    pub(crate) at: Option<usize>,
    /// The new one's name
    #[arg(long)]
    pub(crate) name: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct TagArgs {
    pub(crate) session: String,
    /// `+work` or `work` to add, `-work` to remove
    #[arg(allow_hyphen_values = true, value_name = "TAG", required_unless_present = "remove")]
    pub(crate) tags: Vec<String>,
    /// Take this one off (repeatable)
    #[arg(long, value_name = "TAG")]
    pub(crate) remove: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct SessionsExportArgs {
    pub(crate) session: String,
    /// What to write; by default what the file's name ends in says, else Markdown
    #[arg(long, value_enum)]
    pub(crate) format: Option<TranscriptFormat>,
    /// The file to write; stdout, if none is named or it is `-`
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
    /// Replace the file if it is there
    #[arg(long, requires = "output")]
    pub(crate) force: bool,
    /// With known secrets as they are
    #[arg(long)]
    pub(crate) raw: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TranscriptFormat {
    /// Markdown, to be read
    Md,
    /// Everything, to be taken in again by `import`
    Json,
    /// One page that needs nothing else
    Html,
}

#[derive(Debug, Args)]
pub(crate) struct SessionsImportArgs {
    /// The file; `-` is standard input
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct SessionsCheckArgs {
    /// Only this one
    pub(crate) session: Option<String>,
    /// Mend what can be mended; of a damaged one, what can be read becomes a new session, and it stays as it is
    #[arg(long)]
    pub(crate) repair: bool,
    /// As a JSON array
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct GcArgs {
    /// Sessions that were not used for so long, such as 90d, 12w or 48h
    #[arg(long, value_name = "TIME", value_parser = hours)]
    pub(crate) older_than: Option<u64>,
    /// All sessions but the latest N; with --older-than, of these the old ones
    #[arg(long, value_name = "N")]
    pub(crate) keep: Option<usize>,
    /// Sessions without any message
    #[arg(long)]
    pub(crate) empty: bool,
    /// Show what would go, and remove nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Without a question
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// As a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// At most a hundred years.
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
