//! `converse ensembles show`: one ensemble, its tools, their arguments and permissions.

mod offers;

use converse_canister::Digest;
use converse_config::{
    Binding, EnsemblePlan, InvokerKind, InvokerPlan, Permission, Policy, Rule, Subject, describe_argument,
    judge,
};
use converse_ensemble::{HoldReason, Tool, own_permission, tool_name};
use converse_mcp::Survey;
use serde_json::{Map, Value, json};

use super::ensemble_row;
use crate::args::{Places, Rules};
use converse_host::catalogue::Catalogue;
use converse_host::contents::Kept;
use converse_host::failure::{Failure, Kind};
use converse_host::lockfiles::Lockfiles;
use converse_host::settings::{Files, rules};
use converse_host::wiring::Wiring;
use converse_host::world::World;
use converse_terminal::console::Console;
use converse_terminal::render::output::{write_json, write_stdout};
use converse_terminal::signals;
use converse_text::safe_line;

use offers::ServerOffers;

pub(super) struct Show<'a> {
    pub(super) name: &'a str,
    pub(super) connect: bool,
    pub(super) places: &'a Places,
    pub(super) rules: &'a Rules,
    pub(super) as_json: bool,
    pub(super) console: &'a Console,
    pub(super) world: &'a World,
}

/// The tools, and what else a connected server has.
#[derive(Default)]
struct Contents {
    tools: Vec<Value>,
    survey: Option<Survey>,
    offers: Option<ServerOffers>,
}

impl Show<'_> {
    pub(super) fn run(&self) -> Result<(), Failure> {
        let catalogue = Catalogue::find(self.world, &self.places.ensembles);
        let plan = if self.connect { catalogue.named(self.name)? } else { catalogue.displayed(self.name)? };
        self.console.warn_all(catalogue.notes());
        let (files, warnings) = Files::read(self.world).checked()?;
        self.console.warn_all(warnings);
        let rules = rules(&self.rules.options(), &files)?;
        let contents = match &plan.connection {
            Some(_) if self.connect => self.connected(plan, &rules, &catalogue.lockfiles())?,
            _ => Contents {
                tools: plan.invokers.iter().map(|one| declared(plan, one, &rules)).collect(),
                ..Contents::default()
            },
        };
        let outward = self.world.outward().discreet();
        if self.as_json {
            let mut row = ensemble_row(plan);
            row["connection"] = json!(plan.connection.as_ref().map(|way| outward.connection_json(way)));
            row["server"] = contents.survey.as_ref().map_or(Value::Null, survey_json);
            row["tools"] = Value::Array(contents.tools);
            for (key, value) in contents.offers.iter().flat_map(ServerOffers::json) {
                row[key] = value;
            }
            return Ok(write_json(&row)?);
        }
        let mut text = format!("{}: {}\n", plan.name, safe_line(&plan.description, 200));
        text.push_str(&format!("  from {}:{}\n", safe_line(&plan.origin.file, 200), plan.origin.line));
        for line in plan.connection.iter().flat_map(|connection| outward.connection_lines(connection)) {
            text.push_str(&format!("{}\n", line.text()));
        }
        match &contents.survey {
            Some(survey) => text.push_str(&format!("  {}\n", survey.line())),
            None if plan.connection.is_some() => text.push_str(&self.undiscovered(plan)),
            None => {}
        }
        contents.tools.iter().for_each(|row| text.push_str(&tool_text(row)));
        text.extend(contents.offers.map(|offers| offers.text(self.name)));
        Ok(write_stdout(&text)?)
    }

    fn undiscovered(&self, plan: &EnsemblePlan) -> String {
        let mut text = format!(
            "\nits tools are known once it is connected: `converse ensembles show {} --connect`\n",
            plan.name
        );
        for (name, policy) in &plan.tools {
            let (own, _) = own_permission(policy, false, plan.trusted, &plan.origin.to_string());
            text.push_str(&format!("  {}  [{}]\n", safe_line(name.as_str(), 128), own.as_str()));
        }
        text
    }

    /// Connects the server, reads what it has and disconnects it.
    fn connected(
        &self,
        plan: &EnsemblePlan,
        rules: &[Rule],
        lockfiles: &Lockfiles,
    ) -> Result<Contents, Failure> {
        let interrupt = signals::watch()?;
        let contents = Kept::new(None);
        let (world, console) = (self.world, self.console);
        let wiring = Wiring { lockfiles, ..Wiring::looking(world, &console.context, &interrupt, &contents) };
        converse_host::runtime::block_on(async {
            let eager = EnsemblePlan { lazy: false, ..plan.clone() };
            let connected = wiring.connect(&[&eager], Vec::new()).await?;
            let offer = connected.roster.offer();
            let tools = offer.tools().chain(offer.held_back()).map(|tool| discovered(tool, rules)).collect();
            let survey = connected.surveys().into_iter().next().map(|(_, survey)| survey);
            let failure = connected.failures.first().map(ToString::to_string);
            let offers = match connected.server(self.name).filter(|_| failure.is_none()) {
                Some(server) => Some(wiring.unless_stopped(ServerOffers::of(server)).await),
                None => None,
            };
            connected.disconnect(&console.context).await;
            match failure {
                Some(failure) => Err(Failure::new(Kind::Ensemble, "ensemble", failure)),
                None => Ok(Contents { tools, survey, offers: offers.transpose()? }),
            }
        })?
    }
}

