//! A terminal with a screen, which answers the queries of programs.

use std::io;
use std::process::{Child, Command};
use std::time::Duration;

use rustix::termios::Termios;
use vt100::{Parser, Screen};

use super::{Heard, Line, Tap};

/// The request for the cursor position.
const WHERE: &[u8] = b"\x1b[6n";
/// The query for the type of the terminal.
const WHO: &[u8] = b"\x1b[c";
/// The query for the background.
const BACKGROUND: &[u8] = b"\x1b]11;?\x1b\\";
/// Minimum size for the parser, which fails below it; the program gets the real size.
const LEAST_COLUMNS: u16 = 8;
const LEAST_ROWS: u16 = 3;
/// Rows that have left the screen and are kept.
const SCROLLBACK: usize = 10_000;
/// The time to wait for the next output.
const MOMENT: Duration = Duration::from_millis(20);

/// The behaviour of a terminal.
pub struct Setup {
    pub columns: u16,
    pub rows: u16,
    /// Answers queries for the cursor and the type.
    pub answers: bool,
    /// The reply to the query for its background; empty: none.
    pub background: &'static str,
    /// Typed by somebody before the first answer.
    pub lead: &'static str,
    pub tap: Option<Tap>,
}

impl Default for Setup {
    fn default() -> Self {
        Self { columns: 80, rows: 24, answers: true, background: "", lead: "", tap: None }
    }
}

impl std::fmt::Debug for Setup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Setup")
            .field("columns", &self.columns)
            .field("rows", &self.rows)
            .finish_non_exhaustive()
    }
}

/// The screen is as of the last [`Terminal::listens`].
pub struct Terminal {
    line: Line,
    parser: Parser,
    bytes: Vec<u8>,
    cursor_queries: usize,
    answers: bool,
    background: &'static str,
    lead: &'static str,
    over: bool,
}

impl Terminal {
    /// Starts a program at it.
    ///
    /// # Errors
    ///
    /// Those of [`Line::run`].
    pub fn run(command: Command, setup: Setup) -> io::Result<(Self, Child)> {
        let Setup { columns, rows, answers, background, lead, tap } = setup;
        let (line, child) = Line::run(command, columns, rows, tap)?;
        let parser = Parser::new(rows.max(LEAST_ROWS), columns.max(LEAST_COLUMNS), SCROLLBACK);
        Ok((
            Self {
                line,
                parser,
                bytes: Vec::new(),
                cursor_queries: 0,
                answers,
                background,
                lead,
                over: false,
            },
            child,
        ))
    }

    /// Reads output for a moment and answers queries. Returns whether there was output.
    pub fn listens(&mut self) -> bool {
        let bytes = match self.line.hears(MOMENT) {
            Heard::Bytes(bytes) => bytes,
            Heard::Nothing => return false,
            Heard::End => {
                self.over = true;
                return false;
            }
        };
        for byte in bytes {
            self.bytes.push(byte);
            self.parser.process(&[byte]);
            self.answers();
        }
        true
    }

    /// Nobody runs at it any more, and all that was written has been taken in.
    pub fn is_over(&self) -> bool {
        self.over
    }

    fn answers(&mut self) {
        if !self.answers {
            return;
        }
        // Whoever was killed in between hears no answer.
        if self.bytes.ends_with(WHERE) {
            let lead = if self.cursor_queries == 0 { self.lead } else { "" };
            self.cursor_queries += 1;
            let (row, column) = self.parser.screen().cursor_position();
            let _ = self.types(&format!("{lead}\x1b[{};{}R", row + 1, column + 1));
        } else if self.bytes.ends_with(BACKGROUND) {
            let _ = self.types(self.background);
        } else if self.bytes.ends_with(WHO) {
            let _ = self.types("\x1b[?1;2c");
        }
    }

    /// Returns the number of queries for the cursor; a line editor sends one for each line.
    pub fn cursor_queries(&self) -> usize {
        self.cursor_queries
    }

    pub fn screen(&self) -> &Screen {
        self.parser.screen()
    }

    /// The screen's lines, each without the spaces at its end.
    pub fn rows(&self) -> Vec<String> {
        let (_, columns) = self.screen().size();
        self.screen().rows(0, columns).map(|row| row.trim_end().to_owned()).collect()
    }

