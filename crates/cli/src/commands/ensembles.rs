//! `converse ensembles list | show | check | call`. The first three start nothing and contact nothing.

use std::sync::Arc;

use converse_canister::{Arguments, Invocation, InvocationId, InvocationResult, Outcome, TurnId};
use converse_config::{EnsemblePlan, Finding, InvokerPlan, Permission, Rule, Scope, Subject, judge};
use converse_engine::Approver as _;
use converse_ensemble::{Approved, Halt, Host, Pending, Roster, Verdict, own_permission, tool_name};
use serde_json::{Value, json};

use crate::adapters::approver::TerminalApprover;
use crate::adapters::journal::Kept;
use crate::adapters::signals::{self, Interrupt};
use crate::args::{Ensembles, Places, Rules};
use crate::catalogue::Catalogue;
use crate::failure::{Failure, Kind};
use crate::manners::Manners;
use crate::model;
use crate::render::output::write_stdout;
use crate::render::result_text;
use crate::render::safe::{safe, safe_line};
use crate::render::table::table;
use crate::settings::{Files, rules};
use crate::wiring::connect;
use crate::world::World;

pub(crate) fn run(command: &Ensembles, manners: &Manners, world: &World) -> Result<(), Failure> {
    match command {
        Ensembles::List { places, json } => list(places, *json, manners, world),
        Ensembles::Show { name, places, rules, json } => show(name, places, rules, *json, world),
        Ensembles::Check { directories, json } => check(&Catalogue::check(world, directories), *json),
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
        write_stdout(&format!("{:#}\n", Value::Array(rows)))?;
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

fn show(name: &str, places: &Places, given: &Rules, as_json: bool, world: &World) -> Result<(), Failure> {
    let catalogue = Catalogue::find(world, &places.ensembles);
    let plan = catalogue.named(name)?;
    let (files, _) = Files::read(world).checked()?;
    let rules = rules(given, &files)?;
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

fn tool_row(plan: &EnsemblePlan, invoker: &InvokerPlan, rules: &[Rule]) -> Value {
    let place = format!("{}:{}", plan.origin.file, plan.origin.line);
    let (own, own_source) = own_permission(&invoker.policy, true, plan.trusted, &place);
    let tool = format!("{}.{}", plan.name, invoker.name);
    let judgement =
        judge(rules, Subject { tool: &tool, own, own_source: &own_source, trusted: plan.trusted });
    let permission = match judgement.permission {
        Permission::Allow => "allow",
        Permission::Ask => "ask",
        Permission::Deny => "deny",
    };
    let prefix = plan.prefix.clone().unwrap_or_else(|| plan.name.to_string());
    json!({
        "invoker": invoker.name,
        "shown_as": tool_name(&prefix, &invoker.name),
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
        let rows: Vec<Value> = findings.iter().map(Finding::to_json).collect();
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
    places: &'a Places,
    rules: &'a Rules,
    as_json: bool,
    interrupt: &'a Interrupt,
}

impl Call<'_> {
    async fn run(&self, manners: &Manners, world: &World) -> Result<(), Failure> {
        let (ensemble, _) = self.tool.split_once('.').ok_or_else(|| {
            Failure::usage("bad-tool", format!("`{}` is no tool: write ensemble.invoker", self.tool))
        })?;
        let catalogue = Catalogue::find(world, &self.places.ensembles);
        let plan = catalogue.named(ensemble)?;
        let (files, _) = Files::read(world).checked()?;
        manners.redactor.learn(model::keys(&files, world)?);
        let rules = rules(self.rules, &files)?;
        let connected = connect(&[plan], rules, Arc::new(Kept(None)), world).await?;
        if let Some(error) = connected.errors.first() {
            return Err(Failure::new(Kind::Ensemble, "ensemble", error.as_str()));
        }
        let result = self.invoke(&connected.roster, manners).await;
        connected.roster.disconnect().await;
        if self.interrupt.number().is_some() {
            return Err(self.interrupt.failure());
        }
        self.told(&result?, world.stdout_tty)
    }

    async fn invoke(&self, roster: &Roster, manners: &Manners) -> Result<InvocationResult, Failure> {
        let offer = roster.offer();
        let tool = offer.tools().find(|tool| tool.qualified == self.tool);
        let tool = tool.ok_or_else(|| self.no_such_tool(roster))?;
        let invocation = Invocation {
            turn: TurnId(1),
            id: InvocationId::of(TurnId(1), 0),
            wire_id: None,
            tool: tool.declaration.name.to_string(),
            arguments: arguments(self.arguments, &tool.declaration.arguments)?,
            seal: None,
        };
        let approved = match roster.judge(&invocation) {
            Verdict::Answered(denied) => return Ok(denied.result),
            Verdict::Allowed(approved) => approved,
            Verdict::Ask(pending) => match self.approved(pending, manners).await {
                Ok(approved) => approved,
                Err(why) => return Ok(InvocationResult::new(invocation.id, Outcome::Refused, why)),
            },
        };
        let halt = Halt::below(&self.interrupt.token);
        Ok(match roster.turn(&approved, &halt).await {
            Ok(turn) => roster.invoke(&approved, turn, Host::default(), &halt.now).await,
            Err(result) => result,
        })
    }

    /// Asks, if somebody can be asked; else says why it is refused.
    async fn approved(&self, pending: Pending, manners: &Manners) -> Result<Approved, String> {
        let approver = TerminalApprover::new(manners.can_ask, Arc::clone(&manners.progress));
        if !approver.can_ask() {
            let rule = pending.rule();
            return Err(format!("it needs an approval and nobody can be asked here ({rule})"));
        }
        let decisions = tokio::select! {
            decisions = approver.decide(std::slice::from_ref(&pending)) => decisions,
            () = self.interrupt.token.cancelled() => Vec::new(),
        };
        match decisions.first() {
            Some(decision) if decision.allows() => Ok(pending.approve()),
            _ => Err("it was not approved".to_owned()),
        }
    }

    fn no_such_tool(&self, roster: &Roster) -> Failure {
        let offer = roster.offer();
        let names = offer.tools().map(|tool| tool.qualified.as_str());
        Failure::usage("unknown-tool", format!("there is no tool `{}`", self.tool)).did_you_mean(
            self.tool,
            names,
            "`converse ensembles show NAME` lists the tools of an ensemble",
        )
    }

    /// The result on stdout; a failure as an error with the exit code of its outcome.
    fn told(&self, result: &InvocationResult, terminal: bool) -> Result<(), Failure> {
        let text = result_text(result);
        if self.as_json {
            write_stdout(&format!("{:#}\n", serde_json::to_value(result).unwrap_or_default()))?;
        } else if result.outcome.is_success() {
            let text = text.trim_end_matches('\n');
            let text = if terminal { safe(text) } else { text.into() };
            write_stdout(&format!("{text}\n"))?;
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

/// One JSON object, or `key=value` words typed by the schema: a property that is no string may be written as JSON. Both
/// are read as a model's arguments are, so that a key given twice or a number that would change is refused here too.
fn arguments(words: &[String], schema: &Value) -> Result<Arguments, Failure> {
    if let [one] = words
        && one.trim_start().starts_with('{')
    {
        return Ok(Arguments::parse(one));
    }
    let mut members = Vec::new();
    for word in words {
        let (key, text) = word.split_once('=').ok_or_else(|| {
            Failure::usage(
                "bad-argument",
                format!("`{word}` is no argument: write key=value, or one JSON object"),
            )
        })?;
        let readable = !is_textual(&schema["properties"][key]) && serde_json::from_str::<Value>(text).is_ok();
        let value = if readable { text.to_owned() } else { Value::from(text).to_string() };
        members.push(format!("{}: {value}", Value::from(key)));
    }
    Ok(Arguments::parse(&format!("{{{}}}", members.join(", "))))
}

/// Would a string be a fitting value?
fn is_textual(property: &Value) -> bool {
    let kind = &property["type"];
    let typed =
        kind == "string" || kind.as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind == "string"));
    let listed = property["enum"].as_array().is_some_and(|values| values.iter().all(Value::is_string));
    typed || listed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_the_arguments_that_the_schema_wants() {
        let schema = json!({ "properties": { "name": { "type": "string" }, "size": { "enum": [1, 2] },
            "kind": { "enum": ["1"] }, "list": { "type": "array" }, "either": { "type": ["string", "integer"] } } });
        let words = ["name=5", "size=2", "kind=1", "list=[1,2]", "either=7", "other=a b"].map(str::to_owned);
        let read = arguments(&words, &schema).unwrap();
        let wanted =
            json!({ "name": "5", "size": 2, "kind": "1", "list": [1, 2], "either": "7", "other": "a b" });
        assert_eq!((Value::Object(read.object), read.malformed), (wanted, None));
        assert!(arguments(&["a=1".into(), "a=2".into()], &schema).unwrap().malformed.is_some());
        assert!(arguments(&["loose".into()], &schema).is_err());
        assert_eq!(arguments(&[r#"{"a": 1}"#.into()], &schema).unwrap().object["a"], 1);
    }
}
