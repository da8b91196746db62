//! `sessions list`.

use std::collections::HashMap;

use converse_session::Summary;
use serde_json::{Value, json};

use super::fitted::narrow;
use super::{Shelf, failed};
use crate::args::SessionsListArgs;
use converse_host::failure::Failure;
use converse_terminal::render::output::{write_json, write_stdout};
use converse_terminal::render::transcript::minute;
use converse_text::safe_line;

/// Characters of an id: those of the time it was made at. More where that is not enough.
pub(super) const SHORT: usize = 13;
/// Of a cell.
const LONGEST: usize = 400;
/// The columns that a narrow terminal does without: tags, model, messages, when.
const DROPPED: [usize; 4] = [4, 3, 2, 1];

impl Shelf<'_> {
    pub(super) fn list(&self, args: &SessionsListArgs) -> Result<(), Failure> {
        self.learn_keys_if_possible();
        let all = self.store.list().map_err(failed)?;
        let short = short_ids(&all);
        let wanted = |summary: &&Summary| args.tag.iter().all(|tag| summary.metadata.tags.contains(tag));
        // Those that were only just made are told by `check`, and cleared by `gc`.
        let shown = all.iter().filter(|summary| !summary.hollow).filter(wanted);
        let shown: Vec<_> = shown.take(args.limit.unwrap_or(usize::MAX)).collect();
        if args.json {
            let mut rows: Value = shown.into_iter().map(row).collect();
            self.console.context.redactor.clean_json(&mut rows);
            return Ok(write_json(&rows)?);
        }
        if shown.is_empty() {
            self.console.note("no sessions");
            return Ok(());
        }
        let heading = ["session", "last used (UTC)", "messages", "model", "tags", "name"];
        let heading = heading.map(str::to_owned).to_vec();
        // Cleaned before anything is cut: half a secret is not known as one.
        let clean = |cell: String| safe_line(&self.console.context.redactor.clean(&cell), LONGEST);
        let rows = shown.iter().map(|summary| cells(summary, &short).into_iter().map(clean).collect());
        let rows: Vec<Vec<String>> = [heading].into_iter().chain(rows).collect();
        let problems =
            shown.iter().map(|summary| summary.problem.as_ref().map(ToString::to_string).map(clean));
        Ok(write_stdout(&listed(&rows, problems, self.columns()))?)
    }
}

/// Each row, and below it what is wrong with it.
fn listed(
    rows: &[Vec<String>],
    problems: impl Iterator<Item = Option<String>>,
    columns: Option<usize>,
) -> String {
    let table = narrow(rows, &DROPPED, columns);
    let problems = [None].into_iter().chain(problems);
    let lines = table.lines().zip(problems).map(|(row, problem)| match problem {
        Some(problem) => format!("{row}\n  ! {problem}\n"),
        None => format!("{row}\n"),
    });
    lines.collect()
}

/// As short as tells all of them apart.
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
        "messages": summary.canisters,
        "created": summary.created,
        "updated": summary.updated,
        // Null: it can be read.
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
    // What the program itself puts there is no tag to a person.
    let tags: Vec<_> = metadata.tags.iter().filter(|tag| !super::label::is_ours(tag)).cloned().collect();
    vec![id, minute(summary.updated), messages, model, tags.join(" "), name.clone()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_with_a_session_has_a_line_of_its_own() {
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
        let text = listed(&rows, [Some(problem.clone()), None].into_iter(), Some(60));
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[2], format!("  ! {problem}"), "{text}");
        assert!(lines[1].ends_with("taxes") && lines[3].ends_with('…') && lines.len() == 4, "{text}");
        assert!(lines.iter().all(|line| line.chars().count() <= 60), "{text}");
        assert!(listed(&rows, [None, None].into_iter(), None).ends_with("longer than that\n"));
    }
}
