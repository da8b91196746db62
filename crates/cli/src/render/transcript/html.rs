//! One page of HTML that needs nothing else and does nothing: no script, no request, no link.
//!
//! Every text of others passes `escaped` on its way into the page, and what could hide or turn round letters is shown
//! as an escape. Should something ever slip through, the page's own policy forbids all but its style and its pictures.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use converse_canister::{Canister, Content, Digest, Invocation, InvocationResult, Stop};
use converse_session::{Document, Kept};

use super::fences::{Piece, pieces};
use super::page::page;
use super::{ended, facts, minute, results, title};
use crate::render::safe::{safe, safe_line};

/// Pictures that every browser draws and that can hold no script.
const PICTURES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// The whole page.
pub(crate) fn html(document: &Document) -> String {
    let results = results(document);
    let mut talk = String::new();
    let mut before = None;
    for (kept, number) in document.canisters.iter().zip(1..) {
        if document.condensed.as_ref().is_some_and(|condensed| condensed.covers + 1 == number) {
            talk.push_str("<p class=\"break\">Models are shown a summary of what is above.</p>\n");
        }
        let result = match &kept.canister {
            Canister::Invocation(invocation) => results.get(&invocation.id).map(|(_, result)| *result),
            _ => None,
        };
        let who = speaker(&kept.canister);
        let message = Message { document, kept, number, result, goes_on: before == Some(who) }.html();
        // A reply that says nothing but calls is headed by the first of them.
        if !message.is_empty() {
            talk.push_str(&message);
            before = Some(who);
        }
    }
    let chips: String = facts(document).iter().map(|fact| format!("<li>{}</li>", line(fact))).collect();
    let tags: String =
        document.tags.iter().map(|tag| format!("<li class=\"tag\">{}</li>", line(tag))).collect();
    page(&line(&title(document)), &format!("{chips}{tags}"), &talk, &escaped(&document.program))
}

/// Whose turn it is: calls and results are part of the model's.
fn speaker(canister: &Canister) -> &'static str {
    match canister {
        Canister::Supervisor(_) => "system",
        Canister::User(_) | Canister::Document(_) => "user",
        Canister::Assistant(_) | Canister::Invocation(_) | Canister::Result(_) => "model",
    }
}

struct Message<'a> {
    document: &'a Document,
    kept: &'a Kept,
    number: usize,
    /// Of a call.
    result: Option<&'a InvocationResult>,
    /// The one before was of the same speaker.
    goes_on: bool,
}

impl Message<'_> {
    fn html(&self) -> String {
        let body = match &self.kept.canister {
            Canister::Supervisor(supervisor) => {
                let text = prose(&supervisor.text);
                format!("<details class=\"aside\"><summary>Instructions</summary>{text}</details>")
            }
            Canister::User(user) => self.content(&user.content),
            Canister::Document(document) => {
                let name = line(&format!("{} ({})", document.name, document.mime));
                let text = self.content(&document.content);
                format!("<details class=\"aside\"><summary>{name}</summary>{text}</details>")
            }
            Canister::Assistant(assistant) => {
                let cut = matches!(assistant.stop, Stop::Cut | Stop::Truncated);
                let cut = if cut { "<p class=\"cut\">cut short</p>" } else { "" };
                self.content(&assistant.content) + cut
            }
            Canister::Invocation(invocation) => self.call(invocation),
            // It stands with its call.
            Canister::Result(_) => return String::new(),
        };
        if body.is_empty() {
            return String::new();
        }
        let (who, number) = (speaker(&self.kept.canister), self.number);
        let name = match who {
            "user" => "You",
            "system" => "System",
            _ => "Model",
        };
        let heading = if self.goes_on {
            String::new()
        } else {
            let time = minute(self.kept.at);
            format!("<h2><span class=\"name\">{name}</span> <time>{time}</time></h2>\n")
        };
        format!(
            "<article class=\"{who}\" id=\"m{number}\">\n{heading}<div class=\"body\">{body}</div>\n</article>\n"
        )
    }

    fn content(&self, content: &[Content]) -> String {
        content.iter().map(|piece| self.piece(piece)).collect()
    }

    fn piece(&self, piece: &Content) -> String {
        match piece {
            Content::Text { text, .. } => prose(text),
            Content::Reasoning { text, .. } if text.trim().is_empty() => String::new(),
            Content::Reasoning { text, .. } => {
                format!("<details class=\"aside\"><summary>Reasoning</summary>{}</details>", prose(text))
            }
            Content::Blob { mime, digest, name, .. } => self.file(mime, digest, name.as_deref()),
            Content::Resource { uri, .. } => format!("<p class=\"file\">{}</p>", line(uri)),
            Content::Structured { value } => code("json", &format!("{value:#}")),
        }
    }

    fn file(&self, mime: &str, digest: &Digest, name: Option<&str>) -> String {
        let label = line(&format!("{} ({mime})", name.unwrap_or("a file")));
        let drawn = PICTURES.iter().find(|picture| **picture == mime);
        match drawn.zip(self.document.contents.get(digest)) {
            Some((mime, bytes)) => {
                let bytes = STANDARD.encode(bytes);
                format!("<figure><img alt=\"{label}\" src=\"data:{mime};base64,{bytes}\"></figure>")
            }
            None => format!("<p class=\"file\">{label}</p>"),
        }
    }

    fn call(&self, invocation: &Invocation) -> String {
        let arguments = match &invocation.arguments.malformed {
            None => {
                code("json", &format!("{:#}", serde_json::Value::from(invocation.arguments.object.clone())))
            }
            Some(_) => code("", &invocation.arguments.raw),
        };
        let class = match self.result {
            Some(result) if result.outcome.is_success() => "call good",
            _ => "call bad",
        };
        let (sign, word) = self.result.map_or(("?", "no result".to_owned()), |result| ended(result.outcome));
        let mut html = format!("<details class=\"{class}\"><summary><b>{sign}</b> ");
        let (tool, short) = (line(&invocation.tool), line_of(&invocation.arguments.raw, 120));
        let _ =
            write!(html, "<code>{tool}</code> <span class=\"short\">{short}</span> <i>{word}</i></summary>");
        let _ = write!(html, "<h3>Arguments</h3>{arguments}");
        if let Some(result) = self.result {
            let content = result.content.iter().map(|piece| match piece {
                // What a tool says is no Markdown.
                Content::Text { text, .. } => code("", text),
                other => self.piece(other),
            });
            let _ = write!(html, "<h3>Result</h3>{}", content.collect::<String>());
            if let Some(whole) = &result.truncated {
                let _ = write!(html, "<p class=\"cut\">{} of {} bytes</p>", whole.kept, whole.bytes);
            }
        }
        html + "</details>"
    }
}

