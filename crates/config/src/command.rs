//! `[command]` as written: a program as a tool, with placeholders for the arguments of a call.
//!
//! This module checks that the list names a program, that no argument chooses the program, and that no argument becomes
//! code of a shell. `resolve` checks that placeholders are names of arguments.

mod language;
mod sandbox_access;
mod script;

use toml::de::DeValue;

use crate::Code;
use crate::diagnostic::quoted;
use crate::plan::SecretRef;
use crate::program::{self, MAX_WORDS};
use crate::source::{Span, Spanned};
use crate::table::Table;
use crate::template::{Template, TemplatePiece};
use crate::templates;

pub(crate) use sandbox_access::MAX_ACCESS_PATHS;
pub use sandbox_access::SandboxAccessDescriptor;

#[derive(Debug, Clone, PartialEq)]
pub struct CommandDescriptor {
    pub span: Span,
    /// The elements that are valid.
    pub argv: Vec<ArgvDescriptor>,
    pub environment: Vec<(String, Spanned<SecretRef>)>,
    pub cwd: Option<Spanned<String>>,
    pub stdin: Option<Spanned<Template>>,
    pub sandbox_access: SandboxAccessDescriptor,
    /// Arguments that would become code: errors, unless the tool runs code in a required sandbox.
    pub code: Vec<CodeRisk>,
}

/// An argument of a call that would become code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeRisk {
    pub span: Span,
    pub message: String,
    /// The argument is the whole input of an interpreter, as in a tool for running code.
    pub whole_input: bool,
}

/// One element of `argv`.
#[derive(Debug, Clone, PartialEq)]
pub enum ArgvDescriptor {
    One(Spanned<Template>),
    /// A list inside the list, which is left out as a whole.
    Group(Vec<Spanned<Template>>),
}

impl ArgvDescriptor {
    pub(crate) fn templates(&self) -> &[Spanned<Template>] {
        match self {
            Self::One(template) => std::slice::from_ref(template),
            Self::Group(templates) => templates,
        }
    }
}

impl CommandDescriptor {
    pub(crate) fn read(table: Table<'_, '_>) -> Self {
        let stdin = table.template("stdin");
        let argv = argv(&table);
        let descriptor = Self {
            span: table.span,
            code: code_risks(&argv, stdin.as_ref()),
            argv,
            environment: program::environment(&table),
            cwd: program::cwd(&table),
            stdin,
            sandbox_access: SandboxAccessDescriptor::read(&table),
        };
        table.finish();
        descriptor
    }

    /// Returns all texts with placeholders.
    pub(crate) fn templates(&self) -> impl Iterator<Item = &Spanned<Template>> {
        self.argv.iter().flat_map(ArgvDescriptor::templates).chain(&self.stdin)
    }
}

fn code_risks(argv: &[ArgvDescriptor], stdin: Option<&Spanned<Template>>) -> Vec<CodeRisk> {
    let is_sole = stdin.is_some_and(|stdin| stdin.value.sole_argument().is_some());
    let risk = |risk: script::Risk<'_>| {
        let whole_input = risk.is_input() && is_sole;
        CodeRisk { span: risk.span, message: risk.message(), whole_input }
    };
    script::arguments_as_code(argv, stdin).into_iter().map(risk).collect()
}

fn argv(table: &Table<'_, '_>) -> Vec<ArgvDescriptor> {
    if !table.has("argv") {
        table.missing("argv");
    }
    let Some(items) = table.list("argv", "a list of strings or of lists of strings") else {
        return Vec::new();
    };
    let mut words = 0;
    let fits = |item: &&toml::Spanned<DeValue<'_>>| {
        words += item.get_ref().as_array().map_or(1, |items| items.len());
        words <= MAX_WORDS
    };
    let read: Vec<_> = items.value.iter().take_while(fits).map(|item| element(table, item)).collect();
    if let Some(beyond) = items.value.get(read.len()) {
        let message = format!("more than {MAX_WORDS} words in one command line");
        table.problems.error(Code::TooMany, table.problems.span(beyond.span()), message);
        return Vec::new();
    }
    match read.first() {
        None => table.problems.bad_value(items.span, "`argv` must name a program", ARGV),
        Some(Some(program)) => check_program(table, program, items.span),
        // Already reported.
        Some(None) => {}
    }
    read.into_iter().flatten().collect()
}

const ARGV: &str = "for example: `argv = [\"git\", \"log\"]`";

fn element(table: &Table<'_, '_>, item: &toml::Spanned<DeValue<'_>>) -> Option<ArgvDescriptor> {
    let Some(items) = item.get_ref().as_array() else { return one(table, item).map(ArgvDescriptor::One) };
    if items.is_empty() {
        let span = table.problems.span(item.span());
        let hint =
            "write the elements that are left out together, or remove the list: `[\"--tag\", \"{tags}\"]`";
        table.problems.bad_value(span, "a list in `argv` cannot be empty", hint);
        return None;
    }
    // Check the elements after an invalid one too.
    let read: Vec<_> = items.iter().map(|item| one(table, item)).collect();
    read.into_iter().collect::<Option<Vec<_>>>().map(ArgvDescriptor::Group)
}

fn one(table: &Table<'_, '_>, item: &toml::Spanned<DeValue<'_>>) -> Option<Spanned<Template>> {
    let template = templates::of_value(item, table.problems, "an element of argv")?;
    if template.value.literals().any(|text| text.contains('\0')) {
        let message = "an element of `argv` contains a NUL byte";
        table.problems.bad_value(template.span, message, "remove `\\u0000` from the element");
        return None;
    }
    Some(template)
}

fn check_program(table: &Table<'_, '_>, program: &ArgvDescriptor, list: Span) {
    let ArgvDescriptor::One(program) = program else {
        let span = program.templates().first().map_or(list, |template| template.span);
        let message = "the program cannot be in a list: lists are for elements that are left out together";
        let hint = "write the program before the list: `[\"git\", \"log\", [\"--author\", \"{author}\"]]`";
        return table.problems.bad_value(span, message, hint);
    };
    let is_blank =
        |piece: &TemplatePiece| matches!(piece, TemplatePiece::Text(text) if text.trim().is_empty());
    if let Some(argument) = program.value.arguments().next() {
        let message = format!("the argument {} would choose the program", quoted(argument));
        table.problems.error(Code::ArgumentInProgram, program.span, message);
    } else if program.value.pieces.iter().all(is_blank) {
        table.problems.bad_value(program.span, "`argv` must begin with the name of a program", ARGV);
    }
}
