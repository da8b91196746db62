//! Shells and interpreters whose command line may contain code, and which of their options take code or a file to run.
//!
//! Sources are the manuals of the programs (checked 2026-11). A program that is not listed runs no argument as code.

use Takes::{Code, Data, File, Input, Rest, User};

/// How the command line of a program is read.
#[derive(Debug, Clone, Copy)]
pub(super) enum Program {
    /// Starts the program that one of its later words names.
    Wrapper,
    /// A wrapper whose `-S` splits a text into words.
    Env,
    WindowsShell(&'static WindowsShell),
    Interpreter(&'static Interpreter),
}

/// A shell that joins the words after its name to code.
#[derive(Debug)]
pub(super) struct WindowsShell {
    names: &'static str,
    /// Option, of which any beginning is accepted, whose value is a file that is run with the other words as its data.
    pub(super) file: Option<&'static str>,
    /// Beginnings of options after which the shell does not read its code from its input.
    pub(super) code: &'static [&'static str],
    /// Options with a value that is not code.
    pub(super) valued: &'static str,
}

/// A program with options in the style of `getopt`: one letter after one dash, longer names after two.
#[derive(Debug)]
pub(super) struct Interpreter {
    names: &'static str,
    options: &'static [(&'static str, Takes)],
    pub(super) is_shell: bool,
    /// Whether the value of a letter may follow in the same word: `-ecode`.
    pub(super) joined: bool,
    /// Whether everything after its code, or its file, is data.
    pub(super) ends: bool,
    /// The first word that is not an option: code or a file; none for a user with more options after it.
    pub(super) operand: Option<Takes>,
}

/// What an option takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Takes {
    Code,
    /// A file, or module, that is run.
    File,
    /// A user; what follows is a program.
    User,
    /// Any other value.
    Data,
    /// The rest of its word, which may be empty.
    Rest,
    /// Nothing: the program reads its code from its input, and words that are not options are data.
    Input,
}

const WRAPPERS: &str = "busybox caffeinate chroot chrt command doas exec flock ionice nice nohup nsenter setsid stdbuf \
    strace sudo taskset time timeout toybox unshare uv xargs";

static WINDOWS_SHELLS: [WindowsShell; 2] = [
    WindowsShell { names: "cmd", file: None, code: &["/c", "/k", "/r"], valued: "" },
    WindowsShell {
        names: "powershell pwsh",
        file: Some("-file"),
        code: &["-c", "-e", "-ec"],
        valued: "-configurationname -custompipename -ep -ex -executionpolicy -inputformat -outputformat -psconsolefile \
            -settingsfile -version -wd -windowstyle -workingdirectory",
    },
];

const PLAIN: Interpreter =
    Interpreter { names: "", options: &[], is_shell: false, joined: true, ends: false, operand: Some(File) };

static INTERPRETERS: [Interpreter; 9] = [
    Interpreter {
        names: "sh ash bash csh dash fish ksh mksh tcsh yash zsh",
        options: &[("c command init-command", Code), ("o O rcfile init-file", Data), ("s", Input)],
        is_shell: true,
        joined: false,
        ends: true,
        ..PLAIN
    },
    Interpreter {
        names: "su runuser",
        options: &[
            ("c command session-command", Code),
            ("s g G w shell group supp-group whitelist-environment", Data),
            ("u user", User),
        ],
        is_shell: true,
        operand: None,
        ..PLAIN
    },
    Interpreter {
        names: "python pypy",
        options: &[("c", Code), ("m", File), ("W X", Data)],
        ends: true,
        ..PLAIN
    },
    // `-M` is code too: `use` with whatever follows.
    Interpreter {
        names: "perl",
        options: &[("e E m M", Code), ("I", Data), ("C D F d i x V", Rest)],
        ..PLAIN
    },
    Interpreter { names: "ruby", options: &[("e", Code), ("C E I r", Data), ("F K T W i x", Rest)], ..PLAIN },
    Interpreter {
        names: "node nodejs",
        options: &[("e p eval print", Code), ("C r conditions import loader require", Data)],
        joined: false,
        ..PLAIN
    },
    Interpreter {
        names: "php",
        options: &[
            ("r B R E run process-begin process-code process-end", Code),
            ("f F file process-file", File),
            ("S c t d z define docroot php-ini server zend-extension", Data),
        ],
        ..PLAIN
    },
    Interpreter { names: "lua luajit", options: &[("e", Code), ("l", Data)], ..PLAIN },
    Interpreter {
        names: "awk gawk mawk nawk",
        options: &[
            ("e source", Code),
            ("f E exec file", File),
            ("F i l v assign field-separator include load", Data),
        ],
        operand: Some(Code),
        ..PLAIN
    },
];

impl Program {
    /// Finds a program by the last part of its path, without `.exe` and without a version: `/usr/bin/python3.12`.
    pub(super) fn named(name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase();
        let name = name.strip_suffix(".exe").unwrap_or(&name);
        let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-'));
        if name == "env" {
            return Some(Self::Env);
        }
        if listed(name, WRAPPERS) {
            return Some(Self::Wrapper);
        }
        let shell = WINDOWS_SHELLS.iter().find(|shell| listed(plain, shell.names)).map(Self::WindowsShell);
        let interpreter = || INTERPRETERS.iter().find(|one| listed(plain, one.names)).map(Self::Interpreter);
        shell.or_else(interpreter)
    }
}

impl Interpreter {
    /// Returns what an option takes, named without its dashes.
    pub(super) fn takes(&self, option: &str) -> Option<Takes> {
        self.options.iter().find(|(names, _)| listed(option, names)).map(|(_, takes)| *takes)
    }
}

pub(super) fn listed(word: &str, list: &str) -> bool {
    list.split_ascii_whitespace().any(|one| one == word)
}
