//! `converse ask`: one turn, or one of each of several models, from the prompt to the exit code.

mod ask_run;
mod candidates;
mod compare;
mod conversation;
mod dry_run;
mod gathered;
mod output;
mod turn;

use std::sync::Arc;
use std::time::Instant;

use converse_session::Session;

use crate::args::{Ask, Format};
use crate::exit_code;
use converse_host::attach::{self, PromptRequest, UserInput};
use converse_host::catalogue::Catalogue;
use converse_host::failure::{Failure, Kind};
use converse_host::interrupt::Interrupt;
use converse_host::model;
use converse_host::options::TurnOptions;
use converse_host::secrets::Redactor;
use converse_host::settings::{self, Files, Settings};
use converse_host::turn::{key_warning, with_resume_hint};
use converse_host::world::World;
use converse_terminal::console::Console;
use converse_terminal::render::json::JsonRenderer;
use converse_terminal::render::jsonl::JsonlRenderer;
use converse_terminal::render::{End, Renderer as _};
use converse_terminal::signals;
use converse_terminal::stdin::{self, Bounds};

use ask_run::AskRun;
use conversation::Sessions;
use output::Output;

/// Runs it and says how it ended; the exit code is the last word.
pub(crate) fn run(args: &Ask, console: &Console, world: &World) -> u8 {
    let options = args.talk.options();
    let run = Run { args, options: &options, console, world };
    let output = Output::new(args, console, world);
    let mut begun = match run.begin() {
        Ok(begun) if begun.candidates.len() > 1 && !run.only_looks() => return run.compare(begun),
        Ok(begun) => begun,
        Err(failure) if run.would_compare() => return run.cannot_compare(failure),
        Err(failure) => return run.end(&output, None, Some(failure)),
    };
    let ended = run.alone(&mut begun, &output);
    run.end(&output, begun.candidates.first(), ended.err())
}

/// The last word of a command line that was not understood, for those who read JSON.
pub(crate) fn refuse(format: Format, failure: &Failure) {
    let exit = exit_code(failure.kind);
    let end = End { exit, reason: failure.code, failure: Some(failure), session: None, model: None };
    // An error while reporting is ignored, because the failure itself is reported next.
    let _ = match format {
        Format::Text => Ok(()),
        Format::Json => JsonRenderer::new(Redactor::default()).finish(end),
        Format::Jsonl => JsonlRenderer::new(Redactor::default()).finish(end),
    };
}

struct Run<'a> {
    args: &'a Ask,
    options: &'a TurnOptions,
    console: &'a Console,
    world: &'a World,
}

/// What is decided before any model is asked.
struct Begun {
    interrupt: Interrupt,
    deadline: Option<Instant>,
    said: Arc<UserInput>,
    /// Whether models get the instructions of files.
    is_instructed: bool,
    /// At least one.
    candidates: Vec<Candidate>,
}

/// A model to ask, its options, and the session that continues with it, if any.
struct Candidate {
    settings: Settings,
    continued: Option<Session>,
    /// The id of the session, once it exists.
    session: Option<String>,
}

impl Candidate {
    /// Whether the session outlives the run.
    fn is_kept(&self) -> bool {
        self.continued.is_some() || !self.settings.ephemeral
    }
}

