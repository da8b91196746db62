//! Ensembles that are connected to be looked at and ended again. No tool of theirs is called.

use converse_config::{EnsemblePlan, Rule};

use converse_host::contents::Kept;
use converse_host::failure::Failure;
use converse_host::wiring::{Connected, Wiring};
use converse_host::world::World;
use converse_terminal::console::Console;
use converse_terminal::signals;

/// What is required is told like all others, and what is lazy is started as well.
pub(super) fn eager(plan: &EnsemblePlan) -> EnsemblePlan {
    EnsemblePlan { required: false, lazy: false, ..plan.clone() }
}

/// Connects them all, lets `see` look, and ends them.
pub(super) fn look<T>(
    plans: &[&EnsemblePlan],
    console: &Console,
    world: &World,
    see: impl FnOnce(&Connected) -> T,
) -> Result<T, Failure> {
    let (interrupt, contents) = (&signals::watch()?, &Kept::new(None));
    let wiring = Wiring::looking(world, &console.context, interrupt, contents);
    let eager: Vec<EnsemblePlan> = plans.iter().map(|plan| eager(plan)).collect();
    converse_host::runtime::block_on(async {
        let connected = wiring.connect(&eager.iter().collect::<Vec<_>>(), Vec::<Rule>::new()).await?;
        let seen = see(&connected);
        connected.disconnect(&console.context).await;
        Ok(seen)
    })?
}
