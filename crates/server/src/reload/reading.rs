//! Reads a configuration that changed, and decides what becomes of a project that was trusted.

use std::path::PathBuf;

use converse_config::{EnsemblePlan, Finding, Rule, Scope, SettingsPlan, Severity, ViewPlan};
use converse_host::catalogue::Catalogue;
use converse_host::failure::Failure;
use converse_host::settings::{FileParts, Files};
use converse_host::trust::Standing;

use super::ReloadParts;

/// The code of a failure because an ensemble is not trusted.
const UNTRUSTED: &str = "untrusted";

/// Why views that name clients are refused where all clients are the same.
pub const VIEWS_NEED_ACCESS: &str =
    "views name clients by token or claim, and `--no-auth` tells no client from another";

/// What a program serves.
#[derive(Debug)]
pub struct Configuration {
    pub catalogue: Catalogue,
    pub plans: Vec<EnsemblePlan>,
    pub settings: SettingsPlan,
    pub rules: Vec<Rule>,
    /// Files and directories that no tool may write to.
    pub protected: Vec<PathBuf>,
    /// What the settings of the user and of the project say.
    parts: FileParts,
    /// Whether the project is trusted as it is served, also if its files have changed since.
    pub(super) has_trust: bool,
}

/// What becomes of the project that is served.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Project {
    /// It is served as its files are, as far as they are trusted.
    AsRead,
    /// Its files have changed, or are not as they were trusted: it is served as it was.
    Kept,
    /// The user has taken back the trust: it is not served any more.
    Revoked,
}

impl Project {
    /// Judges the files as they are `now`.
    pub(super) fn of(before: &Configuration, now: &Catalogue) -> Self {
        match now.standing().filter(|_| before.has_trust) {
            None | Some(Standing::Trusted) => Self::AsRead,
            Some(Standing::Changed(_) | Standing::Unsound(_)) => Self::Kept,
            Some(Standing::Unknown) => Self::Revoked,
        }
    }
}

impl Configuration {
    /// Removes the project: its ensembles, and what its settings say that needs trust.
    pub(super) fn revoke(&mut self) {
        self.has_trust = false;
        self.plans.retain(|plan| plan.origin.scope != Scope::Project);
        self.settings = self.parts.without_trust(std::mem::take(&mut self.settings));
        self.parts.project = std::mem::take(&mut self.parts.project).without_steering();
    }
}

