//! Commands and skills in lockfiles: beside the ensembles there are `*commands` and `*skills`, whose tools are the commands
//! and skills by name.

use std::collections::BTreeMap;

use converse_canister::Digest;
use converse_config::Scope;
use converse_config::lock::{PinnedEnsemble, PinnedTool};
use converse_project::{Command, Instructions, SKILL_FILE, Skill};
use serde_json::{Value, json};

use super::{Locked, Lockfiles, State};
use crate::catalogue::Catalogue;
use crate::instructions::of_user;
use crate::world::World;

const COMMANDS: &str = "*commands";
const SKILLS: &str = "*skills";

/// Returns whether the name is not that of an ensemble.
pub(super) fn is_of_texts(name: &str) -> bool {
    [COMMANDS, SKILLS].contains(&name)
}

/// Returns what a lockfile of this scope says of the commands and skills there are.
pub(super) fn found(
    scope: Scope,
    catalogue: &Catalogue,
    world: &World,
) -> [(&'static str, PinnedEnsemble); 2] {
    pinned(&match scope {
        Scope::User => of_user(world),
        Scope::Project => catalogue.steering().map(|one| one.instructions.clone()).unwrap_or_default(),
        Scope::Explicit | Scope::Shipped => Instructions::default(),
    })
}

fn pinned(instructions: &Instructions) -> [(&'static str, PinnedEnsemble); 2] {
    // The later of a name counts.
    let commands = instructions.commands.iter().map(|one| (one.name.clone(), of_command(one)));
    let skills = instructions.skills.iter().map(|one| (one.name().to_owned(), of_skill(one)));
    let pinned = |tools: BTreeMap<String, Value>| PinnedEnsemble {
        tools: tools.into_iter().map(|(name, definition)| (name, PinnedTool::new(definition))).collect(),
        ..PinnedEnsemble::default()
    };
    [(COMMANDS, pinned(commands.collect())), (SKILLS, pinned(skills.collect()))]
}

fn of_command(command: &Command) -> Value {
    json!({ "text": command.file })
}

fn of_skill(skill: &Skill) -> Value {
    let others = skill.files.iter().filter(|file| file.path != SKILL_FILE);
    let files: BTreeMap<&str, String> =
        others.map(|file| (file.path.as_str(), Digest(file.sha256).to_string())).collect();
    json!({ "text": skill.command.file, "files": files })
}

impl Lockfiles {
    /// Removes the commands and skills that differ from the lockfile of this scope, with a warning.
    pub(crate) fn hold(&self, scope: Scope, instructions: &mut Instructions) {
        let Some(locked) = self.0.iter().find(|locked| locked.scope == scope) else { return };
        let mut held = Vec::new();
        instructions.commands.retain(|command| {
            let is_accepted = locked.accepts(COMMANDS, &command.name, || of_command(command));
            held.extend((!is_accepted).then(|| command.path.clone()));
            is_accepted
        });
        instructions.skills.retain(|skill| {
            let is_accepted = locked.accepts(SKILLS, skill.name(), || of_skill(skill));
            held.extend((!is_accepted).then(|| skill.shown.clone()));
            is_accepted
        });
        if !held.is_empty() {
            let names: Vec<_> = held.iter().map(|path| format!("`{path}`")).collect();
            instructions.warnings.push(format!(
                "these differ from {} and are held back: {}; `converse ensembles lock --accept` accepts them",
                locked.shown,
                names.join(", ")
            ));
        }
    }
}

impl Locked {
    /// A group that was never locked holds nothing back.
    fn accepts(&self, group: &str, name: &str, definition: impl Fn() -> Value) -> bool {
        match &self.state {
            State::Absent => true,
            State::Damaged(_) => false,
            State::Sound(lockfile) => lockfile.ensembles.get(group).is_none_or(|pinned| {
                pinned
                    .tools
                    .get(name)
                    .is_some_and(|tool| tool.sha256() == converse_config::lock::digest(&definition()))
            }),
        }
    }
}
