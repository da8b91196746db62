//! The same texts for a page: as HTML that can do nothing.
//!
//! It is safe by how it is made: tags and classes are words of this program alone, each text of others is written with
//! its signs escaped (after [`safe`](fn@converse_text::safe) has shown what hides or turns round letters), and the only
//! attributes that others have a say in are the address of a link, of a known scheme and in plain ASCII, and the number
//! that a list begins with. HTML within Markdown is text. Nothing is loaded: pictures are their words and their address.

mod flow;

use converse_text::{safe, safe_line};
use pulldown_cmark::{Options, Parser};

use crate::highlight::{Highlighter, named};
use crate::tone::Tone;

/// Bytes of Markdown that are read as such; longer texts stay as they were written.
const LONGEST: usize = 512 * 1024;
/// Bytes of code that are coloured.
const LONGEST_CODE: usize = 256 * 1024;
/// Characters of a language's name.
const LONGEST_LABEL: usize = 30;

/// Markdown as blocks: `p`, `h3` to `h6`, `ul`, `ol`, `blockquote`, `hr`, tables within `div.wide`, and [`code`].
///
/// Classes are left to the page's style: `to` (where a link leads, if its words do not say), `image`, `raw` (HTML that
/// is shown), `plain` (what was too long to be read), `task`, `right` and `centre`.
pub fn markdown(source: &str) -> String {
    if source.len() > LONGEST {
        return format!("<div class=\"plain\">{}</div>\n", text(source));
    }
    // As on the terminal: characters that are not text do not affect blocks and marks.
    let source = safe(source);
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut flow = flow::Flow::default();
    Parser::new_ext(&source, options).for_each(|event| flow.event(event));
    flow.end()
}

/// Code in a box: `div.code`, with the language (the info string of the fence) in a `span` and its words in spans of
/// the classes `keyword`, `type`, `string`, `number`, `comment`, `added`, `removed`, `strong` and `dim`.
pub fn code(language: &str, source: &str) -> String {
    let language = named(language);
    let mut html = "<div class=\"code\">".to_owned();
    if !language.is_empty() {
        html.push_str(&format!("<span>{}</span>", line(language, LONGEST_LABEL)));
    }
    html.push_str("<pre><code>");
    let mut highlighter = Highlighter::new(if source.len() > LONGEST_CODE { "" } else { language });
    for (index, line) in safe(source).trim_end_matches('\n').split('\n').enumerate() {
        if index > 0 {
            html.push('\n');
        }
        coloured(&highlighter.pieces(line), &mut html);
    }
    html + "</code></pre></div>\n"
}

/// Text that is nothing but text.
pub fn text(text: &str) -> String {
    entities(&safe(text))
}

/// Text on one line, at most so many characters of it.
pub fn line(text: &str, most: usize) -> String {
    entities(&safe_line(text, most))
}

fn coloured(pieces: &[(Tone, &str)], html: &mut String) {
    for same in pieces.chunk_by(|(one, _), (next, _)| one == next) {
        let words: String = same.iter().map(|(_, words)| *words).collect();
        let class = same.first().map_or("", |(tone, _)| class(*tone));
        if class.is_empty() || words.trim().is_empty() {
            html.push_str(&entities(&words));
        } else {
            html.push_str(&format!("<span class=\"{class}\">{}</span>", entities(&words)));
        }
    }
}

/// Of those that code has.
fn class(tone: Tone) -> &'static str {
    match tone {
        Tone::Keyword => "keyword",
        Tone::Type => "type",
        Tone::String => "string",
        Tone::Number => "number",
        Tone::Comment => "comment",
        Tone::Added => "added",
        Tone::Removed => "removed",
        Tone::Strong => "strong",
        Tone::Dim => "dim",
        _ => "",
    }
}

/// Escapes text for element content and quoted attributes.
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
mod tests;
