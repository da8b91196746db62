//! How loud and how colourful this run is.

use std::sync::Arc;

use crate::adapters::secrets::Secret;
use crate::args::{Cli, Color, Command, Format};
use crate::render::output::write_stderr;
use crate::render::progress::{Progress, Style};
use crate::world::{Input, World};

pub(crate) struct Manners {
    pub(crate) quiet: bool,
    pub(crate) verbose: u8,
    /// Somebody is there who can answer a question.
    pub(crate) can_ask: bool,
    pub(crate) progress: Arc<Progress>,
    /// Taken out of everything that is said about a failure.
    pub(crate) secrets: Vec<Secret>,
}

impl Manners {
    pub(crate) fn of(cli: &Cli, world: &World) -> Self {
        let (format, show_reasoning) = match &cli.command {
            Command::Ask(ask) => (ask.output, ask.show_reasoning),
            _ => (Format::Text, false),
        };
        let style = style(cli, format, world);
        Self {
            quiet: cli.quiet,
            verbose: cli.verbose,
            can_ask: world.stdin == Input::Terminal && world.stderr_tty,
            progress: Arc::new(Progress::new(style, show_reasoning)),
            secrets: keys(world),
        }
    }

    pub(crate) fn warn(&self, text: &str) {
        if !self.quiet {
            self.progress.hush();
            write_stderr(&self.redact(&format!("{}\n", text.trim_end())));
        }
    }

    pub(crate) fn warn_all(&self, texts: impl IntoIterator<Item = String>) {
        texts.into_iter().for_each(|text| self.warn(&text));
    }

    pub(crate) fn redact(&self, text: &str) -> String {
        self.secrets.iter().fold(text.to_owned(), |text, secret| secret.redact(&text))
    }
}

/// Progress is for a terminal; with `-v` it is plain lines elsewhere too.
fn style(cli: &Cli, format: Format, world: &World) -> Style {
    let dumb = world.var("TERM").is_none_or(|term| term == "dumb");
    let live = world.stderr_tty && !dumb && !cli.plain && format == Format::Text;
    match (cli.quiet, live) {
        (true, _) => Style::Silent,
        (false, true) => Style::Live { colour: colour(cli.color, world) },
        (false, false) if cli.verbose > 0 || (world.stderr_tty && format == Format::Text) => Style::Lines,
        (false, false) => Style::Silent,
    }
}

/// `--color`, then `NO_COLOR` (no-color.org) and `CLICOLOR_FORCE`, then the terminal.
fn colour(choice: Color, world: &World) -> bool {
    match choice {
        Color::Always => true,
        Color::Never => false,
        Color::Auto if world.var("NO_COLOR").is_some() => false,
        Color::Auto => world.stderr_tty || world.var("CLICOLOR_FORCE").is_some_and(|force| force != "0"),
    }
}

/// Every variable that looks like a secret: what is in it is never printed, whoever says it.
fn keys(world: &World) -> Vec<Secret> {
    let telling = ["_KEY", "_TOKEN", "_SECRET", "_PASSWORD"];
    let named = |name: &str| telling.iter().any(|end| name.ends_with(end));
    world.env.iter().filter(|(name, _)| named(name)).map(|(_, value)| Secret::new(value.as_str())).collect()
}
