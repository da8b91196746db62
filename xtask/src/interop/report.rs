//! What was found, for people: a table, and each failure with what was run and said.

use std::time::Duration;

use super::process::Ran;
use crate::figures::median;

/// Of a text that failed, as much as is read.
const TAIL: usize = 2_000;

/// One server's line.
#[derive(Debug, Default)]
pub(crate) struct Row {
    pub(crate) server: &'static str,
    pub(crate) era: String,
    pub(crate) tools: Option<u64>,
    pub(crate) list: Vec<Duration>,
    pub(crate) call: Vec<Duration>,
    pub(crate) ask: Vec<Duration>,
    pub(crate) failures: Vec<String>,
}

impl Row {
    fn cells(&self) -> [String; 7] {
        let verdict = match self.failures.len() {
            0 => "ok".to_owned(),
            count => format!("{count} failed"),
        };
        [
            self.server.to_owned(),
            self.era.clone(),
            self.tools.map_or_else(|| "-".to_owned(), |tools| tools.to_string()),
            middle(&self.list),
            middle(&self.call),
            middle(&self.ask),
            verdict,
        ]
    }
}

/// The median, in milliseconds.
fn middle(times: &[Duration]) -> String {
    if times.is_empty() {
        return "-".to_owned();
    }
    format!("{:.0}", median(times.iter().map(|time| time.as_secs_f64() * 1e3).collect()))
}

/// Columns stand under each other, numbers to the right.
pub(crate) fn table(rows: &[Row]) -> String {
    let head = ["server", "era", "tools", "list ms", "call ms", "ask ms", "verdict"].map(str::to_owned);
    let rows: Vec<_> = std::iter::once(head).chain(rows.iter().map(Row::cells)).collect();
    let width =
        |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..7).map(|column| width(column).unwrap_or(0)).collect();
    let mut text = String::new();
    for row in &rows {
        let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, width))| match column {
            2..=5 => format!("{cell:>width$}"),
            _ => format!("{cell:<width$}"),
        });
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}

/// A failure with all that is needed to try it again.
pub(crate) fn failure(server: &str, what: &str, ran: &Ran) -> String {
    let code = match ran.code {
        Some(code) => format!("exit {code}"),
        None if ran.late => "it did not end in time".to_owned(),
        None => "ended by a signal".to_owned(),
    };
    let said = |name: &str, text: &str| match tail(text) {
        text if text.is_empty() => format!("  {name}: nothing\n"),
        text => format!("  {name}:\n    {}\n", text.replace('\n', "\n    ")),
    };
    let outputs = said("stdout", &ran.stdout) + &said("stderr", &ran.stderr);
    format!("{server}: {what}\n  {}\n  {code} after {} ms\n{outputs}", ran.command, ran.took.as_millis())
}

/// The end of a text.
pub(crate) fn tail(text: &str) -> String {
    let text = text.trim();
    let skip = text.chars().count().saturating_sub(TAIL);
    let end: String = text.chars().skip(skip).collect();
    if skip > 0 { format!("…{end}") } else { end }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_under_each_other() {
        let ms = Duration::from_millis;
        let rows = [
            Row {
                server: "time",
                era: "modern".to_owned(),
                tools: Some(2),
                list: vec![ms(900)],
                call: vec![ms(10), ms(30), ms(2000)],
                ..Row::default()
            },
            Row { server: "sequential", failures: vec![String::new(), String::new()], ..Row::default() },
        ];
        assert_eq!(
            table(&rows),
            "server      era     tools  list ms  call ms  ask ms  verdict\n\
             time        modern      2      900       30       -  ok\n\
             sequential              -        -        -       -  2 failed\n"
        );
    }

    #[test]
    fn a_failure_can_be_tried_again() {
        let ran = Ran {
            command: "converse ask x".to_owned(),
            code: Some(3),
            stdout: "y".repeat(TAIL + 5),
            took: Duration::from_millis(12),
            ..Ran::default()
        };
        let text = failure("time", "expected: exit 0", &ran);
        let (stdout, rest) = (format!("…{}", "y".repeat(TAIL)), "  stderr: nothing\n");
        let head = "time: expected: exit 0\n  converse ask x\n  exit 3 after 12 ms\n  stdout:\n    ";
        assert_eq!(text, format!("{head}{stdout}\n{rest}"));
        let late = failure("time", "", &Ran { late: true, ..Ran::default() });
        assert!(late.contains("it did not end in time"), "{late}");
    }
}
