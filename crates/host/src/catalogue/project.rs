//! What the project's files declare, before the user has decided about trust.

use std::collections::{BTreeMap, BTreeSet};

use converse_canister::EnsembleName;
use converse_config::{LoadedFiles, Resolution, ResolveInput, Scope, resolve};

use crate::trust::{Declaration, FileDigest, Standing, Steering, named_files};
use crate::world::World;
use converse_session::files::DigestBudget;

/// `Ok(None)`: the project declares nothing. An error: the declaration cannot be determined.
pub(super) type Project = Result<Option<Declaration>, String>;

/// What each ensemble of the project names, by the names of the ensembles.
pub(super) type NamedFiles = BTreeMap<EnsembleName, Vec<(String, String)>>;

/// Parses the descriptors as if they were trusted, to find the files that their commands name. Nothing runs.
pub(super) fn project(
    loaded: &LoadedFiles,
    given: &ResolveInput<'_>,
    steering: Option<&Steering>,
    world: &World,
) -> (Project, NamedFiles) {
    match declared(loaded, given, steering, world) {
        Ok((declaration, named)) => (Ok(declaration), named),
        Err(why) => (Err(why), NamedFiles::new()),
    }
}

fn declared(
    loaded: &LoadedFiles,
    given: &ResolveInput<'_>,
    steering: Option<&Steering>,
    world: &World,
) -> Result<(Option<Declaration>, NamedFiles), String> {
    if steering.is_none() && loaded.sources.iter().all(|(_, source)| source.scope != Scope::Project) {
        return Ok((None, NamedFiles::new()));
    }
    let given = ResolveInput { project_trusted: true, compile_schemas: false, require_env: false, ..*given };
    let Resolution { plans, .. } = resolve(&loaded.sources, &loaded.descriptors, &given);
    let of_project = || plans.iter().filter(|plan| plan.origin.scope == Scope::Project);
    let mut all = BTreeSet::new();
    let mut named = NamedFiles::new();
    let mut budget = DigestBudget::default();
    for plan in of_project() {
        let files = named_files(plan, &world.cwd, given.environment, &mut budget)?;
        all.extend(files.iter().cloned());
        named.insert(plan.name.clone(), files.into_iter().map(|file| (file.path, file.sha256)).collect());
    }
    let all: Vec<FileDigest> = all.into_iter().collect();
    Ok((Declaration::with_settings(&loaded.sources, all, steering), named))
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
