//! The invokers of one ensemble: names, built-ins, effects, policies, requests.

use std::collections::HashMap;

use converse_canister::InvokerName;
use serde_json::Value;

use super::tool_tests::TestedTool;
use super::{BuiltinSpec, Resolver, or, text};
use crate::Code;
use crate::diagnostic::{Diagnostic, quoted};
use crate::ensemble::InvokerEntry;
use crate::invoker::InvokerDescriptor;
use crate::packed;
use crate::plan::{InvokerKind, InvokerPlan, Policy, RequestPlan, SandboxLevel, Scope};
use crate::policy::PolicyDescriptor;
use crate::request::RequestDescriptor;
use crate::source::{Span, Spanned};
use crate::table::suggested;
use crate::template::Template;

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
        // Without a kind, which is already reported, the tests are still checked.
        let (kind, builtin) = self.kind(invoker).unzip();
        let builtin = builtin.flatten();
        if let Some(builtin) = builtin.filter(|_| arguments.is_some()) {
            self.required_by_builtin(invoker, builtin.name);
        }
        let policy = self.policy(entry, invoker, builtin);
        if let Some(kind) = &kind {
            self.check_policy(entry, invoker, kind, &policy);
        }
        let schema = arguments.as_ref().and_then(|(_, schema)| schema.as_ref());
        let tool = TestedTool { schema, kind: kind.as_ref() };
        let tests = self.tests(entry.tests.iter().chain(&invoker.tests), &tool);
        let (kind, (arguments, _)) = (kind?, arguments?);
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

    /// Reports arguments that would become code, unless the tool runs code in a required sandbox.
    fn code(&mut self, entry: &InvokerEntry, invoker: &InvokerDescriptor) {
        let Some(command) = &invoker.command else { return };
        let policies = [&entry.overrides, &invoker.policy, &self.descriptor.defaults];
        let sandbox = policies.iter().find_map(|policies| policies.sandbox.as_ref());
        let required = sandbox.is_some_and(|sandbox| sandbox.value == SandboxLevel::Require);
        for risk in command.code.iter().filter(|risk| !(risk.whole_input && required)) {
            let diagnostic = Diagnostic::error(Code::ArgumentInScript, risk.span, risk.message.as_str());
            self.diagnostics.push(if risk.whole_input {
                diagnostic.hint("a tool that runs code on purpose needs `sandbox = \"require\"`")
            } else {
                diagnostic
            });
        }
    }

    /// Returns the kind of the invoker. If several are declared, that is already reported.
    fn kind(&mut self, invoker: &InvokerDescriptor) -> Option<(InvokerKind, Option<BuiltinSpec<'a>>)> {
        self.placeholders(invoker);
        let command = self.command(invoker);
        let request = invoker.request.as_ref().and_then(request_plan);
        let builtin = self.builtin(invoker);
        let of_builtin = builtin.map(|builtin| InvokerKind::Builtin(builtin.name.to_owned()));
        let kind = of_builtin
            .or(command.map(|command| InvokerKind::Command(command.into())))
            .or(request.map(InvokerKind::Http))?;
        Some((kind, builtin))
    }

    fn builtin(&mut self, invoker: &InvokerDescriptor) -> Option<BuiltinSpec<'a>> {
        let wanted = invoker.builtin.as_ref()?;
        let builtins = self.given.builtins;
        let found = builtins.iter().find(|builtin| builtin.name == wanted.value);
        if found.is_none() {
            let message = format!("{} is not a built-in", quoted(&wanted.value));
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
        for policy_keys in [&self.descriptor.defaults, &invoker.policy, &entry.overrides] {
            builtin.into_iter().for_each(|builtin| self.effects(policy_keys, builtin));
            policy = policy_keys.over(&policy, self.sources);
        }
        policy
    }

    fn effects(&mut self, policy_keys: &PolicyDescriptor, builtin: BuiltinSpec<'_>) {
        let Some(effects) = &policy_keys.effects else { return };
        if effects.value < builtin.effects {
            let message = format!(
                "the built-in `{}` has the effects `{}`; a descriptor can declare stronger effects, but not weaker ones",
                builtin.name,
                builtin.effects.as_str()
            );
            self.error(Code::EffectsLowered, effects.span, message);
        }
    }

    /// Warns about arguments that a built-in requires and the schema does not have, because models never send those.
    fn required_by_builtin(&mut self, invoker: &InvokerDescriptor, builtin: &str) {
        let is_own = self.sources.scope(self.descriptor.source) == Scope::Shipped;
        if is_own || !self.given.compile_schemas || invoker.arguments_incomplete {
            return;
        }
        let properties =
            invoker.arguments.as_ref().and_then(|arguments| arguments.schema.value.get("properties"));
        let place = invoker.arguments.as_ref().map(|arguments| arguments.place("/properties"));
        for name in required_arguments(builtin) {
            if properties.is_some_and(|properties| properties.get(&name).is_some()) {
                continue;
            }
            let message =
                format!("`{builtin}` requires `{name}`, which is not in `properties`, so every call fails");
            let span = place.or(invoker.builtin.as_ref().map(|builtin| builtin.span)).unwrap_or(invoker.span);
            self.diagnostics.push(Diagnostic::warning(Code::BuiltinArgument, span, message));
        }
    }
}

/// Returns the arguments that the shipped descriptor of a built-in requires; empty without such a descriptor.
fn required_arguments(builtin: &str) -> Vec<String> {
    let descriptors =
        packed::open().and_then(|packed| packed.unpack(|_| true, packed::Tests::LeftOut)).unwrap_or_default();
    let invokers = descriptors.into_iter().flat_map(|descriptor| descriptor.invokers);
    let mut invokers = invokers.filter_map(|entry| entry.invoker);
    let bound = invokers.find(|one| one.builtin.as_ref().is_some_and(|bound| bound.value == builtin));
    let arguments = bound.and_then(|one| one.arguments).map(|arguments| arguments.schema.value);
    let names = arguments.as_ref().and_then(|schema| schema.get("required")).and_then(Value::as_array);
    names.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Returns the plan of a request, or `None` without a URL, which is already reported.
fn request_plan(request: &RequestDescriptor) -> Option<RequestPlan> {
    let named = |list: &[(String, Spanned<Template>)]| {
        list.iter().map(|(name, template)| (name.clone(), template.value.clone())).collect()
    };
    Some(RequestPlan {
        method: or(&request.method, "GET").to_owned(),
        url: request.url.as_ref()?.value.clone(),
        query: named(&request.query),
        headers: named(&request.headers),
        styles: request.styles.iter().map(|(name, style)| (name.value.clone(), *style)).collect(),
        body: request.body.as_ref().map(|body| body.plan.clone()),
        result: request.result.as_ref().map(|pointer| pointer.value.clone()),
    })
}
