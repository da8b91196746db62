//! Plans of commands. Placeholders are already checked.

use super::Resolver;
use super::placeholders::property;
use crate::command::{ArgvDescriptor, CommandDescriptor, SandboxAccessDescriptor};
use crate::diagnostic::{Diagnostic, quoted};
use crate::invoker::InvokerDescriptor;
use crate::plan::{ArgvPart, CommandPlan, SandboxAccess, Scope};
use crate::program::is_command_line;
use crate::source::{Span, Spanned};
use crate::template::{Template, TemplatePiece};
use crate::{Code, schema};

impl Resolver<'_> {
    /// Returns `None` without a program, which is already reported.
    pub(super) fn command(&mut self, invoker: &InvokerDescriptor) -> Option<CommandPlan> {
        let command = invoker.command.as_ref()?;
        self.lists(invoker, command);
        let words = command.argv.iter().flat_map(ArgvDescriptor::templates);
        if !invoker.templates_incomplete {
            self.one_word(words.map(|word| (&word.value, word.span)));
        }
        let part = |part: &ArgvDescriptor| match part {
            ArgvDescriptor::One(template) => ArgvPart::One(template.value.clone()),
            ArgvDescriptor::Group(templates) => {
                ArgvPart::Group(templates.iter().map(|template| template.value.clone()).collect())
            }
        };
        let environment = command.environment.iter();
        let environment: Vec<_> =
            environment.map(|(name, secret)| (name.clone(), self.secret(secret))).collect();
        if command.argv.is_empty() {
            return None;
        }
        let sandbox_access = self.sandbox_access(&command.sandbox_access);
        Some(CommandPlan {
            argv: command.argv.iter().map(part).collect(),
            environment,
            cwd: command.cwd.as_ref().map(|cwd| cwd.value.as_str().into()),
            stdin: command.stdin.as_ref().map(|stdin| stdin.value.clone()),
            sandbox_access,
        })
    }

    /// Checks and converts the sandbox permissions. `policies` warns about permissions without a sandbox.
    fn sandbox_access(&mut self, sandbox_access: &SandboxAccessDescriptor) -> SandboxAccess {
        // Project and shipped descriptors run on other machines, so their paths stay below the working directory.
        if matches!(self.scope, Scope::Project | Scope::Shipped) {
            for path in sandbox_access
                .reads
                .iter()
                .chain(&sandbox_access.writes)
                .filter(|path| leads_out(&path.value))
            {
                let message = format!("{} is outside the working directory", quoted(&path.value));
                let hint = "use a path below the working directory; only your own ensembles and `--ensembles DIR` may use others";
                self.diagnostics.push(Diagnostic::error(Code::BadValue, path.span, message).hint(hint));
            }
        }
        let paths = |paths: &[Spanned<String>]| paths.iter().map(|path| path.value.as_str().into()).collect();
        SandboxAccess {
            reads: paths(&sandbox_access.reads),
            writes: paths(&sandbox_access.writes),
            network: sandbox_access.network.as_ref().is_some_and(|network| network.value),
        }
    }

    /// Warns about a whole command line in a single element.
    pub(super) fn one_word<'w>(&mut self, mut words: impl Iterator<Item = (&'w Template, Span)>) {
        if let (Some((word, span)), None) = (words.next(), words.next())
            && let [TemplatePiece::Text(text)] = word.pieces.as_slice()
            && is_command_line(text)
        {
            let message = format!(
                "{} is a single element, so converse looks for a program with this name",
                quoted(text)
            );
            self.warning(Code::OneWord, span, message);
        }
    }

    /// Reports a list argument inside other text, where it would become JSON.
    fn lists(&mut self, invoker: &InvokerDescriptor, command: &CommandDescriptor) {
        let together = command.argv.iter().filter(|part| matches!(part, ArgvDescriptor::Group(_)));
        let mixed = |template: &&Spanned<Template>| template.value.sole_argument().is_none();
        for template in together.flat_map(ArgvDescriptor::templates).filter(mixed) {
            let is_list = |name: &&str| property(invoker, name).is_some_and(schema::may_be_list);
            if let Some(name) = template.value.arguments().find(is_list) {
                let message =
                    format!("the list argument {} would become JSON inside this element", quoted(name));
                let hint = "make the argument an element of its own, which becomes one element per entry: `[\"--tag\", \"{tags}\"]`";
                let diagnostic = Diagnostic::error(Code::BadValue, template.span, message).without_excerpt();
                self.diagnostics.push(diagnostic.hint(hint));
            }
        }
    }
}

fn leads_out(path: &str) -> bool {
    let path = std::path::Path::new(path);
    path.has_root() || path.components().any(|part| part == std::path::Component::ParentDir)
}
