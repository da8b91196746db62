//! Stored "always" answers: `approvals.toml` in the user's state directory.
//!
//! Fails closed: a file that is damaged, too large, not a regular file or writable by others holds no answers, and is
//! not overwritten. Answers are rules that allow, so any rule that asks or denies overrides them.

mod memory;

use std::collections::BTreeSet;

use converse_config::{
    Approval, Diagnostic, MAX_APPROVALS, Rule, Scope, SourceMap, approvals_text, parse_approvals,
};

pub use self::memory::{MAX_ARGUMENTS, Memory, Offered, Reach, fixed, written};
use crate::world::World;
use converse_session::files::PrivateText;

const NAME: &str = "approvals.toml";
const MAX_BYTES: u64 = 1024 * 1024;

#[derive(Debug)]
pub struct Approvals {
    file: PrivateText,
}

/// The rules that apply here, and the warning about the file.
pub fn rules(world: &World) -> (Vec<Rule>, Option<String>) {
    let Some(approvals) = Approvals::of(world) else { return (Vec::new(), None) };
    let all = match approvals.read() {
        Ok(all) => all,
        Err(why) => return (Vec::new(), Some(format!("warning: no kept approval applies: {why}"))),
    };
    let here = all.iter().filter(|one| holds_in(one, world));
    (here.filter_map(|one| one.rule(format!("{NAME}:{}", one.line)).ok()).collect(), None)
}

/// An answer for a directory applies in that directory only.
fn holds_in(approval: &Approval, world: &World) -> bool {
    approval.project.as_deref().is_none_or(|project| world.cwd.to_str() == Some(project))
}

impl Approvals {
    /// `None` without a home.
    pub fn of(world: &World) -> Option<Self> {
        world.state_dir().map(|dir| Self { file: PrivateText { dir, name: NAME, most: MAX_BYTES } })
    }

    /// Returns all answers in the order of the file.
    ///
    /// # Errors
    ///
    /// Why the file cannot be used.
    pub fn read(&self) -> Result<Vec<Approval>, String> {
        let Some(text) = self.file.read().map_err(|why| self.about(why))? else { return Ok(Vec::new()) };
        let mut sources = SourceMap::new();
        let id = sources.add(NAME, Scope::User, &text);
        let read = parse_approvals(&sources, id);
        match read.diagnostics.iter().find(|one| one.is_error()) {
            Some(error) => Err(self.about(damage(error, &sources))),
            None => Ok(read.value),
        }
    }

    /// Adds an answer once, however often it is given.
    pub fn add(&self, approval: Approval) -> Result<(), String> {
        self.change(|mut all| {
            let same = |one: &Approval| Approval { at: String::new(), line: 0, ..one.clone() };
            all.retain(|known| same(known) != same(&approval));
            if all.len() >= MAX_APPROVALS {
                return Err(format!(
                    "there are already {MAX_APPROVALS} approvals; remove one with `converse approvals revoke`"
                ));
            }
            all.push(approval);
            Ok(all)
        })
    }

    /// Deletes the answers with these numbers, counted from 1. All or none.
    pub fn revoke(&self, numbers: &BTreeSet<usize>) -> Result<Result<Vec<Approval>, usize>, String> {
        let mut revoked = Vec::new();
        let mut unknown = None;
        self.change(|all| {
            unknown = numbers.iter().copied().find(|number| *number == 0 || *number > all.len());
            if unknown.is_some() {
                return Ok(all);
            }
            let (gone, stay): (Vec<_>, Vec<_>) =
                all.into_iter().enumerate().partition(|(index, _)| numbers.contains(&(index + 1)));
            revoked = gone.into_iter().map(|(_, one)| one).collect();
            Ok(stay.into_iter().map(|(_, one)| one).collect())
        })?;
        Ok(unknown.map_or(Ok(revoked), Err))
    }

    fn change(
        &self,
        change: impl FnOnce(Vec<Approval>) -> Result<Vec<Approval>, String>,
    ) -> Result<(), String> {
        let unwritten = |error: std::io::Error| self.about(format!("cannot be written: {error}"));
        let _lock = self.file.lock().map_err(unwritten)?;
        let before = self.read()?;
        let after = change(before.clone())?;
        if after == before { Ok(()) } else { self.file.replace(&approvals_text(&after)).map_err(unwritten) }
    }

    fn about(&self, what: impl std::fmt::Display) -> String {
        format!("`{}` {what}", self.file.path().display())
    }
}

