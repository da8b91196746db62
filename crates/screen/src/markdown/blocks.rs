//! Which block a line belongs to: the procedure of CommonMark
//! (<https://spec.commonmark.org/0.31.2/#appendix-a-parsing-strategy>, checked 2026-11). Final lines are given out at once.

use converse_text::safe;

use super::Out;
use super::containers::{Container, Item, Margin, expanded, indent, skip_blanks, takes_quote};
use super::flow::{self, Block, References};
use super::leaf::{Code, Leaf, Paragraph};
use super::starts::{self, Marker, Until};
use crate::{Line, Look, Tone};

/// Deeper containers are text.
const DEEPEST: usize = 32;

#[derive(Debug, Clone, Default)]
pub(super) struct Blocks {
    containers: Vec<Container>,
    leaf: Leaf,
    references: References,
    /// Something was written, with so many of the containers that are open.
    begun: bool,
    common: usize,
    /// A blank line came since then.
    blank: bool,
}

/// Whether a block takes the rest of the line.
enum Next {
    /// Containers may follow.
    Opened,
    Done,
    Text,
}

impl Blocks {
    /// Takes one line without its end.
    pub(super) fn line(&mut self, line: &str, out: &mut Out<'_>) {
        let line = expanded(&safe(line.strip_suffix('\r').unwrap_or(line)));
        let mut rest = line.as_str();
        let depth = self.containers.iter().take_while(|container| container.takes(&mut rest)).count();
        let whole = depth == self.containers.len();
        if whole && self.goes_on(rest, out) {
            return;
        }
        let mut place = Place { depth, whole, opened: false };
        loop {
            match self.opens(&mut rest, &mut place, out) {
                Next::Opened => {}
                Next::Done => return,
                Next::Text => return self.text(rest, place, out),
            }
        }
    }

    /// Ends every open block.
    pub(super) fn end(&mut self, out: &mut Out<'_>) {
        self.close(0, out);
    }

    /// Returns whether this beginning of a line may still become any block.
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

    /// Consumes a line inside a block of code or HTML; `false` if there is none.
    fn goes_on(&mut self, mut rest: &str, out: &mut Out<'_>) -> bool {
        let (inset, words) = (indent(rest), rest.trim_start());
        match &mut self.leaf {
            Leaf::Fence { mark, length, indent, .. } => {
                if inset < 4 && starts::closes_fence(words, *mark, *length) {
                    self.close_leaf(out);
                } else {
                    skip_blanks(&mut rest, *indent);
                    self.code(rest, out);
                }
                true
            }
            Leaf::Indented { blanks, .. } if words.is_empty() => {
                skip_blanks(&mut rest, 4);
                blanks.push(rest.to_owned());
                true
            }
            Leaf::Indented { blanks, .. } if inset >= 4 => {
                skip_blanks(&mut rest, 4);
                let lines = std::mem::take(blanks).into_iter().chain([rest.to_owned()]);
                lines.for_each(|line| self.code(&line, out));
                true
            }
            Leaf::Html { until, .. } if *until != Until::Blank || !words.is_empty() => {
                let until = *until;
                self.html(rest, until, out);
                true
            }
            _ => false,
        }
    }

    fn opens(&mut self, rest: &mut &str, place: &mut Place, out: &mut Out<'_>) -> Next {
        let (inset, words) = (indent(rest), rest.trim_start());
        let within = match &self.leaf {
            Leaf::Paragraph(paragraph) if paragraph.head.is_some() => Within::Table,
            Leaf::Paragraph(_) => Within::Paragraph,
            _ => Within::Nothing,
        };
        if words.is_empty() || (inset >= 4 && within != Within::Nothing) {
            return Next::Text;
        }
        if inset >= 4 {
            self.begin(place, out);
            skip_blanks(rest, 4);
            self.leaf = Leaf::Indented { blanks: Vec::new(), code: Code::new("") };
            self.code(rest, out);
            return Next::Done;
        }
        if words.starts_with('>') && place.depth < DEEPEST {
            self.begin(place, out);
            takes_quote(rest);
            self.hold(Container::Quote, place);
            return Next::Opened;
        }
        if self.opens_leaf(rest, place, within, out) {
            return Next::Done;
        }
        let interrupts = |marker: &Marker| {
            within != Within::Paragraph || !place.whole || starts::interrupts(marker, words)
        };
        match starts::marker(words).filter(|marker| place.depth < DEEPEST && interrupts(marker)) {
            Some(marker) => {
                let before = match self.containers.get(place.depth) {
                    Some(Container::Item(item)) => Some(item.clone()),
                    _ => None,
                };
                self.begin(place, out);
                let item = Item::begun(&marker, rest, before.as_ref());
                self.hold(Container::Item(item), place);
                Next::Opened
            }
            None => Next::Text,
        }
    }

