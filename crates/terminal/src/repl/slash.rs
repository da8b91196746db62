//! The meaning of a line: text for the model, or a command that begins with `/`.
//!
//! `!command` runs a command. `//…` sends a line that begins with a slash, and `!!…` one with an exclamation mark.
//! `/usr/bin is …` is not a command either: a word with a second slash is a path. `/ensemble.prompt key=value …` is a
//! prompt of an MCP server.

mod rows;

use converse_text::suggest::nearest;

pub(crate) use rows::ROWS;
pub(crate) use rows::{Row, Takes, named};

/// A parsed line. The text after a command is trimmed; `None` if there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Slash {
    Nothing,
    /// Words for the model.
    Text(String),
    /// A command for the shell.
    Shell(String),
    /// The message for a line that is not a valid command, in one or two lines.
    Wrong(String),
    /// Of all commands, or of this one.
    Help(Option<&'static Row>),
    Model(Option<String>),
    System(Option<String>),
    /// Only these, from now on; none: say which there are.
    Ensembles(Vec<String>),
    /// Those of which the name holds this.
    Tools(Option<String>),
    /// A pattern of tools; none: say what is allowed.
    Allow(Option<String>),
    Deny(Option<String>),
    /// The name of a mode; none: say which it is.
    Mode(Option<String>),
    Usage,
    /// The model writes instructions for the project.
    Init,
    Cost,
    /// With what the summary keeps above all.
    Compact(Option<String>),
    /// So many turns, at least one.
    Undo(u32),
    /// Back to an earlier message, perhaps with its files.
    Rewind,
    Retry,
    Edit,
    /// Up to this message, counted from 1; none: all of them.
    Fork(Option<u32>),
    Save(Option<String>),
    Export(String),
    /// Those of this project that hold these words; after `--all`, those of all projects.
    Sessions(Option<String>),
    Transcript,
    Attach(Vec<String>),
    Editor,
    /// So many answers from the end; 1 is the last one.
    Copy(u32),
    Reasoning(Option<bool>),
    Clear,
    Quit,
    /// An invocation in full, by its number; none: the last one.
    Show(Option<u32>),
    /// A prompt of a server: `ensemble.name`, and the words after it.
    Prompt {
        named: String,
        words: Vec<String>,
    },
}

impl Slash {
    /// Returns whether servers have to be connected before: it is about their tools, or it takes the user's time, and a server
    /// that is connecting would run out of its own. A turn waits for them itself.
    pub(super) fn needs_tools(&self) -> bool {
        matches!(
            self,
            Self::Ensembles(_)
                | Self::Tools(_)
                | Self::Allow(_)
                | Self::Deny(_)
                | Self::Usage
                | Self::Compact(_)
                | Self::Undo(_)
                | Self::Retry
                | Self::Edit
                | Self::Editor
                | Self::Sessions(_)
                | Self::Transcript
                | Self::Attach(_)
                | Self::Shell(_)
        )
    }
}

/// Understands a line, or an entry of several.
pub(crate) fn parse(line: &str) -> Slash {
    let text = line.trim();
    if let Some(command) = text.strip_prefix('!') {
        return shell(command, line);
    }
    // As in a shell.
    if matches!(text, "exit" | "quit") {
        return Slash::Quit;
    }
    let Some(rest) = text.strip_prefix('/') else {
        return if text.is_empty() { Slash::Nothing } else { Slash::Text(line.trim_end().to_owned()) };
    };
    if rest.starts_with('/') {
        return Slash::Text(rest.to_owned());
    }
    let (name, arguments) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    if name.contains('/') {
        return Slash::Text(text.to_owned());
    }
    let arguments = Some(arguments.trim()).filter(|arguments| !arguments.is_empty());
    match rows::named(name) {
        Some(row) => command(row, arguments),
        None if name.is_empty() => Slash::Help(None),
        None if is_prompt(name) => {
            Slash::Prompt { named: name.to_owned(), words: words(arguments.unwrap_or_default()) }
        }
        None => Slash::Wrong(unknown(name)),
    }
}

