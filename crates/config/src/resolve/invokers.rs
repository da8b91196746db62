//! The invokers of one ensemble: names, bindings to built-ins, effects, policies.

use std::collections::HashMap;

use converse_canister::InvokerName;

use super::trials::Tried;
use super::{BuiltinSpec, Resolver, request, text};
use crate::Code;
use crate::diagnostic::Diagnostic;
use crate::ensemble::InvokerEntry;
use crate::escape::quoted;
use crate::invoker::InvokerDescriptor;
use crate::plan::{InvokerKind, InvokerPlan, Policy, SandboxLevel};
use crate::policy::PolicyDescriptor;
use crate::source::Span;
use crate::table::suggested;

impl<'a> Resolver<'a> {
    pub(super) fn invokers(&mut self) -> Vec<InvokerPlan> {
        let descriptor = self.descriptor;
        let mut seen: HashMap<&str, Span> = HashMap::new();
        let mut plans = Vec::new();
        for entry in &descriptor.invokers {
            let Some(invoker) = &entry.invoker else { continue };
            if let Some(name) = &invoker.name {
                if let Some(first) = seen.get(name.value.as_str()) {
                    let message = format!("the ensemble has another invoker named {}", quoted(&name.value));
                    let diagnostic = Diagnostic::error(Code::DuplicateInvoker, name.span, message);
                    self.diagnostics.push(diagnostic.related(*first, "the first"));
                } else {
                    seen.insert(&name.value, name.span);
                }
            }
            plans.extend(self.invoker(entry, invoker));
        }
        plans
    }

    fn invoker(&mut self, entry: &InvokerEntry, invoker: &InvokerDescriptor) -> Option<InvokerPlan> {
        let description = text(&invoker.description);
        self.code(entry, invoker);
        let arguments = self.arguments(invoker);
        let name = invoker.name.as_ref().and_then(|name| {
            InvokerName::new(name.value.as_str())
                .map_err(|error| self.bad_name(name, error.kind, error.rule))
                .ok()
        });
        let (kind, builtin) = self.kind(invoker)?;
        if let Some(builtin) = builtin.filter(|_| arguments.is_some()) {
            self.needed(invoker, builtin.name);
        }
        let policy = self.policy(entry, invoker, builtin);
        self.sensible(entry, invoker, &kind, &policy);
        let (arguments, schema) = arguments?;
        let tool = Tried { schema: schema.as_ref(), kind: Some(&kind) };
        let tests = self.tests(entry.tests.iter().chain(&invoker.tests), &tool);
        let origin = self.origin(invoker.span);
        Some(InvokerPlan {
            name: name?,
            description,
            arguments: Some(arguments),
            kind,
            policy,
            tests,
            origin,
        })
    }

    /// What models write is run as code on purpose only where it cannot do harm: with a sandbox that is required.
    fn code(&mut self, entry: &InvokerEntry, invoker: &InvokerDescriptor) {
        let Some(command) = &invoker.command else { return };
        let said = [&entry.overrides, &invoker.policy, &self.descriptor.defaults];
        let sandbox = said.iter().find_map(|said| said.sandbox.as_ref());
        let required = sandbox.is_some_and(|sandbox| sandbox.value == SandboxLevel::Require);
        for risk in command.code.iter().filter(|risk| !(risk.whole_input && required)) {
            let diagnostic = Diagnostic::error(Code::ArgumentInScript, risk.span, risk.message.as_str());
            self.diagnostics.push(if risk.whole_input {
                diagnostic.hint("a tool for running code says `sandbox = \"require\"`")
            } else {
                diagnostic
            });
        }
    }

    /// What it is; with two of them there has been an error.
    fn kind(&mut self, invoker: &InvokerDescriptor) -> Option<(InvokerKind, Option<BuiltinSpec<'a>>)> {
        self.placeholders(invoker);
        let command = self.command(invoker);
        let request = invoker.request.as_ref().and_then(request::plan);
        let builtin = self.builtin(invoker);
        let of_builtin = builtin.map(|builtin| InvokerKind::Builtin(builtin.name.to_owned()));
        let kind = of_builtin.or(command.map(InvokerKind::Command)).or(request.map(InvokerKind::Http))?;
        Some((kind, builtin))
    }

    fn builtin(&mut self, invoker: &InvokerDescriptor) -> Option<BuiltinSpec<'a>> {
        let wanted = invoker.builtin.as_ref()?;
        let builtins = self.given.builtins;
        let found = builtins.iter().find(|builtin| builtin.name == wanted.value);
        if found.is_none() {
            let message = format!("there is no built-in {}", quoted(&wanted.value));
            let diagnostic = Diagnostic::error(Code::UnknownBuiltin, wanted.span, message);
            let names = builtins.iter().map(|builtin| builtin.name);
            self.diagnostics.push(suggested(diagnostic, &wanted.value, names));
        }
        found.copied()
    }

    fn policy(
        &mut self,
        entry: &InvokerEntry,
        invoker: &InvokerDescriptor,
        builtin: Option<BuiltinSpec<'_>>,
    ) -> Policy {
        let mut policy = Policy::default();
        policy.effects = builtin.map_or(policy.effects, |builtin| builtin.effects);
        for said in [&self.descriptor.defaults, &invoker.policy, &entry.overrides] {
            builtin.into_iter().for_each(|builtin| self.effects(said, builtin));
            policy = said.over(&policy, self.sources);
        }
        policy
    }

    fn effects(&mut self, said: &PolicyDescriptor, builtin: BuiltinSpec<'_>) {
        let Some(effects) = &said.effects else { return };
        if effects.value < builtin.effects {
            let message = format!(
                "the built-in `{}` has the effects `{}`; a descriptor may raise that, never lower it",
                builtin.name,
                builtin.effects.as_str()
            );
            self.error(Code::EffectsLowered, effects.span, message);
        }
    }
}