    /// Opens a block that holds no others, other than a paragraph.
    fn opens_leaf(&mut self, rest: &str, place: &mut Place, within: Within, out: &mut Out<'_>) -> bool {
        let words = rest.trim_start();
        if starts::is_heading(words) {
            self.begin(place, out);
            self.read(words, out);
        } else if let Some(fence) = starts::fence(words) {
            self.begin(place, out);
            let (mark, length, indent) = (fence.mark, fence.length, indent(rest));
            self.fill();
            self.leaf = Leaf::Fence { mark, length, indent, code: Code::new(fence.info) };
        } else if let Some(until) = starts::html(words, within != Within::Nothing) {
            self.begin(place, out);
            self.leaf = Leaf::Html { until, code: Code::html() };
            self.html(rest, until, out);
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

    /// Takes a line that no block begins with: more of a paragraph, a new one, or nothing.
    fn text(&mut self, rest: &str, mut place: Place, out: &mut Out<'_>) {
        if rest.trim_start().is_empty() {
            self.begin(&mut place, out);
            if !place.opened {
                self.blank_line();
            }
            return;
        }
        if matches!(self.leaf, Leaf::Paragraph(_)) {
            // A lazy continuation line of a paragraph cannot be an underline of a heading.
            let lazy = if place.whole { "" } else { "    " };
            self.append(&format!("{lazy}{rest}"));
        } else {
            self.begin(&mut place, out);
            self.leaf = Leaf::Paragraph(Paragraph::default());
            let text = self.task(rest);
            self.append(text);
        }
        if let Leaf::Paragraph(paragraph) = &self.leaf
            && paragraph.is_full()
        {
            let next = paragraph.next();
            self.close_leaf(out);
            self.leaf = Leaf::Paragraph(next);
        }
    }

    /// A second blank line ends an item that began with one.
    fn blank_line(&mut self) {
        self.blank = true;
        for container in &mut self.containers {
            if let Container::Item(item) = container {
                item.ended |= item.empty;
            }
        }
    }

    /// Takes the mark of a task, `[ ] text`, at the beginning of an item.
    fn task<'t>(&mut self, text: &'t str) -> &'t str {
        let Some(Container::Item(item)) = self.containers.last_mut().filter(|item| item.is_unshown()) else {
            return text;
        };
        let trimmed = text.trim_start();
        for (mark, done) in [("[ ] ", false), ("[x] ", true), ("[X] ", true)] {
            if let Some(rest) = trimmed.strip_prefix(mark).filter(|rest| !rest.trim().is_empty()) {
                item.task = Some(done);
                return rest;
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

    /// Ends what does not take the line, because something new begins.
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

    /// Writes text that is whole.
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

    /// Writes a line of code at once.
    fn code(&mut self, line: &str, out: &mut Out<'_>) {
        let mut leaf = std::mem::take(&mut self.leaf);
        if let Leaf::Fence { code, .. } | Leaf::Indented { code, .. } | Leaf::Html { code, .. } = &mut leaf {
            self.fill();
            let (begun, is_open) = (code.begun, out.is_open);
            self.write(out, !begun, |look| code.line(line, look, is_open));
            code.begun = true;
        }
        self.leaf = leaf;
    }

    fn block(&mut self, out: &mut Out<'_>, lay: impl FnOnce(&Look) -> Vec<Line>) {
        self.write(out, true, lay);
    }

    /// Writes lines with their margin, and a blank line above a `new` block where one belongs.
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

    /// Returns whether a blank line belongs above: in lists, where one was written.
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

/// The state of a line.
#[derive(Debug, Clone, Copy)]
struct Place {
    /// Number of containers that take it.
    depth: usize,
    /// It is taken by all that were open, or by new ones.
    whole: bool,
    /// It opened some of them.
    opened: bool,
}
