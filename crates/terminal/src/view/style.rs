//! The capabilities of the terminal, the verbosity, and the symbols.

use crate::console::{Console, OutputStyle};
use converse_host::world::World;
use converse_screen::Look;

/// Where answers are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answers {
    /// On the view, as Markdown in blocks.
    Markdown,
    /// On the view, as the model wrote them.
    Text,
    /// By a renderer, to stdout.
    Elsewhere,
}

/// What is shown in addition to answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Detail {
    /// Failures.
    Nothing,
    /// Warnings and notes too.
    Notices,
    /// A line for each invocation and each thing that happens too.
    Activity,
}

/// How a view looks; decided once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    pub answers: Answers,
    pub detail: Detail,
    /// Text that is not final is drawn in a region below the rest and updated in place.
    pub live: bool,
    /// Thoughts are wrapped beside a bar.
    pub gutter: bool,
    pub colour: bool,
    /// The background is light, as far as that is known before the terminal says so.
    pub light: bool,
    pub links: bool,
    pub unicode: bool,
}

impl Style {
    /// The style of a view on stdout.
    pub(crate) fn of(style: OutputStyle, world: &World) -> Self {
        let term = world.var("TERM").unwrap_or("dumb");
        let live = world.stdout_tty && term != "dumb" && !style.plain;
        Self {
            answers: if live { Answers::Markdown } else { Answers::Text },
            detail: if style.quiet { Detail::Nothing } else { Detail::Activity },
            live,
            gutter: true,
            colour: style.colour,
            light: has_light_background(world),
            links: live && follows_links(term, world),
            unicode: term != "linux" && speaks_unicode(world),
        }
    }

    pub(crate) fn look(self, columns: usize) -> Look {
        Look {
            width: columns,
            colour: self.colour,
            light: self.light,
            links: self.links,
            unicode: self.unicode,
        }
    }

    /// Spells text of ours with the signs that the terminal has.
    pub(super) fn spelt(self, text: &str) -> String {
        if self.unicode { text.to_owned() } else { in_letters(text) }
    }

    pub(super) fn signs(self) -> &'static Signs {
        if self.unicode { &UNICODE } else { &ASCII }
    }
}

/// Spells text of ours for a terminal without Unicode.
pub(crate) fn in_letters(text: &str) -> String {
    let signs = [("·", "-"), ("…", "..."), ("–", "-"), ("→", "->"), ("≥", ">="), ("❯", ">"), ("↑", "up")];
    signs.iter().fold(text.to_owned(), |text, (sign, letters)| text.replace(sign, letters))
}

/// The look of answers on a terminal of this width; `None` where they are shown as they were written.
pub fn answers(console: &Console, world: &World, columns: Option<usize>) -> Option<Look> {
    let style = Style::of(console.style, world);
    // As on a view, a column stays free.
    style.live.then(|| style.look(columns.unwrap_or(80).saturating_sub(1).max(1)))
}

/// Returns whether the locale has Unicode. The first variable that is set decides (POSIX); without one it has.
pub fn speaks_unicode(world: &World) -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(|name| world.var(name));
    locale.is_none_or(|locale| {
        let locale = locale.to_ascii_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    })
}

/// Returns whether `COLORFGBG` names a light background, as in `0;15` or `0;default;15`. White and the bright colours except
/// grey are light, as vim has it.
pub fn has_light_background(world: &World) -> bool {
    let background =
        world.var("COLORFGBG").and_then(|colours| colours.rsplit(';').next()?.parse::<u8>().ok());
    matches!(background, Some(7 | 9..=15))
}