/// Returns whether an entry does more than send words: it runs a command, or may let more run. Its first line counts.
/// Those who paste it may not mean that.
pub(crate) fn acts(entry: &str) -> bool {
    match parse(entry.trim_start().lines().next().unwrap_or_default()) {
        Slash::Shell(_) | Slash::Allow(Some(_)) | Slash::Mode(Some(_)) => true,
        Slash::Ensembles(names) => !names.is_empty(),
        _ => false,
    }
}

/// `!!…` sends a line that begins with an exclamation mark. Several lines are never a command: they may have been pasted.
fn shell(command: &str, line: &str) -> Slash {
    match command.strip_prefix('!') {
        Some(rest) => Slash::Text(format!("!{rest}")),
        None if command.trim().is_empty() => Slash::Wrong("write `!COMMAND`".to_owned()),
        None if command.contains('\n') => Slash::Text(line.trim_end().to_owned()),
        None => Slash::Shell(command.trim().to_owned()),
    }
}

/// Commands of other programs, and what they are here.
const NAMES_ELSEWHERE: [(&str, &str); 11] = [
    ("mcp", "ensembles"),
    ("memory", "init"),
    ("new", "clear"),
    ("permissions", "allow"),
    ("plan", "mode read-only"),
    ("q", "quit"),
    ("reset", "clear"),
    ("skills", "context"),
    ("status", "usage"),
    ("stats", "usage"),
    ("thinking", "reasoning"),
];

/// Commands of other programs for what is in the settings here.
const SETTINGS: [&str; 4] = ["config", "settings", "theme", "vim"];

fn is_prompt(name: &str) -> bool {
    name.split_once('.').is_some_and(|(ensemble, prompt)| !ensemble.is_empty() && !prompt.is_empty())
}

fn unknown(name: &str) -> String {
    let elsewhere = NAMES_ELSEWHERE.iter().find(|(other, _)| *other == name).map(|(_, ours)| *ours);
    if SETTINGS.contains(&name) {
        return format!(
            "no command `/{name}`; it is set in `config.toml`, and `converse doctor` says where that is"
        );
    }
    let hint = match elsewhere.or_else(|| nearest(name, ROWS.iter().map(|row| row.name))) {
        Some(near) => format!("did you mean `/{near}`?"),
        None => "`/help` lists the commands".to_owned(),
    };
    format!("no command `/{name}`; {hint} (`//` sends a line that begins with a slash)")
}

