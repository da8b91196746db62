//! The command lines of a descriptor as words, with a stand-in for text that is filled in later.

use crate::EnsembleDescriptor;
use crate::command::ArgvDescriptor;
use crate::connection::TransportDescriptor;
use crate::source::Span;
use crate::template::{Template, TemplatePiece};

/// Stands for a variable or an argument, whose value is the user's choice.
pub(super) const FILLED: char = '\u{1}';

/// Shells that run the text after `-c`.
const SHELLS: &str = "sh ash bash csh dash fish ksh mksh tcsh yash zsh";
/// Words before a program in a script.
const BEFORE_PROGRAM: &str = "command exec nohup sudo time";

/// The words of one command line and their positions.
pub(super) type Words = Vec<(String, Span)>;

/// Returns whether a list of words, separated by blanks, contains a word.
pub(super) fn lists(words: &str, word: &str) -> bool {
    words.split_whitespace().any(|one| one == word)
}

pub(super) fn command_lines(descriptor: &EnsembleDescriptor) -> Vec<Words> {
    let mut lines = Vec::new();
    if let Some(TransportDescriptor::Stdio { command, .. }) =
        descriptor.connection.as_ref().map(|connection| &connection.transport)
    {
        lines.push(command.iter().map(|word| (text(&Template::from(&word.value)), word.span)).collect());
    }
    let invokers = descriptor.invokers.iter().filter_map(|entry| entry.invoker.as_ref());
    for command in invokers.filter_map(|invoker| invoker.command.as_ref()) {
        let words = command.argv.iter().flat_map(ArgvDescriptor::templates);
        lines.push(words.map(|word| (text(&word.value), word.span)).collect());
    }
    lines
}

/// Returns a template as text, with [`FILLED`] for each placeholder.
pub(super) fn text(template: &Template) -> String {
    let piece = |piece: &TemplatePiece| match piece {
        TemplatePiece::Text(text) => text.clone(),
        TemplatePiece::Variable { .. } | TemplatePiece::Argument(_) => FILLED.to_string(),
    };
    template.pieces.iter().map(piece).collect()
}

/// Returns the name of a program without its directory and the suffix on Windows.
pub(super) fn program(word: &str) -> &str {
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word);
    [".exe", ".cmd"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name)
}

pub(super) fn is_shell(word: &str) -> bool {
    lists(SHELLS, program(word))
}

/// Skips wrappers: `env A=b npx …`, `cmd /c npx …`.
pub(super) fn after_wrappers(words: &[&str]) -> usize {
    match words.first().map(|word| program(word)) {
        Some("env") => {
            1 + words.iter().skip(1).take_while(|word| word.contains('=') || word.starts_with('-')).count()
        }
        Some("cmd") if words.get(1).is_some_and(|word| word.eq_ignore_ascii_case("/c")) => 2,
        _ => 0,
    }
}

/// Returns the index of the script in `sh -c SCRIPT`, wherever the shell is in the line: `docker exec box sh -c …`.
pub(super) fn script(words: &[&str]) -> Option<usize> {
    let shell = words.iter().position(|word| is_shell(word))?;
    let is_code = |word: &str| word.starts_with('-') && !word.starts_with("--") && word.contains('c');
    let option = words
        .iter()
        .skip(shell + 1)
        .take_while(|word| word.starts_with('-'))
        .position(|word| is_code(word))?;
    let at = shell + option + 2;
    (at < words.len()).then_some(at)
}

/// Splits a script into its simple commands, without the assignments and words such as `exec` before each program.
///
/// This is a reading for lints: quotes are removed, nothing is expanded.
pub(super) fn simple_commands(script: &str) -> Vec<Vec<String>> {
    let mut commands = vec![Vec::new()];
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut letters = script.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(open), _) if open == letter => quote = None,
            (Some(_), _) => word.get_or_insert_default().push(letter),
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, '\\') => word.get_or_insert_default().extend(letters.next()),
            (None, ';' | '|' | '&' | '(' | ')' | '`' | '\n') => {
                commands.last_mut().into_iter().for_each(|words| words.extend(word.take()));
                commands.push(Vec::new());
            }
            (None, _) if letter.is_whitespace() => {
                commands.last_mut().into_iter().for_each(|words| words.extend(word.take()));
            }
            (None, _) => word.get_or_insert_default().push(letter),
        }
    }
    commands.last_mut().into_iter().for_each(|words| words.extend(word.take()));
    let is_before = |word: &String| {
        lists(BEFORE_PROGRAM, word) || word.split_once('=').is_some_and(|(name, _)| is_name(name))
    };
    commands
        .into_iter()
        .map(|words| words.into_iter().skip_while(is_before).collect::<Vec<_>>())
        .filter(|words| !words.is_empty())
        .collect()
}

/// Returns whether this is the name of a variable in a shell.
fn is_name(name: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    name.starts_with(|c| is_word(c) && !c.is_ascii_digit()) && name.chars().all(is_word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_are_split_into_commands() {
        for (found, expected) in [
            ("npx -y pkg", vec![vec!["npx", "-y", "pkg"]]),
            (
                "cd /x && A=b exec npx 'a b' | tee l",
                vec![vec!["cd", "/x"], vec!["npx", "a b"], vec!["tee", "l"]],
            ),
            ("echo \"a; b\" \\; c\nx", vec![vec!["echo", "a; b", ";", "c"], vec!["x"]]),
            ("(npx a)", vec![vec!["npx", "a"]]),
            (" ;; ", vec![]),
        ] {
            assert_eq!(simple_commands(found), expected, "{found}");
        }
    }

    #[test]
    fn the_script_of_a_shell_is_found() {
        for (line, at) in [
            ("sh -c x", Some(2)),
            ("/bin/bash -lc x", Some(2)),
            ("bash --login -c x y", Some(3)),
            ("docker exec box sh -c x", Some(5)),
            ("sh -c", None),
            ("sh x -c y", None),
            ("cat x", None),
        ] {
            assert_eq!(script(&line.split(' ').collect::<Vec<_>>()), at, "{line}");
        }
    }
}