/// Returns whether the terminal is known for hyperlinks; some others write the address into the middle of the text.
fn follows_links(term: &str, world: &World) -> bool {
    let known = ["xterm-kitty", "alacritty", "foot", "foot-extra", "xterm-ghostty", "wezterm", "contour"];
    let variables =
        ["KITTY_WINDOW_ID", "WT_SESSION", "KONSOLE_VERSION", "WEZTERM_PANE", "GHOSTTY_RESOURCES_DIR"];
    let programs = ["iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper"];
    let vte = world.var("VTE_VERSION").and_then(|version| version.parse::<u32>().ok());
    // A multiplexer sets these as it found them.
    let direct = world.var("TMUX").is_none() && !term.starts_with("screen");
    direct
        && (known.contains(&term)
            || variables.iter().any(|name| world.var(name).is_some())
            || world.var("TERM_PROGRAM").is_some_and(|program| programs.contains(&program))
            || vte.is_some_and(|version| version >= 5000))
}

/// Signs; those of Unicode are one column wide.
#[derive(Debug)]
pub(super) struct Signs {
    pub(super) spinner: [&'static str; 4],
    pub(super) done: &'static str,
    pub(super) failed: &'static str,
    pub(super) thought: &'static str,
    pub(super) into: &'static str,
    pub(super) dot: &'static str,
    pub(super) more: &'static str,
    pub(super) bar: char,
    pub(super) prompt: &'static str,
    pub(super) cursor: &'static str,
}

const UNICODE: Signs = Signs {
    spinner: ["⠋", "⠹", "⠼", "⠧"],
    done: "✓",
    failed: "✗",
    thought: "∙",
    into: "→",
    dot: "·",
    more: "…",
    bar: '│',
    prompt: "❯ ",
    cursor: "▏",
};

const ASCII: Signs = Signs {
    spinner: ["|", "/", "-", "\\"],
    done: "+",
    failed: "x",
    thought: "*",
    into: "->",
    dot: "-",
    more: "...",
    bar: '|',
    prompt: "> ",
    cursor: "|",
};

#[cfg(test)]
mod tests {
    use super::*;
    use converse_host::world::Input;

    fn world(env: &[(&str, &str)]) -> World {
        World {
            words: vec![],
            env: env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            cwd: "/".into(),
            config: None,
            data: None,
            database: None,
            stdin: Input::Terminal,
            stdout_tty: true,
            stderr_tty: true,
        }
    }

    #[test]
    fn the_locale_says_which_signs_are_drawn() {
        for (env, unicode) in [
            (&[][..], true),
            (&[("LANG", "de_DE.UTF-8")], true),
            (&[("LANG", "C.utf8")], true),
            (&[("LANG", "C")], false),
            (&[("LANG", "ru_RU.KOI8-R")], false),
            (&[("LANG", "C"), ("LC_CTYPE", "en_US.UTF-8")], true),
            (&[("LC_ALL", "POSIX"), ("LANG", "en_US.UTF-8")], false),
        ] {
            assert_eq!(speaks_unicode(&world(env)), unicode, "{env:?}");
        }
    }

    #[test]
    fn a_variable_may_name_the_background() {
        for (colours, light) in [
            ("0;15", true),
            ("15;0", false),
            ("0;default;7", true),
            ("12;8", false),
            ("15;default", false),
            ("", false),
        ] {
            assert_eq!(has_light_background(&world(&[("COLORFGBG", colours)])), light, "{colours:?}");
        }
    }

    #[test]
    fn links_are_for_terminals_that_are_known_for_them() {
        for (term, env, links) in [
            ("xterm-256color", &[][..], false),
            ("xterm-kitty", &[], true),
            ("xterm-256color", &[("VTE_VERSION", "6003")], true),
            ("xterm-256color", &[("VTE_VERSION", "4205")], false),
            ("xterm-256color", &[("TERM_PROGRAM", "vscode")], true),
            ("screen-256color", &[("VTE_VERSION", "6003")], false),
            ("tmux-256color", &[("VTE_VERSION", "6003"), ("TMUX", "/x,1,0")], false),
        ] {
            assert_eq!(follows_links(term, &world(env)), links, "{term} {env:?}");
        }
    }
}
