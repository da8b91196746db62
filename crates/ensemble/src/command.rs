//! A program as a tool.
//!
//! [`argv`] makes the command line and [`outcome`] the answer, both pure; [`run`] runs the program. Every invocation has a
//! process group of its own, which is gone when the invocation is answered: processes that it left running are ended
//! too. With `sandbox` the program is confined: [`sandboxed`].

mod argv;
mod openings;
mod outcome;
mod outputs;
mod progress_lines;
mod repository;
mod run;
mod sandboxed;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use converse_canister::Arguments;
use converse_config::{CommandPlan, SandboxLevel, Scope, UnsetVariable};
use converse_process::sandbox::{Limits, is_open_to_all};
use converse_process::{Guardian, Spawn, find_program};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::Value;

use argv::Numbers;
use openings::working_directory;
pub use outcome::KILLED;
pub use outputs::is_named_output;
use repository::objection_to_git;

use crate::surroundings::{StartCheck, Surroundings};
use crate::template_input::{TemplateInput, missing_variable};
use crate::{Answer, Context, Invocable, InvokeError};

/// The longest text a program is given to read.
const MAX_STDIN: usize = 16 * 1024 * 1024;

pub(crate) struct Command {
    plan: Arc<CommandPlan>,
    numbers: Numbers,
    sandbox: SandboxLevel,
    scope: Scope,
    /// Programs below it are not found by a bare name: a project does not choose what `git` is.
    avoid: Option<PathBuf>,
    start_check: StartCheck,
    surroundings: Arc<Surroundings>,
}

/// A command line that is ready to start, and what it will read.
#[derive(Clone)]
struct Prepared {
    spawn: Spawn,
    stdin: Option<String>,
}

impl Prepared {
    async fn run(
        self,
        guardian: &Guardian,
        most: Option<Limits>,
        context: &Context,
    ) -> Result<Answer, InvokeError> {
        let child = self.spawn.start(guardian).map_err(|error| {
            if error.lacks_descriptors {
                return InvokeError::NoDescriptors(error.to_string());
            }
            not_begun(&error)
        })?;
        run::run(child, self.stdin, most, context).await
    }
}

impl Command {
    /// `schema` is that of its arguments.
    pub(crate) fn new(
        plan: Arc<CommandPlan>,
        schema: Option<&Value>,
        scope: Scope,
        sandbox: SandboxLevel,
        surroundings: Arc<Surroundings>,
    ) -> Result<Self, UnsetVariable> {
        let environment = &surroundings.environment;
        plan.templates().try_for_each(|template| missing_variable(template, environment))?;
        // Read to see that they can be; read again, and not kept, at each invocation.
        plan.environment.iter().try_for_each(|(_, secret)| secret.read(environment).map(drop))?;
        let avoid = surroundings.project.clone().filter(|_| scope == Scope::Project);
        let (numbers, start_check) = (Numbers::of(schema), StartCheck::default());
        Ok(Self { plan, numbers, sandbox, scope, avoid, start_check, surroundings })
    }

    /// Sets the check before each start.
    pub(crate) fn checked(self, start_check: StartCheck) -> Self {
        Self { start_check, ..self }
    }

    fn prepare(&self, arguments: &Arguments) -> Result<Prepared, InvokeError> {
        let Surroundings { workspace, environment, .. } = self.surroundings.as_ref();
        let given = TemplateInput { arguments: &arguments.object, environment, styles: &[] };
        let argv = argv::argv(&self.plan.argv, &self.numbers, given)?;
        let stdin = self.plan.stdin.as_ref().map(|template| given.text(template)).transpose()?.flatten();
        if stdin.as_ref().is_some_and(|text| text.len() > MAX_STDIN) {
            return Err(InvokeError::Invalid(format!("its input is longer than {MAX_STDIN} bytes")));
        }
        let environment = self.environment(given)?;
        let cwd = working_directory(workspace, self.plan.cwd.as_deref()).map_err(InvokeError::Failed)?;
        let path = environment.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.as_str());
        let Some((name, rest)) = argv.split_first() else {
            return Err(InvokeError::Failed("the command names no program".to_owned()));
        };
        let program = self.program(name, path, &cwd)?;
        if program.file_name().is_some_and(|name| name == "git")
            && let Some(objection) = objection_to_git(&cwd)
        {
            return Err(InvokeError::Failed(objection));
        }
        self.start_check.run().map_err(|why| InvokeError::Failed(format!("not started: {why}")))?;
        let spawn = Spawn { program, arguments: rest.to_vec(), environment, cwd, stdin: stdin.is_some() };
        Ok(Prepared { spawn, stdin })
    }

    /// In a sandbox one of the system's goes before one of the user's own of that name, whose parts (as of pyenv or nvm)
    /// lie where it may not look.
    fn program(&self, name: &str, path: Option<&str>, cwd: &Path) -> Result<PathBuf, InvokeError> {
        let find = |path: Option<&str>| find_program(name, path, cwd, self.avoid.as_deref());
        let of_the_system =
            path.filter(|_| self.sandbox != SandboxLevel::Off && !name.contains('/')).and_then(|path| {
                let open = path.split(':').filter(|entry| is_open_to_all(Path::new(entry)));
                find(Some(&open.collect::<Vec<_>>().join(":"))).ok()
            });
        of_the_system.map_or_else(|| find(path), Ok).map_err(|error| not_begun(&error))
    }

    /// The variables of the child: those every child gets, and over them those that are declared.
    fn environment(&self, given: TemplateInput<'_>) -> Result<Vec<(String, String)>, InvokeError> {
        let declared = &self.plan.environment;
        let is_declared = |name: &str| declared.iter().any(|(other, _)| other == name);
        let mut environment: Vec<(String, String)> =
            self.surroundings.inherited.iter().filter(|(name, _)| !is_declared(name)).cloned().collect();
        for (name, secret) in declared {
            environment.push((name.clone(), given.secret(secret)?));
        }
        Ok(environment)
    }
}

impl Invocable for Command {
    fn invoke<'a>(
        &'a self,
        context: Context,
        arguments: &'a Arguments,
    ) -> BoxFuture<'a, Result<Answer, InvokeError>> {
        async move {
            let prepared = self.prepare(arguments)?;
            match self.sandbox {
                SandboxLevel::Off => prepared.run(&self.surroundings.guardian, None, &context).await,
                level => sandboxed::run(self, level, prepared, &context).await,
            }
        }
        .boxed()
    }
}

/// Nothing has run: trying again cannot do anything twice.
fn not_begun(error: &dyn std::error::Error) -> InvokeError {
    InvokeError::Unreachable { message: error.to_string(), sent: false }
}

#[cfg(test)]
mod tests {
    //! Commands: their lines, and their lives.

    mod lines;
    mod lives;
}
