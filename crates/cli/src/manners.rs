//! How loud and how colourful this run is, and what it may never say.

use std::sync::{Arc, Mutex, PoisonError};

use converse_text::secrets::is_secret;

use crate::adapters::secrets::{Redactor, Secret};
use crate::adapters::tape::Tape;
use crate::adapters::telemetry::Telemetry;
use crate::args::{Cli, Color, Command, Format};
use crate::render::output::write_stderr;
use crate::render::progress::{Progress, Style};
use crate::render::safe::safe;
use crate::world::{Input, World};

pub(crate) struct Manners {
    quiet: bool,
    /// Nothing but plain lines, one below the other.
    pub(crate) plain: bool,
    pub(crate) verbose: bool,
    /// Stdout may be coloured.
    pub(crate) colour: bool,
    /// Somebody is there who can answer a question.
    pub(crate) can_ask: bool,
    pub(crate) progress: Arc<Progress>,
    pub(crate) redactor: Redactor,
    /// The cassette of this run, if it has one.
    pub(crate) tape: Tape,
    /// Who is told how long everything took, if somebody is.
    pub(crate) telemetry: Telemetry,
    /// What was warned of, for output that has a record of it.
    warnings: Mutex<Vec<String>>,
}

impl Manners {
    pub(crate) fn of(cli: &Cli, world: &World) -> Self {
        let (format, reasoning) = match &cli.command {
            Command::Ask(ask) => (ask.output, ask.talk.show_reasoning),
            Command::Repl(repl) => (Format::Text, repl.talk.show_reasoning),
            _ => (Format::Text, false),
        };
        let redactor = Redactor::default();
        redactor.learn(keys(world));
        let telemetry = Telemetry::of(world, &redactor);
        Self {
            quiet: cli.quiet,
            plain: cli.plain,
            verbose: cli.verbose > 0,
            colour: colour(cli, is_dumb(world), world.stdout_tty, world),
            // A gateway's clients are not who sits there.
            can_ask: world.stdin == Input::Terminal
                && world.stderr_tty
                && !matches!(cli.command, Command::Serve(_)),
            progress: Arc::new(Progress::new(style(cli, format, reasoning, world), redactor.clone())),
            redactor,
            tape: Tape::default(),
            telemetry,
            warnings: Mutex::default(),
        }
    }

    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet
    }

    pub(crate) fn warn(&self, text: &str) {
        let text = self.redactor.clean(text.trim_end());
        self.note(&text);
        self.warnings.lock().unwrap_or_else(PoisonError::into_inner).push(text);
    }

    pub(crate) fn warn_all(&self, texts: impl IntoIterator<Item = String>) {
        texts.into_iter().for_each(|text| self.warn(&text));
    }

    /// For people only.
    pub(crate) fn note(&self, text: &str) {
        if !self.quiet && !self.progress.told_house(text) {
            self.progress.hush();
            write_stderr(&format!("{}\n", safe(text)));
        }
    }

    pub(crate) fn take_warnings(&self) -> Vec<String> {
        std::mem::take(&mut self.warnings.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Progress moves on a terminal; with `-v` it is plain lines elsewhere too.
fn style(cli: &Cli, format: Format, reasoning: bool, world: &World) -> Style {
    let dumb = is_dumb(world);
    let text = format == Format::Text;
    let live = world.stderr_tty && !dumb && !cli.plain && text && !cli.quiet;
    Style {
        live,
        lines: !cli.quiet && (live || cli.verbose > 0 || (world.stderr_tty && text)),
        quiet: cli.quiet,
        reasoning: reasoning && !cli.quiet,
        width: (world.stderr_tty && !dumb && !cli.plain).then(columns),
        colour: colour(cli, dumb, world.stderr_tty, world),
    }
}

/// Of the terminal that stderr is.
fn columns() -> usize {
    let size = rustix::termios::tcgetwinsize(std::io::stderr());
    size.ok().map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0).unwrap_or(80)
}

fn is_dumb(world: &World) -> bool {
    world.var("TERM").is_none_or(|term| term == "dumb")
}

/// `--color`, then `NO_COLOR` (no-color.org) and `CLICOLOR_FORCE`, then the terminal.
fn colour(cli: &Cli, dumb: bool, tty: bool, world: &World) -> bool {
    match cli.color {
        Color::Always => true,
        Color::Never => false,
        Color::Auto if world.var("NO_COLOR").is_some() || cli.plain => false,
        Color::Auto if world.var("CLICOLOR_FORCE").is_some_and(|force| force != "0") => true,
        Color::Auto => tty && !dumb,
    }
}

/// Every variable that looks like a secret: what is in it is never printed, whoever says it. The keys that are used are
/// learnt beside these, whatever their variables are called.
fn keys(world: &World) -> Vec<Secret> {
    let secrets = world.env.iter().filter(|(name, value)| is_secret(name, value));
    secrets.map(|(_, value)| Secret::new(value.as_str())).collect()
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[test]
    fn keys_are_known_by_their_names() {
        for (name, value, is_key) in [
            ("SOME_API_KEY", "swordfish", true),
            ("PGPASSWORD", "swordfish", true),
            ("DB_PASS", "swordfish", true),
            ("GITHUB_PAT", "swordfish", true),
            ("MY_APIKEY", "swordfish", true),
            ("PATH", "/usr/bin", false),
            ("PWD", "/home/me", false),
            ("KEYBOARD", "swordfish", false),
            ("MONKEY", "swordfish", false),
            ("XAUTHORITY", "/home/me/.Xauthority", false),
        ] {
            let found = keys(&world(&[(name, value)], false));
            assert_eq!(
                found.iter().map(Secret::expose).collect::<Vec<_>>(),
                Vec::from_iter(is_key.then_some(value)),
                "{name}"
            );
        }
    }

    fn world(env: &[(&str, &str)], tty: bool) -> World {
        World {
            words: vec![],
            env: env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            cwd: "/".into(),
            stdin: Input::Nothing,
            stdout_tty: tty,
            stderr_tty: tty,
        }
    }

    fn styled(args: &[&str], env: &[(&str, &str)], tty: bool) -> Style {
        let cli = Cli::try_parse_from([&["converse"], args].concat()).unwrap();
        style(&cli, Format::Text, false, &world(env, tty))
    }

    #[test]
    fn flags_beat_variables_beat_the_terminal() {
        let xterm = ("TERM", "xterm");
        let plain = |args: &[&str], env: &[(&str, &str)], tty| {
            let Style { live, lines, colour, .. } = styled(args, env, tty);
            (live, lines, colour)
        };
        assert_eq!(plain(&["ask", "x"], &[xterm], true), (true, true, true));
        assert_eq!(plain(&["ask", "x"], &[xterm], false), (false, false, false));
        assert_eq!(plain(&["ask", "x", "-v"], &[xterm], false), (false, true, false));
        assert_eq!(plain(&["ask", "x"], &[xterm, ("NO_COLOR", "1")], true), (true, true, false));
        assert_eq!(
            plain(&["ask", "x", "--color", "always"], &[xterm, ("NO_COLOR", "1")], true),
            (true, true, true)
        );
        assert_eq!(plain(&["ask", "x", "-v"], &[("CLICOLOR_FORCE", "1")], false), (false, true, true));
        assert_eq!(plain(&["ask", "x"], &[("TERM", "dumb")], true), (false, true, false));
        assert_eq!(plain(&["ask", "x", "--plain"], &[xterm], true), (false, true, false));
        assert_eq!(plain(&["ask", "x", "-q"], &[xterm], true), (false, false, true));
    }
}
