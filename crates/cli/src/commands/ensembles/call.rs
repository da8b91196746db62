//! `converse ensembles call`: one tool without a model, through the same judging and the same pipeline.

use std::sync::Arc;
use std::time::Instant;

use converse_canister::{
    Arguments, Canister, Decision, Invocation, InvocationId, InvocationResult, Outcome, TurnId,
};
use converse_engine::{Approver as _, Event, Sink as _};
use converse_ensemble::{Approved, Halt, Host, Pending, Roster, Verdict};
use serde_json::Value;

use crate::adapters::approver::TerminalApprover;
use crate::adapters::audit::AuditSink;
use crate::adapters::contents::Kept;
use crate::adapters::signals::Interrupt;
use crate::args::{Places, Rules};
use crate::catalogue::Catalogue;
use crate::failure::{Failure, Kind};
use crate::manners::Manners;
use crate::model;
use crate::render::output::{write_json, write_stdout};
use crate::render::result_text;
use crate::render::safe::safe;
use crate::settings::{Files, rules};
use crate::wiring::Wiring;
use crate::world::World;

/// What was asked for.
pub(super) struct Call<'a> {
    pub(super) tool: &'a str,
    pub(super) arguments: &'a [String],
    pub(super) places: &'a Places,
    pub(super) rules: &'a Rules,
    pub(super) as_json: bool,
    pub(super) interrupt: &'a Interrupt,
}

impl Call<'_> {
    pub(super) async fn run(&self, manners: &Manners, world: &World) -> Result<(), Failure> {
        let (ensemble, _) = self.tool.split_once('.').ok_or_else(|| {
            Failure::usage("bad-tool", format!("`{}` is no tool: write ensemble.invoker", self.tool))
        })?;
        let catalogue = Catalogue::find(world, &self.places.ensembles);
        let plan = catalogue.named(ensemble)?;
        manners.warn_all(catalogue.notes());
        let (files, warnings) = Files::read(world).checked()?;
        manners.warn_all(warnings);
        manners.redactor.learn(model::keys(&files, world)?);
        let rules = rules(self.rules, &files)?;
        let contents = Kept::new(None);
        let interrupt = self.interrupt;
        let protected = catalogue.protected();
        let wiring = Wiring { world, manners, interrupt, deadline: None, contents: &contents, protected };
        let connected = wiring.connect(&[plan], rules).await?;
        if let Some(error) = connected.errors().into_iter().next() {
            connected.disconnect(manners).await;
            return Err(Failure::new(Kind::Ensemble, "ensemble", error));
        }
        let audit = AuditSink::new(files.audit.unwrap_or(true), None, manners, world);
        let result = self.invoke(&connected.roster, manners, &audit).await;
        connected.disconnect(manners).await;
        if self.interrupt.number().is_some() {
            return Err(self.interrupt.failure());
        }
        self.told(&result?, world.stdout_tty)
    }

    async fn invoke(
        &self,
        roster: &Roster,
        manners: &Manners,
        audit: &AuditSink<'_>,
    ) -> Result<InvocationResult, Failure> {
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
        audit.emit(&Event::Appended(&Canister::Invocation(invocation.clone())))?;
        let judged = self.judged(roster, &invocation, manners, audit).await?;
        let halt = Halt::below(&self.interrupt.token);
        let leave = match &judged {
            Ok(approved) => roster.turn(approved, &halt).await.map(|turn| (approved, turn)),
            Err(answer) => Err(answer.clone()),
        };
        let (approved, turn) = match leave {
            Ok(leave) => leave,
            Err(answer) => {
                audit.emit(&Event::Appended(&Canister::Result(answer.clone())))?;
                return Ok(answer);
            }
        };
        let invocation = Invocation { arguments: approved.arguments().clone(), ..invocation };
        audit.emit(&Event::Started(std::slice::from_ref(&invocation)))?;
        let began = Instant::now();
        let result = roster.invoke(approved, turn, Host::default(), &halt.now).await;
        let elapsed = began.elapsed();
        audit.emit(&Event::Finished { invocation: &invocation, result: &result, elapsed })?;
        Ok(result)
    }

    /// The leave to run it, or its answer without.
    async fn judged(
        &self,
        roster: &Roster,
        invocation: &Invocation,
        manners: &Manners,
        audit: &AuditSink<'_>,
    ) -> Result<Result<Approved, InvocationResult>, Failure> {
        let id = &invocation.id;
        let decided = |decision: &Decision| audit.emit(&Event::Decided { id, decision });
        match roster.judge(invocation) {
            Verdict::Answered(denied) => {
                if let Some(rule) = denied.rule {
                    decided(&Decision::Deny { rule, comment: None })?;
                }
                Ok(Err(denied.result))
            }
            Verdict::Allowed(approved) => {
                decided(&Decision::Allow { rule: approved.rule.clone() })?;
                Ok(Ok(approved))
            }
            Verdict::Ask(pending) => {
                let (decision, why) = self.asked(&pending, manners).await;
                decided(&decision)?;
                Ok(if decision.allows() {
                    Ok(pending.approve())
                } else {
                    Err(InvocationResult::new(id.clone(), Outcome::Refused, why))
                })
            }
        }
    }

    /// Asks, if somebody can be asked. What is decided, and why it is refused if it is.
    async fn asked(&self, pending: &Pending, manners: &Manners) -> (Decision, String) {
        let approver = TerminalApprover::new(manners.can_ask, Arc::clone(&manners.progress));
        if !approver.can_ask() {
            let rule = pending.rule();
            let tool = pending.tool();
            let why = format!(
                "it needs an approval and nobody can be asked here ({rule}); `--allow '{tool}'` gives it"
            );
            return (deny(rule, Some("nobody could be asked")), why);
        }
        let decisions = tokio::select! {
            decisions = approver.decide(std::slice::from_ref(pending)) => decisions,
            () = self.interrupt.token.cancelled() => Vec::new(),
        };
        let decision = decisions.into_iter().next();
        (decision.unwrap_or_else(|| deny("nobody answered", None)), "it was not approved".to_owned())
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
            write_json(&serde_json::to_value(result).unwrap_or_default())?;
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

fn deny(rule: &str, comment: Option<&str>) -> Decision {
    Decision::Deny { rule: rule.to_owned(), comment: comment.map(str::to_owned) }
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
        is_declared(key, schema)?;
        let readable = !is_textual(&schema["properties"][key]) && serde_json::from_str::<Value>(text).is_ok();
        let value = if readable { text.to_owned() } else { Value::from(text).to_string() };
        members.push(format!("{}: {value}", Value::from(key)));
    }
    Ok(Arguments::parse(&format!("{{{}}}", members.join(", "))))
}