/// Words as they stand, with code set apart.
fn prose(text: &str) -> String {
    let html = pieces(text).into_iter().map(|piece| match piece {
        Piece::Words(words) => format!("<div class=\"prose\">{}</div>", inline(words.trim_matches('\n'))),
        Piece::Code { language, code: text } => code(language, text),
    });
    html.collect()
}

fn code(language: &str, text: &str) -> String {
    let language = line_of(language, 30);
    let label = if language.is_empty() { String::new() } else { format!("<span>{language}</span>") };
    format!(
        "<div class=\"code\">{label}<pre><code>{}</code></pre></div>",
        escaped(text.trim_end_matches('\n'))
    )
}

/// Code within a line, between single backticks.
fn inline(words: &str) -> String {
    let mut html = String::new();
    let mut rest = words;
    while let Some((before, behind)) = rest.split_once('`') {
        match behind.split_once('`').filter(|(code, _)| !code.is_empty() && !code.contains('\n')) {
            Some((code, after)) => {
                html.push_str(&format!("{}<code>{}</code>", escaped(before), escaped(code)));
                rest = after;
            }
            None => {
                html.push_str(&escaped(before));
                html.push('`');
                rest = behind;
            }
        }
    }
    html + &escaped(rest)
}

fn line(text: &str) -> String {
    line_of(text, 500)
}

/// A text of others on one line of a page.
pub(crate) fn line_of(text: &str, most: usize) -> String {
    entities(&safe_line(text, most))
}

fn escaped(text: &str) -> String {
    entities(&safe(text))
}

fn entities(text: &str) -> String {
    let mut html = String::with_capacity(text.len() + text.len() / 8);
    for c in text.chars() {
        match c {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#39;"),
            c => html.push(c),
        }
    }
    html
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_text() {
        assert_eq!(inline("a `b<c` d"), "a <code>b&lt;c</code> d");
        for plain in ["one ` alone", "``", "over `two\nlines`"] {
            assert_eq!(inline(plain), plain);
        }
        assert_eq!(
            prose("<script>alert(1)</script>\n```\"><img onerror=x>\n</code></pre>\n```"),
            "<div class=\"prose\">&lt;script&gt;alert(1)&lt;/script&gt;</div><div class=\"code\">\
             <span>&quot;&gt;&lt;img onerror=x&gt;</span><pre><code>&lt;/code&gt;&lt;/pre&gt;</code></pre></div>"
        );
        assert_eq!(escaped("\u{202e}\0&'"), "\\u{202e}\\x00&amp;&#39;");
    }
}
