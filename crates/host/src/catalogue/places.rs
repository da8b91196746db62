//! Findings and their positions in the source files.

use converse_canister::InvokerName;
use converse_config::{Diagnostic, EnsembleDescriptor, EnsemblePlan, Finding, Span, Spanned};
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

    /// Returns notices about the project, then each finding on one line with its position.
    pub fn lines(&self) -> Vec<String> {
        let place = |finding: &Finding| match (finding.line, finding.column) {
            (Some(line), Some(column)) => format!("{}:{line}:{column}", finding.file),
            _ => finding.file.clone(),
        };
        let line = |finding: Finding| {
            let (severity, code) = (finding.severity.as_str(), finding.code.as_str());
            format!("{}: {severity}[{code}]: {}", place(&finding), finding.message)
        };
        let mut lines: Vec<String> = self.findings().into_iter().map(line).collect();
        let more = lines.len().saturating_sub(MOST_LINES);
        if more > 0 {
            lines.truncate(MOST_LINES);
            lines.push(format!("and {more} more findings: `converse ensembles check` shows them all"));
        }
        self.notes().into_iter().chain(lines).collect()
    }

    /// Returns the findings that exist only because the project is not trusted.
    pub fn lines_of_distrust(&self) -> Vec<String> {
        let is_distrust = |line: &String| line.contains("[untrusted-");
        let mut lines = self.notes();
        lines.extend(self.lines().into_iter().filter(is_distrust));
        lines
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
