//! The flags of the server. An unknown flag ends the server, so that no test runs without its flag.

/// Every flag, and what it does. `METHOD` is a method of the protocol; such flags may be given several times.
pub(super) const KNOWN: &[(&str, &str)] = &[
    // The start and the end.
    ("mark", "anything: found in /proc by the tests"),
    ("exit", "N: ends at once with this status"),
    ("stderr", "TEXT: says it on stderr at the start"),
    ("banner", "TEXT: says it on stdout at the start"),
    ("slow", "MS: sleeps before it does anything"),
    ("ignore-eof", "stays when its stdin ends"),
    ("ignore-term", "ignores SIGTERM, SIGINT and SIGHUP"),
    ("idle", "is no server at all: stays for ever"),
    ("child", "starts a process in its own group that ignores signals and holds its pipes"),
    ("daemon", "starts a process in a session of its own, by a double fork"),
    ("flood-stderr", "writes to stderr for ever"),
    ("deaf-after", "METHOD: answers it, then reads nothing more"),
    ("journal", "FILE: appends the method (and tool) of whatever comes in"),
    ("words", "FILE: its text is in whatever the server says of itself and of its work"),
    ("until", "FILE: with `ask=sample-back`, takes back what it asked once the file is there"),
    // What it speaks.
    ("era", "`legacy`, `modern`; both without it"),
    ("version", "the protocol version it claims"),
    ("noise", "log lines, HTML, invalid UTF-8, empty lines before each message"),
    ("bom", "begins stdout with a byte order mark"),
    ("crlf", "ends lines with CR LF"),
    ("garbage-lines", "N: that many lines of rubbish before the first message"),
    ("garbage-bytes", "N: one line of rubbish of that length before the first message"),
    ("ask", "WHAT: offers the tool `ask`, which asks for it: `form`, `secret`, `url`, `roots`, `sample`"),
    (
        "tasks",
        "offers the tool `work`, which begins a task if its client can follow one; with `ask`, the task asks",
    ),
    // Faults of a method.
    ("mute", "METHOD: never answers it"),
    ("exit-on", "METHOD: ends (status 1) when it is called"),
    ("empty-on", "METHOD: answers `{}`"),
    ("error-on", "METHOD: answers an error"),
    ("wrong-id", "METHOD: answers somebody else"),
    ("die-first", "FILE: ends at the first call of a tool, makes the file, and not again while it is there"),
    // Its tools.
    ("faulty", "offers the tools that misbehave, too"),
    ("malformed", "offers tools that no client can use; or TOOL of them"),
    ("many", "N: offers so many more tools"),
    ("page", "N: lists so many tools at a time"),
    ("same-cursor", "lists the same page for ever"),
    ("tool-file", "FILE: lists the tools in this JSON array instead, word for word"),
    ("tool-file-changed", "FILE: lists these once the list has changed"),
    ("vanish", "TOOL: lists it, and does not know it when it is called"),
    // What else it has.
    ("resources", "offers resources, templates of them, and values for those"),
    ("many-resources", "N: lists so many more resources"),
    ("prompts", "offers prompts, and values for their arguments"),
];

/// The flags that were given, in their order.
#[derive(Debug)]
pub(super) struct Flags(Vec<(String, String)>);

impl Flags {
    pub(super) fn read(words: impl Iterator<Item = String>) -> Result<Self, String> {
        let flags: Result<Vec<_>, String> = words.map(|word| one(&word)).collect();
        flags.map(Self)
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.value(name).is_some()
    }

    pub(super) fn value(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(flag, _)| flag == name).map(|(_, value)| value.as_str())
    }

    pub(super) fn number(&self, name: &str) -> Option<u64> {
        self.value(name).and_then(|value| value.parse().ok())
    }

    /// Returns whether the flag has exactly this value.
    pub(super) fn names(&self, name: &str, value: &str) -> bool {
        self.0.iter().any(|(flag, given)| flag == name && given == value)
    }
}

fn one(word: &str) -> Result<(String, String), String> {
    let (name, value) = word.split_once('=').unwrap_or((word, ""));
    let name = name.strip_prefix("--").ok_or_else(|| format!("`{word}` is no flag"))?;
    if !KNOWN.iter().any(|(known, _)| *known == name) {
        return Err(format!("there is no flag `--{name}`"));
    }
    Ok((name.to_owned(), value.to_owned()))
}
