//! Markdown's events as tags, each of which is ended where its event ends.

use pulldown_cmark::{Alignment, CodeBlockKind, Event, HeadingLevel, LinkType, Tag};

use super::{code, entities, line, text};
use crate::link::{address, place, says_where};
use crate::markdown::is_break;

/// Maximum nesting of quotes, lists and emphasis; deeper levels are flattened.
const DEEPEST: usize = 64;
/// Pictures within each other, in a link.
const MOST_LINKS: usize = 8;
/// Maximum characters of a URL that is shown without being a link.
const LONGEST_ADDRESS: usize = 200;

#[derive(Debug, Default)]
pub(super) struct Flow {
    html: String,
    open: Vec<Open>,
    /// What is open and has its words, innermost last.
    links: Vec<Link>,
    /// Of the table that is open.
    aligns: Vec<Alignment>,
    column: usize,
    head: bool,
}

/// What an event has begun and another one will end.
#[derive(Debug)]
enum Open {
    /// With these tags; none if it is not shown.
    Tags(&'static str),
    /// Code or raw HTML, whose text is held until then.
    Code { language: String, source: String },
    /// With its end tag, and where it leads behind that.
    Link(&'static str),
}

#[derive(Debug)]
struct Link {
    to: String,
    said: String,
}

impl Flow {
    pub(super) fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(_) => self.close(),
            Event::Text(words)
            | Event::InlineMath(words)
            | Event::DisplayMath(words)
            | Event::FootnoteReference(words) => self.words(&words),
            Event::Html(words) => self.words(&words),
            Event::Code(words) => self.within("<code>", &words, "</code>"),
            Event::InlineHtml(tag) if is_break(&tag) => self.html.push_str("<br>"),
            Event::InlineHtml(tag) => self.within("<span class=\"raw\">", &tag, "</span>"),
            Event::SoftBreak | Event::HardBreak => self.html.push_str("<br>\n"),
            Event::Rule => self.html.push_str("<hr>\n"),
            Event::TaskListMarker(done) => {
                let sign = if done { "☑" } else { "☐" };
                self.html.push_str(&format!("<span class=\"task\">{sign}</span> "));
            }
        }
    }

