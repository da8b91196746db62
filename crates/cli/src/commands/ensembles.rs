//! `converse ensembles list | show | check | trust | call`. All but the last start nothing and contact nothing.

mod call;
mod declared;
mod trust;

use converse_config::{EnsemblePlan, Finding, InvokerPlan, Permission, Rule, Scope, Subject, judge};
use converse_ensemble::{own_permission, tool_name};
use serde_json::{Value, json};

use crate::adapters::signals;
use crate::args::{Ensembles, Places, Rules};
use crate::catalogue::Catalogue;
use crate::failure::{Failure, Kind};
use crate::manners::Manners;
use crate::render::output::{write_json, write_stdout};
use crate::render::safe::safe_line;
use crate::render::table::table;
use crate::settings::{Files, rules};
use crate::world::World;

use call::Call;
use trust::Trust;

pub(crate) fn run(command: &Ensembles, manners: &Manners, world: &World) -> Result<(), Failure> {
    match command {
        Ensembles::List { places, json } => list(places, *json, manners, world),
        Ensembles::Show { name, places, rules, json } => show(name, places, rules, *json, manners, world),
        Ensembles::Check { directories, json } => {
            check(&Catalogue::check(world, directories), *json, manners)
        }
        Ensembles::Trust { hash, revoke, json } => {
            let trust = Trust { hash: hash.as_deref(), as_json: *json, manners, world };
            if *revoke { trust.revoke() } else { trust.run() }
        }
        Ensembles::Call { tool, arguments, places, rules, json } => {
            let interrupt = signals::watch()?;
            let call = Call { tool, arguments, places, rules, as_json: *json, interrupt: &interrupt };
            crate::runtime()?.block_on(call.run(manners, world))
        }
    }
}

fn list(places: &Places, as_json: bool, manners: &Manners, world: &World) -> Result<(), Failure> {
    let catalogue = Catalogue::find(world, &places.ensembles);
    manners.warn_all(catalogue.lines());
    if as_json {
        let rows: Vec<Value> = catalogue.plans.iter().map(ensemble_row).collect();
        write_json(&Value::Array(rows))?;
    } else {
        let heading = ["ensemble", "tools", "from", "file", "description"].map(str::to_owned).to_vec();
        let rows: Vec<Vec<String>> = [heading].into_iter().chain(catalogue.plans.iter().map(cells)).collect();
        write_stdout(&table(&rows))?;
    }
    catalogue.stop_for_own_errors()
}

fn cells(plan: &EnsemblePlan) -> Vec<String> {
    let count = if plan.connection.is_some() { "?".to_owned() } else { plan.invokers.len().to_string() };
    let place = format!("{}:{}", plan.origin.file, plan.origin.line);
    let off = if plan.enabled { "" } else { "(not enabled) " };
    let description = format!("{off}{}", plan.description);
    vec![plan.name.to_string(), count, scope(plan.origin.scope).to_owned(), place, description]
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
        "tools": plan.invokers.len(),
    })
}

fn show(
    name: &str,
    places: &Places,
    given: &Rules,
    as_json: bool,
    manners: &Manners,
    world: &World,
) -> Result<(), Failure> {
    let catalogue = Catalogue::find(world, &places.ensembles);
    let plan = catalogue.named(name)?;
    manners.warn_all(catalogue.notes());
    let (files, warnings) = Files::read(world).checked()?;
    manners.warn_all(warnings);
    let rules = rules(given, &files)?;
    let shown: Vec<Value> = plan.invokers.iter().map(|invoker| tool_row(plan, invoker, &rules)).collect();
    if as_json {
        let mut row = ensemble_row(plan);
        row["tools"] = Value::Array(shown);
        return Ok(write_json(&row)?);
    }
    let mut text = format!("{}: {}\n", plan.name, safe_line(&plan.description, 200));
    text.push_str(&format!("  from {}:{}\n", safe_line(&plan.origin.file, 200), plan.origin.line));
    for row in &shown {
        text.push_str(&tool_text(row));
    }
    Ok(write_stdout(&text)?)
}

fn tool_row(plan: &EnsemblePlan, invoker: &InvokerPlan, rules: &[Rule]) -> Value {
    let place = format!("{}:{}", plan.origin.file, plan.origin.line);
    let (own, own_source) = own_permission(&invoker.policy, true, plan.trusted, &place);
    let tool = format!("{}.{}", plan.name, invoker.name);
    let judgement =
        judge(rules, Subject { tool: &tool, own, own_source: &own_source, trusted: plan.trusted });
    let prefix = plan.prefix.clone().unwrap_or_else(|| plan.name.to_string());
    json!({
        "invoker": invoker.name,
        "shown_as": tool_name(&prefix, &invoker.name),
        "description": invoker.description,
        "permission": permission(judgement.permission),
        "because": judgement.rule,
        "timeout_s": invoker.policy.timeout.as_secs_f64(),
        "arguments": invoker.arguments,
    })
}

fn permission(permission: Permission) -> &'static str {
    match permission {
        Permission::Allow => "allow",
        Permission::Ask => "ask",
        Permission::Deny => "deny",
    }
}

fn tool_text(row: &Value) -> String {
    let word = |key: &str| safe_line(row[key].as_str().unwrap_or_default(), 400);
    let mut text = format!(
        "\n{}  [{}, because of {}]\n  {}\n",
        word("invoker"),
        word("permission"),
        word("because"),
        word("description")
    );
    let required: Vec<&str> =
        row["arguments"]["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    for (name, schema) in row["arguments"]["properties"].as_object().into_iter().flatten() {
        let kind = schema["type"].as_str().unwrap_or("any");
        let need = if required.contains(&name.as_str()) { "required" } else { "optional" };
        let about = safe_line(schema["description"].as_str().unwrap_or_default(), 200);
        text.push_str(&format!("    {} ({kind}, {need})  {about}\n", safe_line(name, 64)));
    }
    text
}

fn check(catalogue: &Catalogue, as_json: bool, manners: &Manners) -> Result<(), Failure> {
    manners.warn_all(catalogue.notes());
    let findings = catalogue.findings();
    if as_json {
        let rows: Vec<Value> = findings.iter().map(Finding::to_json).collect();
        write_json(&Value::Array(rows))?;
    } else {
        write_stdout(&catalogue.pictures().into_iter().map(|picture| picture + "\n").collect::<String>())?;
        let tools: usize = catalogue.plans.iter().map(|plan| plan.invokers.len()).sum();
        let sound = catalogue.plans.len();
        write_stdout(&format!(
            "{sound} ensemble(s) with {tools} tool(s) are sound; {} finding(s)\n",
            findings.len()
        ))?;
    }
    if catalogue.has_errors() {
        return Err(Failure::new(Kind::Configuration, "ensembles", "there are errors in ensembles"));
    }
    catalogue.stop_for_untrusted()
}
