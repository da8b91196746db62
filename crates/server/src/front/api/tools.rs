//! Models and tools over `/api`, and calls of tools by hand.

use std::sync::Arc;

use converse_canister::{Arguments, Digest, Invocation, InvocationId, TurnId};
use converse_config::{EnsemblePlan, Origin, Scope};
use converse_ensemble::{Rules, Tool, Verdict};
use converse_gateway::Principal;
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::sync::oneshot;

use super::Caller;
use super::approver::about;
use super::descriptors::{Descriptors, transport};
use super::failure::ApiFailure;
use super::message::parts;
use crate::front::agents::rules_of;
use crate::front::by_hand::CallJob;
use crate::front::question::question_digest;
use crate::front::{Front, beside_turns, json_reply};
use crate::http_server::Reply;

impl Front {
    /// `GET /api/models`.
    pub(super) fn list_models(&self) -> Reply {
        let default = self.agents.default_id();
        let items = self.agents.list().into_iter().map(|entry| {
            let kind = if entry.owned_by == "preset" { "preset" } else { "model" };
            json!({
                "id": entry.id,
                "provider": entry.owned_by,
                "kind": kind,
                "default": default.as_deref() == Some(entry.id.as_str()),
                "description": entry.description,
            })
        });
        json_reply(StatusCode::OK, &json!({ "items": items.collect::<Vec<_>>() }))
    }

    /// `GET /api/ensembles`. Findings, files and differences from the lockfile are for the user who runs the server.
    pub(super) async fn list_ensembles(&self, caller: &Caller) -> Result<Reply, ApiFailure> {
        let roster = self.agents.roster();
        let descriptors = self.descriptors().await?;
        let rules = roster.rules().with_list(rules_of(&caller.world, roster.rules()));
        let ensembles = roster.ensembles();
        let mut items: Vec<Value> = ensembles
            .iter()
            .map(|ensemble| {
                let mut item = self.of_ensemble(caller, ensemble, &rules);
                if let Some(plan) = descriptors.plan(ensemble.name.as_str()) {
                    item["lock"] = json!(descriptors.lock(plan, &roster));
                    self.describe_plan(caller, plan, &descriptors, &mut item);
                }
                item
            })
            .collect();
        if caller.principal == Principal::Owner {
            let is_other = |plan: &&EnsemblePlan| ensembles.iter().all(|one| one.name != plan.name);
            items.extend(descriptors.all().filter(is_other).map(|plan| {
                let mut item = json!({
                    "name": plan.name.as_str(),
                    "origin": origin(caller, &plan.origin),
                    "enabled": plan.enabled && !plan.trusted,
                    "connected": false,
                    "trusted": plan.trusted,
                    "lock": "off",
                    "tools": [],
                });
                self.describe_plan(caller, plan, &descriptors, &mut item);
                item
            }));
        }
        Ok(json_reply(StatusCode::OK, &json!({ "items": items })))
    }

    async fn descriptors(&self) -> Result<Descriptors, ApiFailure> {
        let (world, directories) = (Arc::clone(&self.world), self.directories.clone());
        beside_turns(move || Descriptors::read(&world, &directories)).await.ok_or_else(ApiFailure::crashed)
    }

    fn describe_plan(
        &self,
        caller: &Caller,
        plan: &EnsemblePlan,
        descriptors: &Descriptors,
        item: &mut Value,
    ) {
        item["description"] = json!(plan.description);
        item["transport"] = json!(transport(plan));
        if caller.principal == Principal::Owner {
            item["findings"] = descriptors.findings(plan, &self.redactor).into();
        } else {
            item["findings"] = json!([]);
            item["drift"] = json!(false);
        }
    }

    fn of_ensemble(&self, caller: &Caller, ensemble: &converse_ensemble::Ensemble, rules: &Rules) -> Value {
        let roster = self.agents.roster();
        let tools = roster.tools_of(ensemble.name.as_str());
        let held = tools.iter().flatten().any(|tool| tool.held.is_some());
        let name = ensemble.name.as_str();
        let failure = self.failures.iter().find(|failure| failure.ensemble == name);
        let down = self.upstreams.failure_of(name);
        let failure = failure.map(|failure| failure.reason.as_str()).or(down.as_deref());
        json!({
            "name": name,
            "origin": origin(caller, &ensemble.origin),
            "transport": "builtin",
            "enabled": true,
            "connected": tools.is_some() && down.is_none(),
            "trusted": ensemble.trusted,
            "error": failure.map(|reason| self.redactor.clean(reason)),
            "lock": if held { "drifted" } else { "off" },
            "calls": true,
            "drift": true,
            "findings": [],
            "tools": tools.iter().flatten().map(|tool| of_tool(rules, tool)).collect::<Vec<_>>(),
        })
    }

    /// `GET /api/ensembles/{name}/drift`.
    pub(super) async fn drift(&self, caller: &Caller, name: &str) -> Result<Reply, ApiFailure> {
        if caller.principal != Principal::Owner {
            return Err(ApiFailure::not_found());
        }
        let descriptors = self.descriptors().await?;
        let plan = descriptors.plan(name).ok_or_else(ApiFailure::not_found)?;
        let lines = descriptors.drift(plan, &self.agents.roster(), &self.redactor);
        Ok(json_reply(StatusCode::OK, &json!({ "lines": lines })))
    }

