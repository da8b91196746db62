//! The directories that are searched for ensembles.

use std::path::{Path, PathBuf};

use converse_config::{Root, Scope};

use crate::settings::{can_be_looked_for, leads_out};
use crate::world::World;

/// Returns explicit directories, the project's and the user's, nearest first.
pub(super) fn roots(world: &World, explicit: &[PathBuf]) -> Vec<Root> {
    let mut roots: Vec<Root> = explicit.iter().map(|dir| root(Scope::Explicit, world, dir)).collect();
    let project = world.cwd.join("ensembles");
    // A link out of the project could show its reader other files.
    let own = !leads_out(&project, &world.cwd);
    if own && !explicit.iter().any(|dir| same(&world.cwd.join(dir), &project)) {
        roots.push(Root { scope: Scope::Project, dir: project, shown: "ensembles".to_owned() });
    }
    let user = world.config_dir().map(|dir| dir.join("ensembles")).filter(|dir| can_be_looked_for(dir));
    roots.extend(user.map(|dir| root(Scope::User, world, &dir)));
    roots
}

pub(super) fn root(scope: Scope, world: &World, dir: &Path) -> Root {
    Root { scope, dir: world.cwd.join(dir), shown: dir.display().to_string() }
}

fn same(a: &Path, b: &Path) -> bool {
    matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}
