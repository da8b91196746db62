//! The pattern of one argument in an answer "always, where …".
//!
//! It is narrower than the globs of settings, because it is typed at a question: `*` is the only wildcard, it stops at
//! blanks, slashes and characters that a shell interprets, and the program must be written out. Otherwise a text is
//! matched with the globs and readings of a `[[rules]]` table that allows.

mod word;

use std::collections::BTreeMap;

use super::reading::BaseDirs;
use crate::diagnostic::quoted;
use word::{Shape, Word, acts, is_hidden, passes_further};

/// Limits on the bytes and words of one pattern.
const MAX_BYTES: usize = 1_000;
const MAX_WORDS: usize = 100;

/// Parts of argument names for which `*` alone is refused.
const PLACES: [&str; 8] = ["path", "file", "dir", "folder", "cwd", "root", "glob", "workspace"];
const ADDRESSES: [&str; 4] = ["url", "uri", "href", "endpoint"];
const COMMANDS: [&str; 8] = ["command", "cmd", "script", "shell", "exec", "argv", "program", "bash"];

/// Patterns by argument name.
pub type ArgumentPatterns = BTreeMap<String, ArgumentPattern>;

/// The pattern of one text argument.
#[derive(Debug, Clone)]
pub struct ArgumentPattern {
    text: String,
    form: Form,
}

#[derive(Debug, Clone)]
enum Form {
    /// `*`: any text.
    Any,
    Words {
        words: Vec<Word>,
        /// `*` is the last of several words, so further words may follow.
        further: bool,
    },
}

impl PartialEq for ArgumentPattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl ArgumentPattern {
    /// Parses the pattern for the argument of this name.
    ///
    /// # Errors
    ///
    /// A message that says why the pattern is refused.
    pub fn new(name: &str, text: &str) -> Result<Self, String> {
        let form = form(name, text)?;
        Ok(Self { text: text.to_owned(), form })
    }

    /// Returns the pattern as written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns whether the pattern matches any text.
    pub fn is_any(&self) -> bool {
        matches!(self.form, Form::Any)
    }

    /// Returns what the pattern matches, for the person who approves it.
    pub fn meaning(&self) -> &'static str {
        match &self.form {
            Form::Any => "any text of any length",
            Form::Words { further: true, .. } => {
                "any further words, without `;`, `|`, `&`, `$`, `<`, `>`, backquotes, parentheses or line ends"
            }
            Form::Words { words, .. } => match words.iter().find_map(Word::shape) {
                Some(Shape::Address) => "a URL of this host; `*` stops at a slash, `**` does not",
                Some(Shape::FromRoot) => "a path; `*` stops at a slash, `**` does not",
                _ => {
                    "one word, or a path relative to the working directory; `*` stops at a slash, `**` does not"
                }
            },
        }
    }

    pub(super) fn fits(&self, text: &str, base: BaseDirs<'_>) -> bool {
        let Form::Words { words, further } = &self.form else { return true };
        let mut given = text.split(' ');
        let all = words.iter().all(|word| given.next().is_some_and(|text| word.fits(text, base)));
        all && match further {
            true => given.all(passes_further),
            false => given.next().is_none(),
        }
    }

    pub(super) fn shown(&self) -> String {
        quoted(&self.text)
    }
}

fn form(name: &str, text: &str) -> Result<Form, String> {
    if text.len() > MAX_BYTES {
        return Err(format!("the pattern has more than {MAX_BYTES} bytes"));
    }
    if !text.contains('*') {
        return Err("the pattern does not contain `*`".to_owned());
    }
    if text.chars().any(is_hidden) {
        return Err("the pattern contains invisible characters".to_owned());
    }
    if text == "*" {
        return whatever(name);
    }
    let mut parts: Vec<&str> = text.split(' ').collect();
    if parts.len() > MAX_WORDS {
        return Err(format!("the pattern has more than {MAX_WORDS} words"));
    }
    let several = parts.len() > 1;
    let further = several && parts.last() == Some(&"*");
    if several || is_one_of(name, &COMMANDS) {
        programs_are_named(&parts)?;
    }
    if further {
        parts.pop();
    }
    let words = parts.into_iter().map(Word::new).collect::<Result<_, _>>()?;
    Ok(Form::Words { words, further })
}

/// Accepts `*` alone, unless the argument is a path, a URL or a command.
fn whatever(name: &str) -> Result<Form, String> {
    let instead = if is_one_of(name, &COMMANDS) {
        "any command: write the first words, as in `git status *`"
    } else if is_one_of(name, &ADDRESSES) {
        "any URL: write the host, as in `https://example.com/**`"
    } else if is_one_of(name, &PLACES) {
        "any path: write `**` for all paths below the working directory"
    } else {
        return Ok(Form::Any);
    };
    Err(format!("`*` alone would match {instead}"))
}

fn is_one_of(name: &str, parts: &[&str]) -> bool {
    let name = name.to_lowercase();
    parts.iter().any(|part| name.contains(part))
}

/// Checks that programs are written out: before the first `*`, and after everything that starts another command.
fn programs_are_named(words: &[&str]) -> Result<(), String> {
    let (mut named, mut to_or_from) = (false, false);
    for word in words {
        if word.contains('*') && !named {
            return Err(format!("the program must be written out: {} does not name a program", quoted(word)));
        }
        named = !acts(word) && (named || (!to_or_from && names_a_program(word)));
        to_or_from = word.ends_with(['<', '>']);
    }
    Ok(())
}

/// Shell keywords, and programs that run other programs.
const RUNS_OTHERS: [&str; 33] = [
    "!", "{", "if", "then", "elif", "else", "while", "until", "do", "for", "time", "exec", "eval", "command",
    "builtin", "source", ".", "sudo", "doas", "su", "env", "nohup", "nice", "timeout", "xargs", "sh", "bash",
    "zsh", "dash", "ksh", "fish", "ssh", "setsid",
];

fn names_a_program(word: &str) -> bool {
    let program = word.rsplit('/').next().unwrap_or_default();
    let is_number = |c: char| c.is_ascii_digit() || c == '.';
    !(program.is_empty()
        || RUNS_OTHERS.contains(&program)
        || word.starts_with('-')
        || word.contains('=')
        || word.chars().all(is_number))
}

#[cfg(test)]
mod tests;
