//! A program as a tool.
//!
//! [`argv`] says what is started and [`outcome`] what its end means, both pure; [`run`] lives with it in between. Every
//! invocation is a process group of its own, which is gone when the invocation is answered: whatever it left running is
//! ended too.

mod argv;
mod numbers;
mod outcome;
mod run;

#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::Arc;

use converse_canister::Arguments;
use converse_child::{Spawn, find_program};
use converse_config::{CommandPlan, Scope, UnsetVariable};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::Value;

use numbers::Numbers;

use crate::filled::{Given, missing_variable};
use crate::surroundings::Surroundings;
use crate::{Answer, Context, Invocable, InvokeError};

/// The longest text a program is given to read.
const MAX_STDIN: usize = 16 * 1024 * 1024;

pub(crate) struct Command {
    plan: CommandPlan,
    numbers: Numbers,
    /// Programs below it are not found by a bare name: a project does not choose what `git` is.
    avoid: Option<PathBuf>,
    surroundings: Arc<Surroundings>,
}

/// A command line that is ready to start, and what it will read.
struct Prepared {
    spawn: Spawn,
    stdin: Option<String>,
}

impl Command {
    /// `schema` is that of its arguments.
    pub(crate) fn new(
        plan: CommandPlan,
        schema: Option<&Value>,
        scope: Scope,
        surroundings: Arc<Surroundings>,
    ) -> Result<Self, UnsetVariable> {
        let environment = &surroundings.environment;
        plan.templates().try_for_each(|template| missing_variable(template, environment))?;
        // Read to see that they can be; read again, and not kept, at each invocation.
        plan.environment.iter().try_for_each(|(_, secret)| secret.read(environment).map(drop))?;
        let avoid = surroundings.project.clone().filter(|_| scope == Scope::Project);
        Ok(Self { plan, numbers: Numbers::of(schema), avoid, surroundings })
    }

    fn prepare(&self, arguments: &Arguments) -> Result<Prepared, InvokeError> {
        let Surroundings { workspace, environment, .. } = self.surroundings.as_ref();
        let given = Given { arguments: &arguments.object, environment };
        let argv = argv::argv(&self.plan.argv, &self.numbers, given)?;
        let stdin = self.plan.stdin.as_ref().map(|template| given.text(template)).transpose()?.flatten();
        if stdin.as_ref().is_some_and(|text| text.len() > MAX_STDIN) {
            return Err(InvokeError::Invalid(format!("its input is longer than {MAX_STDIN} bytes")));
        }
        let environment = self.environment(given)?;
        let cwd = self.plan.cwd.as_ref().map_or_else(|| workspace.clone(), |cwd| workspace.join(cwd));
        let path = environment.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.as_str());
        let Some((name, rest)) = argv.split_first() else {
            return Err(InvokeError::Failed("the command names no program".to_owned()));
        };
        let program =
            find_program(name, path, &cwd, self.avoid.as_deref()).map_err(|error| not_begun(&error))?;
        let spawn = Spawn { program, arguments: rest.to_vec(), environment, cwd, stdin: stdin.is_some() };
        Ok(Prepared { spawn, stdin })
    }

    /// The variables of the child: those every child gets, and over them those that are declared.
    fn environment(&self, given: Given<'_>) -> Result<Vec<(String, String)>, InvokeError> {
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
            let Prepared { spawn, stdin } = self.prepare(arguments)?;
            let child = spawn.start(&self.surroundings.guardian).map_err(|error| not_begun(&error))?;
            run::run(child, stdin, &context.cancel).await
        }
        .boxed()
    }
}

/// Nothing has run: trying again cannot do anything twice.
fn not_begun(error: &dyn std::error::Error) -> InvokeError {
    InvokeError::Unreachable { message: error.to_string(), sent: false }
}