impl Run<'_> {
    fn begin(&self) -> Result<Begun, Failure> {
        let began = Instant::now();
        let interrupt = signals::watch()?;
        let (files, warnings) = Files::read(self.world).checked()?;
        self.console.warn_all(warnings);
        self.console.context.redactor.learn(model::keys(&files, self.world)?);
        if settings::shows_reasoning(self.options, &files) {
            self.console.progress.show_reasoning(!self.console.style.quiet);
        }
        self.console.progress.follow_theme(files.theme.unwrap_or_default());
        self.load_cassette()?;
        let limit = settings::limits(self.options, &files).deadline;
        let deadline = limit.map(|limit| began + limit);
        if let Some(deadline) = deadline {
            signals::leave_at(deadline, exit_code(Kind::Limit));
        }
        let (asked, prompt) = self.prompt(Bounds { deadline, interrupt: &interrupt })?;
        self.console.warn_all(prompt.warning.map(str::to_owned));
        if let Some(remark) = prompt.remark.filter(|_| self.console.context.verbose) {
            self.console.note(&format!("note: {remark}"));
        }
        let candidates = self.candidates(&files)?;
        let is_kept = candidates.iter().any(Candidate::is_kept);
        let told = key_warning(&prompt.text, is_kept, &self.console.context, self.world);
        self.console.warn_all(told.filter(|_| !self.only_looks()));
        let said =
            self.user_input(prompt.text, &candidates, attach::Bounds { deadline, interrupt: &interrupt })?;
        let said = asked.into_iter().fold(said, UserInput::with_prompt);
        let is_instructed = settings::takes_instructions(self.options, &files);
        Ok(Begun { interrupt, deadline, said: Arc::new(said), is_instructed, candidates })
    }

    fn load_cassette(&self) -> Result<(), Failure> {
        let Ask { talk, mcp_prompt, .. } = self.args;
        let of = if talk.record.is_some() { "--record" } else { "--replay" };
        if (talk.record.is_some() || talk.replay.is_some()) && (mcp_prompt.is_some() || self.only_looks()) {
            let message =
                format!("`{of}` is for a turn, and not for `--prompt`, `--dry-run` or `--count-tokens`");
            return Err(Failure::usage("not-recordable", message));
        }
        let context = &self.console.context;
        self.console.warn_all(context.cassette.load(self.options, &context.redactor, self.world)?);
        Ok(())
    }

    /// A prompt of a server, and the user's words; which of them are arguments of the prompt only the server knows.
    fn prompt(&self, bounds: Bounds<'_>) -> Result<(Option<PromptRequest>, stdin::Prompt), Failure> {
        let (words, input) = (self.args.prompt.as_slice(), self.world.stdin);
        match &self.args.mcp_prompt {
            None => Ok((None, stdin::prompt(words, input, bounds)?)),
            Some(named) => {
                let (words, prompt) = stdin::beside(words, input, bounds)?;
                Ok((Some(PromptRequest::parse(named, words)?), prompt))
            }
        }
    }

    /// With what is attached, if every server takes so much.
    fn user_input(
        &self,
        words: String,
        candidates: &[Candidate],
        bounds: attach::Bounds<'_>,
    ) -> Result<UserInput, Failure> {
        let said = UserInput::new(words, &self.options.attach, self.world, bounds)?;
        for Candidate { settings, .. } in candidates {
            let model = &settings.model;
            said.fits(&model.endpoint, &model.facts, &model.id)?;
        }
        Ok(said)
    }

    fn alone(&self, begun: &mut Begun, output: &Output) -> Result<(), Failure> {
        let ask_run = AskRun::of(self, begun);
        if self.args.dry_run {
            return ask_run.dry_run(&mut begun.candidates);
        }
        if self.args.count_tokens {
            return ask_run.count(&mut begun.candidates);
        }
        let ended = ask_run.run(&mut begun.candidates, std::slice::from_ref(output))?;
        ended.into_iter().find_map(|ended| ended.failure).map_or(Ok(()), Err)
    }

    /// What would be asked is looked at, and nothing is.
    fn only_looks(&self) -> bool {
        self.args.dry_run || self.args.count_tokens
    }

    /// Writes the final output to stdout and stderr.
    fn end(&self, output: &Output, candidate: Option<&Candidate>, failure: Option<Failure>) -> u8 {
        let console = self.console;
        let session = candidate.and_then(|candidate| candidate.session.as_deref());
        let failure = failure.map(|failure| with_resume_hint(failure, session, &console.context));
        console.progress.hush();
        let end = End {
            exit: failure.as_ref().map_or(0, |failure| exit_code(failure.kind)),
            reason: failure.as_ref().map_or("answered", |failure| failure.code),
            failure: failure.as_ref(),
            session,
            model: candidate.map(|candidate| candidate.settings.model.id.as_str()),
        };
        let last_word = match (self.args.dry_run || self.args.count_tokens) && failure.is_none() {
            true => Ok(()),
            false => output.warnings(console).and_then(|()| output.renderer().finish(end)),
        };
        // The first error is reported; an error of the final output only without another one.
        let failure = failure.or_else(|| last_word.err().map(Failure::from));
        crate::report(failure.as_ref())
    }

    fn sessions(&self) -> Sessions<'_> {
        Sessions { args: self.options, console: self.console, world: self.world }
    }

    /// Returns the ensembles, checked as far as this run uses them; problems elsewhere are one line each. `said` may name
    /// servers.
    fn catalogue(
        &self,
        settings: &Settings,
        said: &UserInput,
        is_instructed: bool,
    ) -> Result<Catalogue, Failure> {
        let servers = || said.servers().into_iter().map(str::to_owned);
        let named = settings.ensembles.as_ref();
        let named: Option<Vec<_>> = named.map(|named| named.iter().cloned().chain(servers()).collect());
        let mut catalogue =
            Catalogue::find_for_question(self.world, &self.options.directories, named.as_deref());
        if !is_instructed {
            catalogue.leave_out_instructions();
        }
        catalogue.select(settings.ensembles.as_deref())?;
        self.console.warn_all(catalogue.lines_for(settings.ensembles.as_deref()));
        self.console.context.set_mode(self.options.mode, &catalogue, self.world);
        Ok(catalogue)
    }
}

fn internal(error: impl std::fmt::Display) -> Failure {
    Failure::new(Kind::Internal, "internal", error.to_string())
}
