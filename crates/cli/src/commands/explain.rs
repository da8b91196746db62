//! `converse explain`: which rule decides about a call, from which file and line, and what the others say. Starts and
//! contacts nothing, so of a server's tool it knows what its descriptor says.

mod case;
mod told;

use std::path::Path;

use converse_config::{ArgumentsSchema, Subject, explain};
use serde_json::Value;

use crate::args::ExplainArgs;
use crate::commands::typed::arguments;
use converse_host::catalogue::Catalogue;
use converse_host::failure::Failure;
use converse_host::settings::{Files, rules};
use converse_host::world::World;
use converse_terminal::console::Console;
use converse_terminal::render::output::{write_json, write_stdout};

use case::Case;
use told::Told;

pub(crate) fn run(args: &ExplainArgs, console: &Console, world: &World) -> Result<(), Failure> {
    let catalogue = Catalogue::find(world, &args.places.ensembles);
    console.warn_all(catalogue.notes());
    let (files, warnings) = Files::read(world).checked()?;
    console.warn_all(warnings);
    let rules = rules(&args.rules.options(), &files)?;
    let case = Case::of(&args.tool, &catalogue)?;
    let home = world.home();
    let typed = arguments(&args.arguments, case.schema.as_ref().unwrap_or(&Value::Null))?;
    let (arguments, faults) = match &typed.malformed {
        Some(malformed) => (typed.object, vec![malformed.to_string()]),
        None => checked(case.schema.as_ref(), typed.object),
    };
    let subject = Subject {
        tool: &args.tool,
        effects: case.effects,
        arguments: &arguments,
        interactive: !args.unattended,
        definition: case.definition,
        connection: Some(case.reached),
        local: case.local,
        own: case.own.0,
        own_source: &case.own.1,
        trusted: case.trusted,
        workspace: world.cwd.to_str(),
        home: home.as_deref().and_then(Path::to_str),
    };
    let explanation = explain(&rules, subject);
    let told = Told { case: &case, subject, rules: &rules, explanation: &explanation, faults: &faults };
    if args.json {
        let mut value = told.json();
        console.context.redactor.clean_json(&mut value);
        return Ok(write_json(&value)?);
    }
    Ok(write_stdout(&console.context.redactor.clean(&told.text()))?)
}

/// With the defaults filled in; what does not fit.
fn checked(
    schema: Option<&Value>,
    arguments: serde_json::Map<String, Value>,
) -> (serde_json::Map<String, Value>, Vec<String>) {
    let Some(schema) = schema else { return (arguments, Vec::new()) };
    let compiled = match ArgumentsSchema::compile(schema) {
        Ok(compiled) => compiled,
        Err(error) => return (arguments, vec![format!("the tool's own schema is unusable: {error}")]),
    };
    match compiled.check(&arguments) {
        Ok(filled) => (filled, Vec::new()),
        Err(faults) => {
            let line = |fault: &converse_config::SchemaFault| match fault.pointer.as_str() {
                "" => fault.message.clone(),
                pointer => format!("{pointer}: {}", fault.message),
            };
            (arguments, faults.iter().map(line).collect())
        }
    }
}
