//! Programs whose command line may hold code, and how they read it: which options take code, which a file that is run.
//!
//! Sources are the manuals of the programs (checked 2026-11). A program that is not listed is taken at its word.

/// What a word means that names a program.
#[derive(Debug, Clone, Copy)]
pub(super) enum Program {
    /// It starts what one of its later words names.
    Wrapper,
    /// The same; and its `-S` splits a text into words.
    Env,
    /// Whatever follows is joined to code.
    Everything(&'static Everything),
    Options(&'static Language),
}

/// Shells of Windows, where no word after the name is just data.
#[derive(Debug)]
pub(super) struct Everything {
    names: &'static [&'static str],
    /// Options, of which any beginning will do, whose value is a file that is run with the other words as its data.
    pub(super) file: Option<&'static str>,
    /// The beginnings of options after which it does not read its code from its input.
    pub(super) code: &'static [&'static str],
    /// Options with a value that is no code.
    pub(super) valued: &'static [&'static str],
}

/// Options as `getopt` knows them. Letters stand after one dash, long names after two.
#[derive(Debug)]
pub(super) struct Language {
    names: &'static [&'static str],
    pub(super) is_shell: bool,
    /// May the value of a letter stand in the same word: `-ecode`?
    pub(super) joined: bool,
    pub(super) code: &'static str,
    pub(super) long_code: &'static [&'static str],
    /// Their value is a file, or module, that is run.
    pub(super) file: &'static str,
    pub(super) long_file: &'static [&'static str],
    /// They have another value.
    pub(super) valued: &'static str,
    pub(super) long_valued: &'static [&'static str],
    /// Their value is the rest of their word, which may be nothing.
    pub(super) rest: &'static str,
    /// Their value is a user, and what follows is a program.
    pub(super) user: &'static str,
    pub(super) long_user: &'static [&'static str],
    /// It reads its code from its input, and words that are no options are data.
    pub(super) input: &'static str,
    /// After its code, or its file, everything is data.
    pub(super) ends: bool,
    pub(super) operand: Operand,
    /// Is its input code when it is given no other?
    pub(super) reads_input: bool,
}

/// The first word that is no option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operand {
    File,
    Code,
    /// A user, perhaps, with more options after it.
    Other,
}

const WRAPPERS: [&str; 23] = [
    "busybox",
    "caffeinate",
    "chroot",
    "chrt",
    "command",
    "doas",
    "exec",
    "flock",
    "ionice",
    "nice",
    "nohup",
    "nsenter",
    "setsid",
    "stdbuf",
    "strace",
    "sudo",
    "taskset",
    "time",
    "timeout",
    "toybox",
    "unshare",
    "uv",
    "xargs",
];

static EVERYTHING: [Everything; 2] = [
    Everything { names: &["cmd"], file: None, code: &["/c", "/k", "/r"], valued: &[] },
    Everything {
        names: &["powershell", "pwsh"],
        file: Some("-file"),
        code: &["-c", "-e", "-ec"],
        valued: &[
            "-configurationname",
            "-custompipename",
            "-ep",
            "-ex",
            "-executionpolicy",
            "-inputformat",
            "-outputformat",
            "-psconsolefile",
            "-settingsfile",
            "-version",
            "-wd",
            "-windowstyle",
            "-workingdirectory",
        ],
    },
];

const PLAIN: Language = Language {
    names: &[],
    is_shell: false,
    joined: true,
    code: "",
    long_code: &[],
    file: "",
    long_file: &[],
    valued: "",
    long_valued: &[],
    rest: "",
    user: "",
    long_user: &[],
    input: "",
    ends: false,
    operand: Operand::File,
    reads_input: true,
};

static LANGUAGES: [Language; 9] = [
    Language {
        names: &["sh", "ash", "bash", "csh", "dash", "fish", "ksh", "mksh", "tcsh", "yash", "zsh"],
        is_shell: true,
        joined: false,
        code: "c",
        long_code: &["command", "init-command"],
        valued: "oO",
        long_valued: &["rcfile", "init-file"],
        input: "s",
        ends: true,
        ..PLAIN
    },
    Language {
        names: &["su", "runuser"],
        is_shell: true,
        code: "c",
        long_code: &["command", "session-command"],
        valued: "sgGw",
        long_valued: &["shell", "group", "supp-group", "whitelist-environment"],
        user: "u",
        long_user: &["user"],
        operand: Operand::Other,
        ..PLAIN
    },
    Language { names: &["python", "pypy"], code: "c", file: "m", valued: "WX", ends: true, ..PLAIN },
    // `-M` is code too: `use` with whatever follows.
    Language { names: &["perl"], code: "eEmM", valued: "I", rest: "CDFdixV", ..PLAIN },
    Language { names: &["ruby"], code: "e", valued: "CEIr", rest: "FKTWix", ..PLAIN },
    Language {
        names: &["node", "nodejs"],
        joined: false,
        code: "ep",
        long_code: &["eval", "print"],
        valued: "Cr",
        long_valued: &["conditions", "import", "loader", "require"],
        ..PLAIN
    },
    Language {
        names: &["php"],
        code: "rBRE",
        long_code: &["run", "process-begin", "process-code", "process-end"],
        file: "fF",
        long_file: &["file", "process-file"],
        valued: "Sctdz",
        long_valued: &["define", "docroot", "php-ini", "server", "zend-extension"],
        ..PLAIN
    },
    Language { names: &["lua", "luajit"], code: "e", valued: "l", ..PLAIN },
    Language {
        names: &["awk", "gawk", "mawk", "nawk"],
        code: "e",
        long_code: &["source"],
        file: "fE",
        long_file: &["exec", "file"],
        valued: "Filv",
        long_valued: &["assign", "field-separator", "include", "load"],
        operand: Operand::Code,
        reads_input: false,
        ..PLAIN
    },
];

impl Program {
    /// By the last part of a path, without `.exe` and without a version: `/usr/bin/python3.12`.
    pub(super) fn named(name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase();
        let name = name.strip_suffix(".exe").unwrap_or(&name);
        let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-'));
        if name == "env" {
            return Some(Self::Env);
        }
        if WRAPPERS.contains(&name) {
            return Some(Self::Wrapper);
        }
        let everything = EVERYTHING.iter().find(|shell| shell.names.contains(&plain)).map(Self::Everything);
        let options = || LANGUAGES.iter().find(|language| language.names.contains(&plain)).map(Self::Options);
        everything.or_else(options)
    }
}
