//! `/help`: what can be typed.

use crate::repl::session::ReplSession;
use crate::repl::slash::{ROWS, Row};

const KEYS: &str = "\
Enter says it; Alt-Enter, Ctrl-J or a \\ at the end begins a new line; \"\"\" opens and closes a block.
Tab completes; Up and Ctrl-R recall; Ctrl-O opens $EDITOR; @FILE in a message attaches the file.
Ctrl-C breaks a turn off, and clears the line; twice on an empty line, or Ctrl-D, leaves.
/ENSEMBLE.PROMPT key=value … asks by a prompt of an MCP server; //… says a line that begins with a slash.";

impl ReplSession<'_> {
    pub(super) fn help(&self, row: Option<&Row>) {
        if let Some(row) = row {
            self.view.say(&format!("/{}\n  {}", row.usage(), row.help));
            return;
        }
        let rows: Vec<Vec<String>> =
            ROWS.iter().map(|row| vec![format!("/{}", row.usage()), row.help.to_owned()]).collect();
        self.view.say(&format!("{}\n{KEYS}", self.view.table(&rows)));
    }
}
