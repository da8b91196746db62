//! `converse ensembles …`. Only `call`, `test`, `lock` and `check --locked` start or contact anything, the others not
//! unless they are told to by `--connect`.

mod call;
mod check;
mod export;
mod import;
mod init;
mod list;
mod lock;
mod login;
mod logout;
mod looked;
mod offers;
mod placing;
mod schema;
mod show;
mod survey;
mod taken;
mod test;

use converse_config::{EnsemblePlan, Scope};
use serde_json::{Value, json};

use crate::args::Ensembles;
use converse_host::failure::Failure;
use converse_host::world::World;
use converse_terminal::console::Console;
use converse_terminal::signals;

use call::Call;
use check::Check;
use converse_terminal::project_trust::Trust;
use show::Show;

pub(crate) fn run(command: &Ensembles, console: &Console, world: &World) -> Result<(), Failure> {
    match command {
        Ensembles::List { places, tools, json } => {
            list::List { places, tools: *tools, as_json: *json, console, world }.run()
        }
        Ensembles::Show { name, connect, places, rules, json } => {
            Show { name, connect: *connect, places, rules, as_json: *json, console, world }.run()
        }
        Ensembles::Check(args) => Check { args, console, world }.run(),
        Ensembles::Lock(args) => lock::run(args, console, world),
        Ensembles::Test(args) => test::run(args, console, world),
        Ensembles::Schema(args) => schema::run(args),
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
        Ensembles::Logout { name, places } => logout::run(name, places, console, world),
        Ensembles::Call { tool, arguments, places, rules, json } => {
            let interrupt = signals::watch()?;
            let call = Call { tool, arguments, places, rules, as_json: *json, interrupt: &interrupt };
            converse_host::runtime::block_on(call.run(console, world))?
        }
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
        // Those of a server are known once it is connected.
        "tools": plan.connection.is_none().then_some(plan.invokers.len()),
    })
}
