//! Paths that no tool may write to, because callable tools depend on them.

use std::path::PathBuf;

use converse_config::{EnsemblePlan, Environment, Root, Scope, TransportPlan};
use converse_ensemble::Scripts;

use crate::lockfiles::lock_path;
use crate::world::World;

/// Returns the directories of descriptors, their lockfiles, and paths inside the project that commands name. For
/// ensembles of the project that includes directories, because trust covers their content unless they are outputs. For ensembles of the user it
/// includes only files, because a directory that a user names is usually data. Servers of the user without a `cwd`
/// start elsewhere.
pub(super) fn protected(
    roots: &[Root],
    plans: &[EnsemblePlan],
    environment: &Environment,
    world: &World,
) -> Vec<PathBuf> {
    let root = &world.cwd;
    let here = plans.iter().filter(|plan| !starts_elsewhere(plan) && !is_our_own(plan));
    let (project, others): (Vec<_>, Vec<_>) = here.partition(|plan| plan.origin.scope == Scope::Project);
    let (project, others) =
        (Scripts::each(project, root, environment), Scripts::each(others, root, environment));
    let directories: Vec<PathBuf> =
        roots.iter().map(|root| root.dir.clone()).chain([root.join("ensembles")]).collect();
    // A tool that could write there could accept itself.
    let lockfiles: Vec<PathBuf> = directories.iter().filter_map(|directory| lock_path(directory)).collect();
    let descriptors = directories.into_iter().chain(lockfiles);
    let named = |command: &'_ Scripts| {
        let fixed = command.directories.iter().filter(|dir| !command.is_output(dir));
        fixed.map(|dir| root.join(dir)).collect::<Vec<_>>()
    };
    let directories = project.iter().flat_map(named);
    let files = project.iter().chain(&others).flat_map(|command| command.protected(root));
    descriptors.chain(directories).chain(files).collect()
}

/// Built-in ensembles name no files.
fn is_our_own(plan: &EnsemblePlan) -> bool {
    plan.origin.scope == Scope::Shipped
}

fn starts_elsewhere(plan: &EnsemblePlan) -> bool {
    let way = plan.connection.as_ref().map(|connection| &connection.transport);
    plan.origin.scope == Scope::User && matches!(way, Some(TransportPlan::Stdio { cwd: None, .. }))
}
