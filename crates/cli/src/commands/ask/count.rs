//! `--count-tokens`: the number of tokens of the request; one line or one object per model. An estimate is marked as one,
//! and stderr says so.

use converse_host::failure::Failure;
use converse_host::runtime::block_on;
use converse_host::settings::Settings;
use converse_host::token_count::{CountRequest, TokenCount};
use converse_terminal::render::output::{write_json, write_stdout};
use serde_json::json;

use super::Candidate;
use super::ask_run::AskRun;
use crate::args::Format;

impl AskRun<'_> {
    pub(super) fn count(&self, candidates: &mut [Candidate]) -> Result<(), Failure> {
        let requests = self.each_prompt(candidates, CountRequest::of)?;
        for (candidate, request) in candidates.iter().zip(requests) {
            let settings = &candidate.settings;
            let counted = block_on(request.send(settings, &self.interrupt))??;
            self.show(settings, &counted, candidates.len() > 1)?;
        }
        Ok(())
    }

    fn show(&self, settings: &Settings, counted: &TokenCount, several: bool) -> Result<(), Failure> {
        let id = &settings.model.id;
        if let Some(why) = counted.estimated {
            self.run.console.note(&format!("note: {id}: an estimate by the request's length; {why}"));
        }
        if self.run.args.output != Format::Text {
            let estimated = counted.estimated.is_some();
            let object = json!({ "model": id, "input_tokens": counted.tokens, "estimated": estimated });
            return Ok(write_json(&object)?);
        }
        let about = if counted.estimated.is_some() { "~" } else { "" };
        let model = if several { format!("{id} ") } else { String::new() };
        Ok(write_stdout(&format!("{model}{about}{}\n", counted.tokens))?)
    }
}
