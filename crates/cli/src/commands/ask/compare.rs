//! Several models asked at once: their turns, and how all of it ended.

use converse_engine::SinkError;
use converse_ensemble::SharedRuns;
use serde_json::{Value, json};

use super::ask_run::{AskRun, Ended};
use super::output::Output;
use super::{Begun, Candidate, Run};
use crate::args::Format;
use crate::exit_code;
use converse_host::failure::Failure;
use converse_host::turn::with_resume_hint;
use converse_terminal::render::End;
use converse_terminal::render::Renderer as _;
use converse_terminal::render::compare::{Compared, Report, sections, terminal};
use converse_terminal::render::json::{JsonRenderer, write_line};
use converse_terminal::render::jsonl::{JsonlRenderer, Record};
use converse_terminal::render::output::{columns, write_stdout};
use converse_terminal::view::ModelView;

/// One of the models, and how it ended.
struct ModelOutcome<'a> {
    candidate: &'a Candidate,
    compared: &'a Compared,
    ended: Ended,
}

impl Run<'_> {
    pub(super) fn compare(&self, mut begun: Begun) -> u8 {
        let console = self.console;
        let runs = SharedRuns::default();
        let records = JsonlRenderer::new(console.context.redactor.clone());
        let outputs = self.outputs(&begun.candidates, &runs, &records);
        let mut ask_run = AskRun::of(self, &begun);
        ask_run.shared = Some(runs);
        let ended = ask_run.run(&mut begun.candidates, &outputs);
        console.progress.hush();
        let ended = match ended {
            Ok(ended) => ended,
            Err(failure) => return self.cannot_compare(failure),
        };
        let outcomes: Vec<ModelOutcome<'_>> = begun
            .candidates
            .iter()
            .zip(&outputs)
            .zip(ended)
            .filter_map(|((candidate, output), ended)| {
                let Output::Compared(compared) = output else { return None };
                let session = candidate.session.as_deref();
                let failure =
                    ended.failure.map(|failure| with_resume_hint(failure, session, &console.context));
                Some(ModelOutcome { candidate, compared, ended: Ended { failure, ..ended } })
            })
            .collect();
        let first = outcomes.iter().find_map(ModelOutcome::failed);
        let last_word = self.last_word(&outcomes, &records, first.as_ref());
        // Every report is written, even if the first one fails.
        let codes: Vec<u8> = outcomes.iter().map(ModelOutcome::report).collect();
        let code = codes.into_iter().find(|code| *code != 0).unwrap_or(0);
        let unsaid = last_word.err().map(Failure::from).filter(|_| first.is_none());
        if unsaid.is_some() { crate::report(unsaid.as_ref()) } else { code }
    }

    /// No model is asked, because of one or of what all need.
    pub(super) fn cannot_compare(&self, failure: Failure) -> u8 {
        let console = self.console;
        let failure = with_resume_hint(failure, None, &console.context);
        console.progress.hush();
        let records = JsonlRenderer::new(console.context.redactor.clone());
        // An error while reporting is ignored, because the failure itself is reported next.
        let _ = self.last_word(&[], &records, Some(&failure));
        crate::report(Some(&failure))
    }

    fn outputs(&self, candidates: &[Candidate], runs: &SharedRuns, records: &JsonlRenderer) -> Vec<Output> {
        let console = self.console;
        let output = |(caller, candidate): (usize, &Candidate)| {
            let id = &candidate.settings.model.id;
            Output::Compared(Box::new(Compared {
                json: JsonRenderer::compared(console.context.redactor.clone(), runs.clone(), caller),
                jsonl: (self.args.output == Format::Jsonl).then(|| records.routed(id)),
                progress: ModelView::new(&console.progress, id),
            }))
        };
        candidates.iter().enumerate().map(output).collect()
    }

    fn last_word(
        &self,
        outcomes: &[ModelOutcome<'_>],
        records: &JsonlRenderer,
        failure: Option<&Failure>,
    ) -> Result<(), SinkError> {
        let exit = failure.map_or(0, |failure| exit_code(failure.kind));
        let reason = failure.map_or("answered", |failure| failure.code);
        match self.args.output {
            Format::Text if outcomes.is_empty() => Ok(()),
            Format::Text => {
                let reports = outcomes.iter().map(ModelOutcome::summary).collect::<Result<Vec<_>, _>>()?;
                write_stdout(&self.text(&reports))
            }
            Format::Json => {
                let models = outcomes.iter().map(ModelOutcome::object).collect::<Result<Vec<_>, _>>()?;
                let error = failure.map(Failure::json);
                let mut all = json!({ "models": models, "exit": exit, "reason": reason, "error": error });
                self.console.context.redactor.clean_json(&mut all);
                write_line(&all)
            }
            Format::Jsonl => {
                outcomes
                    .iter()
                    .try_for_each(|outcome| outcome.compared.record(outcome.end(), outcome.ended.elapsed))?;
                let warnings = self.console.context.take_warnings();
                warnings.iter().try_for_each(|message| records.write(Record::Warning { message }))?;
                records.finish(End { exit, reason, failure, session: None, model: None })
            }
        }
    }

    /// In columns on a terminal with enough room.
    fn text(&self, reports: &[Report]) -> String {
        if !self.world.stdout_tty {
            return sections(reports);
        }
        let columns = columns(std::io::stdout()).unwrap_or(80);
        terminal(reports, if self.console.style.plain { columns.min(ONE) } else { columns })
    }
}

/// A width at which nothing is beside anything.
const ONE: usize = 70;

impl ModelOutcome<'_> {
    /// Its failure where it stands for all.
    fn failed(&self) -> Option<Failure> {
        let id = &self.candidate.settings.model.id;
        self.ended.failure.as_ref().map(|failure| failure.clone().of_model(id))
    }

    fn end(&self) -> End<'_> {
        let failure = self.ended.failure.as_ref();
        End {
            exit: failure.map_or(0, |failure| exit_code(failure.kind)),
            reason: failure.map_or("answered", |failure| failure.code),
            failure,
            session: self.candidate.session.as_deref(),
            model: Some(&self.candidate.settings.model.id),
        }
    }

    fn object(&self) -> Result<Value, SinkError> {
        self.compared.object(self.end(), self.ended.elapsed)
    }

    fn summary(&self) -> Result<Report, SinkError> {
        Ok(Report {
            model: self.candidate.settings.model.id.clone(),
            gist: self.compared.json.gist()?,
            elapsed: self.ended.elapsed,
            failure: self.ended.failure.clone(),
        })
    }

    /// Tells a failure with its model.
    fn report(&self) -> u8 {
        let id = &self.candidate.settings.model.id;
        let named =
            |failure: &Failure| Failure { message: format!("{id}: {}", failure.message), ..failure.clone() };
        crate::report(self.ended.failure.as_ref().map(named).as_ref())
    }
}
