//! Which block a line belongs to: CommonMark's own procedure
//! (<https://spec.commonmark.org/0.31.2/#appendix-a-parsing-strategy>, checked 2026-11), giving out what is final.

use converse_text::safe;

use super::Out;
use super::code::Code;
use super::containers::{Container, Item, Margin, takes_quote};
use super::cursor::Cursor;
use super::flow::{self, Block};
use super::leaf::{Leaf, Paragraph};
use super::references::References;
use super::starts::{self, Marker, Until};
use crate::screen::{Line, Look, Tone};

/// Deeper ones are text.
const DEEPEST: usize = 32;

#[derive(Debug, Clone, Default)]
pub(super) struct Blocks {
    containers: Vec<Container>,
    leaf: Leaf,
    references: References,
    /// Something was written; and how many containers are still those of then.
    begun: bool,
    common: usize,
    /// A blank line came since.
    blank: bool,
}

/// Is there a block that takes the rest of the line?
enum Next {
    /// Containers may follow.
    Opened,
    Done,
    Text,
}

impl Blocks {
    /// One line without its end.
    pub(super) fn line(&mut self, line: &str, out: &mut Out<'_>) {
        let line = safe(line.strip_suffix('\r').unwrap_or(line));
        let mut cursor = Cursor::new(&line);
        let depth = self.containers.iter().take_while(|container| container.takes(&mut cursor)).count();
        let whole = depth == self.containers.len();
        if whole && self.goes_on(cursor, out) {
            return;
        }
        let mut place = Place { depth, whole, opened: false };
        loop {
            match self.opens(&mut cursor, &mut place, out) {
                Next::Opened => {}
                Next::Done => return,
                Next::Text => return self.text(cursor, place, out),
            }
        }
    }

    /// Ends all that is open.
    pub(super) fn end(&mut self, out: &mut Out<'_>) {
        self.close(0, out);
    }

    /// Could this beginning of a line still be anything?
    pub(super) fn is_undecided(&self, partial: &str) -> bool {
        let text = partial.trim_matches([' ', '\t', '\r']);
        match self.leaf {
            Leaf::Fence { mark, .. } => text.is_empty() || text.chars().all(|c| c == mark),
            Leaf::Indented { .. } | Leaf::Html { .. } => text.is_empty(),
            Leaf::None | Leaf::Paragraph(_) => {
                text.chars().all(|c| "`~#>*_-+=|:. [".contains(c) || c.is_ascii_digit())
            }
        }
    }

    pub(super) fn mend(&mut self) {
        if let Leaf::Paragraph(paragraph) = &mut self.leaf {
            paragraph.mend();
        }
    }

    /// A line within a block of code or HTML.
    fn goes_on(&mut self, mut cursor: Cursor<'_>, out: &mut Out<'_>) -> bool {
        match &mut self.leaf {
            Leaf::Fence { mark, length, indent, .. } => {
                if cursor.indent() < 4 && starts::closes_fence(cursor.words(), *mark, *length) {
                    self.close_leaf(out);
                } else {
                    cursor.skip_blanks(*indent);
                    self.code(&cursor.left(), out);
                }
                true
            }
            Leaf::Indented { blanks, .. } if cursor.is_blank() => {
                cursor.skip_blanks(4);
                blanks.push(cursor.left());
                true
            }
            Leaf::Indented { blanks, .. } if cursor.indent() >= 4 => {
                cursor.skip_blanks(4);
                let lines = std::mem::take(blanks).into_iter().chain([cursor.left()]);
                lines.for_each(|line| self.code(&line, out));
                true
            }
            Leaf::Html { until, .. } if *until != Until::Blank || !cursor.is_blank() => {
                let until = *until;
                self.html(&cursor.left(), until, out);
                true
            }
            _ => false,
        }
    }

    fn opens(&mut self, cursor: &mut Cursor<'_>, place: &mut Place, out: &mut Out<'_>) -> Next {
        let within = match &self.leaf {
            Leaf::Paragraph(paragraph) if paragraph.head.is_some() => Within::Table,
            Leaf::Paragraph(_) => Within::Paragraph,
            _ => Within::Nothing,
        };
        if cursor.is_blank() || (cursor.indent() >= 4 && within != Within::Nothing) {
            return Next::Text;
        }
        if cursor.indent() >= 4 {
            self.begin(place, out);
            cursor.skip_blanks(4);
            self.leaf = Leaf::Indented { blanks: Vec::new(), code: Code::new("") };
            self.code(&cursor.left(), out);
            return Next::Done;
        }
        let words = cursor.words();
        if words.starts_with('>') && place.depth < DEEPEST {
            self.begin(place, out);
            takes_quote(cursor);
            self.hold(Container::Quote, place);
            return Next::Opened;
        }
        if self.opens_leaf(cursor, place, within, out) {
            return Next::Done;
        }
        let interrupts = |marker: &Marker| {
            within != Within::Paragraph || !place.whole || starts::interrupts(marker, words)
        };
        match starts::marker(words).filter(|marker| place.depth < DEEPEST && interrupts(marker)) {
            Some(marker) => self.item(&marker, cursor, place, out),
            None => Next::Text,
        }
    }

