//! The words after the name of a program, read as that program would.

use super::super::language::{Everything, Language, Operand};
use super::{ARGUMENT, Kind, Walk, Word};

/// What a value of an option is to the program.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Value {
    Code,
    File,
    User,
    Data,
}

/// How far the reading of one program has come.
#[derive(Default)]
struct State {
    /// The next word that is no option is code.
    waits: bool,
    /// It has code, or a file.
    has_code: bool,
    /// It was told to read its input.
    told: bool,
    /// What follows is another program.
    wraps: bool,
    /// What follows is data.
    done: bool,
}

impl<'a> Walk<'a> {
    /// `env -S "sh -c {x}"`: its value is split into words.
    pub(super) fn env(&mut self) {
        while self.words.front().is_some_and(|word| word.text.starts_with('-')) {
            let Some(word) = self.words.pop_front() else { return };
            let rest = match word.text.strip_prefix("--split-string") {
                Some(rest) => Some(rest.trim_start_matches('=')),
                None if word.text.starts_with("--") => None,
                None => self.after_split(&word.text),
            };
            let script = match rest {
                None => continue,
                Some("") => self.words.pop_front(),
                Some(rest) => Some(word.part(rest)),
            };
            let Some(script) = script else { return };
            self.check(&script, "env", Kind::Code);
            let parts = script.text.split_whitespace().rev();
            for part in parts.map(|part| part.trim_matches(['"', '\''])) {
                // It has been told that the argument is code.
                self.words.push_front(Word { argument: None, ..script.part(part) });
            }
        }
    }

    /// What stands behind the `S` among the letters of `env`.
    fn after_split<'t>(&mut self, letters: &'t str) -> Option<&'t str> {
        let at = letters.find(['S', 'u', 'C'])?;
        let rest = letters.get(at + 1..).unwrap_or_default();
        if letters[at..].starts_with('S') {
            return Some(rest);
        }
        if rest.is_empty() {
            self.words.pop_front();
        }
        None
    }

    pub(super) fn everything(&mut self, shell: &Everything, name: &str) {
        let mut has_code = false;
        while let Some(word) = self.words.pop_front() {
            let text = word.text.to_ascii_lowercase();
            let is_file = |file: &str| text.len() > 1 && file.starts_with(&text);
            if shell.valued.contains(&text.as_str()) {
                self.words.pop_front();
            } else if shell.file.is_some_and(is_file) {
                match self.words.pop_front() {
                    // From its input.
                    Some(file) if file.text == "-" => break,
                    Some(file) if file.argument.is_none() => return,
                    Some(file) => return self.check(&file, name, Kind::File),
                    None => break,
                }
            } else if text == "-" {
                has_code = false;
                break;
            } else {
                has_code |=
                    !text.starts_with(['-', '/']) || shell.code.iter().any(|code| text.starts_with(code));
                self.check(&word, name, Kind::Code);
            }
        }
        if !has_code {
            self.reader = Some(name.to_owned());
        }
    }

    /// Is what follows another program?
    pub(super) fn options(&mut self, language: &Language, name: &str, starts: bool) -> bool {
        let mut state = State::default();
        while !state.done && !state.wraps {
            let Some(word) = self.words.pop_front() else { break };
            let signs: &[char] = if language.is_shell { &['-', '+'] } else { &['-'] };
            match word.text.strip_prefix(signs) {
                Some("" | "-") if language.is_shell || word.text == "--" => {}
                Some("") => state.told = true,
                Some(long) if long.starts_with('-') => self.long(language, name, &word, &mut state),
                Some(_) => self.letters(language, name, &word, &mut state),
                None if !starts && !state.waits => {
                    self.words.push_front(word);
                    return false;
                }
                None => self.operand(language, name, &word, &mut state),
            }
            state.done |= state.told && !language.is_shell;
        }
        if starts && language.reads_input && !state.has_code && !state.wraps {
            self.reader = Some(name.to_owned());
        }
        state.wraps
    }

    fn operand(&mut self, language: &Language, name: &str, word: &Word<'a>, state: &mut State) {
        let value = match language.operand {
            _ if state.waits => Value::Code,
            Operand::Other => return,
            _ if state.has_code || state.told => Value::Data,
            Operand::File if word.text == "/dev/stdin" => Value::Data,
            Operand::File => Value::File,
            Operand::Code => Value::Code,
        };
        self.value(language, name, word, value, state);
        state.done = true;
    }

    fn long(&mut self, language: &Language, name: &str, word: &Word<'a>, state: &mut State) {
        let (option, rest) = match word.text.split_once('=') {
            Some((option, rest)) => (option, Some(rest)),
            None => (word.text.as_str(), None),
        };
        let is_one_of = |names: &[&str]| names.contains(&option.trim_start_matches('-'));
        let value = if is_one_of(language.long_code) {
            Value::Code
        } else if is_one_of(language.long_file) {
            Value::File
        } else if is_one_of(language.long_user) {
            Value::User
        } else if is_one_of(language.long_valued) {
            Value::Data
        } else if option.contains(ARGUMENT) {
            // It may become any option.
            return self.check(word, name, Kind::Code);
        } else {
            return;
        };
        let next = match rest {
            Some(rest) => Some(word.part(rest)),
            None => self.words.pop_front(),
        };
        if let Some(next) = next {
            self.value(language, name, &next, value, state);
        }
    }

    fn letters(&mut self, language: &Language, name: &str, word: &Word<'a>, state: &mut State) {
        let mut letters = word.text.chars();
        // The dash.
        letters.next();
        while let Some(letter) = letters.next() {
            let value = match letter {
                // It may become any letters.
                ARGUMENT => return self.check(word, name, Kind::Code),
                letter if language.code.contains(letter) => Value::Code,
                letter if language.file.contains(letter) => Value::File,
                letter if language.user.contains(letter) => Value::User,
                letter if language.valued.contains(letter) => Value::Data,
                letter if language.rest.contains(letter) => return,
                letter => {
                    state.told |= language.input.contains(letter);
                    continue;
                }
            };
            if !language.joined && value == Value::Code {
                state.waits = true;
                continue;
            }
            let rest = letters.as_str();
            let joined = language.joined && !rest.is_empty();
            let next = if joined { Some(word.part(rest)) } else { self.words.pop_front() };
            if let Some(next) = next {
                self.value(language, name, &next, value, state);
            }
            if language.joined {
                return;
            }
        }
    }

    fn value(&mut self, language: &Language, name: &str, word: &Word<'a>, value: Value, state: &mut State) {
        match value {
            Value::Code => self.check(word, name, Kind::Code),
            Value::File => self.check(word, name, Kind::File),
            Value::User => state.wraps = true,
            Value::Data => {}
        }
        if matches!(value, Value::Code | Value::File) {
            state.has_code = true;
            state.waits = false;
            state.done |= language.ends;
        }
    }
}
