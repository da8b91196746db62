//! The table of commands: read by whoever parses, completes and helps.

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
}

impl Row {
    pub(crate) fn usage(&self) -> String {
        format!("{} {}", self.name, self.arguments).trim_end().to_owned()
    }
}

/// In the order of help.
pub(crate) const ROWS: &[Row] = &[
    row("help", "[COMMAND]", "What can be typed here", Takes::Commands),
    row("model", "[PROVIDER/MODEL]", "Go on with another model, or say which it is", Takes::Models),
    row("system", "[TEXT|@FILE]", "Set the instructions to the model, or show them", Takes::Files),
    row("ensembles", "[NAME|+NAME|-NAME …]", "Use only these ensembles, or list them", Takes::Ensembles),
    row("tools", "[WORD]", "List the tools that the model has", Takes::Tools),
    row(
        "allow",
        "[PATTERN]",
        "Let these tools run without a question, or list what is allowed",
        Takes::Tools,
    ),
    row("deny", "[PATTERN]", "Never let these tools run, or list what is denied", Takes::Tools),
    row("usage", "", "Where the tokens of this conversation are", Takes::Nothing),
    row("cost", "", "What this conversation has cost", Takes::Nothing),
    row("compact", "", "Sum the older part of the conversation up, to make room", Takes::Nothing),
    row("undo", "[N]", "Take the last turns back", Takes::Nothing),
    row("retry", "", "Ask the last question again", Takes::Nothing),
    row("edit", "", "Take the last question back and change it", Takes::Nothing),
    row("fork", "[N]", "Go on in a copy of this session, up to message N", Takes::Nothing),
    row("save", "[NAME]", "Keep this session under a name", Takes::Nothing),
    row("sessions", "[WORDS]", "List the sessions, or search them", Takes::Sessions),
    row("attach", "FILE|URL|mcp:ENSEMBLE:URI …", "Send something along with the next question", Takes::Files),
    row("editor", "", "Write the question in $VISUAL or $EDITOR", Takes::Nothing),
    row("copy", "[N]", "Copy the last answer, or the Nth from the end", Takes::Nothing),
    row("reasoning", "[on|off]", "Show what the model thinks, or do not", Takes::OnOff),
    row("show", "[N]", "Show an invocation in full, by its number", Takes::Nothing),
    row("clear", "", "Begin a new conversation", Takes::Nothing),
    row("quit", "", "Leave", Takes::Nothing),
    row("exit", "", "Leave", Takes::Nothing),
];

const fn row(name: &'static str, arguments: &'static str, help: &'static str, takes: Takes) -> Row {
    Row { name, arguments, help, takes }
}

pub(crate) fn named(name: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.name == name)
}
