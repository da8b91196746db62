//! Text with its blanks, lines and marks in order. Breaks and marks wait until a word needs them, so elements with
//! nothing in them leave nothing behind.

use super::elements::Element;

/// Deeper lists are indented no further.
const MAX_INDENT: usize = 8;

pub(super) struct Writer {
    out: String,
    limit: usize,
    is_full: bool,
    state: State,
}

/// All that a part that is taken back may have changed, but for the text itself.
#[derive(Debug, Clone, Default)]
struct State {
    /// Line breaks before the next word; two make an empty line.
    breaks: usize,
    blank: bool,
    /// Written before the next word: `- `, `## `.
    marks: String,
    lists: Lists,
    link: Link,
    preformatted: bool,
    /// A cell was begun in this row.
    has_cell: bool,
}

/// Open lists: only indented ones are distinguished.
#[derive(Debug, Clone, Default)]
struct Lists {
    /// The number of the last item, in numbered ones.
    numbers: Vec<Option<usize>>,
    beyond: usize,
}

#[derive(Debug, Clone, Default)]
enum Link {
    #[default]
    None,
    /// Its words are yet to come.
    Waiting(String),
    Open(String),
}

/// A place in the text to come back to.
#[derive(Debug)]
pub(super) struct Mark {
    length: usize,
    state: State,
}

impl Writer {
    pub(super) fn new(limit: usize) -> Self {
        Self { out: String::new(), limit, is_full: false, state: State::default() }
    }

    pub(super) fn is_full(&self) -> bool {
        self.is_full
    }

    pub(super) fn text(&mut self, text: &str) {
        for character in text.chars() {
            match character {
                '\n' if self.state.preformatted => self.raw_break(),
                ' ' | '\t' if self.state.preformatted => self.push(character),
                _ if character.is_whitespace() => self.state.blank = true,
                // A reader cannot see these characters, so a model does not get them.
                '\u{e0000}'..='\u{e007f}' => {}
                _ if character.is_control() => {}
                _ => self.push(character),
            }
            if self.is_full {
                return;
            }
        }
    }

    pub(super) fn start(&mut self, element: Element) {
        match element {
            Element::Block => self.paragraph(),
            Element::Line | Element::Break => self.breaks(1),
            Element::Rule => {
                self.breaks(2);
                self.put("---");
                self.breaks(2);
            }
            Element::Heading(level) => {
                self.paragraph();
                self.state.marks = "#".repeat(level.into()) + " ";
            }
            Element::List { is_numbered } => {
                self.paragraph();
                self.state.lists.open(is_numbered);
            }
            Element::Item => {
                self.breaks(1);
                self.state.marks = self.state.lists.mark();
            }
            Element::Row => {
                self.breaks(1);
                self.state.has_cell = false;
            }
            Element::Cell => self.cell(),
            Element::Preformatted if !self.state.preformatted => {
                self.breaks(2);
                self.put("```");
                self.breaks(1);
                self.state.preformatted = true;
            }
            _ => {}
        }
    }

    pub(super) fn end(&mut self, element: Element) {
        match element {
            Element::Block | Element::Heading(_) => {
                self.state.marks.clear();
                self.paragraph();
            }
            Element::Line | Element::Item | Element::Row => self.breaks(1),
            Element::List { .. } => {
                self.state.lists.close();
                self.state.marks.clear();
                self.paragraph();
            }
            Element::Preformatted if self.state.preformatted => {
                self.state.preformatted = false;
                // The last line break of the element itself counts as one.
                self.state.breaks = 0;
                self.breaks(1);
                self.put("```");
                self.breaks(2);
            }
            _ => {}
        }
    }

    /// A link without an address is its words.
    pub(super) fn start_link(&mut self, href: Option<String>) {
        self.end_link();
        self.state.link = href.map_or(Link::None, Link::Waiting);
    }

    pub(super) fn end_link(&mut self) {
        if let Link::Open(href) = std::mem::take(&mut self.state.link) {
            self.write("](");
            self.write(&href);
            self.write(")");
        }
    }

    pub(super) fn mark(&self) -> Mark {
        Mark { length: self.out.len(), state: self.state.clone() }
    }

    /// As if nothing had been written since, but for a break: words on both sides are not one.
    pub(super) fn take_back(&mut self, mark: Mark) {
        self.out.truncate(mark.length);
        self.state = mark.state;
        self.state.blank = true;
    }

    /// The text, and whether it is all.
    pub(super) fn finish(mut self) -> (String, bool) {
        if self.state.preformatted {
            self.end(Element::Preformatted);
        }
        self.end_link();
        (self.out, !self.is_full)
    }

    fn cell(&mut self) {
        if std::mem::replace(&mut self.state.has_cell, true) {
            self.state.blank = true;
            self.put("|");
            self.state.blank = true;
        }
    }

    /// Lists hold together: no empty lines inside.
    fn paragraph(&mut self) {
        self.breaks(if self.state.lists.is_empty() { 2 } else { 1 });
    }

    fn breaks(&mut self, count: usize) {
        self.state.breaks = self.state.breaks.max(count);
        self.state.blank = false;
    }

    /// Of preformatted text: each counts, and those at its end are dropped as others are.
    fn raw_break(&mut self) {
        // The first one, behind the tag, belongs to the markup.
        let is_first = self.out.ends_with("```") && self.state.breaks == 1;
        if !is_first {
            self.state.breaks += 1;
        }
        self.state.blank = false;
    }

    fn put(&mut self, word: &str) {
        word.chars().for_each(|character| self.push(character));
    }

    /// Of a word, after whatever waits for one.
    fn push(&mut self, character: char) {
        if std::mem::take(&mut self.state.blank) && self.state.breaks == 0 && !self.out.is_empty() {
            self.write(" ");
        }
        let breaks = std::mem::take(&mut self.state.breaks);
        if !self.out.is_empty() {
            (0..breaks).for_each(|_| self.write("\n"));
        }
        if !self.state.marks.is_empty() {
            let marks = std::mem::take(&mut self.state.marks);
            self.write(&marks);
        }
        if let Link::Waiting(href) = &mut self.state.link {
            self.state.link = Link::Open(std::mem::take(href));
            self.write("[");
        }
        self.write(character.encode_utf8(&mut [0; 4]));
    }

    fn write(&mut self, text: &str) {
        if self.is_full || self.out.len() + text.len() > self.limit {
            self.is_full = true;
            return;
        }
        self.out.push_str(text);
    }
}

impl Lists {
    fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    fn open(&mut self, is_numbered: bool) {
        if self.numbers.len() < MAX_INDENT {
            self.numbers.push(is_numbered.then_some(0));
        } else {
            self.beyond += 1;
        }
    }

    fn close(&mut self) {
        if self.beyond > 0 {
            self.beyond -= 1;
        } else {
            self.numbers.pop();
        }
    }

    /// Returns the text before the next item.
    fn mark(&mut self) -> String {
        let indent = "  ".repeat(self.numbers.len().saturating_sub(1));
        match self.numbers.last_mut() {
            Some(Some(number)) => {
                *number += 1;
                format!("{indent}{number}. ")
            }
            _ => format!("{indent}- "),
        }
    }
}
