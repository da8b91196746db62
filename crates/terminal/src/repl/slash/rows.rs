//! The table of commands, for parsing, completion and help.

/// A command.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Row {
    /// Without the slash.
    pub name: &'static str,
    /// As help shows them; empty: there are none.
    pub arguments: &'static str,
    pub help: &'static str,
    pub takes: Takes,
}

/// What completes its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Takes {
    Nothing,
    Models,
    Ensembles,
    Tools,
    Files,
    Sessions,
    Commands,
    OnOff,
    Modes,
}

impl Row {
    pub(crate) fn usage(&self) -> String {
        format!("{} {}", self.name, self.arguments).trim_end().to_owned()
    }
}

/// In the order of help.
pub(crate) const ROWS: &[Row] = &[
    row("help", "[COMMAND]", "List the commands and keys", Takes::Commands),
    row(
        "model",
        "[PROVIDER/MODEL|WORDS]",
        "Switch to another model, or choose it from a list",
        Takes::Models,
    ),
    row("system", "[TEXT|@FILE]", "Set the instructions for the model, or show them", Takes::Files),
    row("ensembles", "[NAME|+NAME|-NAME …]", "Use only these ensembles, or list them", Takes::Ensembles),
    row("tools", "[WORD]", "List the tools offered to the model", Takes::Tools),
    row("allow", "[PATTERN]", "Run matching tools without asking, or list the allow rules", Takes::Tools),
    row("deny", "[PATTERN]", "Never run matching tools, or list the deny rules", Takes::Tools),
    row(
        "mode",
        "[ask|read-only|accept-edits]",
        "Show the permission mode, or switch it as Shift-Tab does",
        Takes::Modes,
    ),
    row("usage", "", "Show what fills the context window", Takes::Nothing),
    row("context", "", "The same as `/usage`", Takes::Nothing),
    row("cost", "", "Show the cost of this conversation", Takes::Nothing),
    row("init", "", "Let the model write an AGENTS.md for this project", Takes::Nothing),
    row("compact", "[FOCUS]", "Summarize the older messages to free context", Takes::Nothing),
    row("undo", "[N]", "Undo the last turn, or the last N", Takes::Nothing),
    row("rewind", "", "Go back to an earlier message, and restore changed files", Takes::Nothing),
    row("retry", "", "Repeat the last question", Takes::Nothing),
    row("edit", "", "Undo the last turn and edit its question", Takes::Nothing),
    row("fork", "[N]", "Continue in a copy of this session, up to message N", Takes::Nothing),
    row("save", "[NAME]", "Save this session, with a name", Takes::Nothing),
    row("export", "FILE", "Write this session to a file (.md, .html, .json, .jsonl)", Takes::Files),
    row("resume", "[--all] [WORDS]", "Continue another session of this project", Takes::Sessions),
    row("sessions", "[--all] [WORDS]", "The same as `/resume`", Takes::Sessions),
    row("transcript", "", "Show the whole conversation in a pager", Takes::Nothing),
    row(
        "attach",
        "FILE|URL|mcp:ENSEMBLE:URI …",
        "Attach a file or resource to the next message",
        Takes::Files,
    ),
    row("editor", "", "Write the message in $VISUAL or $EDITOR", Takes::Nothing),
    row("copy", "[N]", "Copy the last answer, or the Nth from the end", Takes::Nothing),
    row("reasoning", "[on|off]", "Show or hide the model's reasoning", Takes::OnOff),
    row("show", "[N]", "Show a tool call in full, by its number", Takes::Nothing),
    row("clear", "", "Start a new conversation", Takes::Nothing),
    row("quit", "", "Quit", Takes::Nothing),
    row("exit", "", "Quit", Takes::Nothing),
];

const fn row(name: &'static str, arguments: &'static str, help: &'static str, takes: Takes) -> Row {
    Row { name, arguments, help, takes }
}

pub(crate) fn named(name: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.name == name)
}
