//! The instructions, commands and skills of a run: of the user, and of the project if the user trusts it.

use std::io::{self, Read as _};
use std::path::Path;

use converse_config::Scope;
use converse_ensemble::Roster;
pub use converse_project::Instructions;
use converse_project::SKILL_TOOL;
use converse_session::files::open_regular;
use converse_text::safe_line;

use crate::catalogue::Catalogue;
use crate::settings::Settings;
use crate::skills::ENSEMBLE;
use crate::trust::HOW;
use crate::world::World;

/// Characters of a warning.
const WARNING: usize = 400;

/// Returns whether models are offered the tool that reads skills, and not each of its calls is denied.
pub fn reads_skills(roster: &Roster) -> bool {
    roster.can_run(SKILL_TOOL)
}

/// Finds the instructions. What is left out is in their warnings.
pub fn instructions(catalogue: &Catalogue, world: &World) -> Instructions {
    let mut all = of_user(world);
    let mut of_project = catalogue.steering().map(|one| one.instructions.clone()).unwrap_or_default();
    if !all.has_no_names() || !of_project.has_no_names() {
        let lockfiles = catalogue.lockfiles();
        lockfiles.hold(Scope::User, &mut all);
        lockfiles.hold(Scope::Project, &mut of_project);
    }
    if catalogue.trusts_instructions() {
        all = all.and(of_project);
    } else if !of_project.is_empty() {
        let names: Vec<_> = of_project.texts().map(|(path, _)| format!("`{path}`")).collect();
        all.warnings.push(format!("not trusted, so not sent to the model: {}; {HOW}", names.join(", ")));
    }
    if catalogue.contains(ENSEMBLE) && !all.skills.is_empty() {
        all.skills.iter_mut().for_each(|skill| skill.is_for_models = false);
        all.warnings.push(format!("models cannot read skills: an ensemble has the name `{ENSEMBLE}`"));
    }
    let unused = all.problems.iter().filter(|problem| problem.is_error);
    let unused = unused.map(|problem| format!("`{}` is not used: {}", problem.path, problem.message));
    let listing = all.problem_of_listing().filter(|problem| problem.is_error).map(|problem| problem.message);
    let warnings = all.warnings.iter().cloned().chain(unused).chain(listing).chain(all.shadowed());
    all.warnings = warnings.map(|warning| safe_line(&warning, WARNING)).collect();
    all
}

/// Returns those of the project, trusted or not.
pub(crate) fn of_project(world: &World) -> Instructions {
    world
        .project_root()
        .map(|root| Instructions::of_project(&world.cwd, root, &read_text))
        .unwrap_or_default()
}

/// Returns those of the user.
pub(crate) fn of_user(world: &World) -> Instructions {
    let shared = world.home().map(|home| home.join(".agents/skills"));
    let of_user = |dir: &Path| Instructions::of_user(dir, shared.as_deref(), &read_text);
    world.config_dir().map(|dir| of_user(&dir)).unwrap_or_default()
}

/// Reads a regular file, up to this number of bytes. A link is not followed.
///
/// # Errors
///
/// The file cannot be read.
pub fn read_text(path: &Path, most: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_regular(path)?.take(most as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

impl Settings {
    /// Returns the note that goes with each request: the instructions of files, the skills that the model can read, then what
    /// differs more often from run to run. What does not change comes first for the prompt caches of providers.
    pub fn note(&self, reads_skills: impl FnOnce() -> bool, of_run: Option<&str>) -> Option<String> {
        let skills = self.skills.as_deref().filter(|_| reads_skills());
        let parts: Vec<&str> = self.instructions.as_deref().into_iter().chain(skills).chain(of_run).collect();
        (!parts.is_empty()).then(|| parts.join("\n\n"))
    }
}
