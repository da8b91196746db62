//! Explains which rule decides about a call. Nothing is started or contacted, so of the tool of a server only its
//! descriptor is known.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use converse_canister::{Digest, InvokerName, Origin, SeenData};
use converse_config::{
    ArgumentsSchema, Binding, ConnectionPlan, Effects, EnsemblePlan, Explanation, InvokerKind, Permission,
    Rule, RuleEffect, SchemaFault, Subject, explain, explain_flow,
};
use converse_ensemble::{Mode, ModeSwitch, declared_definition, opens_files, own_permission, reached};
use serde_json::{Map, Value, json};

use crate::catalogue::Catalogue;
use crate::failure::Failure;
use crate::instructions::instructions;
use crate::skills;
use crate::typed_arguments;
use crate::world::World;

/// What a tool that reaches others depends on besides the rules for calls.
const FLOW: &str = "the tool asks, whatever allows it, in a conversation with private data and foreign text: `--session` \
                    names one";

/// A call, and what would become of it.
#[derive(Debug)]
pub struct ExplainedCall<'a> {
    pub tool: &'a str,
    pub effects: Effects,
    pub trusted: bool,
    /// Whether a user could be asked.
    pub interactive: bool,
    pub mode: Mode,
    /// The permission of the tool itself, and where it comes from.
    pub own: (Permission, String),
    /// With the defaults of the schema.
    pub arguments: Map<String, Value>,
    /// Whether the schema is known and was checked.
    pub checked: bool,
    /// Why the arguments are invalid. Such a call is answered before any rule applies.
    pub faults: Vec<String>,
    pub rules: &'a [Rule],
    pub explanation: Explanation,
    /// Where foreign data in the conversation came from; `None` without a conversation.
    pub foreign: Option<Vec<String>>,
    /// What is private in the conversation; `None` without a conversation.
    pub private: Option<Vec<String>>,
    /// What else decides whether the tool runs, or is unknown.
    pub notes: Vec<String>,
    pub fate: Fate,
}

/// What becomes of a call in the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// The tool is left out with its ensemble, or by its descriptor.
    Unavailable,
    /// The lockfile holds the tool back.
    Held,
    Invalid,
    Runs,
    Asked,
    Refused,
}

impl Fate {
    /// The word for it in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unavailable => "unavailable",
            Self::Held => "held",
            Self::Invalid => "invalid",
            Self::Runs => "runs",
            Self::Asked => "asked",
            Self::Refused => "refused",
        }
    }
}

