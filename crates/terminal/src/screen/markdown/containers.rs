//! Quotes and items, which hold other blocks, and the margin that they draw beside them.

use super::cursor::Cursor;
use super::starts::Marker;
use crate::screen::wrap::wrapped;
use crate::screen::{Line, Look, Tone};

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
    /// Does the line go on with this one? Its mark is taken, if so.
    pub(super) fn takes(&self, cursor: &mut Cursor<'_>) -> bool {
        match self {
            Self::Quote => takes_quote(cursor),
            Self::Item(_) if cursor.is_blank() => true,
            Self::Item(item) => {
                let goes_on = cursor.indent() >= item.indent && !item.ended;
                if goes_on {
                    cursor.skip_blanks(item.indent);
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
pub(super) fn takes_quote(cursor: &mut Cursor<'_>) -> bool {
    let goes_on = cursor.indent() < 4 && cursor.words().starts_with('>');
    if goes_on {
        cursor.skip_mark(1);
        cursor.skip_blanks(1);
    }
    goes_on
}

impl Item {
    /// The mark is taken. `before`: an item of the same list.
    pub(super) fn begun(marker: &Marker, cursor: &mut Cursor<'_>, before: Option<&Item>) -> Self {
        let outer = cursor.indent();
        cursor.skip_mark(marker.length);
        let inner = match cursor.indent() {
            _ if cursor.is_blank() => 1,
            inner @ 1..=4 => inner,
            _ => 1,
        };
        cursor.skip_blanks(inner);
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

/// What stands before the lines of a block.
pub(super) struct Margin {
    /// A mark for which there is no room beside the text.
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
