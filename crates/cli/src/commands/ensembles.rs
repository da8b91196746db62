//! `converse ensembles …`. Only `call`, `test`, `lock`, `login` and `check --locked` start or contact anything; `show` and
//! `check` do so with `--connect`.

mod call;
mod check;
mod export;
mod import;
mod init;
mod list;
mod lock;
mod login;
mod show;
mod test;

use converse_config::{EnsemblePlan, Scope, ensemble_schema, invoker_schema, schema_text};
use serde_json::{Value, json};

use crate::args::{Destination, Ensembles, SchemaOf};
use converse_host::descriptor_dir::{DescriptorDir, NewFile};
use converse_host::failure::Failure;
use converse_host::world::World;
use converse_terminal::console::Console;
use converse_terminal::project_trust::Trust;
use converse_terminal::render::output::write_stdout;
use converse_terminal::signals;

use call::Call;
use show::Show;

pub(crate) fn run(command: &Ensembles, console: &Console, world: &World) -> Result<(), Failure> {
    match command {
        Ensembles::List { places, tools, json } => {
            list::List { places, tools: *tools, as_json: *json, console, world }.run()
        }
        Ensembles::Show { name, connect, places, rules, json } => {
            Show { name, connect: *connect, places, rules, as_json: *json, console, world }.run()
        }
        Ensembles::Check(args) => check::run(args, console, world),
        Ensembles::Lock(args) => lock::run(args, console, world),
        Ensembles::Test(args) => test::run(args, console, world),
        Ensembles::Schema { of } => {
            let schema = match of {
                SchemaOf::Ensemble => ensemble_schema(),
                SchemaOf::Invoker => invoker_schema(),
            };
            Ok(write_stdout(&schema_text(&schema))?)
        }
        Ensembles::Import(args) => import::run(args, console, world),
        Ensembles::Export(args) => export::run(args, console, world),
        Ensembles::Init(args) => init::run(args, console, world),
        Ensembles::Trust { hash, revoke, json } => {
            let trust = Trust { hash: hash.as_deref(), as_json: *json, console, world, interrupt: None };
            if *revoke { trust.revoke() } else { trust.run() }
        }
        Ensembles::Login { name, places, no_browser, scope } => {
            login::Login { name, places, no_browser: *no_browser, scopes: scope, console, world }.run()
        }
        Ensembles::Logout { name, places } => login::logout(name, places, console, world),
        Ensembles::Call { tool, arguments, places, rules, json } => {
            let interrupt = signals::watch()?;
            let call = Call { tool, arguments, places, rules, as_json: *json, interrupt: &interrupt };
            converse_host::runtime::block_on(call.run(console, world))?
        }
    }
}

/// Prints the texts of new descriptors with `--dry-run`, else the paths that were written.
fn print_new(files: &[NewFile], dir: &DescriptorDir, destination: &Destination) -> Result<(), Failure> {
    let text = |file: &NewFile| format!("# {}\n{}", dir.shown(&file.path), file.text);
    let path = |file: &NewFile| format!("{}\n", dir.shown(&file.path));
    Ok(write_stdout(&match destination.dry_run {
        true => files.iter().map(text).collect::<Vec<_>>().join("\n"),
        false => files.iter().map(path).collect(),
    })?)
}

fn note_trust(dir: &DescriptorDir, console: &Console) {
    if dir.of_project {
        console.note("this is a project: run `converse ensembles trust` before the ensembles are used");
    }
}

fn scope(scope: Scope) -> &'static str {
    match scope {
        Scope::Shipped => "converse",
        Scope::User => "user",
        Scope::Project => "project",
        Scope::Explicit => "--ensembles",
    }
}

fn ensemble_row(plan: &EnsemblePlan) -> Value {
    json!({
        "name": plan.name,
        "description": plan.description,
        "enabled": plan.enabled,
        "required": plan.required,
        "trusted": plan.trusted,
        "scope": scope(plan.origin.scope),
        "file": plan.origin.file,
        "line": plan.origin.line,
        "connection": plan.connection.is_some(),
        // The tools of a server are known once it is connected.
        "tools": plan.connection.is_none().then_some(plan.invokers.len()),
    })
}