/// Describes position and fault without the line itself, which may contain anything.
fn damage(error: &Diagnostic, sources: &SourceMap) -> String {
    let finding = error.finding(sources);
    format!("is damaged in line {}: {}", finding.line.unwrap_or(1), finding.message)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt as _;

    use converse_canister::Digest;
    use converse_config::ArgumentPatterns;
    use serde_json::json;

    use super::*;
    use crate::world::Input;

    fn world(home: &std::path::Path) -> World {
        World {
            words: Vec::new(),
            env: [("HOME".to_owned(), home.display().to_string())].into(),
            cwd: "/p".into(),
            config: None,
            data: None,
            database: None,
            stdin: Input::Nothing,
            stdout_tty: false,
            stderr_tty: false,
        }
    }

    fn approval(tool: &str, project: Option<&str>) -> Approval {
        Approval {
            tool: tool.to_owned(),
            arguments: json!({ "a": 1 }).as_object().cloned(),
            patterns: ArgumentPatterns::new(),
            definition: Digest([3; 32]),
            connection: Digest([4; 32]),
            project: project.map(str::to_owned),
            at: "2026-11-21T00:00:00Z".to_owned(),
            line: 0,
        }
    }

    fn tools(approvals: &Approvals) -> Vec<String> {
        approvals.read().unwrap().into_iter().map(|one| one.tool).collect()
    }

    #[test]
    fn answers_are_kept_until_they_are_revoked() {
        let dir = tempfile::tempdir().unwrap();
        let world = world(dir.path());
        let approvals = Approvals::of(&world).unwrap();
        assert_eq!(tools(&approvals), [""; 0]);
        assert!(fs::read_dir(dir.path()).unwrap().next().is_none(), "looking makes nothing");
        for (tool, project) in
            [("a.x", None), ("b.x", Some("/p")), ("c.x", Some("/q")), ("a.x", None), ("a.x", Some("/p"))]
        {
            approvals.add(approval(tool, project)).unwrap();
        }
        assert_eq!(tools(&approvals), ["b.x", "c.x", "a.x", "a.x"]);
        let (held, warning) = rules(&world);
        let held: Vec<&str> = held.iter().map(|rule| rule.pattern.as_str()).collect();
        assert_eq!(
            (held, warning),
            (vec!["b.x", "a.x", "a.x"], None),
            "those of another directory do not count"
        );
        let mode = fs::metadata(approvals.file.path()).unwrap().permissions().mode() & 0o7777;
        assert_eq!(mode, 0o600);
        assert_eq!(approvals.revoke(&[1, 5].into()), Ok(Err(5)));
        assert_eq!(approvals.revoke(&[0].into()), Ok(Err(0)));
        assert_eq!(tools(&approvals).len(), 4, "all or none");
        let gone: Vec<String> =
            approvals.revoke(&[1, 3].into()).unwrap().unwrap().into_iter().map(|one| one.tool).collect();
        assert_eq!(
            (gone, tools(&approvals)),
            (vec!["b.x".into(), "a.x".into()], vec!["c.x".into(), "a.x".into()])
        );
    }

    #[test]
    fn what_cannot_be_relied_upon_holds_no_answers_and_stays() {
        let dir = tempfile::tempdir().unwrap();
        let world = world(dir.path());
        let approvals = Approvals::of(&world).unwrap();
        approvals.add(approval("a.x", None)).unwrap();
        let path = approvals.file.path();
        let good = fs::read_to_string(&path).unwrap();
        let unsound = |text: &str, mode: u32, what: &str| {
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            let (held, warning) = rules(&world);
            let warning = warning.unwrap();
            assert!(held.is_empty() && warning.contains(what) && warning.contains(NAME), "{warning}");
            assert!(approvals.add(approval("b.x", None)).is_err() && approvals.revoke(&[1].into()).is_err());
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        };
        unsound(&good, 0o620, "0600");
        unsound(&good, 0o602, "0600");
        unsound(&good.replace("\"allow\"", "\"ask\""), 0o600, "damaged in line 5");
        unsound(&format!("{good}\nnonsense"), 0o600, "damaged in line");
        unsound(&good.replace("a.x", &"x".repeat(MAX_BYTES as usize)), 0o600, "bytes");
        fs::write(&path, &good).unwrap();
        assert_eq!(rules(&world).0.len(), 1);
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert!(rules(&world).1.unwrap().contains("regular"));
    }
}
