//! The tool that reads skills: `skills.read`, which is there if there are skills.

use std::sync::Arc;

use converse_canister::{Arguments, EnsembleName, InvokerName};
use converse_config::{Effects, EnsemblePlan, InvokerKind, InvokerPlan, Origin, Policy, Scope};
use converse_ensemble::{Answer, ConnectError, Connection, Context, Ensemble, Invocable, InvokeError, Tool};
use converse_process::spawn_blocking;
use converse_project::{Instructions, SKILL_FILE, Skill};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use crate::instructions::read_text;
use crate::redacting_connection::RedactingConnection;
use crate::secrets::Redactor;

/// The ensemble; rules name the tool `skills.read`.
pub(crate) const ENSEMBLE: &str = "skills";
const TOOL: &str = "read";
const DESCRIPTION: &str = "Reads a skill: instructions for a special task. Without `file`, returns the instructions and the \
                           names of the skill's other files.";

/// Returns the ensemble that reads these skills; none without skills.
pub fn skills(instructions: &Instructions, redactor: &Redactor) -> Option<Ensemble> {
    let plan = plan(instructions)?;
    let skills = instructions.skills_for_models().into_iter().cloned().collect();
    let inner = SkillConnection { skills, invokers: plan.invokers.iter().cloned().map(Arc::new).collect() };
    let connection = RedactingConnection { inner, redactor: redactor.clone() };
    Some(Ensemble::new(&plan, Box::new(connection)))
}

/// Returns the ensemble as a descriptor would declare it.
pub(crate) fn plan(instructions: &Instructions) -> Option<EnsemblePlan> {
    let skills = instructions.skills_for_models();
    let name = EnsembleName::try_from(ENSEMBLE.to_owned()).ok().filter(|_| !skills.is_empty())?;
    let origin = Origin { scope: Scope::Shipped, file: format!("builtin:{ENSEMBLE}"), line: 1 };
    let names: Vec<&str> = skills.into_iter().map(Skill::name).collect();
    let invoker = InvokerPlan {
        name: InvokerName::try_from(TOOL.to_owned()).ok()?,
        description: DESCRIPTION.to_owned(),
        arguments: Some(Arc::new(schema(&names))),
        kind: InvokerKind::Builtin("read_skill".to_owned()),
        policy: Policy { effects: Effects::Read, ..Policy::default() },
        tests: Vec::new(),
        origin: origin.clone(),
    };
    Some(EnsemblePlan { invokers: vec![invoker], ..EnsemblePlan::new(name, origin) })
}

fn schema(names: &[&str]) -> Value {
    json!({
        "type": "object",
        "required": ["skill"],
        "additionalProperties": false,
        "properties": {
            "skill": { "type": "string", "enum": names },
            "file": { "type": "string", "description": "A file of the skill, relative to its directory" },
        },
    })
}

struct SkillConnection {
    skills: Arc<[Skill]>,
    /// The one tool.
    invokers: Vec<Arc<InvokerPlan>>,
}

impl Connection for SkillConnection {
    fn connect<'a>(&'a self, ensemble: &'a Ensemble) -> BoxFuture<'a, Result<Vec<Tool>, ConnectError>> {
        let tool = |plan: &Arc<InvokerPlan>| {
            let InvokerPlan { name, description, arguments, policy, .. } = plan.as_ref();
            let reader = Arc::new(SkillReader(Arc::clone(&self.skills)));
            let arguments = arguments.clone().unwrap_or_default();
            let tool = ensemble.tool(name, description.clone(), arguments, policy.clone(), true, reader);
            tool.declared_by(Arc::clone(plan))
        };
        std::future::ready(Ok(self.invokers.iter().map(tool).collect())).boxed()
    }
}

struct SkillReader(Arc<[Skill]>);

impl Invocable for SkillReader {
    fn invoke<'a>(
        &'a self,
        _: Context,
        arguments: &'a Arguments,
    ) -> BoxFuture<'a, Result<Answer, InvokeError>> {
        let text = |key| arguments.object.get(key).and_then(Value::as_str);
        let (name, file) = (text("skill").unwrap_or_default(), text("file").unwrap_or(SKILL_FILE).to_owned());
        let skill = self.0.iter().find(|skill| skill.name() == name).cloned();
        async move {
            let Some(skill) = skill else {
                return Err(InvokeError::Invalid("there is no such skill".to_owned()));
            };
            let read = spawn_blocking(move || skill.text(&file, &read_text));
            let failed = || InvokeError::Failed("the file could not be read".to_owned());
            let read = read.ok_or_else(failed)?.await.map_err(|_| failed())?;
            Ok(read.map_or_else(Answer::error, Answer::text))
        }
        .boxed()
    }
}