/// A word that no property is called like is a slip of the pen, unless the schema says that others are welcome.
fn is_declared(key: &str, schema: &Value) -> Result<(), Failure> {
    let Some(properties) = schema["properties"].as_object() else { return Ok(()) };
    let open = schema["additionalProperties"].as_bool().unwrap_or(schema["additionalProperties"].is_object());
    if open || schema["patternProperties"].is_object() || properties.contains_key(key) {
        return Ok(());
    }
    let names = properties.keys().map(String::as_str);
    let message = format!("the tool has no argument `{key}`");
    let known: Vec<&str> = properties.keys().map(String::as_str).take(20).collect();
    let otherwise = match known.is_empty() {
        true => "it takes none".to_owned(),
        false => format!("its arguments are: {}", known.join(", ")),
    };
    Err(Failure::usage("unknown-argument", message).did_you_mean(key, names, &otherwise))
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
    use serde_json::json;

    use super::*;

    #[test]
    fn words_become_the_arguments_that_the_schema_wants() {
        let schema = json!({ "properties": { "name": { "type": "string" }, "size": { "enum": [1, 2] },
            "kind": { "enum": ["1"] }, "other": {}, "list": { "type": "array" }, "either": { "type": ["string", "integer"] } } });
        let words = ["name=5", "size=2", "kind=1", "list=[1,2]", "either=7", "other=a b"].map(str::to_owned);
        let read = arguments(&words, &schema).unwrap();
        let wanted =
            json!({ "name": "5", "size": 2, "kind": "1", "list": [1, 2], "either": "7", "other": "a b" });
        assert_eq!((Value::Object(read.object), read.malformed), (wanted, None));
        assert!(arguments(&["name=1".into(), "name=2".into()], &schema).unwrap().malformed.is_some());
        let slip = arguments(&["nmae=x".into()], &schema).unwrap_err();
        assert!(slip.lines().contains("did you mean `name`"), "{}", slip.lines());
        let open = json!({ "properties": { "a": {} }, "additionalProperties": true });
        assert!(arguments(&["b=x".into()], &open).is_ok());
        assert!(arguments(&["loose".into()], &schema).is_err());
        assert_eq!(arguments(&[r#"{"a": 1}"#.into()], &schema).unwrap().object["a"], 1);
    }
}
