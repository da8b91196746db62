//! `sessions list`.

use std::collections::HashMap;

use converse_session::{Summary, is_reserved_tag};
use serde_json::{Value, json};

use super::SessionCommands;
use crate::args::SessionsListArgs;
use converse_host::failure::Failure;
use converse_host::turn::sessions;
use converse_terminal::render::output::write_stdout;
use converse_terminal::render::table::table;
use converse_terminal::render::transcript::minute;
use converse_text::shorten::within_columns;
use converse_text::wording::counted;
use converse_text::{safe_line, width};

/// The shortest form of an id, in characters: the time of creation.
pub(super) const SHORT: usize = 13;
/// The length of a cell, in characters.
const LONGEST: usize = 400;
/// The columns that are dropped on a narrow terminal, in order: tags, model, messages, project, time.
const DROPPED: [usize; 5] = [4, 3, 2, 5, 1];
/// The column of the project, which is shown with `--all` only.
const PROJECT: usize = 5;

/// The space between two columns of a table.
const GAP: usize = 2;
/// A narrower last column drops another column.
const LEAST: usize = 16;

impl SessionCommands<'_> {
    pub(super) fn list(&self, args: &SessionsListArgs) -> Result<(), Failure> {
        self.learn_keys_if_possible();
        let all = self.store.list().map_err(Failure::of_session)?;
        let short = short_ids(&all);
        let wanted = |summary: &&Summary| args.tag.iter().all(|tag| summary.metadata.tags.contains(tag));
        let here = sessions::project(self.world);
        // Sessions without a message are left to `check` and `gc`.
        let tagged = all.iter().filter(|summary| !summary.hollow).filter(wanted);
        let (shown, elsewhere): (Vec<_>, Vec<_>) =
            tagged.partition(|summary| args.all || summary.metadata.project == here);
        let shown: Vec<_> = shown.into_iter().take(args.limit.unwrap_or(usize::MAX)).collect();
        if !elsewhere.is_empty() {
            let sessions = counted(elsewhere.len(), "session");
            self.console.note(&format!("{sessions} of other projects: `converse sessions list --all`"));
        }
        if args.json {
            return Ok(self.console.print_json(shown.into_iter().map(row).collect())?);
        }
        if shown.is_empty() {
            self.console.note("no sessions");
            return Ok(());
        }
        let heading = ["session", "last used (UTC)", "messages", "model", "tags", "project", "name"];
        let heading = heading.map(str::to_owned).to_vec();
        // Redacted before it is shortened: half a secret is not recognised.
        let clean = |cell: String| safe_line(&self.console.context.redactor.clean(&cell), LONGEST);
        let rows = shown.iter().map(|summary| cells(summary, &short).into_iter().map(clean).collect());
        let mut rows: Vec<Vec<String>> = [heading].into_iter().chain(rows).collect();
        let mut dropped = DROPPED.to_vec();
        if !args.all {
            rows.iter_mut().for_each(|row| drop(row.remove(PROJECT)));
            dropped.retain(|column| *column != PROJECT);
        }
        let problems =
            shown.iter().map(|summary| summary.problem.as_ref().map(ToString::to_string).map(clean));
        Ok(write_stdout(&listed(&rows, &dropped, problems, self.columns()))?)
    }
}

/// The table, with a line below each session that has a problem.
fn listed(
    rows: &[Vec<String>],
    dropped: &[usize],
    problems: impl Iterator<Item = Option<String>>,
    columns: Option<usize>,
) -> String {
    let table = narrow(rows, dropped, columns);
    let problems = [None].into_iter().chain(problems);
    let lines = table.lines().zip(problems).map(|(row, problem)| match problem {
        Some(problem) => format!("{row}\n  ! {problem}\n"),
        None => format!("{row}\n"),
    });
    lines.collect()
}

