//! The settings files: which there are, and whether they are sound.

use converse_config::Severity;

use super::finding::Finding;
use crate::settings::Files;
use crate::world::World;

pub(super) fn look(world: &World, files: &Files) -> Vec<Finding> {
    let user = world.config_dir().map(|dir| dir.join("config.toml"));
    let project = Some(world.cwd.join("converse.toml"));
    let mut findings: Vec<Finding> = [("user", user), ("project", project)]
        .into_iter()
        .filter_map(|(name, path)| {
            let path = path?;
            let there = path.symlink_metadata().is_ok();
            Some(Finding::fine(
                name,
                format!("{}{}", path.display(), if there { "" } else { " (not there)" }),
            ))
        })
        .collect();
    let found = files.findings();
    if found.is_empty() {
        findings.push(Finding::fine("contents", "without errors"));
    }
    findings.extend(found.into_iter().map(|(one, _)| {
        let place = [one.line, one.column].into_iter().flatten().map(|number| format!(":{number}"));
        let hint = one.hint.map(|hint| format!(" ({hint})")).unwrap_or_default();
        let told = format!("{}{}: {}{hint}", one.file, place.collect::<String>(), one.message);
        match one.severity {
            Severity::Error => Finding::broken("contents", told),
            Severity::Warning => Finding::note("contents", told),
        }
    }));
    findings
}
