//! The outcome of one test.

use std::time::Duration;

use converse_canister::Outcome;
use converse_config::EnsemblePlan;
use serde_json::{Map, Value};

use super::Miss;

/// One test and how it ended.
#[derive(Debug, Clone)]
pub struct TestOutcome {
    /// Empty for the run as a whole.
    pub ensemble: String,
    /// Empty for the ensemble as a whole.
    pub tool: String,
    /// The name of the test.
    pub name: String,
    pub kind: TestKind,
    pub file: String,
    pub line: usize,
    pub status: TestStatus,
    /// `None` if no tool was called.
    pub outcome: Option<Outcome>,
    pub took: Duration,
    pub arguments: Map<String, Value>,
}

/// What was tested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TestKind {
    /// The run as a whole, which was stopped early.
    Run,
    /// The connection of an ensemble.
    Connecting,
    /// A test of a descriptor.
    Written,
    /// A call generated from a schema, with valid arguments.
    Fitting,
    /// A call generated from a schema, with arguments that must be refused.
    Broken,
}

impl TestKind {
    /// The word for it in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Connecting => "connecting",
            Self::Written => "written",
            Self::Fitting => "fitting",
            Self::Broken => "broken",
        }
    }
}

/// How a test ended.
#[derive(Debug, Clone, PartialEq)]
pub enum TestStatus {
    Passed,
    Failed(Vec<Miss>),
    /// Not run, with the reason.
    Skipped(String),
    /// The test could not be run.
    Error(String),
}

impl TestStatus {
    /// Passed if there are no misses.
    pub fn of(misses: Vec<Miss>) -> Self {
        if misses.is_empty() { Self::Passed } else { Self::Failed(misses) }
    }

    /// The word for it in reports.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed(_) => "failed",
            Self::Skipped(_) => "skipped",
            Self::Error(_) => "error",
        }
    }
}

impl TestOutcome {
    /// The run was stopped by a failure.
    pub fn of_run(code: &str, message: &str) -> Self {
        Self {
            ensemble: String::new(),
            tool: String::new(),
            name: code.to_owned(),
            kind: TestKind::Run,
            file: String::new(),
            line: 0,
            status: TestStatus::Error(format!("stopped before its end: {}", message)),
            outcome: None,
            took: Duration::ZERO,
            arguments: Map::new(),
        }
    }

    pub fn of_ensemble(plan: &EnsemblePlan, status: TestStatus) -> Self {
        Self {
            ensemble: plan.name.to_string(),
            tool: String::new(),
            name: "connecting".to_owned(),
            kind: TestKind::Connecting,
            file: plan.origin.file.clone(),
            line: plan.origin.line,
            status,
            outcome: None,
            took: Duration::ZERO,
            arguments: Map::new(),
        }
    }

    pub fn of_tool(plan: &EnsemblePlan, tool: &str, kind: TestKind, name: &str, status: TestStatus) -> Self {
        let origin =
            plan.invokers.iter().find(|invoker| invoker.name.as_str() == tool).map(|found| &found.origin);
        let origin = origin.unwrap_or(&plan.origin);
        let (file, line) = (origin.file.clone(), origin.line);
        Self {
            tool: tool.to_owned(),
            name: name.to_owned(),
            kind,
            file,
            line,
            ..Self::of_ensemble(plan, status)
        }
    }

    /// `ensemble.invoker`, or the ensemble alone.
    pub fn subject(&self) -> String {
        if self.tool.is_empty() { self.ensemble.clone() } else { format!("{}.{}", self.ensemble, self.tool) }
    }
}
