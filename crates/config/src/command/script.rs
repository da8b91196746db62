//! Detects arguments of a call that would become code: in the text of a script (`sh -c "grep {pattern} notes"`), as the
//! file that an interpreter runs, or as an interpreter's stdin. Quoting does not help there.
//!
//! A shell's `-c` counts anywhere in the list (`docker exec box sh -c`). Other options count only for the program that
//! the command starts, possibly through a wrapper such as `env`; otherwise `rg --type perl -e {pattern}` would be a
//! false alarm.

mod options;

#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use super::ArgvDescriptor;
use super::language::Program;
use crate::diagnostic::quoted;
use crate::source::{Span, Spanned};
use crate::template::{Template, TemplatePiece};
use options::Reading;

/// Stand-ins in the text of a word for values that are filled in later.
const VARIABLE: char = '\u{1}';
const ARGUMENT: char = '\u{2}';

/// An argument that would become code.
#[derive(Debug)]
pub(super) struct Risk<'a> {
    pub(super) span: Span,
    argument: &'a str,
    program: String,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Code,
    File,
    Input,
}

impl Risk<'_> {
    /// Returns whether the argument is an interpreter's whole stdin.
    pub(super) fn is_input(&self) -> bool {
        self.kind == Kind::Input
    }

    pub(super) fn message(&self) -> String {
        let (argument, program) = (quoted(self.argument), quoted(&self.program));
        match self.kind {
            Kind::Code => format!("the argument {argument} would be code of {program}"),
            Kind::File => format!("the argument {argument} would choose the code that {program} runs"),
            Kind::Input => {
                format!("the argument {argument} would be code: {program} reads its script from `stdin`")
            }
        }
    }
}

/// Returns the arguments that would become code, at most one per word.
pub(super) fn arguments_as_code<'a>(
    argv: &'a [ArgvDescriptor],
    stdin: Option<&'a Spanned<Template>>,
) -> Vec<Risk<'a>> {
    let words = argv.iter().flat_map(ArgvDescriptor::templates).map(Word::of).collect();
    let mut walk = Walk { words, risks: Vec::new(), reader: None };
    walk.all();
    if let (Some(program), Some(stdin)) = (walk.reader.take(), stdin)
        && let Some(argument) = stdin.value.arguments().next()
    {
        walk.risks.push(Risk { span: stdin.span, argument, program, kind: Kind::Input });
    }
    walk.risks
}

/// One word of the command line, with stand-ins for placeholders.
#[derive(Debug, Clone)]
struct Word<'a> {
    text: String,
    span: Span,
    /// The first argument in the word.
    argument: Option<&'a str>,
}

impl<'a> Word<'a> {
    fn of(template: &'a Spanned<Template>) -> Self {
        let pieces = &template.value.pieces;
        let text = match pieces.as_slice() {
            [TemplatePiece::Variable { name, .. }] if name == "SHELL" => "sh".to_owned(),
            [TemplatePiece::Variable { default: Some(default), .. }] => default.clone(),
            pieces => pieces.iter().map(marked).collect(),
        };
        Self { text, span: template.span, argument: template.value.arguments().next() }
    }

    /// Returns a part of this word as a word.
    fn part(&self, text: &str) -> Self {
        let argument = self.argument.filter(|_| text.contains(ARGUMENT));
        Self { text: text.to_owned(), span: self.span, argument }
    }

    /// Returns the last part of the path: `sh` for `${PREFIX}/bin/sh`.
    fn name(&self) -> &str {
        self.text.rsplit(['/', '\\', VARIABLE, ARGUMENT]).next().unwrap_or_default()
    }
}

fn marked(piece: &TemplatePiece) -> &str {
    match piece {
        TemplatePiece::Text(text) => text,
        TemplatePiece::Variable { .. } => "\u{1}",
        TemplatePiece::Argument(_) => "\u{2}",
    }
}

struct Walk<'a> {
    words: VecDeque<Word<'a>>,
    risks: Vec<Risk<'a>>,
    /// The program that reads its code from stdin.
    reader: Option<String>,
}

impl<'a> Walk<'a> {
    fn all(&mut self) {
        // Whether this word may name what is started. After `env` or `sudo`, each word may be, until one is.
        let (mut starts, mut wrapped) = (true, false);
        while let Some(word) = self.words.pop_front() {
            let name = word.name();
            match Program::named(name) {
                Some(Program::Wrapper) => wrapped |= starts,
                Some(Program::Env) if starts => {
                    wrapped = true;
                    self.env();
                }
                Some(Program::WindowsShell(shell)) if starts => {
                    wrapped = false;
                    self.windows_shell(shell, name);
                }
                Some(Program::Interpreter(interpreter)) if starts || interpreter.is_shell => {
                    wrapped &= !starts;
                    wrapped |= Reading::new(self, interpreter, name).words(starts);
                }
                _ => {}
            }
            starts = wrapped;
        }
    }

    fn check(&mut self, word: &Word<'a>, program: &str, kind: Kind) {
        if let Some(argument) = word.argument {
            self.risks.push(Risk { span: word.span, argument, program: program.to_owned(), kind });
        }
    }
}