    /// All of it, with nothing left open.
    pub(super) fn end(mut self) -> String {
        while !self.open.is_empty() {
            self.close();
        }
        self.html
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Heading { level, .. } => {
                let (begin, end) = heading(level);
                self.tags(begin, end);
            }
            Tag::BlockQuote(_) => self.nested("<blockquote>\n", "</blockquote>\n"),
            Tag::Emphasis => self.nested("<em>", "</em>"),
            Tag::Strong => self.nested("<strong>", "</strong>"),
            Tag::Strikethrough => self.nested("<del>", "</del>"),
            Tag::List(None) => self.nested("<ul>\n", "</ul>\n"),
            Tag::List(Some(first)) => self.numbered(first),
            Tag::Item => self.item(),
            Tag::CodeBlock(kind) => {
                let language = match kind {
                    CodeBlockKind::Fenced(info) => info.into_string(),
                    CodeBlockKind::Indented => String::new(),
                };
                self.open.push(Open::Code { language, source: String::new() });
            }
            Tag::HtmlBlock => {
                self.open.push(Open::Code { language: "html".to_owned(), source: String::new() })
            }
            Tag::Link { link_type: LinkType::Email, dest_url, .. } => self.link(format!("mailto:{dest_url}")),
            Tag::Link { dest_url, .. } => self.link(dest_url.into_string()),
            Tag::Image { dest_url, .. } => {
                self.linked("<span class=\"image\">image: ", "</span>", dest_url.into_string());
            }
            Tag::Table(aligns) => {
                self.aligns = aligns;
                self.tags("<div class=\"wide\"><table>\n", "</tbody>\n</table></div>\n");
            }
            Tag::TableHead => {
                (self.head, self.column) = (true, 0);
                self.tags("<thead><tr>", "</tr></thead>\n<tbody>\n");
            }
            Tag::TableRow => {
                (self.head, self.column) = (false, 0);
                self.tags("<tr>", "</tr>\n");
            }
            Tag::TableCell => self.cell(),
            // Other elements become paragraphs.
            _ => self.tags("<p>", "</p>\n"),
        }
    }

    fn tags(&mut self, begin: &str, end: &'static str) {
        self.html.push_str(begin);
        self.open.push(Open::Tags(end));
    }

    /// Browsers, too, have a limit, and turn over what lies below it.
    fn nested(&mut self, begin: &str, end: &'static str) {
        if self.open.len() < DEEPEST { self.tags(begin, end) } else { self.tags("", "") }
    }

    fn numbered(&mut self, first: u64) {
        match first {
            1 => self.nested("<ol>\n", "</ol>\n"),
            first => self.nested(&format!("<ol start=\"{first}\">\n"), "</ol>\n"),
        }
    }

    fn item(&mut self) {
        match self.open.last() {
            Some(Open::Tags("</ul>\n" | "</ol>\n")) => self.tags("<li>", "</li>\n"),
            _ => self.tags("<br>", ""),
        }
    }

    fn cell(&mut self) {
        let align = self.aligns.get(self.column).copied().unwrap_or(Alignment::None);
        self.column += 1;
        let class = match align {
            Alignment::None | Alignment::Left => "",
            Alignment::Center => " class=\"centre\"",
            Alignment::Right => " class=\"right\"",
        };
        let (name, end) = if self.head { ("th", "</th>") } else { ("td", "</td>") };
        self.tags(&format!("<{name}{class}>"), end);
    }

    fn link(&mut self, to: String) {
        let Some(address) = address(&to) else { return self.linked("", "", to) };
        let address = entities(&address);
        let rel = "noopener noreferrer nofollow";
        self.linked(&format!("<a href=\"{address}\" rel=\"{rel}\" title=\"{address}\">"), "</a>", to);
    }

    fn linked(&mut self, begin: &str, end: &'static str, to: String) {
        if self.links.len() >= MOST_LINKS {
            return self.tags("", "");
        }
        self.html.push_str(begin);
        self.open.push(Open::Link(end));
        self.links.push(Link { to, said: String::new() });
    }

    fn words(&mut self, words: &str) {
        if let Some(Open::Code { source, .. }) = self.open.last_mut() {
            source.push_str(words);
        } else {
            self.within("", words, "");
        }
    }

    fn within(&mut self, begin: &str, words: &str, end: &str) {
        self.html.push_str(&format!("{begin}{}{end}", text(words)));
        self.links.iter_mut().for_each(|link| link.said.push_str(words));
    }

    fn close(&mut self) {
        match self.open.pop() {
            Some(Open::Tags(end)) => self.html.push_str(end),
            Some(Open::Code { language, source }) => self.html.push_str(&code(&language, &source)),
            Some(Open::Link(end)) => {
                self.html.push_str(end);
                self.show_target(end == "</a>");
            }
            None => {}
        }
    }

    /// Shows the target of a link unless the link text is the target, so that nobody is misled.
    fn show_target(&mut self, is_link: bool) {
        let Some(Link { to, said }) = self.links.pop() else { return };
        if to.is_empty() || says_where(&said, &to) {
            return;
        }
        let to = match address(&to).filter(|_| is_link) {
            Some(address) => text(&place(&address)),
            None => line(&to, LONGEST_ADDRESS),
        };
        self.html.push_str(&format!(" <span class=\"to\">({to})</span>"));
    }
}

/// Below those of the page.
fn heading(level: HeadingLevel) -> (&'static str, &'static str) {
    match level {
        HeadingLevel::H1 => ("<h3>", "</h3>\n"),
        HeadingLevel::H2 => ("<h4>", "</h4>\n"),
        HeadingLevel::H3 => ("<h5>", "</h5>\n"),
        _ => ("<h6>", "</h6>\n"),
    }
}
