//! Restrictions on ensembles of an untrusted project.
//!
//! They may be shown and may tighten permissions. They may not allow, start, connect or replace anything. Built-ins that
//! only read are allowed without asking, and `[configuration]` says where they read: without a question for each call, a
//! cloned repository could point a file reader at the home directory.

use super::Resolver;
use crate::Code;
use crate::invoker::InvokerDescriptor;
use crate::plan::{EnsemblePlan, Policy};
use crate::rule::Permission;

impl Resolver<'_> {
    pub(super) fn restrict_untrusted(&mut self, plan: &mut EnsemblePlan) {
        if self.trusted {
            return;
        }
        self.warn_of_reaching_out();
        self.warn_of_allowing();
        for policy in policies(plan) {
            if policy.permission == Some(Permission::Allow) {
                policy.permission = Some(Permission::Ask);
            }
        }
        if let Some(configuration) = &self.descriptor.configuration
            && !plan.configuration.is_empty()
        {
            let (code, message) = match plan.outer_root() {
                Some(_) => (
                    Code::UntrustedConnection,
                    "this project is not trusted: its `root` is an absolute path, so this ensemble is left out",
                ),
                None => (
                    Code::UntrustedConfiguration,
                    "this project is not trusted: the ensemble configures its invokers, so each call asks first",
                ),
            };
            self.warning(code, configuration.span, message);
            for policy in policies(plan) {
                policy.permission.get_or_insert(Permission::Ask);
            }
        }
    }

    /// Uses the descriptor instead of the plan, which may be incomplete.
    fn warn_of_reaching_out(&mut self) {
        let reaches_out =
            |invoker: &&InvokerDescriptor| invoker.command.is_some() || invoker.request.is_some();
        let mut invokers = self.descriptor.invokers.iter().filter_map(|entry| entry.invoker.as_ref());
        let (span, message) = match (self.descriptor.has_connection, invokers.find(reaches_out)) {
            (Some(span), _) => (
                span,
                "this project is not trusted: converse does not start or contact the server of this ensemble",
            ),
            (None, Some(invoker)) => (
                invoker.span,
                "this project is not trusted: the ensemble is left out, because this invoker starts a program or sends \
                 a request",
            ),
            (None, None) => return,
        };
        self.warning(Code::UntrustedConnection, span, message);
    }

    fn warn_of_allowing(&mut self) {
        let descriptor = self.descriptor;
        let of_entries = descriptor.invokers.iter().flat_map(|entry| {
            [Some(&entry.overrides), entry.invoker.as_ref().map(|invoker| &invoker.policy)]
                .into_iter()
                .flatten()
        });
        let of_tools = descriptor.tools.iter().flat_map(|tools| tools.tools.iter().map(|tool| &tool.policy));
        for policy in std::iter::once(&descriptor.defaults).chain(of_entries).chain(of_tools) {
            if let Some(permission) =
                policy.permission.as_ref().filter(|permission| permission.value == Permission::Allow)
            {
                let message = "this project is not trusted: `allow` counts as `ask`";
                self.warning(Code::UntrustedPermission, permission.span, message);
            }
        }
    }
}

fn policies(plan: &mut EnsemblePlan) -> impl Iterator<Item = &mut Policy> {
    let invokers = plan.invokers.iter_mut().map(|invoker| &mut invoker.policy);
    std::iter::once(&mut plan.defaults).chain(invokers).chain(plan.tools.values_mut())
}
