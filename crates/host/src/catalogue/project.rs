//! What the project's files declare, before the user has decided about trust.

use converse_config::{
    EnsemblePlan, InvokerKind, InvokerPlan, LoadedFiles, Resolution, ResolveInput, Scope, resolve,
};
use converse_ensemble::{Scripts, leads_to};
use converse_session::digest;

use crate::trust::{Declaration, FileDigest, Standing, Steering, digests};
use crate::world::World;

/// `Ok(None)`: the project declares nothing. An error: the declaration cannot be determined.
pub(super) type Project = Result<Option<Declaration>, String>;

/// Parses the descriptors as if they were trusted, to find the files that their commands name. Nothing runs.
pub(super) fn project(
    loaded: &LoadedFiles,
    given: &ResolveInput<'_>,
    steering: Option<&Steering>,
    world: &World,
) -> Project {
    if steering.is_none() && loaded.sources.iter().all(|(_, source)| source.scope != Scope::Project) {
        return Ok(None);
    }
    let given = ResolveInput { project_trusted: true, compile_schemas: false, require_env: false, ..*given };
    let Resolution { plans, .. } = resolve(&loaded.sources, &loaded.descriptors, &given);
    let of_project = || plans.iter().filter(|plan| plan.origin.scope == Scope::Project);
    let mut named = digests(&Scripts::of(of_project(), &world.cwd, given.environment), &world.cwd)?;
    named.extend(of_project().flat_map(outer_places));
    Ok(Declaration::with_settings(&loaded.sources, named, steering))
}

/// Returns where paths out of the project lead now: `root`, and the `cwd` of commands. A link that leads elsewhere later is
/// another declaration.
fn outer_places(plan: &EnsemblePlan) -> Vec<FileDigest> {
    let place = |key: &str, path: &str| {
        let leads_to = leads_to(path);
        let sha256 = digest(leads_to.as_bytes()).to_string();
        FileDigest { path: format!("{key} of {}: {path} -> {leads_to}", plan.name), sha256 }
    };
    let cwd = |invoker: &InvokerPlan| match &invoker.kind {
        InvokerKind::Command(command) => command.cwd.clone().filter(|cwd| cwd.has_root()),
        InvokerKind::Builtin(_) | InvokerKind::Http(_) => None,
    };
    let working = plan.invokers.iter().filter_map(cwd).map(|cwd| place("cwd", &cwd.to_string_lossy()));
    plan.outer_root().map(|root| place("root", root)).into_iter().chain(working).collect()
}

/// Returns the trust status; `None` if there is nothing to trust, and then the record is not read.
pub(super) fn standing(project: &Project, world: &World) -> Option<Standing> {
    match project {
        Ok(None) => None,
        Ok(Some(declaration)) => Some(Standing::of(declaration, world)),
        Err(why) => {
            Some(Standing::Unsound(format!("the files that it would run cannot be determined: {why}")))
        }
    }
}
