//! Permission modes: a layer over the rules of a run, which a person switches with one key.
//!
//! A mode never overrules a rule. `read-only` refuses calls that do more than read. `accept-edits` allows the edits of the
//! built-in file tools inside the project, if nothing but the default asks about them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use converse_config::{Effects, Judgement, Permission};
use parking_lot::RwLock;
use thiserror::Error;

/// A permission mode.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Mode {
    /// The rules alone decide.
    #[default]
    Ask,
    /// Only calls without effects run.
    ReadOnly,
    /// Edits inside the project run without a question.
    AcceptEdits,
}

impl Mode {
    /// The modes in the order of the key that switches them, with their names.
    pub const WORDS: [(&str, Self); 3] =
        [("ask", Self::Ask), ("read-only", Self::ReadOnly), ("accept-edits", Self::AcceptEdits)];

    /// Returns the mode with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::WORDS.iter().find(|(word, _)| *word == name).map(|(_, mode)| *mode)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::ReadOnly => "read-only",
            Self::AcceptEdits => "accept-edits",
        }
    }

    fn next(self) -> Self {
        match self {
            Self::Ask => Self::ReadOnly,
            Self::ReadOnly => Self::AcceptEdits,
            Self::AcceptEdits => Self::Ask,
        }
    }
}

/// Why edits are not accepted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Error)]
pub enum NoEdits {
    #[default]
    #[error("there is no project")]
    NoProject,
    #[error("the project is not trusted")]
    Untrusted,
    #[error("the directory is the home directory, or holds it")]
    Home,
}

/// Returns the directory in which edits are accepted. Paths are absolute and canonical.
///
/// # Errors
///
/// Why edits are accepted nowhere.
pub fn edited_project(workspace: &Path, home: Option<&Path>, trusted: bool) -> Result<PathBuf, NoEdits> {
    if workspace.parent().is_none() || home.is_some_and(|home| home.starts_with(workspace)) {
        return Err(NoEdits::Home);
    }
    if trusted { Ok(workspace.to_owned()) } else { Err(NoEdits::Untrusted) }
}

/// The mode of a run. All clones switch together, so that a change counts from the next call on.
#[derive(Debug, Clone, Default)]
pub struct ModeSwitch(Arc<RwLock<State>>);

#[derive(Debug)]
struct State {
    mode: Mode,
    /// The directory in which edits are accepted.
    project: Result<PathBuf, NoEdits>,
}

impl Default for State {
    fn default() -> Self {
        Self { mode: Mode::default(), project: Err(NoEdits::default()) }
    }
}

impl ModeSwitch {
    /// Returns the mode of now.
    pub fn mode(&self) -> Mode {
        self.0.read().mode
    }

    pub fn set(&self, mode: Mode) {
        self.0.write().mode = mode;
    }

    /// Switches to the next mode.
    pub fn switch(&self) {
        let mut state = self.0.write();
        state.mode = state.mode.next();
    }

    /// Sets the directory in which edits are accepted; see [`edited_project`].
    pub fn accept_in(&self, project: Result<PathBuf, NoEdits>) {
        self.0.write().project = project;
    }

    /// Returns why the mode of now has no effect, if it has none.
    pub fn without_effect(&self) -> Option<NoEdits> {
        let state = self.0.read();
        state.project.as_ref().err().copied().filter(|_| state.mode == Mode::AcceptEdits)
    }

    /// Judges a call that the rules have judged. `edited` is the file that a built-in tool would write, canonical; `None` for
    /// other calls, and if the descriptor of the tool says when to ask.
    pub fn judge(&self, effects: Effects, edited: Option<&Path>, judgement: Judgement) -> Judgement {
        let state = self.0.read();
        let is_in =
            |project: &Path| edited.is_some_and(|edited| edited != project && edited.starts_with(project));
        let asks_by_default = judgement.permission == Permission::Ask && !judgement.by_rule;
        match (state.mode, &state.project) {
            (Mode::ReadOnly, _) if effects > Effects::Read && judgement.permission != Permission::Deny => {
                let reason =
                    "only tools that read run until the user leaves this mode; say what you would change";
                by_mode(Mode::ReadOnly, Permission::Deny, reason)
            }
            (Mode::AcceptEdits, Ok(project)) if asks_by_default && is_in(project) => by_mode(
                Mode::AcceptEdits,
                Permission::Allow,
                "edits inside the project run without a question",
            ),
            _ => judgement,
        }
    }
}

