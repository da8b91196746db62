//! Finds out whether a place in a reply's text is quoted, as the text comes.
//!
//! What a model quotes may come from a page, so a block there is text: within a fence, an indented code block, a code
//! span, a block quote or quotation marks. Marks are read as Markdown reads them, up to the end of their paragraph. In
//! doubt a place is quoted: a call that is taken for text is reported, a text that is taken for a call is run.

/// Columns of blanks that make a line code.
const CODE_INDENT: usize = 4;

/// The state of quotations before a place. Reading continues where it stopped, wherever the text is cut.
#[derive(Debug)]
pub(super) struct Quoting {
    /// The character and the length of the open fence.
    fence: Option<(char, usize)>,
    /// A closing fence has come, and nothing behind it on its line.
    closing: bool,
    /// The length of the open code span's backticks, or 0.
    span: usize,
    /// An odd number of straight quotation marks.
    straight: bool,
    /// The opening ones of directed quotation marks.
    directed: Vec<char>,
    line: Line,
    /// The run of backticks or tildes that the text ends with.
    run: Option<Run>,
    last: Option<char>,
}

#[derive(Debug, Default)]
struct Line {
    /// Blanks at its start.
    indent: usize,
    /// Something else has come.
    has_text: bool,
    /// It begins with `>`.
    is_quote: bool,
}

#[derive(Debug, Clone, Copy)]
struct Run {
    mark: char,
    length: usize,
    begins_line: bool,
}

impl Default for Quoting {
    fn default() -> Self {
        let (directed, line) = (Vec::new(), Line::default());
        Self { fence: None, closing: false, span: 0, straight: false, directed, line, run: None, last: None }
    }
}

impl Quoting {
    /// Takes the next text.
    pub(super) fn read(&mut self, text: &str) {
        text.chars().for_each(|c| self.step(c));
    }

    /// Returns whether what comes next is quoted. It begins with neither a backtick nor a tilde.
    pub(super) fn is_quoted(&mut self) -> bool {
        self.end_run();
        self.fence.is_some()
            || self.span > 0
            || self.straight
            || !self.directed.is_empty()
            || self.line.is_quote
            || (!self.line.has_text && self.line.indent >= CODE_INDENT)
            || matches!(self.last, Some('`' | '\'' | '‘'))
    }

    fn step(&mut self, c: char) {
        match (c, &mut self.run) {
            ('`' | '~', Some(run)) if run.mark == c => run.length += 1,
            ('`' | '~', _) => {
                self.end_run();
                let begins_line = !self.line.has_text && self.line.indent < CODE_INDENT;
                self.run = Some(Run { mark: c, length: 1, begins_line });
                self.line.has_text = true;
            }
            ('\n', _) => self.end_line(),
            (c, _) => {
                self.end_run();
                self.take(c);
            }
        }
        self.last = Some(c);
    }

    fn take(&mut self, c: char) {
        if c.is_whitespace() {
            if !self.line.has_text {
                self.line.indent += if c == '\t' { CODE_INDENT } else { 1 };
            }
            return;
        }
        self.closing = false;
        self.line.is_quote |= !self.line.has_text && c == '>';
        self.line.has_text = true;
        if self.fence.is_some() || self.span > 0 {
            return;
        }
        match (c, self.directed.last()) {
            ('"', _) => self.straight = !self.straight,
            // German closes with what English opens with.
            ('“', Some('„')) | ('”', Some('“' | '„')) | ('»', Some('«')) | ('」', Some('「')) =>
            {
                self.directed.pop();
            }
            ('“' | '„' | '«' | '「', _) => self.directed.push(c),
            _ => {}
        }
    }

    /// A fence opens or closes, or a code span does.
    fn end_run(&mut self) {
        let Some(Run { mark, length, begins_line }) = self.run.take() else { return };
        match self.fence {
            Some((fence, least)) => self.closing = begins_line && mark == fence && length >= least,
            None if begins_line && length >= 3 => self.fence = Some((mark, length)),
            None if mark == '`' && self.span == 0 => self.span = length,
            None if mark == '`' && self.span == length => self.span = 0,
            None => {}
        }
    }

    fn end_line(&mut self) {
        self.end_run();
        if std::mem::take(&mut self.closing) {
            self.fence = None;
        }
        if !self.line.has_text {
            (self.span, self.straight) = (0, false);
            self.directed.clear();
        }
        self.line = Line::default();
    }
}