impl<'a> ExplainedCall<'a> {
    /// Explains a call of `tool` (`ensemble.invoker`) with arguments as people type them, in a conversation that has `seen`
    /// this data.
    pub fn new(
        (tool, words): (&'a str, &[String]),
        (interactive, mode): (bool, Mode),
        rules: &'a [Rule],
        seen: Option<&SeenData>,
        catalogue: &Catalogue,
        world: &World,
    ) -> Result<Self, Failure> {
        let declared = DeclaredTool::of(tool, catalogue, world)?;
        let typed = typed_arguments::parse(words, declared.schema.as_deref().unwrap_or(&Value::Null))?;
        let (arguments, faults) = match &typed.malformed {
            Some(malformed) => (typed.object, vec![malformed.to_string()]),
            None => checked(declared.schema.as_deref(), typed.object),
        };
        let home = world.home();
        let subject = Subject {
            tool,
            effects: declared.effects,
            arguments: &arguments,
            interactive,
            definition: declared.definition,
            connection: Some(declared.reached),
            local: declared.local,
            own: declared.own.0,
            own_source: &declared.own.1,
            trusted: declared.trusted,
            workspace: world.cwd.to_str(),
            home: home.as_deref().and_then(Path::to_str),
        };
        let mut explanation = explain(rules, subject);
        if let Some(seen) = seen {
            let call = (tool, declared.effects, declared.remote);
            explanation = explain_flow(rules, call, seen, explanation);
        }
        let modes = ModeSwitch::default();
        modes.set(mode);
        modes.accept_in(catalogue.edited_project(world));
        let edited = declared.edited(&arguments, world);
        let explanation = by_mode(&modes, declared.effects, edited.as_deref(), explanation);
        let fate = match (declared.absent, explanation.judgement.permission) {
            (Some(fate), _) => fate,
            _ if !faults.is_empty() => Fate::Invalid,
            (None, Permission::Allow) => Fate::Runs,
            (None, Permission::Ask) if interactive => Fate::Asked,
            (None, Permission::Ask | Permission::Deny) => Fate::Refused,
        };
        let DeclaredTool { effects, trusted, own, mut notes, schema, remote, .. } = declared;
        notes.extend(modes.without_effect().map(|why| format!("the mode accepts no edits here: {why}")));
        if seen.is_none() && (remote || effects == Effects::External) {
            notes.push(FLOW.to_owned());
        }
        let checked = schema.is_some();
        let call = Self {
            tool,
            effects,
            trusted,
            interactive,
            mode,
            own,
            arguments,
            checked,
            faults,
            rules,
            explanation,
            foreign: seen.map(|seen| seen.foreign().map(Origin::to_string).collect()),
            private: seen.map(|seen| seen.private().map(str::to_owned).collect()),
            notes,
            fate,
        };
        Ok(call)
    }
}

/// The explanation with the decision of the mode, if it is another.
fn by_mode(
    modes: &ModeSwitch,
    effects: Effects,
    edited: Option<&Path>,
    explained: Explanation,
) -> Explanation {
    let judgement = modes.judge(effects, edited, explained.judgement.clone());
    if judgement == explained.judgement {
        return explained;
    }
    let mut rules = explained.rules;
    for rule in &mut rules {
        if matches!(rule.effect, RuleEffect::Decides | RuleEffect::Agrees) {
            rule.effect = RuleEffect::Overruled;
        }
    }
    Explanation { judgement, rules }
}

/// The arguments with defaults, and why they are invalid.
fn checked(schema: Option<&Value>, arguments: Map<String, Value>) -> (Map<String, Value>, Vec<String>) {
    let Some(schema) = schema else { return (arguments, Vec::new()) };
    let compiled = match ArgumentsSchema::compile(schema) {
        Ok(compiled) => compiled,
        Err(error) => return (arguments, vec![format!("the schema of the tool cannot be used: {error}")]),
    };
    match compiled.check(&arguments) {
        Ok(filled) => (filled, Vec::new()),
        Err(faults) => {
            let line = |fault: &SchemaFault| match fault.pointer.as_str() {
                "" => fault.message.clone(),
                pointer => format!("{pointer}: {}", fault.message),
            };
            (arguments, faults.iter().map(line).collect())
        }
    }
}

/// What is known of a tool from its descriptor alone.
struct DeclaredTool {
    effects: Effects,
    /// `None`: known only once its server is connected.
    schema: Option<Arc<Value>>,
    definition: Option<Digest>,
    local: bool,
    /// Whether its server is reached over a network.
    remote: bool,
    own: (Permission, String),
    trusted: bool,
    /// Whether it is a built-in tool that writes files, and its descriptor does not say when to ask.
    edits: bool,
    /// Digest of how the ensemble is reached.
    reached: Digest,
    /// Why no rule applies: [`Fate::Unavailable`] or [`Fate::Held`].
    absent: Option<Fate>,
    notes: Vec<String>,
}

impl DeclaredTool {
    fn of(tool: &str, catalogue: &Catalogue, world: &World) -> Result<Self, Failure> {
        let (ensemble, invoker) = tool.split_once('.').ok_or_else(|| {
            Failure::usage("bad-tool", format!("`{tool}` is not a tool name: write ensemble.invoker"))
        })?;
        // An ensemble that is not trusted can be explained too.
        let found = catalogue.plans.iter().find(|plan| plan.name.as_str() == ensemble);
        let of_skills = match found {
            None if ensemble == skills::ENSEMBLE => skills::plan(&instructions(catalogue, world)),
            _ => None,
        };
        let plan = match found.or(of_skills.as_ref()) {
            Some(plan) => plan,
            None => catalogue.named(ensemble)?,
        };
        let mut declared = match &plan.connection {
            Some(_) => Self::discovered(plan, invoker),
            None => Self::declared(plan, invoker)?,
        };
        let name = InvokerName::new(invoker).ok();
        let pins = catalogue.lockfiles().pins(plan);
        if let Some(held) = name.and_then(|name| pins.hold_reason(&name, || declared.definition)) {
            declared.is_absent(Fate::Held, format!("held back by the lockfile: {}", held.reason()));
        }
        if plan.connection.is_some() && !plan.filter.accepts(invoker) {
            let why = format!("excluded by `[tools]` of {}", plan.origin);
            declared.is_absent(Fate::Unavailable, why);
        }
        if plan.reaches_out() && !plan.trusted {
            let why = "the project is not trusted, so the ensemble of the tool is left out";
            declared.is_absent(Fate::Unavailable, why.to_owned());
        }
        if !plan.enabled {
            declared.notes.push("the ensemble is not enabled: it is used only if you name it".to_owned());
        }
        Ok(declared)
    }

