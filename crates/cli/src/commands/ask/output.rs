//! What stdout carries.

use converse_engine::{Sink, SinkError};
use converse_ensemble::Roster;

use crate::args::{Ask, Format};
use converse_host::model::Model;
use converse_host::world::World;
use converse_terminal::console::Console;
use converse_terminal::render::Renderer;
use converse_terminal::render::compare::Compared;
use converse_terminal::render::json::JsonRenderer;
use converse_terminal::render::jsonl::{EnsembleRecord, JsonlRenderer, Record};
use converse_terminal::render::text::TextRenderer;

pub(super) enum Output {
    Text(TextRenderer),
    Json(Box<JsonRenderer>),
    Jsonl(JsonlRenderer),
    /// For one of several models: written when all have ended, or as records.
    Compared(Box<Compared>),
}

impl Output {
    pub(super) fn new(args: &Ask, console: &Console, world: &World) -> Self {
        match args.output {
            Format::Text => {
                let checked = args.schema.is_some();
                Self::Text(TextRenderer::new(
                    console.progress.clone(),
                    world.stdout_tty,
                    world.stderr_tty,
                    checked,
                ))
            }
            Format::Json => Self::Json(Box::new(JsonRenderer::new(console.context.redactor.clone()))),
            Format::Jsonl => Self::Jsonl(JsonlRenderer::new(console.context.redactor.clone())),
        }
    }

    pub(super) fn renderer(&self) -> &dyn Renderer {
        match self {
            Self::Text(text) => text,
            Self::Json(json) => json.as_ref(),
            Self::Jsonl(jsonl) => jsonl,
            Self::Compared(compared) => compared.as_ref(),
        }
    }

    /// Returns whether people read it, not programs.
    pub(super) fn is_for_people(&self) -> bool {
        matches!(self, Self::Text(_) | Self::Compared(_))
    }

    /// What stderr shows meanwhile.
    pub(super) fn progress<'a>(&'a self, console: &'a Console) -> &'a dyn Sink {
        match self {
            Self::Compared(compared) => &compared.progress,
            Self::Text(_) | Self::Json(_) | Self::Jsonl(_) => console.progress.as_ref(),
        }
    }

    /// Words of a reply that breaks off can be taken back, or were never shown.
    pub(super) fn can_take_back(&self, world: &World) -> bool {
        match self {
            Self::Text(text) => world.stdout_tty || text.is_checked(),
            Self::Json(_) | Self::Jsonl(_) | Self::Compared(_) => true,
        }
    }

    /// Warnings that stderr has heard, for those who read records.
    pub(super) fn warnings(&self, console: &Console) -> Result<(), SinkError> {
        let Self::Jsonl(jsonl) = self else { return Ok(()) };
        console
            .context
            .take_warnings()
            .iter()
            .try_for_each(|message| jsonl.write(Record::Warning { message }))
    }

    /// The first record; for people, one line when the understudy answers.
    pub(super) fn introduce(
        &self,
        model: &Model,
        session: Option<&str>,
        roster: &Roster,
        errors: &[String],
        console: &Console,
    ) -> Result<(), SinkError> {
        console.note_understudy(model);
        let quarantined = quarantined(roster);
        let jsonl = match self {
            Self::Text(_) => return Ok(()),
            Self::Json(json) => {
                json.introduce(errors)?;
                return json.quarantine(quarantined);
            }
            Self::Jsonl(jsonl) => jsonl,
            Self::Compared(compared) => {
                compared.json.introduce(errors)?;
                compared.json.quarantine(quarantined.iter().cloned())?;
                let Some(jsonl) = &compared.jsonl else { return Ok(()) };
                jsonl
            }
        };
        let offer = roster.offer();
        let mut ensembles: Vec<EnsembleRecord<'_>> = Vec::new();
        for tool in offer.tools() {
            let name = tool.qualified.split('.').next().unwrap_or_default();
            match ensembles.last_mut() {
                Some(last) if last.name == name => last.tools += 1,
                _ => ensembles.push(EnsembleRecord { name, tools: 1 }),
            }
        }
        jsonl.write(Record::SessionStarted {
            session,
            model: &model.id,
            ensembles,
            errors,
            quarantined: &quarantined,
        })?;
        self.warnings(console)
    }

    /// Before the roster goes: what is held back by now.
    pub(super) fn conclude(&self, roster: &Roster) -> Result<(), SinkError> {
        match self {
            Self::Json(json) => json.quarantine(quarantined(roster)),
            Self::Compared(compared) => compared.json.quarantine(quarantined(roster)),
            Self::Text(_) | Self::Jsonl(_) => Ok(()),
        }
    }
}

fn quarantined(roster: &Roster) -> Vec<String> {
    let mut names: Vec<String> = roster.offer().held_back().map(|tool| tool.qualified.clone()).collect();
    names.sort_unstable();
    names
}
