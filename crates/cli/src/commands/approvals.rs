//! `converse approvals`: lists and revokes the kept "always" answers.

use std::collections::BTreeSet;

use converse_canister::canonical;
use converse_config::{Approval, ArgumentPattern};
use serde_json::{Map, Value, json};

use crate::args::Approvals;
use converse_host::approvals::Approvals as Store;
use converse_host::failure::{Failure, Kind};
use converse_host::world::World;
use converse_terminal::console::Console;
use converse_terminal::render::output::write_stdout;
use converse_terminal::render::table::headed;

/// The length of a digest in the table, in characters.
const SHOWN: usize = 12;

pub(crate) fn run(command: &Approvals, console: &Console, world: &World) -> Result<(), Failure> {
    let store = Store::of(world)
        .ok_or_else(|| Failure::new(Kind::Output, "approvals", "without `HOME` no answers are kept"))?;
    match command {
        Approvals::List { json } => list(&store.read().map_err(invalid)?, *json, console),
        Approvals::Revoke { numbers } => revoke(&store, &numbers.iter().copied().collect()),
    }
}

fn invalid(why: String) -> Failure {
    Failure::new(Kind::Configuration, "approvals", why)
        .hint("no answer in it is used; correct the file or remove it")
}

fn list(approvals: &[Approval], as_json: bool, console: &Console) -> Result<(), Failure> {
    let numbered = approvals.iter().zip(1..);
    if as_json {
        return Ok(console.print_json(numbered.map(|(one, number)| row(one, number)).collect())?);
    }
    if approvals.is_empty() {
        console.note("no answers are kept");
        return Ok(());
    }
    let heading = ["", "tool", "since", "where", "definition", "arguments"];
    Ok(console.print(&headed(&heading, numbered.map(|(one, number)| cells(one, number))))?)
}

fn row(approval: &Approval, number: usize) -> Value {
    json!({
        "number": number,
        "tool": approval.tool,
        // Null: any arguments. Arguments that may vary are not among them.
        "arguments": approval.arguments,
        "where": approval.patterns.iter().map(|(name, vary)| (name.clone(), Value::from(vary.text()))).collect::<Map<_, _>>(),
        "definition": approval.definition.to_string(),
        "connection": approval.connection.to_string(),
        "project": approval.project,
        "at": approval.at,
    })
}

fn cells(approval: &Approval, number: usize) -> Vec<String> {
    let definition: String = approval.definition.to_string().chars().take(SHOWN).collect();
    let place = approval.project.clone().unwrap_or_else(|| "everywhere".to_owned());
    // To the second.
    let at = approval.at.split('.').next().unwrap_or_default().to_owned();
    vec![number.to_string(), approval.tool.clone(), at, place, definition, arguments(approval)]
}

/// Arguments that may vary come first, since the others may be long.
fn arguments(approval: &Approval) -> String {
    let Some(fixed) = &approval.arguments else { return "any".to_owned() };
    let pair = |(name, vary): (&String, &ArgumentPattern)| format!("{name}={}", vary.text());
    let mut parts: Vec<String> = approval.patterns.iter().map(pair).collect();
    if parts.is_empty() || !fixed.is_empty() {
        parts.push(canonical(&Value::Object(fixed.clone())));
    }
    parts.join(", ")
}

fn revoke(store: &Store, numbers: &BTreeSet<usize>) -> Result<(), Failure> {
    let revoked = store.revoke(numbers).map_err(invalid)?;
    let revoked = revoked.map_err(|number| {
        Failure::usage("no-such-approval", format!("there is no answer {number}; nothing was revoked"))
            .hint("`converse approvals list` shows the numbers; they change after each revocation")
    })?;
    let lines = revoked.iter().map(|one| format!("revoked: {}\n", one.tool));
    Ok(write_stdout(&lines.collect::<String>())?)
}
