//! Warns about secrets in descriptors that should be `env:NAME`. A suspected secret is never shown, neither in the message
//! nor with its line.

use converse_text::secrets::{known_secret, looks_secret};

use super::Resolver;
use crate::command::{ArgvDescriptor, CommandDescriptor};
use crate::connection::TransportDescriptor;
use crate::diagnostic::{Diagnostic, quoted};
use crate::plan::{Piece, SecretRef};
use crate::request::RequestDescriptor;
use crate::source::{Span, Spanned};
use crate::template::{Template, TemplatePiece};
use crate::{Code, EnsembleDescriptor};

/// One text of a descriptor, without what is filled in.
struct NamedText<'a> {
    /// The key, header or option whose value it is.
    name: Option<&'a str>,
    /// The parts between placeholders.
    parts: Vec<&'a str>,
    span: Span,
}

impl Resolver<'_> {
    /// Warns in `check` only, so that runs do not repeat it.
    pub(super) fn secrets_in_file(&mut self) {
        if !self.given.compile_schemas {
            return;
        }
        for text in all(self.descriptor) {
            if let Some(message) = fault(&text) {
                self.diagnostics
                    .push(Diagnostic::warning(Code::SecretInFile, text.span, message).without_excerpt());
            }
        }
    }
}

fn fault(text: &NamedText<'_>) -> Option<String> {
    if let Some(what) = text.parts.iter().find_map(|part| known_secret(part)) {
        return Some(format!("this text contains what looks like {what}"));
    }
    let name = text.name?;
    // A text with placeholders is not a whole secret.
    let [value] = text.parts.as_slice() else { return None };
    looks_secret(name, value).then(|| format!("the value of {} looks like a secret", quoted(name)))
}

fn all(descriptor: &EnsembleDescriptor) -> Vec<NamedText<'_>> {
    let mut texts = Vec::new();
    match descriptor.connection.as_ref().map(|connection| &connection.transport) {
        Some(TransportDescriptor::Stdio { command, environment, .. }) => {
            let words: Vec<_> =
                command.iter().map(|word| (parts_of_secret(&word.value), word.span)).collect();
            texts.extend(of_words(words));
            texts.extend(environment.iter().map(of_secret));
        }
        Some(TransportDescriptor::Http { url, headers }) => {
            texts.push(NamedText { name: None, parts: parts_of_secret(&url.value), span: url.span });
            texts.extend(headers.iter().map(of_secret));
        }
        None => {}
    }
    for invoker in descriptor.invokers.iter().filter_map(|entry| entry.invoker.as_ref()) {
        texts.extend(invoker.command.iter().flat_map(of_command));
        texts.extend(invoker.request.iter().flat_map(of_request));
    }
    texts
}

fn of_command(command: &CommandDescriptor) -> Vec<NamedText<'_>> {
    let words = command.argv.iter().flat_map(ArgvDescriptor::templates);
    let mut texts = of_words(words.map(|word| (parts(&word.value), word.span)).collect());
    texts.extend(command.environment.iter().map(of_secret));
    texts.extend(command.stdin.iter().map(unnamed));
    texts
}

fn of_request(request: &RequestDescriptor) -> Vec<NamedText<'_>> {
    let named = request.query.iter().chain(&request.headers);
    let mut texts: Vec<_> = named
        .map(|(name, value)| NamedText { name: Some(name), parts: parts(&value.value), span: value.span })
        .collect();
    texts.extend(request.url.iter().map(unnamed));
    texts.extend(request.body.iter().flat_map(|body| &body.templates).map(unnamed));
    texts
}

/// Reads the words of a command line: `--token value` and `--token=value` are named values.
fn of_words<'a>(words: Vec<(Vec<&'a str>, Span)>) -> Vec<NamedText<'a>> {
    let mut before: Option<&'a str> = None;
    let mut texts = Vec::new();
    for (parts, span) in words {
        let word = parts.first().copied().unwrap_or_default();
        let joined = word.split_once('=').filter(|(name, _)| name.starts_with('-') && parts.len() == 1);
        let option = word.starts_with('-').then_some(word);
        match joined {
            Some((name, value)) => texts.push(NamedText { name: Some(name), parts: vec![value], span }),
            None => texts.push(NamedText { name: before.filter(|_| option.is_none()), parts, span }),
        }
        before = option.filter(|_| joined.is_none());
    }
    texts
}

fn of_secret((name, value): &(String, Spanned<SecretRef>)) -> NamedText<'_> {
    NamedText { name: Some(name), parts: parts_of_secret(&value.value), span: value.span }
}

fn unnamed(template: &Spanned<Template>) -> NamedText<'_> {
    NamedText { name: None, parts: parts(&template.value), span: template.span }
}

/// Returns one text per piece, so that a whole text differs from a part.
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
