//! How loud and how colourful a run is, by its flags, the environment and the terminals.

use std::sync::Arc;

use crate::args::{Cli, Color, Command, Format};
use converse_host::context::RunContext;
use converse_host::this_program;
use converse_host::world::{Input, World};
use converse_terminal::console::{Console, OutputStyle};
use converse_terminal::view::{Answers, Detail, Style, TerminalView, has_light_background, speaks_unicode};

/// The console of this run.
pub(crate) fn console(cli: &Cli, world: &World) -> Console {
    let (format, reasoning) = match &cli.command {
        Command::Ask(ask) => (ask.output, ask.talk.show_reasoning),
        Command::Repl(talk) => (Format::Text, talk.show_reasoning),
        _ => (Format::Text, false),
    };
    let mut context = RunContext::new(world);
    context.verbose = cli.global.verbose > 0;
    context.program = Some(this_program());
    // A gateway's clients are not who sits there, and a batch or an evaluation does not wait for anybody.
    context.can_ask = world.stdin == Input::Terminal
        && world.stderr_tty
        && !matches!(cli.command, Command::Batch(_) | Command::Eval(_) | Command::Serve(_) | Command::Web(_));
    let style = OutputStyle {
        quiet: cli.global.quiet,
        plain: cli.global.plain,
        colour: colour(cli, is_dumb(world), world.stdout_tty, world),
    };
    let view = TerminalView::new(view_style(cli, format, world), context.redactor.clone());
    view.show_reasoning(reasoning && !cli.global.quiet);
    Console::new(context, style, Arc::new(view))
}

/// What happens is shown live on a terminal; with `-v` it is shown as plain lines elsewhere too.
fn view_style(cli: &Cli, format: Format, world: &World) -> Style {
    let dumb = is_dumb(world);
    let text = format == Format::Text;
    let live = world.stderr_tty && !dumb && !cli.global.plain && text && !cli.global.quiet;
    Style {
        answers: Answers::Elsewhere,
        detail: match cli.global.quiet {
            true => Detail::Nothing,
            false if cli.global.verbose > 0 || (world.stderr_tty && text) => Detail::Activity,
            false => Detail::Notices,
        },
        live,
        gutter: world.stderr_tty && !dumb && !cli.global.plain,
        colour: colour(cli, dumb, world.stderr_tty, world),
        light: has_light_background(world),
        links: false,
        unicode: speaks_unicode(world),
    }
}

fn is_dumb(world: &World) -> bool {
    world.var("TERM").is_none_or(|term| term == "dumb")
}

/// `--color`, then `NO_COLOR` (no-color.org) and `CLICOLOR_FORCE`, then the terminal.
fn colour(cli: &Cli, dumb: bool, tty: bool, world: &World) -> bool {
    match cli.global.color {
        Color::Always => true,
        Color::Never => false,
        Color::Auto if world.var("NO_COLOR").is_some() || cli.global.plain => false,
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
            database: None,
            stdin: Input::Nothing,
            stdout_tty: tty,
            stderr_tty: tty,
        };
        view_style(&cli, Format::Text, &world)
    }

    #[test]
    fn flags_beat_variables_beat_the_terminal() {
        let xterm = ("TERM", "xterm");
        let plain = |args: &[&str], env: &[(&str, &str)], tty| {
            let Style { live, detail, colour, .. } = styled(args, env, tty);
            (live, detail == Detail::Activity, colour)
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
