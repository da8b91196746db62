//! Where the findings come from: each contributor is one line of [`gather`], in the order they are told.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use converse_config::{Code, Diagnostic, EnsemblePlan, Finding, Severity};

use super::met::Met;
use super::{Check, providers};
use converse_host::catalogue::Catalogue;
use converse_host::failure::Failure;
use converse_host::settings::{Files, PROJECT_FILE};
use converse_host::wording::counted;
use converse_text::safe;

/// A finding, and how people see it.
pub(super) struct Told {
    pub(super) finding: Finding,
    /// Several lines, ended by a line end.
    pub(super) picture: String,
}

/// All that a check has to say.
pub(super) struct Gathered {
    pub(super) told: Vec<Told>,
    /// Descriptors that were read, sound or not, as they are shown.
    pub(super) files: Vec<String>,
    /// Of each server in a line.
    lines: Vec<String>,
    ensembles: usize,
    tools: usize,
}

pub(super) fn gather(check: &Check<'_>, catalogue: &Catalogue) -> Result<Gathered, Failure> {
    let wanted = check.args.connect || check.args.locked;
    let met = if wanted { Met::of(check, catalogue)? } else { Met::default() };
    let mut told: Vec<Told> =
        catalogue.diagnostics().iter().map(|found| Told::of(catalogue, found)).collect();
    told.extend(met.told);
    told.extend(providers::of_declared(&check.args.provider, catalogue));
    told.extend(providers::of_discovered(&check.args.provider, &met.discovered).map(Told::from));
    told.extend(of_settings(check, catalogue));

    let declared: usize = catalogue.plans.iter().map(|plan| plan.invokers.len()).sum();
    let of_plan = |plan: &EnsemblePlan| {
        let of_invokers = plan.invokers.iter().map(|invoker| invoker.origin.file.clone());
        of_invokers.chain([plan.origin.file.clone()]).collect::<Vec<_>>()
    };
    let mut files: Vec<String> = catalogue.plans.iter().flat_map(of_plan).collect();
    files.extend(told.iter().map(|told| told.finding.file.clone()));
    files.sort();
    files.dedup();
    Ok(Gathered {
        told,
        files,
        lines: met.lines,
        ensembles: catalogue.plans.len(),
        tools: declared + met.discovered.len(),
    })
}

/// What is wrong with the settings, and rules in them that never decide anything. Directories that are named stand alone,
/// for the rules are about others; but a project's own has the settings of that project beside it, and whoever checks the
/// one means both.
fn of_settings(check: &Check<'_>, catalogue: &Catalogue) -> Vec<Told> {
    let (args, world) = (check.args, check.world);
    let found = |files: &Files, plans: &[EnsemblePlan]| -> Vec<Told> {
        let found = files.findings().into_iter().chain(files.idle_rules(plans));
        found.map(|(finding, picture)| Told { finding, picture }).collect()
    };
    let mut named = args.directories.iter().chain(&args.places.ensembles).peekable();
    if named.peek().is_none() {
        return found(&Files::read(world), &catalogue.plans);
    }
    let projects: BTreeSet<PathBuf> =
        named.filter_map(|directory| project(&world.cwd.join(directory))).collect();
    if projects.is_empty() {
        return Vec::new();
    }
    let plans = [catalogue.plans.as_slice(), &Catalogue::shipped(world).plans].concat();
    let told = |project: &PathBuf| {
        let path = project.join(PROJECT_FILE);
        let shown = path.strip_prefix(&world.cwd).unwrap_or(&path).display().to_string();
        found(&Files::of_project(project, &shown), &plans)
    };
    projects.iter().flat_map(told).collect()
}

/// Of its `ensembles/`, and of no other directory.
fn project(directory: &Path) -> Option<PathBuf> {
    let is_own = directory.file_name().is_some_and(|name| name == "ensembles");
    is_own.then(|| directory.parent().map(Path::to_path_buf)).flatten()
}

impl Gathered {
    /// In what was written down; a server that cannot be reached is another matter.
    pub(super) fn has_errors(&self) -> bool {
        self.errors().any(|finding| finding.code != Code::ConnectFailed)
    }

    pub(super) fn unconnected(&self) -> usize {
        self.errors().filter(|finding| finding.code == Code::ConnectFailed).count()
    }

    fn errors(&self) -> impl Iterator<Item = &Finding> {
        self.told.iter().map(|told| &told.finding).filter(|finding| finding.severity == Severity::Error)
    }

    pub(super) fn text(&self, colour: bool) -> String {
        let picture = |told: &Told| if colour { painted(told) } else { told.picture.clone() };
        let mut text: String = self.told.iter().map(|told| picture(told) + "\n").collect();
        text.extend(self.lines.iter().map(|line| format!("{line}\n")));
        text + &self.summary() + "\n"
    }

    pub(super) fn summary(&self) -> String {
        let Self { ensembles, tools, told, .. } = self;
        let (tools, findings) = (counted(*tools, "tool"), counted(told.len(), "finding"));
        let are = if *ensembles == 1 { "is" } else { "are" };
        format!("{} with {tools} {are} sound; {findings}", counted(*ensembles, "ensemble"))
    }
}

impl Told {
    pub(super) fn of(catalogue: &Catalogue, diagnostic: &Diagnostic) -> Self {
        let (finding, picture) = catalogue.told(diagnostic);
        Self { finding, picture }
    }
}

/// What it is and its carets in the colour of how bad it is.
fn painted(told: &Told) -> String {
    let code = match told.finding.severity {
        Severity::Error => "1;31",
        Severity::Warning => "1;33",
    };
    let line = |(at, line): (usize, &str)| {
        let carets =
            line.trim_start().strip_prefix("| ").filter(|rest| rest.trim_matches([' ', '^']).is_empty());
        let (from, to) = match (at, carets.and_then(|_| line.find('^'))) {
            (0, _) => (0, line.find("]: ").map_or(0, |end| end + 1)),
            (_, Some(first)) => (first, line.len()),
            (_, None) => return format!("{line}\n"),
        };
        let part = |range| line.get(range).unwrap_or_default();
        format!("{}\x1b[{code}m{}\x1b[0m{}\n", part(0..from), part(from..to), part(to..line.len()))
    };
    told.picture.lines().enumerate().map(line).collect()
}

/// What has no line of a file to show.
impl From<Finding> for Told {
    fn from(finding: Finding) -> Self {
        let (severity, code) = (finding.severity.as_str(), finding.code.as_str());
        let place = [finding.line, finding.column].into_iter().flatten().map(|number| format!(":{number}"));
        let margin = " ".repeat(finding.line.map_or(1, |line| line.to_string().len()));
        let (message, file) = (safe(&finding.message), safe(&finding.file));
        let mut picture =
            format!("{severity}[{code}]: {message}\n{margin}--> {file}{}\n", place.collect::<String>());
        picture.extend(finding.hint.iter().map(|hint| format!("{margin} = hint: {}\n", safe(hint))));
        Self { finding, picture }
    }
}

/// About an ensemble as a whole.
pub(super) fn of_ensemble(plan: &EnsemblePlan, code: Code, severity: Severity, message: &str) -> Finding {
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
