//! Connects ensembles to look at them, without calling a tool.

use converse_config::{EnsemblePlan, Rule};
use converse_mcp::Survey;
use converse_text::safe_line;

use crate::contents::Kept;
use crate::context::RunContext;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::wiring::{Connected, Wiring};
use crate::world::World;
use converse_text::wording::counted;

/// The plan with `required` and `lazy` off: it is connected at once, and a failure is reported like any other.
pub fn eager(plan: &EnsemblePlan) -> EnsemblePlan {
    EnsemblePlan { required: false, lazy: false, ..plan.clone() }
}

/// Connects all plans, calls `read` and disconnects them.
pub fn inspect<T>(
    plans: &[&EnsemblePlan],
    context: &RunContext,
    interrupt: &Interrupt,
    world: &World,
    read: impl FnOnce(&Connected) -> T,
) -> Result<T, Failure> {
    let contents = Kept::new(None);
    let wiring = Wiring::looking(world, context, interrupt, &contents);
    let eager: Vec<EnsemblePlan> = plans.iter().map(|plan| eager(plan)).collect();
    crate::runtime::block_on(async {
        let connected = wiring.connect(&eager.iter().collect::<Vec<_>>(), Vec::<Rule>::new()).await?;
        let read = read(&connected);
        connected.disconnect(context).await;
        Ok(read)
    })?
}

/// One line about a connected server: name, version, protocol, number of tools, time.
pub fn survey_line(survey: &Survey) -> String {
    let left_out = match survey.offered.saturating_sub(survey.kept) {
        0 => String::new(),
        count => format!(" of {} ({count} not used)", count + survey.kept),
    };
    format!(
        "{} {}, MCP {} ({}), {}{left_out}, ready in {:.2} s",
        safe_line(&survey.server, 80),
        safe_line(&survey.version, 40),
        safe_line(&survey.protocol, 20),
        survey.era.label(),
        counted(survey.kept, "tool"),
        survey.took.as_secs_f64(),
    )
}
