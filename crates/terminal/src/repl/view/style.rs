//! What the terminal can do, and which signs are drawn on it.

use crate::screen::Look;

use crate::console::Console;
use converse_host::world::World;

/// How a view looks; decided once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Style {
    /// Things change in place. Otherwise lines come one below the other, and an answer as it was written.
    pub(crate) rich: bool,
    pub colour: bool,
    pub links: bool,
    pub(crate) unicode: bool,
    /// Answers and failures, nothing else.
    pub quiet: bool,
}

impl Style {
    pub(crate) fn of(console: &Console, world: &World) -> Self {
        let term = world.var("TERM").unwrap_or("dumb");
        let rich = world.stdout_tty && term != "dumb" && !console.style.plain;
        Self {
            rich,
            colour: console.style.colour,
            links: rich && follows_links(term, world),
            unicode: term != "linux" && speaks_unicode(world),
            quiet: console.style.quiet,
        }
    }

    pub(crate) fn look(self, columns: usize) -> Look {
        Look { width: columns, colour: self.colour, links: self.links, unicode: self.unicode }
    }

    /// Our words, with the signs that the terminal has.
    pub(super) fn spelt(self, text: &str) -> String {
        if self.unicode {
            return text.to_owned();
        }
        let signs = [("·", "-"), ("…", "..."), ("–", "-"), ("→", "->"), ("≥", ">="), ("❯", ">")];
        signs.iter().fold(text.to_owned(), |text, (sign, letters)| text.replace(sign, letters))
    }

    pub(super) fn signs(self) -> &'static Signs {
        if self.unicode { &UNICODE } else { &ASCII }
    }
}

/// How answers are laid out on a terminal that is so wide; `None` where they stand as they were written.
pub fn answers(console: &Console, world: &World, columns: Option<usize>) -> Option<Look> {
    let style = Style::of(console, world);
    // As on a view, a column stays free.
    style.rich.then(|| style.look(columns.unwrap_or(80).saturating_sub(1).max(1)))
}

/// POSIX: the first of these that is set decides. Where none is, a terminal of today is taken for granted.
pub fn speaks_unicode(world: &World) -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(|name| world.var(name));
    locale.is_none_or(|locale| {
        let locale = locale.to_ascii_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    })
}

/// Terminals that are known for hyperlinks; some others write the address into the middle of the text.
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

/// What is drawn, each one column wide but for ASCII's.
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
