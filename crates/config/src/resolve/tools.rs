//! What is said of tools yet to be discovered: which are used, and how.

use std::collections::BTreeMap;

use converse_canister::InvokerName;

use super::Resolver;
use super::trials::Tried;
use crate::plan::{Policy, ToolFilter};
use crate::source::Spanned;
use crate::trial::TestPlan;

type ByTool<T> = BTreeMap<InvokerName, T>;

impl Resolver<'_> {
    pub(super) fn tools(&mut self, defaults: &Policy) -> (ByTool<Policy>, ByTool<Vec<TestPlan>>) {
        let descriptor = self.descriptor;
        let (mut policies, mut tests) = (ByTool::new(), ByTool::new());
        for tool in descriptor.tools.iter().flat_map(|tools| &tools.tools) {
            let policy = tool.policy.over(defaults, self.sources);
            self.sensible_tool(tool, &policy);
            let of_tool = self.tests(tool.tests.iter(), &Tried { schema: None, kind: None });
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
