//! A place in a line, in columns: a tab is as many as are left to the next stop, and may be taken in part.

const STOP: usize = 4;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Cursor<'a> {
    rest: &'a str,
    column: usize,
    /// Columns of a tab of which a part was taken.
    owed: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(line: &'a str) -> Self {
        Self { rest: line, column: 0, owed: 0 }
    }

    /// Columns of blanks that come next.
    pub(crate) fn indent(&self) -> usize {
        let mut column = self.column + self.owed;
        for byte in self.rest.bytes() {
            match byte {
                b' ' => column += 1,
                b'\t' => column += STOP - column % STOP,
                _ => break,
            }
        }
        column - self.column
    }

    /// What comes behind the blanks.
    pub(crate) fn words(&self) -> &'a str {
        self.rest.trim_start_matches([' ', '\t'])
    }

    pub(crate) fn is_blank(&self) -> bool {
        self.words().is_empty()
    }

    /// Takes at most so many columns of blanks.
    pub(crate) fn skip_blanks(&mut self, columns: usize) {
        let mut left = columns;
        while left > 0 {
            if self.owed == 0 {
                let Some(rest) = self.rest.strip_prefix([' ', '\t']) else { return };
                self.owed = if self.rest.starts_with('\t') { STOP - self.column % STOP } else { 1 };
                self.rest = rest;
            }
            let taken = left.min(self.owed);
            (self.owed, self.column, left) = (self.owed - taken, self.column + taken, left - taken);
        }
    }

    /// Takes the blanks and so many bytes of ASCII behind them.
    pub(crate) fn skip_mark(&mut self, bytes: usize) {
        self.skip_blanks(usize::MAX);
        self.rest = self.rest.get(bytes..).unwrap_or_default();
        self.column += bytes;
    }

    /// All that is left, with what is owed of a tab.
    pub(crate) fn left(&self) -> String {
        " ".repeat(self.owed) + self.rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tabs_are_columns() {
        let mut cursor = Cursor::new("\ta");
        assert_eq!(cursor.indent(), 4);
        cursor.skip_blanks(1);
        assert_eq!((cursor.indent(), cursor.left().as_str()), (3, "   a"));
        let mut cursor = Cursor::new(" -\t\tb");
        cursor.skip_mark(1);
        assert_eq!(cursor.indent(), 6);
        cursor.skip_blanks(4);
        assert_eq!(cursor.left(), "  b");
        cursor.skip_blanks(99);
        assert_eq!(cursor.left(), "b");
    }
}
