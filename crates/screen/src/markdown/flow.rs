//! Paragraphs, headings and tables, as pulldown-cmark reads them.

use std::collections::BTreeMap;
use std::sync::Arc;

use pulldown_cmark::{Alignment, BrokenLink, CowStr, Event, Options, Parser, Tag, TagEnd};

use crate::link::{address, says_where};
use crate::table::{Align, Cell, Table};
use crate::{Line, Look, Style, Tone};

/// Columns of an address that is shown.
const LONGEST_ADDRESS: usize = 2000;

#[derive(Debug)]
pub(super) enum Block {
    /// Lines that are yet to be wrapped.
    Text(Vec<Line>),
    Table(Table),
}

/// What a text holds, and the links that it defines.
pub(super) fn blocks(source: &str, known: &References, look: &Look) -> (Vec<Block>, Vec<(String, String)>) {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
    let resolve = |link: BrokenLink<'_>| {
        let address = known.address(&link.reference)?;
        Some((CowStr::from(address), CowStr::Borrowed("")))
    };
    let parser = Parser::new_with_broken_link_callback(source, options, Some(resolve));
    let found = parser.reference_definitions().iter();
    let found = found.map(|(name, link)| (name.to_owned(), link.dest.to_string())).collect();
    let mut flow = Flow::new(look);
    parser.for_each(|event| flow.event(event));
    flow.end_block();
    (flow.blocks, found)
}

/// Each line no wider than the look.
pub(super) fn wrapped(lines: &[Line], look: &Look) -> Vec<Line> {
    lines.iter().flat_map(|line| crate::wrap::wrapped(line, look.width)).collect()
}

/// Link definitions that are kept, and bytes of each.
const MOST: usize = 256;
const LONGEST: usize = 2048;

/// Link definitions (`[name]: address`) by name, for the links that come after them. Links before them are shown as they
/// are written: they were given out already. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(super) struct References(Arc<BTreeMap<String, String>>);

impl References {
    pub(super) fn address(&self, name: &str) -> Option<String> {
        self.0.get(&folded(name)).cloned()
    }

    /// The first of a name stays.
    pub(super) fn learn(&mut self, found: &[(String, String)]) {
        for (name, address) in found {
            if self.0.len() < MOST && name.len() + address.len() <= LONGEST {
                let known = Arc::make_mut(&mut self.0);
                known.entry(folded(name)).or_insert_with(|| address.clone());
            }
        }
    }
}

