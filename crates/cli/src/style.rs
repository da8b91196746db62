//! How loud and how colourful a run is, by its flags, the environment and the terminals.

use std::sync::Arc;

use crate::args::{Cli, Color, Command, Format};
use converse_host::context::RunContext;
use converse_host::this_program::this_program;
use converse_host::world::{Input, World};
use converse_terminal::console::{Console, OutputStyle};
use converse_terminal::render::progress::{Progress, Style};

/// The console of this run.
pub(crate) fn console(cli: &Cli, world: &World) -> Console {
    let (format, reasoning) = match &cli.command {
        Command::Ask(ask) => (ask.output, ask.talk.show_reasoning),
        Command::Repl(repl) => (Format::Text, repl.talk.show_reasoning),
        _ => (Format::Text, false),
    };
    let mut context = RunContext::new(world);
    context.verbose = cli.verbose > 0;
    context.program = Some(this_program());
    // A gateway's clients are not who sits there.
    context.can_ask =
        world.stdin == Input::Terminal && world.stderr_tty && !matches!(cli.command, Command::Serve(_));
    let style = OutputStyle {
        quiet: cli.quiet,
        plain: cli.plain,
        colour: colour(cli, is_dumb(world), world.stdout_tty, world),
    };
    let progress = Progress::new(progress_style(cli, format, reasoning, world), context.redactor.clone());
    Console::new(context, style, Arc::new(progress))
}

/// Progress moves on a terminal; with `-v` it is plain lines elsewhere too.
fn progress_style(cli: &Cli, format: Format, reasoning: bool, world: &World) -> Style {
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

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    fn styled(args: &[&str], env: &[(&str, &str)], tty: bool) -> Style {
        let cli = Cli::try_parse_from([&["converse"], args].concat()).unwrap();
        let env = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let world = World {
            words: vec![],
            env,
            cwd: "/".into(),
            config: None,
            data: None,
            stdin: Input::Nothing,
            stdout_tty: tty,
            stderr_tty: tty,
        };
        progress_style(&cli, Format::Text, false, &world)
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
