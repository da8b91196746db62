//! Flags of `eval`.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use converse_canister::Cost;
use converse_eval::EvalOptions;
use converse_host::options::TurnOptions;

use super::headings;
use super::talk::{Asking, Bounds, dollars};

// A suite of prompts with expectations.
#[derive(Debug, Args)]
pub(crate) struct Eval {
    /// The suite: prompts with expectations
    #[arg(value_name = "SUITE.toml", value_hint = ValueHint::FilePath)]
    suite: PathBuf,

    /// Run only cases whose name contains this text
    #[arg(long, value_name = "TEXT", help_heading = headings::INPUT)]
    filter: Option<String>,

    /// Run each case this often with each model, instead of the number in the suite
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000), help_heading = headings::INPUT)]
    repeat: Option<u32>,

    /// Model to run, as provider/model, instead of those of the suite; `understudy` needs no key and no network (repeatable)
    #[arg(short, long, value_name = "PROVIDER/MODEL", help_heading = headings::MODEL)]
    model: Vec<String>,

    #[command(flatten)]
    asking: Asking,

    /// Conversations to run at once; fewer while a provider refuses because of its rate limits
    #[arg(short, long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=256), help_heading = headings::LIMITS)]
    jobs: u16,

    #[command(flatten)]
    bounds: Bounds,

    /// Maximum cost of all conversations together in US dollars, models, tools and judges
    #[arg(long, value_name = "USD", value_parser = dollars, help_heading = headings::LIMITS)]
    max_cost: Option<Cost>,

    /// Record each run as a cassette in this directory, with secrets redacted
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with = "replay", help_heading = headings::CASSETTE)]
    record: Option<PathBuf>,

    /// Replay the cassettes of this directory; needs no key and no network
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = headings::CASSETTE)]
    replay: Option<PathBuf>,

    /// Compare with this baseline: fail only if a pass rate is lower than there, or a new case fails
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = headings::BASELINE)]
    baseline: Option<PathBuf>,

    /// Allow pass rates to be lower than the baseline by this much, from 0 to 1
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, requires = "baseline", value_parser = share, help_heading = headings::BASELINE)]
    threshold: f64,

    /// Write the pass rates of this run as a baseline
    #[arg(long, value_name = "FILE", conflicts_with = "filter", value_hint = ValueHint::FilePath, help_heading = headings::BASELINE)]
    save_baseline: Option<PathBuf>,

    /// Write each run with its verdict to this file, as a JSON object on a line
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = headings::OUTPUT)]
    output: Option<PathBuf>,

    /// Run the conversations on the workers of a Restate server, which must have the model and the ensembles of the suite
    #[arg(
        long,
        value_name = "restate://HOST:PORT",
        conflicts_with_all = [
            "system", "preset", "ensemble", "ensembles", "allow", "ask", "deny", "no_tools", "temperature",
            "max_output_tokens", "effort", "no_stream", "max_iterations", "max_invocations",
        ],
        help_heading = headings::RUNNER
    )]
    runner: Option<String>,

    /// Write a report as JUnit XML
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = headings::OUTPUT)]
    junit: Option<PathBuf>,

    /// Write a report as Markdown
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = headings::OUTPUT)]
    markdown: Option<PathBuf>,
}

impl Eval {
    pub(crate) fn options(&self) -> EvalOptions {
        EvalOptions {
            suite: self.suite.clone(),
            models: self.model.clone(),
            repeat: self.repeat,
            jobs: self.jobs.into(),
            filter: self.filter.clone(),
            record: self.record.clone(),
            replay: self.replay.clone(),
            baseline: self.baseline.clone(),
            threshold: self.threshold,
            save_baseline: self.save_baseline.clone(),
            junit: self.junit.clone(),
            markdown: self.markdown.clone(),
            output: self.output.clone(),
            runner: self.runner.clone(),
            turn: TurnOptions { max_cost: self.max_cost, ..self.asking.clone().options(&self.bounds) },
        }
    }
}

fn share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if (0.0..=1.0).contains(&value) => Ok(value),
        _ => Err("a number from 0 to 1 is needed".to_owned()),
    }
}
