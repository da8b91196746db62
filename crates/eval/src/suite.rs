//! A suite: prompts with expectations.

use std::path::PathBuf;
use std::time::Duration;

use converse_batch::Line;
use converse_canister::Cost;
use converse_config::{ToolPattern, ValueSchema};
use regex::Regex;
use serde_json::Value;

/// A suite file without errors.
#[derive(Debug, Default)]
pub struct Suite {
    pub name: String,
    /// The models to run, as `provider/model`; empty for the configured one.
    pub models: Vec<String>,
    /// The ensembles to use; empty for all that are enabled.
    pub ensembles: Vec<String>,
    /// Instructions for the models, or `@FILE`.
    pub system: Option<String>,
    /// How often each case runs with each model.
    pub repeat: u32,
    pub cases: Vec<Case>,
}

/// One conversation and what is expected of it.
#[derive(Debug)]
pub struct Case {
    pub name: String,
    /// Line of the file, from 1.
    pub line: usize,
    pub conversation: Line,
    /// The ensembles to use instead of those of the suite; empty for those.
    pub ensembles: Vec<String>,
    /// The schema of the answer, a file.
    pub schema: Option<PathBuf>,
    /// The share of the runs that must pass, from 0 to 1.
    pub pass_rate: f64,
    pub limits: CaseLimits,
    pub expect: Expect,
}

/// Limits of one run.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct CaseLimits {
    pub cost: Option<Cost>,
    pub time: Option<Duration>,
}

/// The expectations of a case; all of them must be met.
#[derive(Debug, Default)]
pub struct Expect {
    /// Tools that must be called.
    pub must: Vec<Tools>,
    /// The only other tools that may be called; `None` for any.
    pub may: Option<Vec<Tools>>,
    pub must_not: Vec<Tools>,
    /// Tools that must be called in this order; other calls may be between them.
    pub order: Vec<Tools>,
    pub calls: Vec<CallExpect>,
    /// Texts that the answer contains.
    pub contains: Vec<String>,
    pub not_contains: Vec<String>,
    /// A regular expression that matches somewhere in the answer.
    pub matches: Option<Regex>,
    pub judge: Option<Judge>,
}

/// A tool, or a pattern of tools, as written.
#[derive(Debug, Clone)]
pub struct Tools {
    pub text: String,
    pub pattern: ToolPattern,
}

/// A call that must occur.
#[derive(Debug)]
pub struct CallExpect {
    pub tool: Tools,
    /// Arguments that the call has, possibly beside others.
    pub arguments: Option<Value>,
    /// The schema that all arguments of the call fit.
    pub schema: Option<ValueSchema>,
    /// Names of arguments, or JSON pointers into them, and the pattern of the text there.
    pub patterns: Vec<(String, Regex)>,
}

/// A question about the answer that another model decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judge {
    /// `provider/model`.
    pub model: String,
    pub question: String,
}
