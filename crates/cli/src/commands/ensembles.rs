//! `converse ensembles list | show | check | call`. The first three start nothing and contact nothing.

use std::sync::Arc;

use converse_canister::{Arguments, Invocation, InvocationId, InvocationResult, Outcome, TurnId};
use converse_config::{EnsemblePlan, Permission, Rule, Scope, Subject, judge};
use converse_engine::Approver as _;
use converse_ensemble::{Host, Roster, Verdict};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::adapters::approver::TerminalApprover;
use crate::adapters::journal::Kept;
use crate::adapters::signals;
use crate::args::{Ensembles, Tools};
use crate::catalogue::Catalogue;
use crate::failure::{Failure, Kind};
use crate::manners::Manners;
use crate::names::nearest;
use crate::render::output::write_stdout;
use crate::render::result_text;
use crate::render::safe::{safe, safe_line};
use crate::render::table::table;
use crate::settings::{Files, rules};
use crate::wiring::connect;
use crate::world::World;

pub(crate) fn run(command: &Ensembles, manners: &Manners, world: &World) -> Result<(), Failure> {
    match command {
        Ensembles::List { tools, json } => list(tools, *json, manners, world),
        Ensembles::Show { name, tools, json } => show(name, tools, *json, world),
        Ensembles::Check { directories, json } => check(&Catalogue::check(world, directories), *json),
        Ensembles::Call { tool, arguments, tools, json } => {
            let call = Call { tool, arguments, tools, as_json: *json };
            crate::runtime()?.block_on(call.run(manners, world))
        }
    }
}