    /// A block that holds no others, other than a paragraph.
    fn opens_leaf(
        &mut self,
        cursor: &Cursor<'_>,
        place: &mut Place,
        within: Within,
        out: &mut Out<'_>,
    ) -> bool {
        let words = cursor.words();
        if starts::is_heading(words) {
            self.begin(place, out);
            self.read(words, out);
        } else if let Some(fence) = starts::fence(words) {
            self.begin(place, out);
            let (mark, length, indent) = (fence.mark, fence.length, cursor.indent());
            self.fill();
            self.leaf = Leaf::Fence { mark, length, indent, code: Code::new(fence.info) };
        } else if let Some(until) = starts::html(words, within != Within::Nothing) {
            self.begin(place, out);
            self.leaf = Leaf::Html { until, code: Code::html() };
            self.html(&cursor.left(), until, out);
        } else if within == Within::Paragraph && place.whole && starts::is_underline(words) {
            self.append(words);
            self.close_leaf(out);
        } else if starts::is_rule(words) {
            self.begin(place, out);
            self.block(out, |look| vec![Line::toned(Tone::Dim, &look.either("─", "-").repeat(look.width))]);
        } else {
            return false;
        }
        true
    }

    fn item(
        &mut self,
        marker: &Marker,
        cursor: &mut Cursor<'_>,
        place: &mut Place,
        out: &mut Out<'_>,
    ) -> Next {
        let before = match self.containers.get(place.depth) {
            Some(Container::Item(item)) => Some(item.clone()),
            _ => None,
        };
        self.begin(place, out);
        let item = Item::begun(marker, cursor, before.as_ref());
        self.hold(Container::Item(item), place);
        Next::Opened
    }

    /// What no block begins with: more of a paragraph, a new one, or nothing.
    fn text(&mut self, cursor: Cursor<'_>, mut place: Place, out: &mut Out<'_>) {
        if cursor.is_blank() {
            self.begin(&mut place, out);
            if !place.opened {
                self.blank_line();
            }
            return;
        }
        if matches!(self.leaf, Leaf::Paragraph(_)) {
            // In a paragraph that goes on without the marks of what holds it, nothing is an underline.
            let lazy = if place.whole { "" } else { "    " };
            self.append(&format!("{lazy}{}", cursor.left()));
        } else {
            self.begin(&mut place, out);
            self.leaf = Leaf::Paragraph(Paragraph::default());
            let text = self.task(cursor.left());
            self.append(&text);
        }
        if let Leaf::Paragraph(paragraph) = &self.leaf
            && paragraph.is_full()
        {
            let next = paragraph.next();
            self.close_leaf(out);
            self.leaf = Leaf::Paragraph(next);
        }
    }

    /// An item that has begun with one ends with the next.
    fn blank_line(&mut self) {
        self.blank = true;
        for container in &mut self.containers {
            if let Container::Item(item) = container {
                item.ended |= item.empty;
            }
        }
    }

    /// `[ ] text` at the beginning of an item is a task.
    fn task(&mut self, text: String) -> String {
        let Some(Container::Item(item)) = self.containers.last_mut().filter(|item| item.is_unshown()) else {
            return text;
        };
        let trimmed = text.trim_start();
        for (mark, done) in [("[ ] ", false), ("[x] ", true), ("[X] ", true)] {
            if let Some(rest) = trimmed.strip_prefix(mark).filter(|rest| !rest.trim().is_empty()) {
                item.task = Some(done);
                return rest.to_owned();
            }
        }
        text
    }

    fn append(&mut self, line: &str) {
        if let Leaf::Paragraph(paragraph) = &mut self.leaf {
            paragraph.push(line);
        }
        self.fill();
    }

    /// Something new begins: what does not take the line is at its end.
    fn begin(&mut self, place: &mut Place, out: &mut Out<'_>) {
        self.close(place.depth, out);
        place.whole = true;
    }

