//! One page of HTML that needs nothing else and does nothing: no script, no request.
//!
//! Every text of others passes [`converse_screen::html`] on its way into the page: words of models are read as Markdown,
//! of which safe tags are made, all others are text. Should something ever slip through, the page's own policy forbids
//! all but its style and its pictures.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use converse_canister::{Canister, Content, Digest, Invocation, InvocationResult};
use converse_screen::html;
use converse_session::{Document, Kept};

use super::super::HtmlPage;
use super::edits::Edits;
use super::{ended, facts, is_cut, minute, results, title};

/// Pictures that every browser draws and that can hold no script.
const PICTURES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// The whole page.
pub fn html(document: &Document) -> String {
    let (results, edits) = (results(document), Edits::of(document));
    let mut talk = String::new();
    let mut before = None;
    for (kept, number) in document.canisters.iter().zip(1..) {
        talk.push_str(&summary(document, number - 1));
        let result = match &kept.canister {
            Canister::Invocation(invocation) => results.get(&invocation.id).map(|(_, result)| *result),
            _ => None,
        };
        let who = speaker(&kept.canister);
        let made = edits.made(&kept.canister);
        let message = Message { document, kept, number, made, result, goes_on: before == Some(who) }.html();
        // A reply that says nothing but calls is headed by the first of them.
        if !message.is_empty() {
            talk.push_str(&message);
            before = Some(who);
        }
    }
    talk.push_str(&summary(document, document.canisters.len()));
    let chips: String = facts(document).iter().map(|fact| format!("<li>{}</li>", line(fact))).collect();
    let tags: String =
        document.tags.iter().map(|tag| format!("<li class=\"tag\">{}</li>", line(tag))).collect();
    let title = line(&title(document));
    let page = HtmlPage {
        title: &title,
        style: include_str!("page.css"),
        pictures: true,
        header: &format!("<h1>{title}</h1>\n<ul>{chips}{tags}</ul>"),
        main: &talk,
        footer: &format!("A conversation kept by {}. Times are UTC.", line(&document.program)),
    };
    page.html()
}

/// The summary that models get instead of the messages before it, if it belongs at this position.
fn summary(document: &Document, covered: usize) -> String {
    let condensed = document.condensed.as_ref().filter(|condensed| condensed.covers == covered);
    let told = |summary: &str| aside("Models are shown a summary of what is above", &answer(summary));
    condensed.map_or(String::new(), |condensed| {
        format!("<div class=\"break\">{}</div>\n", told(&condensed.summary))
    })
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
    /// A call that the user has changed, as it was made.
    made: Option<Invocation>,
    /// Of a call.
    result: Option<&'a InvocationResult>,
    /// The one before was of the same speaker.
    goes_on: bool,
}

impl Message<'_> {
    fn html(&self) -> String {
        let body = match &self.kept.canister {
            Canister::Supervisor(supervisor) => aside("Instructions", &typed(&supervisor.text)),
            Canister::User(user) => self.content(&user.content, typed),
            Canister::Document(document) => {
                let name = line(&format!("{} ({})", document.name, document.mime));
                aside(&name, &self.content(&document.content, typed))
            }
            Canister::Assistant(assistant) => {
                let cut = if is_cut(assistant) { "<p class=\"cut\">cut short</p>" } else { "" };
                self.content(&assistant.content, answer) + cut
            }
            Canister::Invocation(invocation) => self.call(invocation),
            // Shown with its call.
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

    fn content(&self, content: &[Content], words: fn(&str) -> String) -> String {
        content.iter().map(|piece| self.piece(piece, words)).collect()
    }

    fn piece(&self, piece: &Content, words: fn(&str) -> String) -> String {
        match piece {
            Content::Text { text, .. } if text.trim().is_empty() => String::new(),
            Content::Text { text, .. } => words(text),
            Content::Reasoning { text, .. } if text.trim().is_empty() => String::new(),
            Content::Reasoning { text, .. } => aside("Reasoning", &answer(text)),
            Content::Blob { mime, digest, name, .. } => self.file(mime, digest, name.as_deref()),
            Content::Resource { uri, .. } => format!("<p class=\"file\">{}</p>", line(uri)),
            Content::Structured { value } => html::code("json", &format!("{value:#}")),
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

    fn call(&self, asked: &Invocation) -> String {
        let invocation = self.made.as_ref().unwrap_or(asked);
        let edited = if self.made.is_some() { ", edited by the user" } else { "" };
        let class = match self.result {
            Some(result) if result.outcome.is_success() => "call good",
            _ => "call bad",
        };
        let (sign, word) = self.result.map_or(("?", "no result".to_owned()), |result| ended(result.outcome));
        let mut html = format!("<details class=\"{class}\"><summary><b>{sign}</b> ");
        let (tool, short) = (line(&invocation.tool), html::line(&invocation.arguments.raw, 120));
        let _ =
            write!(html, "<code>{tool}</code> <span class=\"short\">{short}</span> <i>{word}</i></summary>");
        let _ = write!(html, "<h3>Arguments{edited}</h3>{}", arguments(invocation));
        if self.made.is_some() {
            let _ = write!(html, "<h3>The model asked for</h3>{}", arguments(asked));
        }
        if let Some(result) = self.result {
            // The text of a tool is not Markdown.
            let content = self.content(&result.content, |text| html::code("", text));
            let _ = write!(html, "<h3>Result</h3>{content}");
            if let Some(whole) = &result.truncated {
                let _ = write!(html, "<p class=\"cut\">{} of {} bytes</p>", whole.kept, whole.bytes);
            }
        }
        html + "</details>"
    }
}

fn arguments(invocation: &Invocation) -> String {
    match &invocation.arguments.malformed {
        None => {
            let value = serde_json::Value::from(invocation.arguments.object.clone());
            html::code("json", &format!("{value:#}"))
        }
        Some(_) => html::code("", &invocation.arguments.raw),
    }
}

/// Words as they were typed.
fn typed(text: &str) -> String {
    format!("<div class=\"typed\">{}</div>", html::text(text.trim_matches('\n')))
}

/// Words of a model, which are Markdown.
fn answer(text: &str) -> String {
    format!("<div class=\"prose\">\n{}</div>", html::markdown(text))
}

fn aside(summary: &str, body: &str) -> String {
    format!("<details class=\"aside\"><summary>{summary}</summary>{body}</details>")
}

fn line(text: &str) -> String {
    html::line(text, 500)
}
