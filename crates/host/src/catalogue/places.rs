//! Findings and their positions in the source files.

use std::collections::BTreeSet;

use converse_canister::InvokerName;
use converse_config::{Code, Diagnostic, EnsembleDescriptor, EnsemblePlan, Finding, Span, Spanned, escape};
use converse_mcp::UnmatchedSetting;

use super::Catalogue;

/// Findings that a run reports in lines of their own.
const MOST_LINES: usize = 30;

impl Catalogue {
    /// Returns the findings in reading order: file by file, from the top.
    pub(crate) fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// Returns the finding, and its text with the source line.
    pub(crate) fn rendered(&self, diagnostic: &Diagnostic) -> (Finding, String) {
        (diagnostic.finding(&self.sources), diagnostic.render(&self.sources))
    }

    /// Returns notices about the project, then each finding on one line with its position. The notice that the project is
    /// not trusted stands for the findings that say so; `ensembles check` lists them.
    pub fn lines(&self) -> Vec<String> {
        self.lines_for(None)
    }

    /// Like [`Catalogue::lines`], without warnings about variables of ensembles that are not among those named.
    pub fn lines_for(&self, named: Option<&[String]>) -> Vec<String> {
        let place = |finding: &Finding| match (finding.line, finding.column) {
            (Some(line), Some(column)) => format!("{}:{line}:{column}", finding.file),
            _ => finding.file.clone(),
        };
        let line = |finding: Finding| {
            let (severity, code) = (finding.severity.as_str(), finding.code.as_str());
            format!("{}: {severity}[{code}]: {}", place(&finding), finding.message)
        };
        let is_said = |finding: &Finding| !self.notes.is_empty() && is_distrust(finding);
        let unused = named.map(|named| self.files_of_others(named)).unwrap_or_default();
        let is_idle =
            |finding: &Finding| finding.code == Code::UnsetVariable && unused.contains(&finding.file);
        let findings = self.findings().into_iter();
        let findings = findings.filter(|finding| !is_said(finding) && !is_idle(finding));
        let mut lines: Vec<String> = findings.map(line).collect();
        let more = lines.len().saturating_sub(MOST_LINES);
        if more > 0 {
            lines.truncate(MOST_LINES);
            lines.push(format!("and {more} more findings: `converse ensembles check` shows them all"));
        }
        self.notes().into_iter().chain(lines).collect()
    }

    /// Returns the files of the ensembles that are not among those named, as findings name them.
    fn files_of_others(&self, named: &[String]) -> BTreeSet<String> {
        let (used, others): (Vec<_>, Vec<_>) =
            self.plans.iter().partition(|plan| named.iter().any(|name| name == plan.name.as_str()));
        let files = |plan: &&EnsemblePlan| {
            let of_invokers = plan.invokers.iter().map(|invoker| escape(&invoker.origin.file));
            of_invokers.chain([escape(&plan.origin.file)]).collect::<Vec<_>>()
        };
        let used: BTreeSet<String> = used.iter().flat_map(files).collect();
        others.iter().flat_map(files).filter(|file| !used.contains(file)).collect()
    }

    /// Returns what [`Catalogue::lines`] says only because the project is not trusted.
    pub fn lines_of_distrust(&self) -> Vec<String> {
        self.notes()
    }

    /// Returns the position of a part of an invoker's arguments, or of the invoker.
    pub(crate) fn place_in(&self, plan: &EnsemblePlan, invoker: &InvokerName, pointer: &str) -> Option<Span> {
        let mut invokers = self.written(plan)?.invokers.iter().filter_map(|entry| entry.invoker.as_ref());
        let found =
            invokers.find(|found| found.name.as_ref().is_some_and(|name| name.value == invoker.as_str()))?;
        let whole = found.arguments.as_ref().filter(|_| !pointer.is_empty());
        Some(whole.map_or(found.span, |arguments| arguments.place(pointer)))
    }

    /// Returns the position of a setting about the server's tools.
    pub(crate) fn place_of_idle(&self, plan: &EnsemblePlan, idle: &UnmatchedSetting) -> Option<Span> {
        let tools = self.written(plan)?.tools.as_ref()?;
        let pattern = |patterns: &[Spanned<String>], text: &str| {
            patterns.iter().find(|pattern| pattern.value == text).map(|pattern| pattern.span)
        };
        match idle {
            UnmatchedSetting::Include(text) => pattern(&tools.include, text),
            UnmatchedSetting::Exclude(text) => pattern(&tools.exclude, text),
            UnmatchedSetting::Tool(name) => {
                let mut names = tools.tools.iter().map(|tool| &tool.name);
                names.find(|written| written.value == name.as_str()).map(|written| written.span)
            }
        }
    }

    fn written(&self, plan: &EnsemblePlan) -> Option<&EnsembleDescriptor> {
        self.descriptors.iter().find(|descriptor| {
            let source = descriptor.source;
            self.sources.scope(source) == plan.origin.scope && self.sources.path(source) == plan.origin.file
        })
    }
}

/// Returns whether a finding exists only because the project is not trusted.
fn is_distrust(finding: &Finding) -> bool {
    finding.code.as_str().starts_with("untrusted-")
}
