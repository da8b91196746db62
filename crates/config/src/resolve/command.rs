//! Plans of commands. Placeholders are already checked.

use super::Resolver;
use super::command_line::{FILLED, text};
use super::placeholders::property;
use crate::command::{ArgvDescriptor, CommandDescriptor, SandboxAccessDescriptor};
use crate::diagnostic::{Diagnostic, Severity, quoted};
use crate::invoker::InvokerDescriptor;
use crate::plan::{ArgvPart, CommandPlan, SandboxAccess, Scope};
use crate::program::is_plain_line;
use crate::source::{Span, Spanned};
use crate::template::Template;
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
                self.diagnostics.push(Diagnostic::bad_value(path.span, message, hint));
            }
        }
        let paths = |paths: &[Spanned<String>]| paths.iter().map(|path| path.value.as_str().into()).collect();
        SandboxAccess {
            reads: paths(&sandbox_access.reads),
            writes: paths(&sandbox_access.writes),
            network: sandbox_access.network.as_ref().is_some_and(|network| network.value),
        }
    }

    /// Reports a whole command line in a single element. It is an error unless it could be a path with blanks.
    pub(super) fn one_word<'w>(&mut self, mut words: impl Iterator<Item = (&'w Template, Span)>) {
        let (Some((word, span)), None) = (words.next(), words.next()) else { return };
        let line = text(word);
        let Some(severity) = severity_of_one_word(&line) else { return };
        let program = line.split_whitespace().next().unwrap_or_default();
        let plain = is_plain_line(&line);
        let shown = if plain { quoted(&line) } else { format!("{} with its arguments", quoted(program)) };
        let message = format!("{shown} is a single element, so converse looks for a program with this name");
        // The line may contain a secret.
        let diagnostic =
            Diagnostic { severity, ..Diagnostic::warning(Code::OneWord, span, message) }.without_excerpt();
        let listed: Vec<_> = line.split_whitespace().map(|word| format!("\"{word}\"")).collect();
        self.diagnostics.push(match plain {
            true => diagnostic.hint(format!("write `[{}]`", listed.join(", "))),
            false => diagnostic,
        });
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
                let diagnostic = Diagnostic::bad_value(template.span, message, hint);
                self.diagnostics.push(diagnostic.without_excerpt());
            }
        }
    }
}

fn leads_out(path: &str) -> bool {
    let path = std::path::Path::new(path);
    path.has_root() || path.components().any(|part| part == std::path::Component::ParentDir)
}

/// Returns whether a single element is a command line rather than the name of a program, and how sure that is: a path
/// may contain a blank.
fn severity_of_one_word(line: &str) -> Option<Severity> {
    let mut words = line.split_whitespace();
    let first = words.next()?;
    let rest: Vec<&str> = words.collect();
    let is_path = |word: &str| word.contains(['/', '\\', FILLED]);
    let has_option = rest.iter().any(|word| word.starts_with('-'));
    match rest.is_empty() || (is_path(first) && !has_option) {
        true => None,
        false if has_option || !is_path(line) => Some(Severity::Error),
        false => Some(Severity::Warning),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_is_told_from_a_path_with_blanks() {
        for (line, severity) in [
            ("npx -y @scope/server", Some(Severity::Error)),
            ("/usr/bin/npx -y server", Some(Severity::Error)),
            ("git log", Some(Severity::Error)),
            ("node dist/index.js", Some(Severity::Warning)),
            ("npx @scope/server", Some(Severity::Warning)),
            ("/opt/My App/bin/server", None),
            ("C:\\Program Files\\x.exe", None),
            ("\u{1}/My App/x", None),
            ("server", None),
            ("", None),
        ] {
            assert_eq!(severity_of_one_word(line), severity, "{line}");
        }
    }
}