fn command(row: &'static Row, arguments: Option<&str>) -> Slash {
    let said = arguments.map(str::to_owned);
    let wrong = || Slash::Wrong(format!("write `/{}`", row.usage()));
    let number = || match said.as_deref() {
        None => Some(None),
        Some(said) => said.parse::<u32>().ok().filter(|number| *number > 0).map(Some),
    };
    let whole = |slash: Slash| match said {
        None => slash,
        Some(_) => Slash::Wrong(format!("`/{}` takes no argument", row.name)),
    };
    match row.name {
        "help" => match said.as_deref() {
            None => Slash::Help(None),
            Some(name) => match rows::named(name.trim_start_matches('/')) {
                Some(row) => Slash::Help(Some(row)),
                None => Slash::Wrong(unknown(name.trim_start_matches('/'))),
            },
        },
        "model" => Slash::Model(said),
        "system" => Slash::System(said),
        "ensembles" => Slash::Ensembles(words(said.as_deref().unwrap_or_default())),
        "tools" => Slash::Tools(said),
        "allow" => Slash::Allow(said),
        "deny" => Slash::Deny(said),
        "mode" => Slash::Mode(said),
        "usage" | "context" => whole(Slash::Usage),
        "init" => whole(Slash::Init),
        "cost" => whole(Slash::Cost),
        "compact" => Slash::Compact(said),
        "undo" => number().map_or_else(wrong, |number| Slash::Undo(number.unwrap_or(1))),
        "rewind" => whole(Slash::Rewind),
        "retry" => whole(Slash::Retry),
        "edit" => whole(Slash::Edit),
        "fork" => number().map_or_else(wrong, Slash::Fork),
        "save" => Slash::Save(said),
        "export" => match &words(said.as_deref().unwrap_or_default())[..] {
            [file] => Slash::Export(file.clone()),
            _ => wrong(),
        },
        "resume" | "sessions" => Slash::Sessions(said),
        "transcript" => whole(Slash::Transcript),
        "attach" => match words(said.as_deref().unwrap_or_default()) {
            named if named.is_empty() => wrong(),
            named => Slash::Attach(named),
        },
        "editor" => whole(Slash::Editor),
        "copy" => number().map_or_else(wrong, |number| Slash::Copy(number.unwrap_or(1))),
        "reasoning" => match said.as_deref() {
            None => Slash::Reasoning(None),
            Some("on") => Slash::Reasoning(Some(true)),
            Some("off") => Slash::Reasoning(Some(false)),
            Some(_) => wrong(),
        },
        "clear" => whole(Slash::Clear),
        "show" => number().map_or_else(wrong, Slash::Show),
        _ => whole(Slash::Quit),
    }
}

