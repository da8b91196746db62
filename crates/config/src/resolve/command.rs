//! A command as meant. Its placeholders have been looked at by then.

use super::Resolver;
use crate::command::{ArgvDescriptor, CommandDescriptor};
use crate::plan::{ArgvPart, CommandPlan};

impl Resolver<'_> {
    /// `None` without a program, which has been told.
    pub(super) fn command(&mut self, command: &CommandDescriptor) -> Option<CommandPlan> {
        let part = |part: &ArgvDescriptor| match part {
            ArgvDescriptor::One(template) => ArgvPart::One(template.value.clone()),
            ArgvDescriptor::Together(templates) => {
                ArgvPart::Together(templates.iter().map(|template| template.value.clone()).collect())
            }
        };
        let environment = command.environment.iter();
        let environment: Vec<_> =
            environment.map(|(name, secret)| (name.clone(), self.secret(secret))).collect();
        if command.argv.is_empty() {
            return None;
        }
        Some(CommandPlan {
            argv: command.argv.iter().map(part).collect(),
            environment,
            cwd: command.cwd.as_ref().map(|cwd| cwd.value.as_str().into()),
            stdin: command.stdin.as_ref().map(|stdin| stdin.value.clone()),
        })
    }
}