    fn hold(&mut self, container: Container, place: &mut Place) {
        self.fill();
        self.containers.push(container);
        place.depth += 1;
        place.opened = true;
    }

    fn fill(&mut self) {
        if let Some(Container::Item(item)) = self.containers.last_mut() {
            item.empty = false;
        }
    }

    fn close(&mut self, depth: usize, out: &mut Out<'_>) {
        self.close_leaf(out);
        while self.containers.len() > depth {
            if self.containers.last().is_some_and(Container::is_unshown) {
                // The blank line came behind its mark.
                let blank = self.blank;
                self.write(out, false, |_| vec![Line::new()]);
                self.blank = blank;
            }
            self.containers.pop();
            self.common = self.common.min(self.containers.len());
        }
    }

    fn close_leaf(&mut self, out: &mut Out<'_>) {
        match std::mem::take(&mut self.leaf) {
            Leaf::Paragraph(paragraph) => self.read(&paragraph.source, out),
            Leaf::Fence { code, .. } if !code.begun => {
                let label = code.label(out.look);
                if !label.is_empty() {
                    self.block(out, |look| code.label(look));
                }
            }
            Leaf::Indented { blanks, .. } => self.blank |= !blanks.is_empty(),
            Leaf::None | Leaf::Fence { .. } | Leaf::Html { .. } => {}
        }
    }

    /// Text that is whole.
    fn read(&mut self, source: &str, out: &mut Out<'_>) {
        self.fill();
        let (blocks, found) = flow::blocks(source, &self.references, out.look);
        self.references.learn(&found);
        for block in blocks {
            self.block(out, |look| match &block {
                Block::Text(lines) => flow::wrapped(lines, look),
                Block::Table(table) => table.lines(look),
            });
        }
    }

    fn html(&mut self, line: &str, until: Until, out: &mut Out<'_>) {
        self.code(line, out);
        if until.is_met(line) {
            self.close_leaf(out);
        }
    }

    /// A line of code, at once.
    fn code(&mut self, line: &str, out: &mut Out<'_>) {
        let mut leaf = std::mem::take(&mut self.leaf);
        if let Leaf::Fence { code, .. } | Leaf::Indented { code, .. } | Leaf::Html { code, .. } = &mut leaf {
            self.fill();
            let begun = code.begun;
            self.write(out, !begun, |look| code.line(line, look));
            code.begun = true;
        }
        self.leaf = leaf;
    }

    fn block(&mut self, out: &mut Out<'_>, lay: impl FnOnce(&Look) -> Vec<Line>) {
        self.write(out, true, lay);
    }

    /// Lines with their margin; `new` ones with a blank line above, where one belongs.
    fn write(&mut self, out: &mut Out<'_>, new: bool, lay: impl FnOnce(&Look) -> Vec<Line>) {
        if new && self.begun && self.is_apart() {
            let margin = Margin::of(self.containers.get(..self.common).unwrap_or_default(), out.look);
            out.lines.push(margin.rest.trimmed());
        }
        let margin = Margin::of(&self.containers, out.look);
        let width = out.look.width.saturating_sub(margin.rest.width()).max(1);
        out.lines.extend(margin.above);
        for (index, line) in lay(&out.look.within(width)).into_iter().enumerate() {
            let mut whole = if index == 0 { margin.first.clone() } else { margin.rest.clone() };
            whole.append(line);
            out.lines.push(whole.trimmed());
        }
        #[cfg(test)]
        out.held.resize_with(out.lines.len(), || self.containers.iter().map(Container::letter).collect());
        for container in &mut self.containers {
            if let Container::Item(item) = container {
                (item.shown, item.empty) = (true, false);
            }
        }
        (self.begun, self.blank, self.common) = (true, false, self.containers.len());
    }

    /// Blocks stand apart; in lists, as they are written.
    fn is_apart(&self) -> bool {
        let common = self.containers.get(..self.common).unwrap_or_default();
        let listed = common.iter().any(|container| matches!(container, Container::Item(_)));
        let first = matches!(self.containers.get(self.common), Some(Container::Item(_)));
        self.blank || !(listed || first)
    }
}

/// What is open where a line begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Within {
    Nothing,
    Paragraph,
    Table,
}

/// How far a line has come.
#[derive(Debug, Clone, Copy)]
struct Place {
    /// Containers that take it.
    depth: usize,
    /// All that were open, or new ones.
    whole: bool,
    /// Some of them are new.
    opened: bool,
}