/// Splits a text into words as a shell does: quotes hold a word together, a backslash takes the next character as it is. A
/// quote that is never closed holds to the end.
pub(crate) fn words(text: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (c, quote) {
            (c, Some(open)) if c == open => quote = None,
            ('\\', None | Some('"')) => word.get_or_insert_default().push(chars.next().unwrap_or('\\')),
            (c, Some(_)) => word.get_or_insert_default().push(c),
            ('"' | '\'', None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (c, None) if c.is_whitespace() => words.extend(word.take()),
            (c, None) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Slash {
        Slash::Text(text.to_owned())
    }

    #[test]
    fn lines_and_what_they_mean() {
        let said = |text: &str| Some(text.to_owned());
        for (line, meant) in [
            ("", Slash::Nothing),
            ("  \n ", Slash::Nothing),
            ("hello /there ", text("hello /there")),
            ("  indented", text("  indented")),
            ("//etc is big", text("/etc is big")),
            ("/usr/bin is\nwhat?", text("/usr/bin is\nwhat?")),
            ("/", Slash::Help(None)),
            ("/help", Slash::Help(None)),
            ("/model", Slash::Model(None)),
            (" /model  openai/gpt-5 ", Slash::Model(said("openai/gpt-5"))),
            ("/system be brief\nand kind", Slash::System(said("be brief\nand kind"))),
            ("/ensembles io  web", Slash::Ensembles(vec!["io".to_owned(), "web".to_owned()])),
            ("/undo", Slash::Undo(1)),
            ("/undo 3", Slash::Undo(3)),
            ("/copy", Slash::Copy(1)),
            ("/fork 7", Slash::Fork(Some(7))),
            ("/reasoning off", Slash::Reasoning(Some(false))),
            ("/attach \"my file.pdf\" b", Slash::Attach(vec!["my file.pdf".to_owned(), "b".to_owned()])),
            ("!git log -1 ", Slash::Shell("git log -1".to_owned())),
            ("!git log -1\n\n", Slash::Shell("git log -1".to_owned())),
            ("!!important", text("!important")),
            ("!rm -r x\nand more", text("!rm -r x\nand more")),
            ("/exit", Slash::Quit),
            (" exit", Slash::Quit),
            ("exit now", text("exit now")),
            ("/compact", Slash::Compact(None)),
            ("/compact the tests", Slash::Compact(said("the tests"))),
            ("/quit", Slash::Quit),
            ("/show", Slash::Show(None)),
            ("/export \"a b.md\"", Slash::Export("a b.md".to_owned())),
            (
                "/git.review path=\"a b\" now",
                Slash::Prompt {
                    named: "git.review".to_owned(),
                    words: vec!["path=a b".to_owned(), "now".to_owned()],
                },
            ),
        ] {
            assert_eq!(parse(line), meant, "{line:?}");
        }
        assert!(matches!(parse("/help /undo"), Slash::Help(Some(row)) if row.name == "undo"));
    }

    #[test]
    fn what_runs_something_or_may_let_more_run_is_told_apart() {
        for entry in [
            "!ls",
            " !ls\nmore",
            "\n!ls",
            "/allow io.write_file",
            "/allow io.write_file\n\n",
            " /mode accept-edits\nmore",
            "/mode accept-edits",
            "/ensembles +web",
        ] {
            assert!(acts(entry), "{entry:?}");
        }
        for entry in [
            "",
            "!",
            "!!ls",
            "ls!",
            "text\n!ls",
            "/allow",
            "/mode",
            "/deny web.*",
            "/ensembles",
            "//allow x",
            "/usage",
            "/allowed x",
        ] {
            assert!(!acts(entry), "{entry:?}");
        }
    }

    #[test]
    fn what_is_wrong_is_told_with_what_to_do() {
        for (line, words) in [
            ("/mdoel", "did you mean `/model`?"),
            ("/new", "did you mean `/clear`?"),
            ("/q", "did you mean `/quit`?"),
            ("/status", "did you mean `/usage`?"),
            ("/mcp", "did you mean `/ensembles`?"),
            ("/export", "write `/export FILE`"),
            ("/export a b", "write `/export FILE`"),
            ("/zzzzzzzz", "`/help` lists"),
            ("/help nothing-like-it", "`/help` lists"),
            ("/undo two", "write `/undo [N]`"),
            ("/undo 0", "write `/undo [N]`"),
            ("! ", "write `!COMMAND`"),
            ("/attach", "write `/attach FILE|URL|mcp:ENSEMBLE:URI …`"),
            ("/reasoning maybe", "write `/reasoning [on|off]`"),
            ("/quit now", "takes no argument"),
            ("/.x", "no command"),
        ] {
            let Slash::Wrong(told) = parse(line) else { panic!("{line:?} is {:?}", parse(line)) };
            assert!(told.contains(words), "{line:?}: {told}");
        }
    }

    #[test]
    fn names_of_other_programs_lead_to_commands() {
        for (other, ours) in NAMES_ELSEWHERE {
            let wrong = parse(&format!("/{ours}"));
            assert!(rows::named(other).is_none() && !matches!(wrong, Slash::Wrong(_)), "{other}");
        }
    }

    #[test]
    fn every_row_of_the_table_is_a_command() {
        for row in ROWS {
            let alone = parse(&format!("/{}", row.name));
            assert!(!matches!(alone, Slash::Nothing | Slash::Text(_) | Slash::Prompt { .. }), "{}", row.name);
            let is_quit = matches!(alone, Slash::Quit);
            assert_eq!(is_quit, matches!(row.name, "quit" | "exit"), "{} is not told apart", row.name);
            assert!(!row.help.is_empty() && !row.help.ends_with('.'), "{}", row.name);
        }
    }

    #[test]
    fn words_are_told_apart_as_a_shell_does() {
        for (text, expected) in [
            ("", &[][..]),
            ("  a  b\n", &["a", "b"]),
            ("key=\"two words\" c", &["key=two words", "c"]),
            ("it\\'s 'a \"b\" \\' x", &["it's", "a \"b\" \\", "x"]),
            ("\"a \\\" b\"", &["a \" b"]),
            ("'' x", &["", "x"]),
            ("\"open to the end", &["open to the end"]),
            ("back\\", &["back\\"]),
        ] {
            assert_eq!(words(text), expected, "{text:?}");
        }
    }
}
