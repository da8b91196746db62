//! Checks descriptors and settings: one list of findings from all contributors.

mod providers;
mod servers;
mod texts;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use converse_config::{Code, Diagnostic, EnsemblePlan, Finding, Severity};
use converse_provider::LintTarget;
use converse_text::safe;

use crate::catalogue::Catalogue;
use crate::context::RunContext;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::settings::{Files, PROJECT_FILE};
use crate::world::World;
use converse_text::wording::counted;

use servers::Servers;

/// What is checked beyond the text of the descriptors.
#[derive(Debug)]
pub struct CheckOptions<'a> {
    /// Connects the servers, until it is interrupted.
    pub connect: Option<&'a Interrupt>,
    /// Compares tools with the lockfiles. Needs `connect`.
    pub locked: bool,
    /// Reports what these providers reject.
    pub providers: &'a [LintTarget],
    /// The directories that were named; empty: those that a run would use.
    pub directories: &'a [PathBuf],
}

/// A finding, and its text for people.
#[derive(Debug)]
pub struct RenderedFinding {
    pub finding: Finding,
    /// Several lines with the source line, ended by a line end.
    pub text: String,
}

/// The result of a check.
#[derive(Debug)]
pub struct CheckReport {
    pub findings: Vec<RenderedFinding>,
    /// The descriptors that were read, valid or not, as they are shown.
    pub files: Vec<String>,
    /// One line about each connected server, and about what providers do with the tools of servers.
    pub servers: Vec<String>,
    ensembles: usize,
    tools: usize,
    /// Commands and skills.
    texts: usize,
}

impl CheckReport {
    /// Checks a catalogue and the settings.
    pub fn of(
        catalogue: &Catalogue,
        options: &CheckOptions<'_>,
        context: &RunContext,
        world: &World,
    ) -> Result<Self, Failure> {
        let servers = match options.connect {
            Some(interrupt) => Servers::inspect(catalogue, options.locked, context, interrupt, world)?,
            None => Servers::default(),
        };
        let diagnostics = catalogue.diagnostics().iter();
        let mut findings: Vec<_> = diagnostics.map(|one| RenderedFinding::of(catalogue, one)).collect();
        findings.extend(servers.findings);
        findings.extend(providers::of_declared(options.providers, catalogue));
        let (rejected, harmless) = providers::of_discovered(options.providers, &servers.tools);
        findings.extend(rejected.into_iter().map(RenderedFinding::from));
        findings.extend(of_settings(options.directories, catalogue, world));
        let found = texts::found(options.directories, world);
        findings.extend(texts::findings(&found));

        let declared: usize = catalogue.plans.iter().map(|plan| plan.invokers.len()).sum();
        let of_plan = |plan: &EnsemblePlan| {
            let of_invokers = plan.invokers.iter().map(|invoker| invoker.origin.file.clone());
            of_invokers.chain([plan.origin.file.clone()]).collect::<Vec<_>>()
        };
        let mut files: Vec<String> = catalogue.plans.iter().flat_map(of_plan).collect();
        files.extend(findings.iter().map(|found| found.finding.file.clone()));
        files.sort();
        files.dedup();
        let (ensembles, tools) = (catalogue.plans.len(), declared + servers.tools.len());
        let texts = found.commands.len() + found.skills.len();
        let servers = [servers.lines, harmless].concat();
        Ok(Self { findings, files, servers, ensembles, tools, texts })
    }

    /// Whether a file has an error. A server that cannot be connected does not count.
    pub fn has_errors(&self) -> bool {
        self.errors().any(|finding| finding.code != Code::ConnectFailed)
    }

    /// The number of servers that could not be connected.
    pub fn unconnected(&self) -> usize {
        self.errors().filter(|finding| finding.code == Code::ConnectFailed).count()
    }

    fn errors(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().map(|found| &found.finding).filter(|finding| finding.severity == Severity::Error)
    }

    /// One line: how much was checked, and the number of findings.
    pub fn summary(&self) -> String {
        let Self { ensembles, tools, texts, findings, .. } = self;
        let texts = if *texts == 0 { String::new() } else { format!(", commands and skills: {texts}") };
        let count = |severity| findings.iter().filter(|found| found.finding.severity == severity).count();
        let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
        format!(
            "checked {}, {}{texts}: {}, {}",
            counted(*ensembles, "ensemble"),
            counted(*tools, "tool"),
            counted(errors, "error"),
            counted(warnings, "warning")
        )
    }
}

/// Returns errors in the settings, and rules in them that never apply. A named directory is checked without other
/// settings, except the settings next to the `ensembles/` of a project.
fn of_settings(directories: &[PathBuf], catalogue: &Catalogue, world: &World) -> Vec<RenderedFinding> {
    let found = |files: &Files, plans: &[EnsemblePlan]| -> Vec<RenderedFinding> {
        let found = files.findings().into_iter().chain(files.unused(plans));
        found.map(|(finding, text)| RenderedFinding { finding, text }).collect()
    };
    if directories.is_empty() {
        return found(&Files::read(world), &catalogue.plans);
    }
    let projects: BTreeSet<PathBuf> =
        directories.iter().filter_map(|directory| project(&world.cwd.join(directory))).collect();
    if projects.is_empty() {
        return Vec::new();
    }
    let plans = [catalogue.plans.as_slice(), &Catalogue::shipped(world).plans].concat();
    let of_project = |project: &PathBuf| {
        let path = project.join(PROJECT_FILE);
        let shown = path.strip_prefix(&world.cwd).unwrap_or(&path).display().to_string();
        found(&Files::of_project(project, &shown), &plans)
    };
    projects.iter().flat_map(of_project).collect()
}

/// The project of a directory called `ensembles`.
fn project(directory: &Path) -> Option<PathBuf> {
    let is_own = directory.file_name().is_some_and(|name| name == "ensembles");
    is_own.then(|| directory.parent().map(Path::to_path_buf)).flatten()
}

impl RenderedFinding {
    fn of(catalogue: &Catalogue, diagnostic: &Diagnostic) -> Self {
        let (finding, text) = catalogue.rendered(diagnostic);
        Self { finding, text }
    }
}

/// A finding without a source line.
impl From<Finding> for RenderedFinding {
    fn from(finding: Finding) -> Self {
        let (severity, code) = (finding.severity.as_str(), finding.code.as_str());
        let place = [finding.line, finding.column].into_iter().flatten().map(|number| format!(":{number}"));
        let margin = " ".repeat(finding.line.map_or(1, |line| line.to_string().len()));
        let (message, file) = (safe(&finding.message), safe(&finding.file));
        let mut text =
            format!("{severity}[{code}]: {message}\n{margin}--> {file}{}\n", place.collect::<String>());
        text.extend(finding.hint.iter().map(|hint| format!("{margin} = hint: {}\n", safe(hint))));
        Self { finding, text }
    }
}

/// A finding about an ensemble as a whole.
fn of_ensemble(plan: &EnsemblePlan, code: Code, severity: Severity, message: &str) -> Finding {
    Finding {
        code,
        severity,
        message: format!("`{}`: {message}", plan.name),
        file: plan.origin.file.clone(),
        line: Some(plan.origin.line),
        column: Some(1),
        hint: Some(code.hint().to_owned()),
    }
}
