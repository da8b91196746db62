//! Flags of `batch`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueHint};
use converse_batch::{BatchOptions, ProviderBatch};
use converse_canister::Cost;
use converse_host::options::TurnOptions;

use super::headings;
use super::talk::{Asking, Bounds, dollars, seconds};

/// Seconds between two looks at a provider batch.
const POLL: f64 = 60.0;

// Many conversations from a file.
#[derive(Debug, Args)]
pub(crate) struct Batch {
    /// The conversations, one JSON object on each line: id, prompt or messages, variables, schema, attachments
    #[arg(value_name = "INPUT.jsonl", value_hint = ValueHint::FilePath)]
    input: PathBuf,

    /// Write the results to this file and not to stdout; conversations that have a result in it are not run again
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = headings::OUTPUT)]
    output: Option<PathBuf>,

    /// Run failed conversations of the file again; their old results are removed
    #[arg(long, requires = "output", help_heading = headings::OUTPUT)]
    retry_failed: bool,

    /// Write the results in the order of the input
    #[arg(long, help_heading = headings::OUTPUT)]
    keep_order: bool,

    /// Save each conversation as a session
    #[arg(long, help_heading = headings::SESSION)]
    save_sessions: bool,

    /// Conversations to run at once; fewer while a provider refuses because of its rate limits
    #[arg(short, long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=256), help_heading = headings::LIMITS)]
    jobs: u16,

    /// Prompt of lines that have none, with {{name}} for their variables; @FILE reads it from a file
    #[arg(long, value_name = "TEXT|@FILE", help_heading = headings::INPUT)]
    template: Option<String>,

    /// Require answers that are valid against this JSON Schema, of lines without a schema
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = headings::INPUT)]
    schema: Option<PathBuf>,

    /// Model to use, as provider/model; `understudy` needs no key and no network
    #[arg(short, long, value_name = "PROVIDER/MODEL", help_heading = headings::MODEL)]
    model: Option<String>,

    /// Model to use if the provider is unreachable, overloaded, out of quota or does not have the model (repeatable,
    /// in order)
    #[arg(long, value_name = "PROVIDER/MODEL", help_heading = headings::MODEL)]
    fallback: Vec<String>,

    /// Submit the conversations to the batch API of Anthropic, Gemini or OpenAI: half the price, answers within a day,
    /// no tools
    #[arg(long, requires = "output", help_heading = headings::BATCH)]
    provider_batch: bool,

    /// Look at a submitted batch at least this often (60 by default)
    #[arg(long, value_name = "SECONDS", requires = "provider_batch", value_parser = seconds, help_heading = headings::BATCH)]
    poll: Option<f64>,

    /// Cancel what was submitted, and write the results that there are
    #[arg(long, requires = "provider_batch", help_heading = headings::BATCH)]
    cancel_batch: bool,

    /// Run the conversations on the workers of a Restate server; their models, tools and settings count
    #[arg(
        long,
        value_name = "restate://HOST:PORT",
        conflicts_with_all = [
            "model", "fallback", "provider_batch", "retry_failed", "system", "preset", "ensemble", "ensembles",
            "allow", "ask", "deny", "no_tools", "temperature", "max_output_tokens", "effort", "no_stream",
            "max_iterations", "max_invocations", "deadline",
        ],
        help_heading = headings::RUNNER
    )]
    runner: Option<String>,

    #[command(flatten)]
    asking: Asking,

    #[command(flatten)]
    bounds: Bounds,

    /// Maximum cost of all conversations together in US dollars, models and tools
    #[arg(long, value_name = "USD", value_parser = dollars, help_heading = headings::LIMITS)]
    max_cost: Option<Cost>,

    /// Stop each conversation after this time; with --provider-batch, stop waiting
    #[arg(long, value_name = "SECONDS", value_parser = seconds, help_heading = headings::LIMITS)]
    deadline: Option<f64>,
}

impl Batch {
    pub(crate) fn options(&self) -> BatchOptions {
        let turn = TurnOptions {
            model: self.model.clone().into_iter().collect(),
            fallback: self.fallback.clone(),
            max_cost: self.max_cost,
            deadline: self.deadline,
            ..self.asking.clone().options(&self.bounds)
        };
        let provider = self.provider_batch.then(|| ProviderBatch {
            poll: Duration::from_secs_f64(self.poll.unwrap_or(POLL)),
            cancel: self.cancel_batch,
        });
        BatchOptions {
            input: self.input.clone(),
            output: self.output.clone(),
            jobs: self.jobs.into(),
            ordered: self.keep_order,
            retry_failed: self.retry_failed,
            save_sessions: self.save_sessions,
            template: self.template.clone(),
            schema: self.schema.clone(),
            provider,
            runner: self.runner.clone(),
            turn,
        }
    }
}