fn list(tools: &Tools, as_json: bool, manners: &Manners, world: &World) -> Result<(), Failure> {
    let catalogue = Catalogue::find(world, &tools.ensembles);
    manners.warn_all(catalogue.pictures());
    if as_json {
        let rows: Vec<Value> = catalogue.plans.iter().map(ensemble_row).collect();
        return Ok(write_stdout(&format!("{:#}\n", Value::Array(rows)))?);
    }
    let heading = ["ensemble", "tools", "from", "file", "description"].map(str::to_owned).to_vec();
    let rows: Vec<Vec<String>> = [heading].into_iter().chain(catalogue.plans.iter().map(cells)).collect();
    Ok(write_stdout(&table(&rows))?)
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

fn show(name: &str, tools: &Tools, as_json: bool, world: &World) -> Result<(), Failure> {
    let catalogue = Catalogue::find(world, &tools.ensembles);
    let plan = catalogue.named(name)?;
    let (files, _) = Files::read(world).checked()?;
    let rules = rules(tools, &files)?;
    let shown: Vec<Value> = plan.invokers.iter().map(|invoker| tool_row(plan, invoker, &rules)).collect();
    if as_json {
        let mut row = ensemble_row(plan);
        row["tools"] = Value::Array(shown);
        return Ok(write_stdout(&format!("{row:#}\n"))?);
    }
    let mut text = format!("{}: {}\n", plan.name, safe_line(&plan.description, 200));
    text.push_str(&format!("  from {}:{}\n", safe_line(&plan.origin.file, 200), plan.origin.line));
    for row in &shown {
        text.push_str(&tool_text(row));
    }
    Ok(write_stdout(&text)?)
}

fn tool_row(plan: &EnsemblePlan, invoker: &converse_config::InvokerPlan, rules: &[Rule]) -> Value {
    let place = format!("{}:{}", plan.origin.file, plan.origin.line);
    let (own, own_source) = converse_ensemble::own_permission(&invoker.policy, true, plan.trusted, &place);
    let tool = format!("{}.{}", plan.name, invoker.name);
    let judgement = judge(rules, Subject { tool: &tool, own, own_source: &own_source });
    let permission = match judgement.permission {
        Permission::Allow => "allow",
        Permission::Ask => "ask",
        Permission::Deny => "deny",
    };
    let prefix = plan.prefix.clone().unwrap_or_else(|| plan.name.to_string());
    json!({
        "invoker": invoker.name,
        "shown_as": converse_ensemble::tool_name(&prefix, &invoker.name),
        "description": invoker.description,
        "permission": permission,
        "because": judgement.rule,
        "timeout_s": invoker.policy.timeout.as_secs_f64(),
        "arguments": invoker.arguments,
    })
}

fn tool_text(row: &Value) -> String {
    let word = |key: &str| safe_line(row[key].as_str().unwrap_or_default(), 400);
    let mut text = format!(
        "\n{}  [{}: {}]\n  {}\n",
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

fn check(catalogue: &Catalogue, as_json: bool) -> Result<(), Failure> {
    let findings = catalogue.findings();
    if as_json {
        let rows: Vec<Value> = findings.iter().map(converse_config::Finding::to_json).collect();
        write_stdout(&format!("{:#}\n", Value::Array(rows)))?;
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
    Ok(())
}

struct Call<'a> {
    tool: &'a str,
    arguments: &'a [String],
    tools: &'a Tools,
    as_json: bool,
}

impl Call<'_> {
    async fn run(&self, manners: &Manners, world: &World) -> Result<(), Failure> {
        let (ensemble, _) = self.tool.split_once('.').ok_or_else(|| {
            Failure::usage("bad-tool", format!("`{}` is no tool: write ensemble.invoker", self.tool))
        })?;
        let catalogue = Catalogue::find(world, &self.tools.ensembles);
        let plan = catalogue.named(ensemble)?;
        let (files, _) = Files::read(world).checked()?;
        let rules = rules(self.tools, &files)?;
        let connected = connect(&[plan], rules, Arc::new(Kept(None)), world).await?;
        if let Some(error) = connected.errors.first() {
            return Err(Failure::new(Kind::Ensemble, "ensemble", error.as_str()));
        }
        let cancel = CancellationToken::new();
        let caught = signals::listen(cancel.clone())
            .map_err(|error| Failure::new(Kind::Internal, "signals", error.to_string()))?;
        let result = self.invoke(&connected.roster, manners, cancel).await;
        connected.roster.disconnect().await;
        if let Some(number) = caught.number() {
            return Err(Failure::new(Kind::Signal(number), "interrupted", "interrupted"));
        }
        self.told(&result?)
    }

    async fn invoke(
        &self,
        roster: &Roster,
        manners: &Manners,
        cancel: CancellationToken,
    ) -> Result<InvocationResult, Failure> {
        let offer = roster.offer();
        let tool = offer.tools().find(|tool| tool.qualified == self.tool);
        let tool = tool.ok_or_else(|| self.no_such_tool(roster))?;
        let invocation = Invocation {
            turn: TurnId(1),
            id: InvocationId::of(TurnId(1), 0),
            wire_id: None,
            tool: tool.declaration.name.to_string(),
            arguments: arguments(self.arguments, &tool.declaration.arguments),
            seal: None,
        };
        let approved = match roster.judge(&invocation) {
            Verdict::Answered(denied) => return Ok(denied.result),
            Verdict::Allowed(approved) => approved,
            Verdict::Ask(pending) => {
                let approver = TerminalApprover::new(manners.can_ask, Arc::clone(&manners.progress));
                let asked = if approver.can_ask() {
                    approver.decide(std::slice::from_ref(&pending)).await
                } else {
                    vec![]
                };
                if !asked.first().is_some_and(converse_canister::Decision::allows) {
                    let text = format!("it was not approved; `--allow {}` does so for a run", self.tool);
                    return Ok(InvocationResult::new(invocation.id, Outcome::Refused, text));
                }
                pending.approve()
            }
        };
        Ok(roster.invoke(&approved, Host::default(), cancel).await)
    }

    fn no_such_tool(&self, roster: &Roster) -> Failure {
        let failure = Failure::usage("unknown-tool", format!("there is no tool `{}`", self.tool));
        let offer = roster.offer();
        match nearest(self.tool, offer.tools().map(|tool| tool.qualified.as_str())) {
            Some(near) => failure.hint(format!("did you mean `{near}`?")),
            None => failure.hint("`converse ensembles show NAME` lists the tools of an ensemble"),
        }
    }

    /// The result on stdout; a failure as an error with the exit code of its outcome.
    fn told(&self, result: &InvocationResult) -> Result<(), Failure> {
        let text = result_text(result);
        if self.as_json {
            write_stdout(&format!("{:#}\n", serde_json::to_value(result).unwrap_or_default()))?;
        } else if result.outcome.is_success() {
            write_stdout(&format!("{}\n", safe(text.trim_end_matches('\n'))))?;
        }
        let kind = match result.outcome {
            Outcome::Success => return Ok(()),
            Outcome::NoSuchTool | Outcome::Invalid => Kind::Usage,
            Outcome::Refused => Kind::Unapproved,
            Outcome::Timeout => Kind::Limit,
            Outcome::Unreachable | Outcome::Failed | Outcome::Cancelled | Outcome::Interrupted => {
                Kind::Ensemble
            }
        };
        Err(Failure::new(kind, result.outcome.label(), format!("{}: {text}", self.tool)))
    }
}

/// One JSON object, or `key=value` words typed by the schema: a property that is not a string may be written as JSON.
fn arguments(words: &[String], schema: &Value) -> Arguments {
    if let [one] = words
        && one.trim_start().starts_with('{')
    {
        return Arguments::parse(one);
    }
    let mut object = Map::new();
    for word in words {
        let (key, text) = word.split_once('=').unwrap_or((word, "true"));
        let property = &schema["properties"][key];
        let wants_string = property["type"] == "string" || property["enum"].is_array();
        let value = if wants_string { None } else { serde_json::from_str(text).ok() };
        object.insert(key.to_owned(), value.unwrap_or_else(|| Value::String(text.to_owned())));
    }
    Arguments::from_object(object)
}