fn survey_json(survey: &Survey) -> Value {
    json!({
        "name": survey.server,
        "version": survey.version,
        "era": survey.era.label(),
        "protocol": survey.protocol,
        "offered": survey.offered,
        "kept": survey.kept,
        "skipped": survey.skipped,
        "took_s": survey.took.as_secs_f64(),
    })
}

fn declared(plan: &EnsemblePlan, invoker: &InvokerPlan, rules: &[Rule]) -> Value {
    let builtin = matches!(invoker.kind, InvokerKind::Builtin(_));
    let prefix = plan.prefix.clone().unwrap_or_else(|| plan.name.to_string());
    let shown_as = tool_name(&prefix, &invoker.name);
    let shown = Shown {
        tool: &format!("{}.{}", plan.name, invoker.name),
        shown_as: shown_as.as_str(),
        description: &invoker.description,
        policy: &invoker.policy,
        arguments: invoker.arguments.as_deref(),
        own: &own_permission(&invoker.policy, builtin, plan.trusted, &plan.origin.to_string()),
        trusted: plan.trusted,
        local: Binding::is_local(plan.origin.scope),
        definition: None,
        connection: None,
    };
    shown.row(rules)
}

fn discovered(tool: &Tool, rules: &[Rule]) -> Value {
    let shown = Shown {
        tool: &tool.qualified,
        shown_as: tool.declaration.name.as_str(),
        description: &tool.declaration.description,
        policy: &tool.policy,
        arguments: Some(&tool.declaration.arguments),
        own: &tool.own,
        trusted: tool.trusted,
        local: tool.local,
        definition: Some(tool.digest()),
        connection: Some(tool.reached),
    };
    let mut row = shown.row(rules);
    row["held_back"] = json!(tool.held.map(HoldReason::reason));
    row
}

/// A tool of a descriptor or of a server.
struct Shown<'a> {
    /// `ensemble.invoker`.
    tool: &'a str,
    shown_as: &'a str,
    description: &'a str,
    policy: &'a Policy,
    arguments: Option<&'a Value>,
    own: &'a (Permission, String),
    trusted: bool,
    local: bool,
    definition: Option<Digest>,
    connection: Option<Digest>,
}

impl Shown<'_> {
    fn row(&self, rules: &[Rule]) -> Value {
        let subject = Subject {
            tool: self.tool,
            effects: self.policy.effects,
            arguments: &Map::new(),
            interactive: true,
            definition: self.definition,
            connection: self.connection,
            local: self.local,
            own: self.own.0,
            own_source: &self.own.1,
            trusted: self.trusted,
            workspace: None,
            home: None,
        };
        let judgement = judge(rules, subject);
        json!({
            "invoker": self.tool.split_once('.').map_or("", |(_, invoker)| invoker),
            "shown_as": self.shown_as,
            "description": self.description,
            "permission": judgement.permission.as_str(),
            "because": judgement.rule,
            "timeout_s": self.policy.timeout.as_secs_f64(),
            "arguments": self.arguments,
        })
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
    if let Some(why) = row["held_back"].as_str() {
        text.push_str(&format!("  HELD BACK: {why}\n"));
    }
    let required: Vec<&str> =
        row["arguments"]["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    for (name, schema) in row["arguments"]["properties"].as_object().into_iter().flatten() {
        let need = if required.contains(&name.as_str()) { "required" } else { "optional" };
        let about = safe_line(schema["description"].as_str().unwrap_or_default(), 200);
        let takes = safe_line(&describe_argument(schema), 200);
        text.push_str(&format!("    {} ({takes}, {need})  {about}\n", safe_line(name, 64)));
    }
    text
}
