//! What the project's own files declare, before anybody has said whether they are trusted.

use converse_config::{Given, Loaded, Resolved, Scope, resolve};

use crate::trust::{Declaration, Scripts, Standing};
use crate::world::World;

/// `Ok(None)`: the project declares nothing. An error: it cannot be answered for.
pub(super) type Project = Result<Option<Declaration>, String>;

/// To find the files its commands name, the descriptors are read as if they were trusted; nothing runs.
pub(super) fn project(loaded: &Loaded, given: &Given<'_>, world: &World) -> Project {
    if loaded.sources.iter().all(|(_, source)| source.scope != Scope::Project) {
        return Ok(None);
    }
    let given = Given { project_trusted: true, compile_schemas: false, require_env: false, ..*given };
    let Resolved { plans, .. } = resolve(&loaded.sources, &loaded.descriptors, &given);
    let of_project = plans.iter().filter(|plan| plan.origin.scope == Scope::Project);
    let scripts = Scripts::of(of_project, &world.cwd, given.environment).digests(&world.cwd)?;
    Ok(Declaration::of(&loaded.sources, &scripts))
}

/// How it stands with the user; `None` where there is nothing to trust, and then nobody's trust is looked up.
pub(super) fn standing(project: &Project, world: &World) -> Option<Standing> {
    match project {
        Ok(None) => None,
        Ok(Some(declaration)) => Some(Standing::of(declaration, world)),
        Err(why) => Some(Standing::Unsound(format!("it cannot be told what it would run: {why}"))),
    }
}
