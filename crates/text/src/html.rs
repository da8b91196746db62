//! HTML as readable text, with as much Markdown as helps a reader: headings, lists, links, preformatted text.
//!
//! Tokens are enough for that, so no tree is built: the time is in proportion to the length of the page, and no depth of
//! nesting needs a stack. What a reader would not see (scripts, menus, what is `hidden`) is left out; a part that is
//! never closed is kept, since a page's mistake should not cost its text.

mod elements;
mod writer;

use elements::{Element, StartTag, has_optional_end, is_unseen};
use html5gum::emitters::default::{DefaultEmitter, Token};
use html5gum::{HtmlString, Tokenizer};
use writer::{Mark, Writer};

/// The longest address of a link, in bytes. Longer ones are data.
pub const MAX_HREF: usize = 2048;

/// Returns the text of a page, at most `limit` bytes, and whether that was all of it. `link` makes the value of a `href` the
/// address of another page, or `None` if it is not one; links of more than [`MAX_HREF`] bytes are left out.
pub fn to_text(html: &str, link: &dyn Fn(&str) -> Option<String>, limit: usize) -> (String, bool) {
    let mut emitter = DefaultEmitter::default();
    // The text of a script is not markup.
    emitter.naively_switch_states(true);
    let mut reader = Reader { link, writer: Writer::new(limit), title: Title::None, raw: None, part: None };
    for token in Tokenizer::new_with_emitter(html, emitter) {
        let Ok(token) = token;
        if reader.writer.is_full() {
            break;
        }
        reader.take(token);
    }
    reader.finish()
}

struct Reader<'a> {
    link: &'a dyn Fn(&str) -> Option<String>,
    writer: Writer,
    title: Title,
    /// The element with text that is not shown: until it ends, no other element begins.
    raw: Option<HtmlString>,
    /// What is taken back when it ends.
    part: Option<Part>,
}

/// What the page calls itself.
enum Title {
    None,
    Open(String),
    Closed(String),
}

impl Reader<'_> {
    fn take(&mut self, token: Token) {
        match token {
            Token::StartTag(tag) => self.start(&tag),
            Token::EndTag(tag) => self.end(&tag.name),
            Token::String(text) => self.text(&String::from_utf8_lossy(&text.value)),
            Token::Comment(_) | Token::Doctype(_) | Token::Error(_) => {}
        }
    }

    fn text(&mut self, text: &str) {
        match &mut self.title {
            _ if self.raw.is_some() => {}
            Title::Open(title) => title.push_str(text),
            _ => self.writer.text(text),
        }
    }

    fn start(&mut self, tag: &StartTag) {
        if self.raw.is_some() {
            return;
        }
        let element = Element::of(&tag.name);
        self.part_starts(tag);
        match element {
            Element::Raw => self.raw = Some(tag.name.clone()),
            Element::Title if matches!(self.title, Title::None) && self.part.is_none() => {
                self.title = Title::Open(String::new());
            }
            Element::Image => {
                if let Some(words) = attribute(tag, b"alt").filter(|words| !words.trim().is_empty()) {
                    self.writer.text(&format!("[image: {}]", words.trim()));
                }
            }
            Element::Link => {
                let href = attribute(tag, b"href").and_then(|href| self.absolute(&href));
                self.writer.start_link(href);
            }
            other => self.writer.start(other),
        }
    }

    fn end(&mut self, name: &HtmlString) {
        if let Some(raw) = &self.raw {
            if raw == name {
                self.raw = None;
            }
            return;
        }
        match Element::of(name) {
            Element::Title => self.close_title(),
            Element::Link => self.writer.end_link(),
            other => self.writer.end(other),
        }
        if self.part.as_mut().is_some_and(|part| part.ends(name)) {
            self.take_back();
        }
    }

    /// Returns whether an unseen part begins here, or ends because its element has no end tag.
    fn part_starts(&mut self, tag: &StartTag) {
        if self.part.as_ref().is_some_and(|part| part.is_ended_by(&tag.name)) {
            self.take_back();
        }
        match &mut self.part {
            Some(part) => part.starts(tag),
            None if is_unseen(tag) => self.part = Some(Part::new(tag, self.writer.mark())),
            None => {}
        }
    }

    fn take_back(&mut self) {
        if let Some(part) = self.part.take() {
            self.writer.take_back(part.into_mark());
        }
    }

    fn close_title(&mut self) {
        self.title = match std::mem::replace(&mut self.title, Title::None) {
            Title::Open(title) => Title::Closed(title),
            other => other,
        };
    }

    /// A link to another page; `None` for a link within this page, or to something that is not a page.
    fn absolute(&self, href: &str) -> Option<String> {
        if href.len() > MAX_HREF || href.trim_start().starts_with('#') {
            return None;
        }
        (self.link)(href.trim()).filter(|url| url.len() <= MAX_HREF)
    }

    fn finish(mut self) -> (String, bool) {
        self.close_title();
        let (body, is_whole) = self.writer.finish();
        let Title::Closed(title) = self.title else { return (body, is_whole) };
        let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
        let heading = format!("# {title}");
        if title.is_empty() || body.lines().next() == Some(&heading) {
            return (body, is_whole);
        }
        let gap = if body.is_empty() { "" } else { "\n\n" };
        (format!("{heading}{gap}{body}"), is_whole)
    }
}

fn attribute(tag: &StartTag, name: &[u8]) -> Option<String> {
    tag.attributes.get(name).map(|value| String::from_utf8_lossy(&value.value).into_owned())
}

/// A part of a page that a reader does not see. It is written like the rest and taken back when it ends, so that one
/// that never ends costs nothing.
struct Part {
    name: HtmlString,
    /// Elements of its name that are open, itself too.
    open: usize,
    mark: Mark,
}

impl Part {
    fn new(tag: &StartTag, mark: Mark) -> Self {
        Self { name: tag.name.clone(), open: 1, mark }
    }

    /// Counts an element that begins inside.
    fn starts(&mut self, tag: &StartTag) {
        if tag.name == self.name {
            self.open += 1;
        }
    }

    /// Returns whether this element ends the part: the next of its kind, whose end tag is optional.
    fn is_ended_by(&self, name: &HtmlString) -> bool {
        *name == self.name && has_optional_end(name)
    }

    /// Counts an element that ends. Returns whether the part has ended.
    fn ends(&mut self, name: &HtmlString) -> bool {
        if *name == self.name {
            self.open -= 1;
        }
        self.open == 0
    }

    fn into_mark(self) -> Mark {
        self.mark
    }
}

#[cfg(test)]
mod tests;
