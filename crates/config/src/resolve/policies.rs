//! Policy keys that have no effect, or not the expected effect, for the tool.

use std::collections::BTreeMap;

use converse_canister::InvokerName;

use super::Resolver;
use super::tool_tests::TestedTool;
use crate::Code;
use crate::connection::ToolDescriptor;
use crate::diagnostic::{Location, quoted};
use crate::ensemble::InvokerEntry;
use crate::invoker::InvokerDescriptor;
use crate::plan::{Effects, InvokerKind, Policy, SandboxLevel, ToolFilter};
use crate::policy::PolicyDescriptor;
use crate::source::Spanned;
use crate::tool_test::TestPlan;

type ByTool<T> = BTreeMap<InvokerName, T>;

impl Resolver<'_> {
    pub(super) fn check_policy(
        &mut self,
        entry: &InvokerEntry,
        invoker: &InvokerDescriptor,
        kind: &InvokerKind,
        policy: &Policy,
    ) {
        let own = [&entry.overrides, &invoker.policy];
        if !matches!(kind, InvokerKind::Command(_)) {
            own.iter().for_each(|keys| self.no_command(keys, "this invoker does not start a program"));
        }
        let opened = invoker.command.as_ref().and_then(|command| command.sandbox_access.span);
        if let Some(span) = opened.filter(|_| policy.sandbox == SandboxLevel::Off) {
            let message = "this command has no sandbox, so `reads`, `writes` and `network` have no effect";
            self.warning(Code::OpeningsWithoutSandbox, span, message);
        }
        let name = || invoker.name.as_ref().map(|name| quoted(&name.value)).unwrap_or_default();
        self.cached(name, own.into_iter().chain([&self.descriptor.defaults]), policy);
    }

    pub(super) fn check_tool_policy(&mut self, tool: &ToolDescriptor, policy: &Policy) {
        self.no_command(&tool.policy, "the tools of a server run in the server");
        let keys = [&tool.policy, &self.descriptor.defaults];
        self.cached(|| quoted(&tool.name.value), keys.into_iter(), policy);
    }

    /// Checks `[defaults]`, which must be of use to at least one tool.
    pub(super) fn check_defaults(&mut self, policy: &Policy) {
        let descriptor = self.descriptor;
        let served = descriptor.has_connection.is_some();
        // The kind of an unreadable invoker is not known.
        let is_none = |entry: &InvokerEntry| entry.invoker.as_ref().is_some_and(|one| one.command.is_none());
        if served || (!descriptor.invokers.is_empty() && descriptor.invokers.iter().all(is_none)) {
            self.no_command(&descriptor.defaults, "no tool of this ensemble is a command");
        }
        if served {
            self.cached(|| "its tools".to_owned(), [&descriptor.defaults].into_iter(), policy);
        }
    }

    fn no_command(&mut self, keys: &PolicyDescriptor, why: &str) {
        if let Some(sandbox) = &keys.sandbox {
            self.warning(
                Code::SandboxWithoutCommand,
                sandbox.span,
                format!("`sandbox` has no effect: {why}"),
            );
        }
    }

    /// Warns about a cache for a tool with effects. `keys` is every table of policy keys for the tool, nearest first.
    fn cached<'p>(
        &mut self,
        tool: impl Fn() -> String,
        mut keys: impl Iterator<Item = &'p PolicyDescriptor>,
        policy: &Policy,
    ) {
        let changes = matches!(policy.effects, Effects::Write | Effects::External) && !policy.idempotent;
        let Some(cache) = keys.find_map(|keys| keys.cache.as_ref()).filter(|_| changes) else { return };
        // A key in `[defaults]` is reported once.
        let known = |found: &crate::Diagnostic| {
            found.code == Code::CachedEffects && found.place == Location::Span(cache.span)
        };
        if !self.diagnostics.iter().any(known) {
            let (tool, effects) = (tool(), policy.effects.as_str());
            let message = format!(
                "results of {tool} are cached, but it has `effects = \"{effects}\"` and is not `idempotent`: an equal \
                 call would not run"
            );
            self.warning(Code::CachedEffects, cache.span, message);
        }
    }

    /// Returns the policies and tests of tools that the server will announce.
    pub(super) fn tools(&mut self, defaults: &Policy) -> (ByTool<Policy>, ByTool<Vec<TestPlan>>) {
        let descriptor = self.descriptor;
        let (mut policies, mut tests) = (ByTool::new(), ByTool::new());
        for tool in descriptor.tools.iter().flat_map(|tools| &tools.tools) {
            let policy = tool.policy.over(defaults, self.sources);
            self.check_tool_policy(tool, &policy);
            let of_tool = self.tests(tool.tests.iter(), &TestedTool { schema: None, kind: None });
            match InvokerName::new(tool.name.value.as_str()) {
                Ok(name) => {
                    if !of_tool.is_empty() {
                        tests.insert(name.clone(), of_tool);
                    }
                    policies.insert(name, policy);
                }
                Err(error) => self.bad_name(&tool.name, error.kind, error.rule),
            }
        }
        (policies, tests)
    }

    pub(super) fn filter(&self) -> ToolFilter {
        let texts = |patterns: &[Spanned<String>]| patterns.iter().map(|one| one.value.clone()).collect();
        let tools = self.descriptor.tools.as_ref();
        tools
            .map(|tools| ToolFilter { include: texts(&tools.include), exclude: texts(&tools.exclude) })
            .unwrap_or_default()
    }
}