impl ReloadParts<'_> {
    /// Reads what to serve of this catalogue.
    ///
    /// # Errors
    ///
    /// The user's own files have errors, or an ensemble that the command line names is missing or not trusted.
    pub fn configuration(&self, catalogue: Catalogue) -> Result<Configuration, Failure> {
        let plans = selected(&catalogue, self.named, self.named)?;
        self.with_settings(catalogue, plans, Files::read(self.world))
    }

    /// Reads a changed configuration, with the project as it was `before` if it is kept, or returns why it is refused, as
    /// lines.
    pub(super) fn changed(
        &self,
        catalogue: Catalogue,
        before: &Configuration,
        project: &Project,
    ) -> Result<Configuration, Vec<String>> {
        let kept = (*project == Project::Kept).then_some(before);
        let files = Files::read_keeping(self.world, kept.map(|before| &before.parts.project));
        let of_files = files.findings().into_iter().map(|(finding, _)| finding);
        let errors: Vec<String> = catalogue
            .findings_in_use()
            .into_iter()
            .chain(of_files)
            .filter(is_error)
            .map(|one| line(&one))
            .collect();
        if !errors.is_empty() {
            return Err(errors);
        }
        // What is left of a file that is lost allows more than its author wrote. Those of a project that is kept are kept.
        let scopes: &[Scope] = if kept.is_some() { &[Scope::User] } else { &[Scope::User, Scope::Project] };
        let emptied = before.parts.emptied(&files, scopes, self.world);
        if !emptied.is_empty() {
            return Err(emptied.iter().map(|shown| without_settings(shown)).collect());
        }
        let refused = |failure: Failure| vec![failure.message];
        let plans = match kept {
            Some(before) => self.beside_project(&catalogue, before),
            None => selected(&catalogue, self.named, &self.usable(&catalogue)),
        };
        let new = self.with_settings(catalogue, plans.map_err(refused)?, files).map_err(refused)?;
        if self.is_open && new.settings.views.iter().any(ViewPlan::names_principals) {
            return Err(vec![VIEWS_NEED_ACCESS.to_owned()]);
        }
        Ok(match kept {
            Some(before) => Configuration {
                has_trust: true,
                protected: with_all(new.protected, &before.protected),
                parts: FileParts { project: before.parts.project.clone(), ..new.parts },
                ..new
            },
            None => new,
        })
    }

    /// Returns the names of the command line without those of a project that is not trusted any more.
    fn usable(&self, catalogue: &Catalogue) -> Vec<String> {
        let is_untrusted =
            |name: &&String| catalogue.named(name).is_err_and(|failure| failure.code == UNTRUSTED);
        self.named.iter().filter(|name| !is_untrusted(name)).cloned().collect()
    }

    /// Returns the plans of a catalogue beside those of the project, which stay.
    fn beside_project(
        &self,
        catalogue: &Catalogue,
        before: &Configuration,
    ) -> Result<Vec<EnsemblePlan>, Failure> {
        let is_kept = |plan: &&EnsemblePlan| plan.origin.scope == Scope::Project;
        let mut plans: Vec<EnsemblePlan> = before.plans.iter().filter(is_kept).cloned().collect();
        let is_own = |name: &str| plans.iter().all(|plan| plan.name.as_str() != name);
        let names: Vec<String> = self.named.iter().filter(|name| is_own(name)).cloned().collect();
        let mut others = selected(catalogue, self.named, &names)?;
        others.retain(|plan| plan.origin.scope != Scope::Project && is_own(plan.name.as_str()));
        plans.extend(others);
        let order = |plan: &EnsemblePlan| self.named.iter().position(|name| name == plan.name.as_str());
        plans.sort_by_cached_key(|plan| (order(plan), plan.name.clone()));
        Ok(plans)
    }

    fn with_settings(
        &self,
        catalogue: Catalogue,
        plans: Vec<EnsemblePlan>,
        files: Files,
    ) -> Result<Configuration, Failure> {
        let (parts, has_trust) = (files.parts.clone(), catalogue.standing() == Some(&Standing::Trusted));
        let (settings, rules) = files.with_rules(self.rules, self.context, self.world)?;
        let protected = catalogue.protected().to_vec();
        Ok(Configuration { catalogue, plans, settings, rules, protected, parts, has_trust })
    }
}

/// Returns the plans with these names, or all that are enabled if the command line names none.
fn selected(
    catalogue: &Catalogue,
    of_command_line: &[String],
    names: &[String],
) -> Result<Vec<EnsemblePlan>, Failure> {
    let names = (!of_command_line.is_empty()).then_some(names);
    Ok(catalogue.select(names)?.into_iter().cloned().collect())
}

/// Returns why a configuration is refused that has lost a settings file.
fn without_settings(shown: &str) -> String {
    format!(
        "{shown} is missing or empty, and its rules, limits and views would not count any more: restore it, write a \
         comment into it to continue without them, or restart the program"
    )
}

/// Adds those paths that are missing.
fn with_all(mut paths: Vec<PathBuf>, more: &[PathBuf]) -> Vec<PathBuf> {
    let missing: Vec<PathBuf> = more.iter().filter(|path| !paths.contains(path)).cloned().collect();
    paths.extend(missing);
    paths
}

fn is_error(finding: &Finding) -> bool {
    finding.severity == Severity::Error && !finding.code.as_str().starts_with("untrusted-")
}

fn line(finding: &Finding) -> String {
    let place = match (finding.line, finding.column) {
        (Some(line), Some(column)) => format!("{}:{line}:{column}", finding.file),
        _ => finding.file.clone(),
    };
    format!("{place}: error[{}]: {}", finding.code.as_str(), finding.message)
}