    /// The lines that have scrolled off the screen and those on it, the oldest first.
    pub fn history(&mut self) -> Vec<String> {
        let (_, columns) = self.screen().size();
        self.parser.screen_mut().set_scrollback(SCROLLBACK);
        let mut lines = Vec::new();
        for above in (1..=self.screen().scrollback()).rev() {
            self.parser.screen_mut().set_scrollback(above);
            lines.extend(self.screen().rows(0, columns).next().map(|row| row.trim_end().to_owned()));
        }
        self.parser.screen_mut().set_scrollback(0);
        lines.extend(self.rows());
        lines
    }

    /// Returns whether the cursor is behind an empty prompt.
    pub fn is_prompted(&self) -> bool {
        let (row, column) = self.screen().cursor_position();
        let rows = self.rows();
        let line = rows.get(usize::from(row)).map(String::as_str).unwrap_or_default();
        let before: String = line.chars().take(usize::from(column)).collect();
        before.trim_end().ends_with(['❯', '>']) && line.chars().count() <= usize::from(column)
    }

    /// Everything that was ever written, as it was.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The same, as text.
    pub fn raw(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    /// Presses keys.
    ///
    /// # Errors
    ///
    /// Those of [`Line::types`].
    pub fn types(&mut self, keys: &str) -> io::Result<()> {
        self.line.types(keys.as_bytes())
    }

    /// Makes it another size, in cells.
    ///
    /// # Errors
    ///
    /// Those of [`Line::resizes`].
    pub fn resizes(&mut self, columns: u16, rows: u16) -> io::Result<()> {
        self.parser.screen_mut().set_size(rows.max(LEAST_ROWS), columns.max(LEAST_COLUMNS));
        self.line.resizes(columns, rows)
    }

    /// Shows something that no program has written, for a picture.
    pub fn draws(&mut self, bytes: &[u8]) {
        self.parser.process(bytes);
    }

    /// Returns the settings of the terminal.
    ///
    /// # Errors
    ///
    /// Those of [`Line::modes`].
    pub fn modes(&self) -> io::Result<Termios> {
        self.line.modes()
    }
}

impl std::fmt::Debug for Terminal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Terminal").field("screen", &self.screen().contents()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hang_guard::Deadline;

    fn shell(script: &str, setup: Setup) -> (Terminal, Child) {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Terminal::run(command, setup).unwrap()
    }

    fn until(terminal: &mut Terminal, is_so: impl Fn(&Terminal) -> bool) {
        let deadline = Deadline::begin();
        while !is_so(terminal) {
            deadline.check(|| terminal.raw());
            terminal.listens();
        }
    }

    #[test]
    fn it_shows_what_is_written_and_says_where_its_cursor_is() {
        let script = "stty raw -echo; printf 'one\\r\\n two \\033[6n'; dd bs=1 count=8 2>/dev/null | od -An -c; printf '> '; exec sleep 600";
        let setup = Setup { lead: "ab", ..Setup::default() };
        let (mut terminal, mut child) = shell(script, setup);
        until(&mut terminal, Terminal::is_prompted);
        assert_eq!(
            terminal.rows()[..2],
            ["one".to_owned(), " two    a   b 033   [   2   ;   6   R".to_owned()]
        );
        assert_eq!(terminal.cursor_queries(), 1);
        terminal.draws(b"x");
        assert!(!terminal.is_prompted(), "{:?}", terminal.rows());
        child.kill().unwrap();
        child.wait().unwrap();
        until(&mut terminal, |terminal| terminal.raw().contains("> "));
        until(&mut terminal, |terminal| terminal.is_over());
    }

    #[test]
    fn what_has_scrolled_off_the_screen_is_kept() {
        let (mut terminal, mut child) = shell("seq 1 30", Setup::default());
        until(&mut terminal, Terminal::is_over);
        let lines = terminal.history();
        let numbers: Vec<String> = (1..=30).map(|number| number.to_string()).collect();
        assert_eq!(
            lines.iter().filter(|line| !line.is_empty()).collect::<Vec<_>>(),
            numbers.iter().collect::<Vec<_>>()
        );
        child.wait().unwrap();
    }

    #[test]
    fn one_that_never_answers_does_not() {
        let script =
            "stty raw -echo min 0 time 2; printf '\\033[6n'; dd bs=8 count=1 2>/dev/null | wc -c; printf end";
        let (mut terminal, mut child) = shell(script, Setup { answers: false, ..Setup::default() });
        until(&mut terminal, |terminal| terminal.raw().contains("end"));
        assert_eq!(terminal.cursor_queries(), 0);
        assert_eq!(terminal.rows()[0], "0", "{:?}", terminal.raw());
        child.wait().unwrap();
    }
}
