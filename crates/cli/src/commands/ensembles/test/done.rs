//! One thing that was tried, and how it ended.

use std::time::Duration;

use converse_canister::Outcome;
use converse_config::EnsemblePlan;
use converse_ensemble::tool_tests::Miss;
use serde_json::{Map, Value};

use converse_host::failure::Failure;

#[derive(Debug, Clone)]
pub(super) struct Done {
    /// Empty, if it is about the run as a whole.
    pub(super) ensemble: String,
    /// Empty, if it is about the ensemble as a whole.
    pub(super) tool: String,
    /// Of the test.
    pub(super) name: String,
    pub(super) sort: Sort,
    pub(super) file: String,
    pub(super) line: usize,
    pub(super) end: End,
    /// `None` if nothing was called.
    pub(super) outcome: Option<Outcome>,
    pub(super) took: Duration,
    pub(super) arguments: Map<String, Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sort {
    /// The run as a whole, which was stopped.
    Run,
    Connecting,
    /// Stands in a descriptor.
    Written,
    /// Made from a schema, and fits it.
    Fitting,
    /// Made from a schema, and must be refused.
    Broken,
}

impl Sort {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Connecting => "connecting",
            Self::Written => "written",
            Self::Fitting => "fitting",
            Self::Broken => "broken",
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum End {
    Passed,
    Failed(Vec<Miss>),
    /// Not tried, for a reason that is nobody's fault.
    Skipped(String),
    /// It could not be tried.
    Error(String),
}

impl End {
    /// Passed, if there is nothing amiss.
    pub(super) fn of(misses: Vec<Miss>) -> Self {
        if misses.is_empty() { Self::Passed } else { Self::Failed(misses) }
    }

    pub(super) fn as_str(&self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed(_) => "failed",
            Self::Skipped(_) => "skipped",
            Self::Error(_) => "error",
        }
    }
}

impl Done {
    /// The run could not be brought to its end.
    pub(super) fn of_run(failure: &Failure) -> Self {
        Self {
            ensemble: String::new(),
            tool: String::new(),
            name: failure.code.to_owned(),
            sort: Sort::Run,
            file: String::new(),
            line: 0,
            end: End::Error(format!("stopped before its end: {}", failure.message)),
            outcome: None,
            took: Duration::ZERO,
            arguments: Map::new(),
        }
    }

    pub(super) fn of_ensemble(plan: &EnsemblePlan, end: End) -> Self {
        Self {
            ensemble: plan.name.to_string(),
            tool: String::new(),
            name: "connecting".to_owned(),
            sort: Sort::Connecting,
            file: plan.origin.file.clone(),
            line: plan.origin.line,
            end,
            outcome: None,
            took: Duration::ZERO,
            arguments: Map::new(),
        }
    }

    pub(super) fn of_tool(plan: &EnsemblePlan, tool: &str, sort: Sort, name: &str, end: End) -> Self {
        let origin =
            plan.invokers.iter().find(|invoker| invoker.name.as_str() == tool).map(|found| &found.origin);
        let origin = origin.unwrap_or(&plan.origin);
        let (file, line) = (origin.file.clone(), origin.line);
        Self {
            tool: tool.to_owned(),
            name: name.to_owned(),
            sort,
            file,
            line,
            ..Self::of_ensemble(plan, end)
        }
    }

    /// `ensemble.invoker`, or the ensemble alone.
    pub(super) fn subject(&self) -> String {
        if self.tool.is_empty() { self.ensemble.clone() } else { format!("{}.{}", self.ensemble, self.tool) }
    }
}