/// A table whose rows fit the terminal: the last column is shortened, and `dropped` columns are left out in that order.
/// Without a width the table is complete.
pub(super) fn narrow(rows: &[Vec<String>], dropped: &[usize], columns: Option<usize>) -> String {
    let Some(columns) = columns else { return table(rows) };
    let last = rows.iter().map(Vec::len).max().unwrap_or(1).saturating_sub(1);
    let widest = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| width(cell)).max().unwrap_or(0)
    };
    let mut kept: Vec<usize> = (0..last).collect();
    let taken = |kept: &[usize]| kept.iter().map(|column| widest(*column) + GAP).sum::<usize>();
    for column in dropped {
        if taken(&kept) + LEAST.min(widest(last)) > columns {
            kept.retain(|one| one != column);
        }
    }
    let room = columns.saturating_sub(taken(&kept)).max(1);
    let row = |row: &Vec<String>| {
        let cells = kept.iter().filter_map(|column| row.get(*column).cloned());
        cells
            .chain(row.get(last).map(|cell| within_columns(cell, room, "…").into_owned()))
            .collect::<Vec<_>>()
    };
    table(&rows.iter().map(row).collect::<Vec<_>>())
}

/// How many sessions share each short id.
fn short_ids(all: &[Summary]) -> HashMap<String, usize> {
    let mut count = HashMap::new();
    for summary in all {
        *count.entry(summary.id.to_string().chars().take(SHORT).collect::<String>()).or_insert(0) += 1;
    }
    count
}

fn row(summary: &Summary) -> Value {
    json!({
        "session": summary.id.to_string(),
        "name": summary.metadata.name,
        "words": summary.words,
        "model": summary.metadata.model,
        "tags": summary.metadata.tags,
        // Null: none, or recorded by a version that did not know projects.
        "project": summary.metadata.project,
        "messages": summary.canisters,
        "created": summary.created,
        "updated": summary.updated,
        // Null: the session can be read.
        "problem": summary.problem,
    })
}

fn cells(summary: &Summary, count: &HashMap<String, usize>) -> Vec<String> {
    let id = summary.id.to_string();
    let short: String = id.chars().take(SHORT).collect();
    let id = if count.get(&short).is_some_and(|count| *count > 1) { id } else { short };
    let metadata = &summary.metadata;
    let name = metadata.name.as_ref().filter(|name| !name.is_empty()).unwrap_or(&summary.words);
    let messages = if summary.problem.is_some() { "!".to_owned() } else { summary.canisters.to_string() };
    let model = metadata.model.clone().unwrap_or_default();
    // Reserved tags are not shown.
    let tags: Vec<_> = metadata.tags.iter().filter(|tag| !is_reserved_tag(tag)).cloned().collect();
    let project = metadata.project.clone().unwrap_or_default();
    vec![id, minute(summary.updated), messages, model, tags.join(" "), project, name.clone()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_of_a_session_has_a_line_of_its_own() {
        let row = |cells: [&str; 6]| cells.map(str::to_owned).to_vec();
        let rows = [
            row(["session", "last used (UTC)", "messages", "model", "tags", "name"]),
            row(["0197f1a0-0000", "2026-11-22 09:00", "!", "openai/gpt-5", "work", "taxes"]),
            row([
                "0197f1a0-0001",
                "2026-11-22 08:00",
                "4",
                "openai/gpt-5",
                "",
                "a name that is longer than that",
            ]),
        ];
        let problem = "`/x/journal.jsonl` is damaged at line 7".to_owned();
        let text = listed(&rows, &[4, 3, 2, 1], [Some(problem.clone()), None].into_iter(), Some(60));
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[2], format!("  ! {problem}"), "{text}");
        assert!(lines[1].ends_with("taxes") && lines[3].ends_with('…') && lines.len() == 4, "{text}");
        assert!(lines.iter().all(|line| line.chars().count() <= 60), "{text}");
        assert!(listed(&rows, &[4, 3, 2, 1], [None, None].into_iter(), None).ends_with("longer than that\n"));
    }

    #[test]
    fn columns_are_dropped_before_names() {
        let row = |cells: [&str; 4]| cells.map(str::to_owned).to_vec();
        let rows = [
            row(["0123456789012", "12", "ollama/some-model", "a long name of a session, 日本語日本語"]),
            row(["0123456789012", "3", "m", "x"]),
        ];
        for columns in [24, 31, 36, 40, 60, 80] {
            let text = narrow(&rows, &[2, 1], Some(columns));
            assert!(text.lines().all(|line| width(line) <= columns), "{columns}: {text}");
            assert!(text.contains("0123456789012") && text.contains("a long"), "{columns}: {text}");
            assert_eq!(text.contains("some-model"), columns >= 54, "{columns}: {text}");
        }
        assert_eq!(narrow(&rows, &[2, 1], None), table(&rows));
    }
}