    /// `POST /api/tools/{ensemble}/{tool}`: a person calls a tool.
    pub(super) async fn call_tool(
        &self,
        caller: &Caller,
        (ensemble, tool): (&str, &str),
        kind: Option<&str>,
        body: &[u8],
    ) -> Result<Reply, ApiFailure> {
        // A form of another page cannot send this type without asking first.
        if kind.is_none_or(|kind| kind.split(';').next().unwrap_or_default().trim() != "application/json") {
            let message = "the content type is not application/json";
            return Err(ApiFailure::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "content-type", message));
        }
        let ByHand { arguments, approve } =
            serde_json::from_slice(body).map_err(|error| ApiFailure::bad_request(error.to_string()))?;
        let approved = approved(&approve)?;
        let tools = self.agents.roster();
        let found = tools.tools_of(ensemble).into_iter().flatten().find(|one| one.invoker.as_str() == tool);
        let found = found.ok_or_else(ApiFailure::not_found)?;
        // A yes counts for this call alone.
        let roster = tools.with_rules(tools.rules().with_list(rules_of(&caller.world, tools.rules())));
        let (tool, arguments) = (found.declaration.name.to_string(), Arguments::from_object(arguments));
        let asked = Invocation {
            turn: TurnId(1),
            id: InvocationId::of(TurnId(1), 0),
            wire_id: None,
            tool: tool.clone(),
            arguments: arguments.clone(),
            seal: None,
        };
        let decision = match roster.judge(&asked) {
            Verdict::Answered(denied) => {
                let rule = denied.rule.map(|rule| self.redactor.clean(&rule));
                rule.map(|rule| json!({ "allowed": false, "rule": rule }))
            }
            Verdict::Allowed(approved) => {
                Some(json!({ "allowed": true, "rule": self.redactor.clean(&approved.rule) }))
            }
            Verdict::Ask(pending) if approved != Some(question_digest(&pending)) => {
                let mut about = about(&pending, &self.redactor);
                about["digest"] = json!(question_digest(&pending));
                about["decisions"] = json!(["once", "deny"]);
                about["patterns"] = json!([]);
                let changed = if approved.is_some() { "; the approval is of another question" } else { "" };
                let message = format!("`{}` needs an approval{changed}", pending.tool());
                return Err(ApiFailure::needs_approval(message, about));
            }
            Verdict::Ask(pending) => {
                let rule = self.redactor.clean(pending.rule());
                Some(json!({ "allowed": true, "rule": rule, "by": "user" }))
            }
        };
        let place = self.api_place()?;
        let (answer, answered) = oneshot::channel();
        self.turns.call(CallJob {
            roster,
            world: Arc::clone(&caller.world),
            audits: self.agents.audits(),
            tool,
            arguments,
            approved,
            answer,
            place,
        });
        let report = answered.await.map_err(|_| ApiFailure::stopping())??;
        let mut content = parts(&report.result.content, "by-hand");
        // Nothing keeps the bytes: there is no session.
        content.iter_mut().filter_map(Value::as_object_mut).for_each(|part| drop(part.remove("url")));
        let elapsed = report.elapsed.unwrap_or_default().as_millis();
        let body = json!({
            "outcome": report.result.outcome,
            "content": content,
            "elapsed_ms": u64::try_from(elapsed).unwrap_or(u64::MAX),
            "decision": decision,
        });
        Ok(json_reply(StatusCode::OK, &body))
    }
}

/// A call by hand.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ByHand {
    #[serde(default)]
    arguments: Map<String, Value>,
    /// The digest of the question that the person has seen.
    #[serde(default)]
    approve: Value,
}

/// Returns the question that is approved.
fn approved(approve: &Value) -> Result<Option<Digest>, ApiFailure> {
    let digest = match approve {
        Value::Null | Value::Bool(false) => return Ok(None),
        Value::String(text) => Digest::try_from(text.clone()).ok(),
        _ => None,
    };
    digest.map(Some).ok_or_else(|| {
        ApiFailure::bad_request("`approve` is not the digest of a question")
            .hint("send the call without `approve`, then repeat it with the `approval.digest` of the answer")
    })
}

/// Where an ensemble is declared. Files are for the user who runs the server.
fn origin(caller: &Caller, origin: &Origin) -> Value {
    match caller.principal {
        Principal::Owner => {
            json!({ "scope": scope(origin.scope), "file": origin.file, "line": origin.line })
        }
        Principal::Other(_) => json!({ "scope": scope(origin.scope) }),
    }
}

fn of_tool(rules: &Rules, tool: &Tool) -> Value {
    let judged = rules.judge(tool, &Map::new());
    json!({
        "name": tool.invoker.as_str(),
        "description": tool.declaration.description,
        "schema": tool.declaration.arguments,
        "effects": tool.policy.effects.as_str(),
        "permission": judged.permission.as_str(),
        "rule": judged.rule,
        "held": tool.hold_reason(tool.declaration.name.as_str()),
    })
}

fn scope(scope: Scope) -> &'static str {
    match scope {
        Scope::Shipped => "shipped",
        Scope::User => "user",
        Scope::Project => "project",
        Scope::Explicit => "own",
    }
}
