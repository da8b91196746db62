//! What people and programs see: the answer on stdout, everything else on stderr.

pub mod compare;
pub mod json;
pub mod jsonl;
pub mod models;
pub mod output;
pub mod quoted;
pub mod stats;
pub mod table;
pub mod text;
pub mod transcript;

use std::sync::{Mutex, MutexGuard};

use converse_canister::{Content, InvocationResult, Outcome};
use converse_engine::{Sink, SinkError};

use converse_host::failure::Failure;

/// How a run ended, for the last word of a renderer.
#[derive(Debug, Clone, Copy)]
pub struct End<'a> {
    pub exit: u8,
    pub reason: &'a str,
    pub failure: Option<&'a Failure>,
    pub session: Option<&'a str>,
    /// As `provider/model`, once it is known.
    pub model: Option<&'a str>,
}

/// A sink that has a last word.
pub trait Renderer: Sink {
    fn finish(&self, end: End<'_>) -> Result<(), SinkError>;
}

/// What a renderer remembers. Its lock is broken only if a renderer panicked.
pub fn lock_state<T>(state: &Mutex<T>) -> Result<MutexGuard<'_, T>, SinkError> {
    state.lock().map_err(|_| SinkError::Output("a renderer crashed".to_owned()))
}

/// Returns the word for the outcome of a call, and the reason to show after it. A reason that contains the word is
/// shown alone.
pub(crate) fn ended_for(outcome: Outcome, reason: &str) -> (String, String) {
    let word = outcome.label().replace('_', " ");
    let said = reason.get(..word.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(&word));
    match reason.get(word.len()..).filter(|_| said) {
        Some(rest) if !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_') => (word, rest.to_owned()),
        _ if reason.is_empty() => (word, String::new()),
        _ => (word + ":", format!(" {reason}")),
    }
}

/// A result in words: texts as they are, the rest described.
pub fn result_text(result: &InvocationResult) -> String {
    let pieces = result.content.iter().map(|content| match content {
        Content::Text { text, .. } | Content::Reasoning { text, .. } => text.clone(),
        Content::Structured { value } => value.to_string(),
        Content::Blob { mime, name, .. } => {
            format!("[{}{mime}]", name.as_ref().map_or(String::new(), |n| format!("{n}: ")))
        }
        Content::Resource { uri, .. } => format!("[{uri}]"),
    });
    pieces.collect::<Vec<_>>().join("\n")
}

/// An HTML page that needs nothing else: no script, no request. All its texts must be HTML already.
struct HtmlPage<'a> {
    title: &'a str,
    style: &'a str,
    /// Whether the page may contain pictures.
    pictures: bool,
    header: &'a str,
    main: &'a str,
    footer: &'a str,
}

impl HtmlPage<'_> {
    fn html(&self) -> String {
        let Self { title, style, pictures, header, main, footer } = self;
        let pictures = if *pictures { " img-src data:;" } else { "" };
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline';{pictures} \
             base-uri 'none'; form-action 'none'\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"referrer\" content=\"no-referrer\">\n<meta name=\"color-scheme\" content=\"light dark\">\n\
             <title>{title}</title>\n<style>\n{style}</style>\n</head>\n<body>\n\
             <header>\n{header}\n</header>\n<main>\n{main}</main>\n\
             <footer>{footer}</footer>\n</body>\n</html>\n"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_a_call_ended_is_said_once() {
        for (outcome, reason, told) in [
            (Outcome::Refused, "refused by the user: not now", "refused by the user: not now"),
            (Outcome::Refused, "refused: not allowed by the rule x", "refused: not allowed by the rule x"),
            (Outcome::Invalid, "invalid arguments: no `path`", "invalid arguments: no `path`"),
            (Outcome::Cancelled, "Cancelled before it began", "cancelled before it began"),
            (Outcome::Invalid, "invalidated", "invalid: invalidated"),
            (Outcome::Timeout, "no answer within 30 s", "timeout: no answer within 30 s"),
            (Outcome::NoSuchTool, "there is no x", "no such tool: there is no x"),
            (Outcome::Failed, "", "failed"),
            (Outcome::Failed, "ошибка", "failed: ошибка"),
        ] {
            let (word, rest) = ended_for(outcome, reason);
            assert_eq!(word + &rest, told);
        }
    }
}