fn folded(name: &str) -> String {
    name.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

struct Flow {
    look: Look,
    blocks: Vec<Block>,
    lines: Vec<Line>,
    line: Line,
    strong: usize,
    emphasis: usize,
    struck: usize,
    heading: bool,
    links: Vec<Link>,
    table: Option<Table>,
    row: Vec<Cell>,
}

/// One that is open, with what it says so far.
struct Link {
    to: String,
    said: String,
}

impl Flow {
    fn new(look: &Look) -> Self {
        Self {
            look: *look,
            blocks: Vec::new(),
            lines: Vec::new(),
            line: Line::new(),
            strong: 0,
            emphasis: 0,
            struck: 0,
            heading: false,
            links: Vec::new(),
            table: None,
            row: Vec::new(),
        }
    }

    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.text(&text),
            Event::Code(text) => self.code(&text),
            // Of an answer it is meant: who wrote it wraps no lines.
            Event::SoftBreak | Event::HardBreak => self.new_line(),
            Event::InlineHtml(tag) if is_break(&tag) => self.new_line(),
            Event::InlineHtml(text) | Event::Html(text) => self.push(Tone::Dim, text.trim_end_matches('\n')),
            Event::InlineMath(text) | Event::DisplayMath(text) | Event::FootnoteReference(text) => {
                self.text(&text)
            }
            Event::Rule | Event::TaskListMarker(_) => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Emphasis => self.emphasis += 1,
            Tag::Strong => self.strong += 1,
            Tag::Strikethrough => self.struck += 1,
            Tag::Link { dest_url, .. } => {
                self.links.push(Link { to: dest_url.into_string(), said: String::new() })
            }
            Tag::Image { dest_url, .. } => {
                self.push(Tone::Dim, "image: ");
                self.links.push(Link { to: dest_url.into_string(), said: String::new() });
            }
            Tag::Heading { level, .. } => {
                self.end_block();
                self.heading = true;
                if !self.look.colour {
                    self.push(Tone::Heading, &format!("{} ", "#".repeat(level as usize)));
                }
            }
            Tag::Table(aligns) => {
                self.end_block();
                let aligns = aligns.into_iter().map(align).collect();
                self.table = Some(Table { aligns, ..Table::default() });
            }
            Tag::TableHead | Tag::TableRow | Tag::TableCell => {}
            _ => self.end_block(),
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Emphasis => self.emphasis = self.emphasis.saturating_sub(1),
            TagEnd::Strong => self.strong = self.strong.saturating_sub(1),
            TagEnd::Strikethrough => self.struck = self.struck.saturating_sub(1),
            TagEnd::Link | TagEnd::Image => self.end_link(),
            TagEnd::TableCell => {
                let cell = self.take_lines();
                self.row.push(cell);
            }
            TagEnd::TableHead => {
                let row = std::mem::take(&mut self.row);
                self.table.iter_mut().for_each(|table| table.head.clone_from(&row));
            }
            TagEnd::TableRow => {
                let row = std::mem::take(&mut self.row);
                if let Some(table) = &mut self.table {
                    table.rows.push(row);
                }
            }
            TagEnd::Table => self.blocks.extend(self.table.take().map(Block::Table)),
            _ => {
                self.end_block();
                self.heading = false;
            }
        }
    }

    fn text(&mut self, text: &str) {
        self.push(if self.heading { Tone::Heading } else { Tone::Plain }, text);
    }

    /// Without colours the backquotes stay, so that code can be distinguished.
    fn code(&mut self, text: &str) {
        if self.look.colour {
            self.push(Tone::Code, text)
        } else {
            self.push(Tone::Code, &format!("`{text}`"))
        }
    }

    fn push(&mut self, tone: Tone, text: &str) {
        let link = self.links.last().and_then(|link| address(&link.to));
        let tone = if tone == Tone::Plain && !self.links.is_empty() { Tone::Link } else { tone };
        let (strong, emphasis, struck) = (self.strong > 0, self.emphasis > 0, self.struck > 0);
        self.line.push(Style { tone, strong, emphasis, struck, link }, text);
        self.links.iter_mut().for_each(|link| link.said.push_str(text));
    }

    /// Where it leads is said, unless its words say so.
    fn end_link(&mut self) {
        let Some(Link { to, said }) = self.links.pop() else { return };
        if to.is_empty() || says_where(&said, &to) {
            return;
        }
        let lead = if said.is_empty() { "(" } else { " (" };
        let shown = Line::plain(&to).clipped(LONGEST_ADDRESS).text();
        self.push(Tone::Dim, &format!("{lead}{shown})"));
    }

    fn new_line(&mut self) {
        self.links.iter_mut().for_each(|link| link.said.push(' '));
        self.lines.push(std::mem::take(&mut self.line));
    }

    fn take_lines(&mut self) -> Vec<Line> {
        if !self.line.is_empty() {
            self.new_line();
        }
        std::mem::take(&mut self.lines)
    }

    fn end_block(&mut self) {
        let lines = self.take_lines();
        if !lines.is_empty() {
            self.blocks.push(Block::Text(lines));
        }
    }
}

/// Returns whether this HTML is only a line break.
pub(crate) fn is_break(tag: &str) -> bool {
    let name = tag.trim_start_matches('<').trim_end_matches(['>', '/', ' ']);
    name.eq_ignore_ascii_case("br")
}

fn align(alignment: Alignment) -> Align {
    match alignment {
        Alignment::None | Alignment::Left => Align::Left,
        Alignment::Center => Align::Centre,
        Alignment::Right => Align::Right,
    }
}
