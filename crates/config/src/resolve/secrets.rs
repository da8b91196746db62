//! Secrets that are written into a descriptor, where `env:NAME` belongs. A guess, so a warning; what was found is never
//! shown, neither in the message nor with its line.

use converse_text::secrets::{known_secret, looks_secret};

use super::Resolver;
use crate::command::{ArgvDescriptor, CommandDescriptor};
use crate::connection::WayDescriptor;
use crate::diagnostic::Diagnostic;
use crate::escape::quoted;
use crate::plan::{Piece, SecretRef};
use crate::request::RequestDescriptor;
use crate::source::{Span, Spanned};
use crate::template::{Template, TemplatePiece};
use crate::{Code, EnsembleDescriptor};

/// One text of a descriptor, as far as it is written down.
struct Said<'a> {
    /// What it is the value of.
    name: Option<&'a str>,
    /// Its parts between what is filled in.
    parts: Vec<&'a str>,
    span: Span,
}

impl Resolver<'_> {
    /// Told by `check` only: it is no news in each run.
    pub(super) fn secrets_in_file(&mut self) {
        if !self.given.compile_schemas {
            return;
        }
        for said in all(self.descriptor) {
            if let Some(message) = fault(&said) {
                self.diagnostics.push(Diagnostic::warning(Code::SecretInFile, said.span, message).discreet());
            }
        }
    }
}

fn fault(said: &Said<'_>) -> Option<String> {
    if let Some(what) = said.parts.iter().find_map(|part| known_secret(part)) {
        return Some(format!("this text holds what looks like {what}"));
    }
    let name = said.name?;
    // Beside what is filled in there stands no whole secret.
    let [value] = said.parts.as_slice() else { return None };
    looks_secret(name, value).then(|| format!("the value of {} looks like a secret", quoted(name)))
}

fn all(descriptor: &EnsembleDescriptor) -> Vec<Said<'_>> {
    let mut said = Vec::new();
    match descriptor.connection.as_ref().map(|connection| &connection.way) {
        Some(WayDescriptor::Stdio { command, environment, .. }) => {
            let words: Vec<_> =
                command.iter().map(|word| (parts_of_secret(&word.value), word.span)).collect();
            said.extend(of_words(words));
            said.extend(environment.iter().map(of_secret));
        }
        Some(WayDescriptor::Http { url, headers }) => {
            said.push(Said { name: None, parts: parts_of_secret(&url.value), span: url.span });
            said.extend(headers.iter().map(of_secret));
        }
        None => {}
    }
    for invoker in descriptor.invokers.iter().filter_map(|entry| entry.invoker.as_ref()) {
        said.extend(invoker.command.iter().flat_map(of_command));
        said.extend(invoker.request.iter().flat_map(of_request));
    }
    said
}

fn of_command(command: &CommandDescriptor) -> Vec<Said<'_>> {
    let words = command.argv.iter().flat_map(ArgvDescriptor::templates);
    let mut said = of_words(words.map(|word| (parts(&word.value), word.span)).collect());
    said.extend(command.environment.iter().map(of_secret));
    said.extend(command.stdin.iter().map(unnamed));
    said
}

fn of_request(request: &RequestDescriptor) -> Vec<Said<'_>> {
    let named = request.query.iter().chain(&request.headers);
    let mut said: Vec<_> = named
        .map(|(name, value)| Said { name: Some(name), parts: parts(&value.value), span: value.span })
        .collect();
    said.extend(request.url.iter().map(unnamed));
    said.extend(request.body.iter().flat_map(|body| &body.templates).map(unnamed));
    said
}

/// `--token value` and `--token=value` are values with a name too.
fn of_words<'a>(words: Vec<(Vec<&'a str>, Span)>) -> Vec<Said<'a>> {
    let mut before: Option<&'a str> = None;
    let mut said = Vec::new();
    for (parts, span) in words {
        let word = parts.first().copied().unwrap_or_default();
        let joined = word.split_once('=').filter(|(name, _)| name.starts_with('-') && parts.len() == 1);
        let option = word.starts_with('-').then_some(word);
        match joined {
            Some((name, value)) => said.push(Said { name: Some(name), parts: vec![value], span }),
            None => said.push(Said { name: before.filter(|_| option.is_none()), parts, span }),
        }
        before = option.filter(|_| joined.is_none());
    }
    said
}

fn of_secret((name, value): &(String, Spanned<SecretRef>)) -> Said<'_> {
    Said { name: Some(name), parts: parts_of_secret(&value.value), span: value.span }
}

fn unnamed(template: &Spanned<Template>) -> Said<'_> {
    Said { name: None, parts: parts(&template.value), span: template.span }
}

/// One for each piece, so that a whole text can be told from a part of one.
fn parts(template: &Template) -> Vec<&str> {
    template.pieces.iter().map(part_of_template).collect()
}

fn part_of_template(piece: &TemplatePiece) -> &str {
    match piece {
        TemplatePiece::Text(text) | TemplatePiece::Variable { default: Some(text), .. } => text,
        TemplatePiece::Variable { default: None, .. } | TemplatePiece::Argument(_) => "",
    }
}

fn part_of_secret(piece: &Piece) -> &str {
    match piece {
        Piece::Text(text) | Piece::Variable { default: Some(text), .. } => text,
        Piece::Variable { default: None, .. } => "",
    }
}

fn parts_of_secret(secret: &SecretRef) -> Vec<&str> {
    match secret {
        SecretRef::Literal(text) => vec![text],
        SecretRef::Environment(_) => Vec::new(),
        SecretRef::Template(pieces) => pieces.iter().map(part_of_secret).collect(),
    }
}

#[cfg(test)]
mod tests;