    /// The file that the call would write, by the text of its path.
    fn edited(&self, arguments: &Map<String, Value>, world: &World) -> Option<PathBuf> {
        let path = arguments.get("path").filter(|_| self.edits)?.as_str()?;
        let is_plain = Path::new(path).components().all(|part| part != Component::ParentDir);
        is_plain.then(|| world.cwd.join(path))
    }

    fn is_absent(&mut self, absent: Fate, why: String) {
        self.absent = Some(absent);
        self.notes.push(why);
    }

    fn declared(plan: &EnsemblePlan, invoker: &str) -> Result<Self, Failure> {
        let found = plan.invokers.iter().find(|one| one.name.as_str() == invoker);
        let found = found.ok_or_else(|| {
            let names = plan.invokers.iter().map(|one| one.name.as_str());
            let message = format!("the ensemble `{}` has no tool `{invoker}`", plan.name);
            let otherwise = format!("`converse ensembles show {}` lists its tools", plan.name);
            Failure::usage("unknown-tool", message).did_you_mean(invoker, names, &otherwise)
        })?;
        let builtin = matches!(found.kind, InvokerKind::Builtin(_));
        let note = matches!(&found.kind, InvokerKind::Builtin(name) if opens_files(name)).then(|| {
            "only the text of `path` is judged here: when the tool is called, so is the file that it leads to, which may \
             ask or be refused"
                .to_owned()
        });
        let nothing = || Arc::new(json!({ "type": "object", "properties": {} }));
        Ok(Self {
            effects: found.policy.effects,
            schema: Some(found.arguments.clone().unwrap_or_else(nothing)),
            definition: Some(declared_definition(found).digest()),
            remote: false,
            local: Binding::is_local(plan.origin.scope),
            own: own_permission(&found.policy, builtin, plan.trusted, &plan.origin.to_string()),
            trusted: plan.trusted,
            edits: note.is_some()
                && plan.trusted
                && found.policy.effects == Effects::Write
                && found.policy.permission.is_none(),
            reached: reached(plan),
            absent: None,
            notes: note.into_iter().collect(),
        })
    }

    fn discovered(plan: &EnsemblePlan, invoker: &str) -> Self {
        let named = plan.tools.iter().find(|(name, _)| name.as_str() == invoker);
        let policy = named.map_or(&plan.defaults, |(_, policy)| policy);
        let note = "the server is not connected here, so the tool may not exist, its effects are those of the descriptor, \
                    and the arguments are not checked";
        Self {
            effects: policy.effects,
            schema: None,
            definition: None,
            remote: plan.connection.as_ref().is_some_and(ConnectionPlan::is_remote),
            local: Binding::is_local(plan.origin.scope),
            own: own_permission(policy, false, plan.trusted, &plan.origin.to_string()),
            trusted: plan.trusted,
            edits: false,
            reached: reached(plan),
            absent: None,
            notes: vec![note.to_owned()],
        }
    }
}
