//! What the project's files declare, before the user has decided about trust.

use converse_config::{LoadedFiles, Resolution, ResolveInput, Scope, resolve};

use crate::trust::{Declaration, Scripts, Standing};
use crate::world::World;

/// `Ok(None)`: the project declares nothing. An error: the declaration cannot be determined.
pub(super) type Project = Result<Option<Declaration>, String>;

/// Parses the descriptors as if they were trusted, to find the files that their commands name. Nothing runs.
pub(super) fn project(loaded: &LoadedFiles, given: &ResolveInput<'_>, world: &World) -> Project {
    if loaded.sources.iter().all(|(_, source)| source.scope != Scope::Project) {
        return Ok(None);
    }
    let given = ResolveInput { project_trusted: true, compile_schemas: false, require_env: false, ..*given };
    let Resolution { plans, .. } = resolve(&loaded.sources, &loaded.descriptors, &given);
    let of_project = plans.iter().filter(|plan| plan.origin.scope == Scope::Project);
    let scripts = Scripts::of(of_project, &world.cwd, given.environment).digests(&world.cwd)?;
    Ok(Declaration::of(&loaded.sources, &scripts))
}

/// Returns the trust status; `None` if there is nothing to trust, and then the record is not read.
pub(super) fn standing(project: &Project, world: &World) -> Option<Standing> {
    match project {
        Ok(None) => None,
        Ok(Some(declaration)) => Some(Standing::of(declaration, world)),
        Err(why) => Some(Standing::Unsound(format!("it cannot be told what it would run: {why}"))),
    }
}
