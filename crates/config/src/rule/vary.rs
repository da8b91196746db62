//! How one text among the arguments may vary: the pattern of an answer "always, where …".
//!
//! Narrower than the globs of settings, for it is typed at a question and read again by nobody: `*` is the only sign, it
//! stops at blanks, at slashes and at what a shell acts upon, and where a program is named it is written out. What is
//! left of a text is judged by the same globs and in all the same readings as a `[[rules]]` table that allows.

mod signs;
mod word;

use std::collections::BTreeMap;

use super::reading::Origins;
use crate::escape::quoted;
use signs::{acts, is_hidden, passes_further};
use word::{Shape, Word};

/// Bytes of one pattern, and words in it.
const MAX_BYTES: usize = 1_000;
const MAX_WORDS: usize = 100;

/// Parts of the names of arguments of which nobody should allow any text at all.
const PLACES: [&str; 8] = ["path", "file", "dir", "folder", "cwd", "root", "glob", "workspace"];
const ADDRESSES: [&str; 4] = ["url", "uri", "href", "endpoint"];
const COMMANDS: [&str; 8] = ["command", "cmd", "script", "shell", "exec", "argv", "program", "bash"];

/// Which arguments may vary, and how.
pub type Varying = BTreeMap<String, Vary>;

/// How one text may vary.
#[derive(Debug, Clone)]
pub struct Vary {
    text: String,
    form: Form,
}

#[derive(Debug, Clone)]
enum Form {
    /// `*`: whatever text it is.
    Any,
    Words {
        words: Vec<Word>,
        /// `*` as the last of several: further words may follow.
        further: bool,
    },
}

impl PartialEq for Vary {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Vary {
    /// The pattern for the argument of this name; else why it is none, in words.
    pub fn new(name: &str, text: &str) -> Result<Self, String> {
        let form = form(name, text)?;
        Ok(Self { text: text.to_owned(), form })
    }

    /// As it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Does it take every text there is?
    pub fn is_any(&self) -> bool {
        matches!(self.form, Form::Any)
    }

    /// What it takes, for whoever is about to say yes to it.
    pub fn meaning(&self) -> &'static str {
        match &self.form {
            Form::Any => "whatever text it is, of any length",
            Form::Words { further: true, .. } => {
                "and any further words; never `;`, `|`, `&`, `$`, `<`, `>`, backquotes, parentheses or another line"
            }
            Form::Words { words, .. } => match words.iter().find_map(Word::shape) {
                Some(Shape::Address) => "an address of this host; `*` stops at a slash, `**` does not",
                Some(Shape::FromRoot) => "a path; `*` stops at a slash, `**` does not",
                _ => "one word, or a path from where converse runs; `*` stops at a slash, `**` does not",
            },
        }
    }

    pub(super) fn fits(&self, text: &str, origins: Origins<'_>) -> bool {
        let Form::Words { words, further } = &self.form else { return true };
        let mut given = text.split(' ');
        let all = words.iter().all(|word| given.next().is_some_and(|text| word.fits(text, origins)));
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
        return Err(format!("a pattern has at most {MAX_BYTES} bytes"));
    }
    if !text.contains('*') {
        return Err("without a `*` in it nothing may vary".to_owned());
    }
    if text.chars().any(is_hidden) {
        return Err("it holds characters that cannot be seen".to_owned());
    }
    if text == "*" {
        return whatever(name);
    }
    let mut parts: Vec<&str> = text.split(' ').collect();
    if parts.len() > MAX_WORDS {
        return Err(format!("a pattern has at most {MAX_WORDS} words"));
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

/// Any text at all, for what is no path, no address and no command.
fn whatever(name: &str) -> Result<Form, String> {
    let instead = if is_one_of(name, &COMMANDS) {
        "any command at all: write its first words, as in `git status *`"
    } else if is_one_of(name, &ADDRESSES) {
        "any address at all: write the host, as in `https://example.com/**`"
    } else if is_one_of(name, &PLACES) {
        "any path at all: write `**` for all that is below where converse runs"
    } else {
        return Ok(Form::Any);
    };
    Err(format!("`*` alone would be {instead}"))
}

fn is_one_of(name: &str, parts: &[&str]) -> bool {
    let name = name.to_lowercase();
    parts.iter().any(|part| name.contains(part))
}

/// What runs is written out, whole: before the first `*`, and after everything that begins another command.
fn programs_are_named(words: &[&str]) -> Result<(), String> {
    let (mut named, mut to_or_from) = (false, false);
    for word in words {
        if word.contains('*') && !named {
            return Err(format!(
                "the program must be written out, whole: {} does not say what would run",
                quoted(word)
            ));
        }
        named = !acts(word) && (named || (!to_or_from && names_a_program(word)));
        to_or_from = word.ends_with(['<', '>']);
    }
    Ok(())
}

/// Words of a shell, and programs that run what they are told to.
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
