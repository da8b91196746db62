//! Reads the words after a program's name in the way that program does.

use super::super::language::{Interpreter, Takes, WindowsShell, listed};
use super::{ARGUMENT, Kind, Walk, Word};

impl<'a> Walk<'a> {
    /// Splits the value of `env -S "sh -c {x}"` into words.
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
                // The argument is already reported as code.
                self.words.push_front(Word { argument: None, ..script.part(part) });
            }
        }
    }

    /// Returns what follows the `S` among the letters of `env`.
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

    pub(super) fn windows_shell(&mut self, shell: &WindowsShell, name: &str) {
        let mut has_code = false;
        while let Some(word) = self.words.pop_front() {
            let text = word.text.to_ascii_lowercase();
            let is_file = |file: &str| text.len() > 1 && file.starts_with(&text);
            if listed(&text, shell.valued) {
                self.words.pop_front();
            } else if shell.file.is_some_and(is_file) {
                match self.words.pop_front() {
                    // `-` is stdin.
                    Some(file) if file.text == "-" => break,
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
}

/// Progress in the words of one interpreter.
pub(super) struct Reading<'w, 'a> {
    walk: &'w mut Walk<'a>,
    interpreter: &'static Interpreter,
    name: &'w str,
    /// The next word that is not an option is code.
    waits: bool,
    /// The interpreter has code or a file.
    has_code: bool,
    /// An option tells the interpreter to read stdin.
    reads_input: bool,
    /// Another program follows.
    wraps: bool,
    /// Only data follows.
    done: bool,
}

impl<'w, 'a> Reading<'w, 'a> {
    pub(super) fn new(walk: &'w mut Walk<'a>, interpreter: &'static Interpreter, name: &'w str) -> Self {
        let (waits, has_code, reads_input, wraps, done) = (false, false, false, false, false);
        Self { walk, interpreter, name, waits, has_code, reads_input, wraps, done }
    }

    /// Reads all words, and returns whether what follows is another program.
    pub(super) fn words(mut self, starts: bool) -> bool {
        let is_shell = self.interpreter.is_shell;
        let signs: &[char] = if is_shell { &['-', '+'] } else { &['-'] };
        while !self.done && !self.wraps {
            let Some(word) = self.walk.words.pop_front() else { break };
            match word.text.strip_prefix(signs) {
                Some("" | "-") if is_shell || word.text == "--" => {}
                Some("") => self.reads_input = true,
                Some(long) if long.starts_with('-') => self.long(&word),
                Some(_) => self.letters(&word),
                None if !starts && !self.waits => {
                    self.walk.words.push_front(word);
                    return false;
                }
                None => self.operand(&word),
            }
            self.done |= self.reads_input && !is_shell;
        }
        let has_input = self.interpreter.operand != Some(Takes::Code);
        if starts && has_input && !self.has_code && !self.wraps {
            self.walk.reader = Some(self.name.to_owned());
        }
        self.wraps
    }

    fn operand(&mut self, word: &Word<'a>) {
        let takes = match self.interpreter.operand {
            _ if self.waits => Takes::Code,
            None => return,
            Some(Takes::File) if word.text == "/dev/stdin" => Takes::Data,
            Some(_) if self.has_code || self.reads_input => Takes::Data,
            Some(takes) => takes,
        };
        self.value(word, takes);
        self.done = true;
    }

    fn long(&mut self, word: &Word<'a>) {
        let (option, rest) = match word.text.split_once('=') {
            Some((option, rest)) => (option, Some(rest)),
            None => (word.text.as_str(), None),
        };
        match self.interpreter.takes(option.trim_start_matches('-')) {
            Some(takes) => {
                if let Some(value) = rest.map(|rest| word.part(rest)).or_else(|| self.walk.words.pop_front())
                {
                    self.value(&value, takes);
                }
            }
            // The argument may become any option.
            None if option.contains(ARGUMENT) => self.walk.check(word, self.name, Kind::Code),
            None => {}
        }
    }

    fn letters(&mut self, word: &Word<'a>) {
        let joined = self.interpreter.joined;
        // After the dash.
        for (at, letter) in word.text.char_indices().skip(1) {
            let rest = &word.text[at + letter.len_utf8()..];
            match self.interpreter.takes(letter.encode_utf8(&mut [0; 4])) {
                // The argument may become any letters.
                _ if letter == ARGUMENT => return self.walk.check(word, self.name, Kind::Code),
                None => {}
                Some(Takes::Input) => self.reads_input = true,
                Some(Takes::Rest) => return,
                Some(Takes::Code) if !joined => self.waits = true,
                Some(takes) if joined && !rest.is_empty() => return self.value(&word.part(rest), takes),
                Some(takes) => {
                    if let Some(next) = self.walk.words.pop_front() {
                        self.value(&next, takes);
                    }
                }
            }
        }
    }

    fn value(&mut self, word: &Word<'a>, takes: Takes) {
        let kind = match takes {
            Takes::Code => Kind::Code,
            Takes::File => Kind::File,
            Takes::User => return self.wraps = true,
            Takes::Data | Takes::Rest | Takes::Input => return,
        };
        self.walk.check(word, self.name, kind);
        self.has_code = true;
        self.waits = false;
        self.done |= self.interpreter.ends;
    }
}
