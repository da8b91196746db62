//! The line that is typed while a turn runs: a draft with a cursor.

use converse_text::{clusters, width};

use super::{Draft, Move};

#[derive(Debug, Default)]
pub(super) struct Line {
    draft: Draft,
    /// A byte of the text, between two clusters.
    cursor: usize,
    /// It is not what it was when it was taken back.
    pub(super) is_changed: bool,
}

impl Line {
    /// A message that was taken back, with the cursor at its end.
    pub(super) fn of(draft: Draft) -> Self {
        Self { cursor: draft.text.len(), draft: Draft { is_sent: false, ..draft }, is_changed: false }
    }

    pub(super) fn text(&self) -> &str {
        &self.draft.text
    }

    pub(super) fn cursor(&self) -> usize {
        self.cursor
    }

    pub(super) fn bytes(&self) -> usize {
        self.draft.bytes()
    }

    /// Returns what is typed, as it is handed over.
    pub(super) fn into_draft(self) -> Draft {
        self.draft
    }

    pub(super) fn insert(&mut self, text: &str) {
        self.draft.text.insert_str(self.cursor, text);
        self.cursor += text.len();
        self.is_changed = true;
    }

    /// Keeps a paste as it was, whose text is in the line.
    pub(super) fn keep_paste(&mut self, paste: String) {
        self.draft.pastes.push(paste);
    }

    pub(super) fn backspace(&mut self) {
        self.drop_between(self.before(), self.cursor);
    }

    pub(super) fn delete(&mut self) {
        self.drop_between(self.cursor, self.after());
    }

    /// Drops the word before the cursor.
    pub(super) fn drop_word(&mut self) {
        let words = self.head().trim_end();
        let word = words.rsplit(char::is_whitespace).next().unwrap_or_default();
        self.drop_between(words.len() - word.len(), self.cursor);
    }

    /// Drops the rest of the cursor's line; if there is none, the line break.
    pub(super) fn drop_rest(&mut self) {
        match self.line_end() {
            end if end == self.cursor => self.delete(),
            end => self.drop_between(self.cursor, end),
        }
    }

    /// Drops a `\` at the end, for which there is a line break.
    pub(super) fn continues(&mut self) {
        self.draft.text.pop();
        self.cursor = self.draft.text.len();
        self.insert("\n");
    }

    pub(super) fn moves(&mut self, to: Move) {
        self.cursor = match to {
            Move::Left => self.before(),
            Move::Right => self.after(),
            Move::Start => self.line_start(),
            Move::End => self.line_end(),
            Move::Up => match self.line_start().checked_sub(1) {
                Some(end) => self.in_column(start_of_last(&self.draft.text, end), self.column()),
                None => 0,
            },
            Move::Down if self.line_end() == self.text().len() => self.text().len(),
            Move::Down => self.in_column(self.line_end() + 1, self.column()),
        };
    }

    fn head(&self) -> &str {
        self.draft.text.get(..self.cursor).unwrap_or_default()
    }

    fn tail(&self) -> &str {
        self.draft.text.get(self.cursor..).unwrap_or_default()
    }

    /// The cluster before the cursor begins there. A line break is one of its own.
    fn before(&self) -> usize {
        let line = self.draft.text.get(self.line_start()..self.cursor).unwrap_or_default();
        let last = clusters(line, usize::MAX).last().map_or(1, |(last, _)| last.len());
        self.cursor.saturating_sub(last)
    }

    fn after(&self) -> usize {
        let line = self.draft.text.get(self.cursor..self.line_end()).unwrap_or_default();
        let next = clusters(line, usize::MAX).next().map_or(1, |(next, _)| next.len());
        (self.cursor + next).min(self.text().len())
    }

    fn line_start(&self) -> usize {
        start_of_last(&self.draft.text, self.cursor)
    }

    fn line_end(&self) -> usize {
        self.tail().find('\n').map_or(self.text().len(), |at| self.cursor + at)
    }

    fn column(&self) -> usize {
        width(self.draft.text.get(self.line_start()..self.cursor).unwrap_or_default())
    }

    /// The place of this column, or the last one before it, in the line that begins there.
    fn in_column(&self, start: usize, column: usize) -> usize {
        let rest = self.draft.text.get(start..).unwrap_or_default();
        let line = rest.split('\n').next().unwrap_or_default();
        let mut columns = 0;
        let fits = |(_, width): &(&str, usize)| {
            columns += width;
            columns <= column
        };
        start + clusters(line, usize::MAX).take_while(fits).map(|(cluster, _)| cluster.len()).sum::<usize>()
    }

    /// No paste is in a line that is empty.
    fn drop_between(&mut self, start: usize, end: usize) {
        self.is_changed |= start < end;
        self.draft.text.replace_range(start..end, "");
        self.cursor = start;
        if self.draft.text.is_empty() {
            self.draft.pastes.clear();
        }
    }
}

/// The start of the last line of the text before `end`.
fn start_of_last(text: &str, end: usize) -> usize {
    text.get(..end).and_then(|text| text.rfind('\n')).map_or(0, |at| at + 1)
}
