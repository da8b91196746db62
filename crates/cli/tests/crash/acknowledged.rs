//! What the program had said to be kept when it was killed.

use serde_json::Value;

use crate::journals::Fact;

/// Of the records of a run: everything before the last `turn.committed`. A line that was cut says nothing.
pub(crate) fn in_records(prompt: &str, stdout: &str) -> Vec<Fact> {
    let (mut said, mut kept) = (vec![Fact::Said(prompt.to_owned())], 0);
    let whole = stdout.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    for record in whole.map(|line| serde_json::from_str::<Value>(line).unwrap()) {
        let of = |key: &str| record[key].as_str().unwrap_or_default().to_owned();
        match of("type").as_str() {
            // It could not be begun, and the user was warned that nothing is saved.
            "session.started" if record["session"].is_null() => return Vec::new(),
            "message.completed" => said.push(Fact::Said(of("text"))),
            "invocation.finished" => said.push(Fact::Answered(of("id"))),
            "turn.committed" => kept = said.len(),
            _ => {}
        }
    }
    said.truncate(kept);
    said
}
