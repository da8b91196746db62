//! Quotes and items, which hold other blocks, and the margin that they draw beside them.

use super::starts::Marker;
use crate::wrap::wrapped;
use crate::{Line, Look, Tone};

const TAB: usize = 4;

#[derive(Debug, Clone)]
pub(super) enum Container {
    Quote,
    Item(Item),
}

#[derive(Debug, Clone)]
pub(super) struct Item {
    pub(super) kind: char,
    pub(super) number: Option<u64>,
    /// Columns before what is in it.
    pub(super) indent: usize,
    /// Its mark has been written.
    pub(super) shown: bool,
    /// Nothing is in it yet; and a blank line has come.
    pub(super) empty: bool,
    pub(super) ended: bool,
    /// A task, done or not.
    pub(super) task: Option<bool>,
}

impl Container {
    /// Takes the mark of this container from the line; `false` if the line is not in it.
    pub(super) fn takes(&self, line: &mut &str) -> bool {
        match self {
            Self::Quote => takes_quote(line),
            Self::Item(_) if line.trim_start().is_empty() => true,
            Self::Item(item) => {
                let goes_on = indent(line) >= item.indent && !item.ended;
                if goes_on {
                    skip_blanks(line, item.indent);
                }
                goes_on
            }
        }
    }

    #[cfg(test)]
    pub(super) fn letter(&self) -> char {
        if matches!(self, Self::Quote) { '>' } else { '-' }
    }

    pub(super) fn is_unshown(&self) -> bool {
        matches!(self, Self::Item(item) if !item.shown)
    }
}

/// `> `, with at most one blank behind it.
pub(super) fn takes_quote(line: &mut &str) -> bool {
    let goes_on = indent(line) < 4 && line.trim_start().starts_with('>');
    if goes_on {
        skip_mark(line, 1);
        skip_blanks(line, 1);
    }
    goes_on
}

/// Replaces tabs by blanks up to the next multiple of four columns.
pub(super) fn expanded(line: &str) -> String {
    let (mut out, mut column) = (String::with_capacity(line.len()), 0);
    for c in line.chars() {
        let columns = if c == '\t' { TAB - column % TAB } else { 1 };
        if c == '\t' {
            out.push_str(&" ".repeat(columns))
        } else {
            out.push(c)
        }
        column += columns;
    }
    out
}

/// The number of blanks that the line begins with.
pub(super) fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// Takes at most so many blanks.
pub(super) fn skip_blanks(line: &mut &str, most: usize) {
    *line = line.get(indent(line).min(most)..).unwrap_or_default();
}

/// Takes the blanks and so many bytes of ASCII behind them.
fn skip_mark(line: &mut &str, bytes: usize) {
    *line = line.trim_start_matches(' ').get(bytes..).unwrap_or_default();
}

impl Item {
    /// The mark is taken. `before`: an item of the same list.
    pub(super) fn begun(marker: &Marker, line: &mut &str, before: Option<&Item>) -> Self {
        let outer = indent(line);
        skip_mark(line, marker.length);
        let inner = match indent(line) {
            _ if line.trim_start().is_empty() => 1,
            inner @ 1..=4 => inner,
            _ => 1,
        };
        skip_blanks(line, inner);
        let before = before.filter(|before| before.kind == marker.kind);
        let number = before.and_then(|before| before.number).map(|number| number + 1).or(marker.number);
        let indent = outer + marker.length + inner;
        Self { kind: marker.kind, number, indent, shown: false, empty: true, ended: false, task: None }
    }

    fn mark(&self, depth: usize, look: &Look) -> String {
        let bullets = if look.unicode { ["•", "◦", "▪"] } else { ["*", "-", "+"] };
        let task = self.task.map(|done| match done {
            true => look.either("☑", "[x]"),
            false => look.either("☐", "[ ]"),
        });
        match (self.number, task) {
            (None, Some(task)) => format!("{task} "),
            (None, None) => format!("{} ", bullets.get(depth % 3).unwrap_or(&"*")),
            (Some(number), None) => format!("{number}. "),
            (Some(number), Some(task)) => format!("{number}. {task} "),
        }
    }
}

/// The prefix of the lines of a block.
pub(super) struct Margin {
    /// A mark without room beside the text.
    pub(super) above: Vec<Line>,
    pub(super) first: Line,
    pub(super) rest: Line,
}

impl Margin {
    /// At most half of the width: of containers that are deeper than that, the outer ones are not drawn.
    pub(super) fn of(containers: &[Container], look: &Look) -> Self {
        let (mut parts, mut above, mut room) = (Vec::new(), Vec::new(), look.width / 2);
        let mut depth = containers.iter().filter(|container| matches!(container, Container::Item(_))).count();
        for container in containers.iter().rev() {
            let Container::Item(item) = container else {
                let bar = Line::toned(Tone::Dim, look.either("│ ", "| "));
                parts.push((bar.clone(), bar));
                continue;
            };
            depth -= 1;
            let mark = item.mark(depth, look);
            let blank = Line::plain(&" ".repeat(converse_text::width(&mark)));
            match item.shown {
                true => parts.push((blank.clone(), blank)),
                false if blank.width() > room && parts.is_empty() => {
                    above = wrapped(&Line::toned(Tone::Accent, mark.trim_end()), look.width);
                }
                false => parts.push((Line::toned(Tone::Accent, &mark), blank)),
            }
        }
        let fitting = parts.into_iter().take_while(|(_, rest)| {
            let fits = rest.width() <= room;
            room = room.saturating_sub(rest.width());
            fits
        });
        let (mut first, mut rest) = (Line::new(), Line::new());
        for (before_first, before_rest) in fitting.collect::<Vec<_>>().into_iter().rev() {
            first.append(before_first);
            rest.append(before_rest);
        }
        Self { above, first, rest }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tabs_are_columns() {
        for (line, blanks) in
            [("\ta", "    a"), (" -\t\tb", " -      b"), ("ä\tb", "ä   b"), ("    \tc", "        c")]
        {
            assert_eq!(expanded(line), blanks, "{line:?}");
        }
        let line = expanded(" -\t\tb");
        let mut rest = line.as_str();
        skip_mark(&mut rest, 1);
        assert_eq!(indent(rest), 6);
        skip_blanks(&mut rest, 4);
        assert_eq!(rest, "  b");
        skip_blanks(&mut rest, 99);
        assert_eq!(rest, "b");
    }
}