fn by_mode(mode: Mode, permission: Permission, reason: &str) -> Judgement {
    let rule = format!("mode {}", mode.as_str());
    Judgement { permission, rule, reason: Some(reason.to_owned()), by_rule: true }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROJECT: &str = "/home/u/p";

    fn switch(mode: Mode, project: Result<&str, NoEdits>) -> ModeSwitch {
        let switch = ModeSwitch::default();
        switch.set(mode);
        switch.accept_in(project.map(PathBuf::from));
        switch
    }

    /// The decision about an edit of `path` that the rules have judged so.
    fn edit(switch: &ModeSwitch, path: &str, permission: Permission, by_rule: bool) -> Judgement {
        let judged = Judgement { permission, rule: "the rules".to_owned(), reason: None, by_rule };
        switch.judge(Effects::Write, Some(Path::new(path)), judged)
    }

    #[test]
    fn rules_come_before_modes() {
        use Permission::{Allow, Ask, Deny};
        let inside = "/home/u/p/src/main.rs";
        for (mode, permission, by_rule, expected) in [
            (Mode::Ask, Ask, false, Ask),
            (Mode::Ask, Allow, true, Allow),
            (Mode::ReadOnly, Ask, false, Deny),
            (Mode::ReadOnly, Allow, true, Deny),
            (Mode::ReadOnly, Deny, true, Deny),
            (Mode::AcceptEdits, Ask, false, Allow),
            (Mode::AcceptEdits, Ask, true, Ask),
            (Mode::AcceptEdits, Deny, true, Deny),
            (Mode::AcceptEdits, Deny, false, Deny),
        ] {
            let judged = edit(&switch(mode, Ok(PROJECT)), inside, permission, by_rule);
            assert_eq!(judged.permission, expected, "{mode:?}, {permission:?}, by a rule: {by_rule}");
            let is_by_mode = judged.rule == format!("mode {}", mode.as_str());
            assert_eq!(is_by_mode, expected != permission, "{mode:?}: {}", judged.rule);
        }
    }

    #[test]
    fn edits_are_accepted_inside_the_project_only() {
        let accepts = |project, path| {
            let judged = edit(&switch(Mode::AcceptEdits, project), path, Permission::Ask, false);
            judged.permission == Permission::Allow
        };
        for (path, expected) in
            [("/home/u/p/a", true), ("/home/u/p", false), ("/home/u/pp/a", false), ("/etc/a", false)]
        {
            assert_eq!(accepts(Ok(PROJECT), path), expected, "{path}");
        }
        assert!(
            !accepts(Err(NoEdits::Untrusted), "/home/u/p/a") && !accepts(Err(NoEdits::Home), "/home/u/a")
        );
        let other =
            Judgement { permission: Permission::Ask, rule: String::new(), reason: None, by_rule: false };
        let judged = switch(Mode::AcceptEdits, Ok(PROJECT)).judge(Effects::External, None, other);
        assert_eq!(judged.permission, Permission::Ask, "not an edit");
    }

    #[test]
    fn there_is_no_project_in_the_home_directory_or_above_it_or_without_trust() {
        let project = |workspace: &str, trusted| {
            edited_project(Path::new(workspace), Some(Path::new("/home/u")), trusted)
        };
        for (workspace, trusted, expected) in [
            ("/home/u/p", true, Ok(PathBuf::from(PROJECT))),
            ("/home/u/p", false, Err(NoEdits::Untrusted)),
            ("/home/u", true, Err(NoEdits::Home)),
            ("/home", true, Err(NoEdits::Home)),
            ("/", true, Err(NoEdits::Home)),
        ] {
            assert_eq!(project(workspace, trusted), expected, "{workspace}");
        }
        assert_eq!(edited_project(Path::new("/"), None, true), Err(NoEdits::Home));
    }

    #[test]
    fn what_reads_runs_in_every_mode() {
        for (_, mode) in Mode::WORDS {
            for (effects, permission) in
                [(Effects::None, Permission::Allow), (Effects::Read, Permission::Ask)]
            {
                let judged = Judgement { permission, rule: String::new(), reason: None, by_rule: false };
                let switch = switch(mode, Ok(PROJECT));
                assert_eq!(switch.judge(effects, None, judged.clone()), judged, "{mode:?}");
            }
        }
    }

    #[test]
    fn the_key_switches_to_every_mode_in_turn() {
        let (mode, seen) = (ModeSwitch::default(), ModeSwitch::clone);
        let other = seen(&mode);
        for (name, expected) in Mode::WORDS {
            assert_eq!((other.mode(), Mode::named(name)), (expected, Some(expected)));
            mode.switch();
        }
        assert_eq!((other.mode(), Mode::named("plan")), (Mode::Ask, None));
    }
}
