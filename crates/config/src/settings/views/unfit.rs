//! Views that name tools or arguments that do not exist.

use super::{ViewPlan, ViewToolPlan};
use crate::Code;
use crate::diagnostic::{Diagnostic, quoted};
use crate::plan::EnsemblePlan;
use crate::rule::may_name;
use crate::schema::fixed_fault;
use crate::table::suggested;

/// Returns what the views name and no tool has. `plans` are all known ensembles; an ensemble with a connection may have
/// any tool that its filter accepts, with any arguments.
pub fn unfit_views(views: &[ViewPlan], plans: &[EnsemblePlan]) -> Vec<Diagnostic> {
    let entries = views.iter().flat_map(|view| &view.tools);
    entries.filter_map(|entry| unfit(entry, plans)).collect()
}

fn unfit(entry: &ViewToolPlan, plans: &[EnsemblePlan]) -> Option<Diagnostic> {
    if !plans.iter().any(|plan| may_name(&entry.pattern, plan)) {
        let message = format!("{} does not match a tool of any ensemble", quoted(&entry.written));
        let names: Vec<String> = plans.iter().flat_map(names).collect();
        let diagnostic = Diagnostic::warning(Code::ViewToolUnknown, entry.place, message);
        return Some(suggested(diagnostic, &entry.written, names.iter().map(String::as_str)));
    }
    let invokers = plans.iter().flat_map(|plan| plan.invokers.iter().map(move |invoker| (plan, invoker)));
    let mut named =
        invokers.filter(|(plan, invoker)| entry.matches(&format!("{}.{}", plan.name, invoker.name)));
    let fault = named.find_map(|(_, invoker)| fixed_fault(invoker.arguments.as_ref()?, &entry.arguments))?;
    let place = entry.places.place(&fault.pointer).unwrap_or(entry.place);
    let argument = quoted(fault.pointer.trim_start_matches('/'));
    let message =
        format!("the argument {argument} of {} cannot be fixed: {}", quoted(&entry.written), fault.message);
    Some(Diagnostic::error(Code::ViewArgument, place, message))
}

fn names(plan: &EnsemblePlan) -> Vec<String> {
    let invokers = plan.invokers.iter().map(|invoker| format!("{}.{}", plan.name, invoker.name));
    [plan.name.to_string()].into_iter().chain(invokers).collect()
}
