//! Names of code that a command line may contain: its words, the values of its variables, and parts of both.
//!
//! Finds more than is meant: a name that leads to nothing costs a lookup, while a missed name is a script that can be
//! replaced.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use converse_config::{
    CommandPlan, EnsemblePlan, Environment, InvokerKind, SandboxLevel, SecretRef, Template, TemplatePiece,
    TransportPlan,
};

/// Bytes of a path.
const MAX_BYTES: usize = 4096;

/// Separators of names, tried one by one and together, because a name may contain some of them.
const SEPARATORS: [&[char]; 4] = [
    &['='],
    &[':'],
    &[','],
    &[' ', '\t', '\r', '\n', '=', ':', ',', ';', '&', '|', '<', '>', '(', ')', '"', '\'', '`'],
];

/// Programs that run the code in a directory given to them.
const RUNNERS: [&str; 19] = [
    "bun", "bunx", "cargo", "deno", "go", "java", "lua", "node", "nodejs", "npm", "npx", "perl", "php",
    "pnpm", "ruby", "ts-node", "tsx", "uv", "yarn",
];

/// A command line as far as it is known before an invocation.
#[derive(Debug, Default)]
pub struct CommandLine<'a> {
    pub words: Vec<String>,
    pub environment: Vec<(&'a str, String)>,
    pub cwd: Option<&'a PathBuf>,
    /// The command, if it runs in a sandbox with places that it may change.
    pub writer: Option<&'a CommandPlan>,
}

/// Returns all command lines of a plan: of its server and its invokers.
pub(super) fn commands<'a>(plan: &'a EnsemblePlan, environment: &Environment) -> Vec<CommandLine<'a>> {
    let mut commands = Vec::new();
    let connection = plan.connection.as_ref().map(|connection| &connection.transport);
    if let Some(TransportPlan::Stdio { command, environment: variables, cwd }) = connection {
        let words = command.iter().filter_map(|word| word.read(environment).ok()).collect();
        let environment = values(variables, environment);
        commands.push(CommandLine { words, environment, cwd: cwd.as_ref(), writer: None });
    }
    for invoker in &plan.invokers {
        if let InvokerKind::Command(command) = &invoker.kind {
            let words = words(command, environment);
            let environment = values(&command.environment, environment);
            let confined = invoker.policy.sandbox != SandboxLevel::Off;
            let writer = (confined && !command.sandbox_access.writes.is_empty()).then_some(command.as_ref());
            commands.push(CommandLine { words, environment, cwd: command.cwd.as_ref(), writer });
        }
    }
    commands
}

fn values<'a>(variables: &'a [(String, SecretRef)], environment: &Environment) -> Vec<(&'a str, String)> {
    let value = |(name, value): &'a (String, SecretRef)| Some((name.as_str(), value.read(environment).ok()?));
    variables.iter().filter_map(value).collect()
}

fn words(command: &CommandPlan, environment: &Environment) -> Vec<String> {
    command.templates().map(|template| fixed(template, environment)).collect()
}

/// Returns the text of a template before its first argument.
fn fixed(template: &Template, environment: &Environment) -> String {
    let known = template.pieces.iter().take_while(|piece| !matches!(piece, TemplatePiece::Argument(_)));
    let pieces = known.cloned().collect();
    let filled = Template { pieces }.fill(&serde_json::Map::new(), environment, |_, value| value.to_string());
    filled.ok().flatten().unwrap_or_default()
}

impl CommandLine<'_> {
    /// Returns everything in the words that may be a path.
    pub(super) fn names(&self) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        for word in &self.words {
            parts(word).for_each(|part| names.extend(tails(part).map(str::to_owned)));
        }
        names.retain(|name| is_possible(name));
        names
    }

    /// Returns everything that may be a path in other places than a word: modules, and the values of variables.
    pub(super) fn names_elsewhere(&self) -> BTreeSet<String> {
        let mut names: BTreeSet<String> = (0..self.words.len()).flat_map(|at| self.module(at)).collect();
        for (name, value) in &self.environment {
            let parts: Vec<&str> = parts(value).flat_map(tails).collect();
            names.extend(parts.iter().map(|part| (*part).to_owned()));
            if decides_code(name) {
                names.extend(parts.iter().map(|part| as_path(part)));
            }
        }
        names.retain(|name| is_possible(name));
        names
    }

    /// Handles `-m NAME` and `-mNAME`: the file with that name, or its first package.
    fn module(&self, at: usize) -> impl Iterator<Item = String> {
        let word = self.words.get(at).map(String::as_str).unwrap_or_default();
        let name = match word.strip_prefix("-m") {
            Some("") => self.words.get(at + 1).map(String::as_str),
            name => name,
        };
        let top = name.and_then(|name| name.split('.').next()).filter(|top| !top.is_empty());
        top.into_iter().flat_map(|top| [format!("./{top}.py"), format!("./{top}")])
    }

    /// Returns the directory that the program runs: the first word that is not an option.
    pub(super) fn runs(&self) -> Option<&str> {
        let (program, rest) = self.words.split_first()?;
        let program = Path::new(program).file_name()?.to_str()?;
        let is_runner = program.starts_with("python") || RUNNERS.contains(&program);
        // `-` is standard input.
        let first = rest.iter().find(|word| *word == "-" || !word.starts_with('-') && *word != "run");
        first.filter(|first| is_runner && *first != "-").map(String::as_str)
    }
}

fn is_possible(name: &str) -> bool {
    !name.is_empty() && name.len() <= MAX_BYTES && !name.contains('\0')
}

/// Marks a word without a slash as a path.
fn as_path(name: &str) -> String {
    if name.starts_with('/') || name.is_empty() { name.to_owned() } else { format!("./{name}") }
}

fn parts(word: &str) -> impl Iterator<Item = &str> {
    let value = word.split_once('=').map(|(_, value)| value);
    let split = SEPARATORS.iter().flat_map(|separators| word.split(*separators));
    [Some(word), value].into_iter().flatten().chain(split)
}

/// Returns a part, and paths at its end: `-r./pre.js`, `-Ilib`, `@arguments.txt`.
fn tails(part: &str) -> impl Iterator<Item = &str> {
    let mut tails = vec![part];
    if let Some(option) = part.strip_prefix('-') {
        let mut letters = option.chars();
        letters.next();
        tails.push(letters.as_str());
        tails.extend(option.find(['.', '/']).and_then(|at| option.get(at..)));
    }
    tails.extend(part.strip_prefix('@'));
    tails.into_iter()
}

const NAMES: [&str; 18] = [
    "BASH_ENV",
    "CLASSPATH",
    "ENV",
    "JAVA_TOOL_OPTIONS",
    "LUA_INIT",
    "LUA_PATH",
    "NODE_OPTIONS",
    "NODE_PATH",
    "PATH",
    "PERL5LIB",
    "PERL5OPT",
    "PYTHONHOME",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "RUBYLIB",
    "RUBYOPT",
    "ZDOTDIR",
    "_JAVA_OPTIONS",
];

/// Prefixes for the dynamic loaders of Linux and macOS.
const BEGINNINGS: [&str; 2] = ["LD_", "DYLD_"];

/// Returns whether setting the variable selects programs or code.
pub(crate) fn decides_code(name: &str) -> bool {
    NAMES.contains(&name) || BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_may_be_a_path_is_found() {
        for (word, name) in [
            ("tools/server.py", "tools/server.py"),
            ("a name with blanks", "a name with blanks"),
            ("--script=tools/a b.py", "tools/a b.py"),
            ("--require=./x", "./x"),
            ("-r./pre.js", "./pre.js"),
            ("-cp./x.jar", "./x.jar"),
            ("-Ilib", "lib"),
            ("@arguments.txt", "arguments.txt"),
            ("my lib:other", "my lib"),
            ("my lib:other", "other"),
            ("a,b=c", "c"),
            ("cd x; sh 'tools/a.sh'&&true", "tools/a.sh"),
            ("file:./x.js", "./x.js"),
            ("-mserver.main", "./server.py"),
        ] {
            let command = CommandLine { words: vec![word.to_owned()], ..CommandLine::default() };
            let names = &command.names() | &command.names_elsewhere();
            assert!(names.contains(name), "{name} in {word}: {names:?}");
            let environment = vec![("ANY", word.to_owned())];
            let of_variable = CommandLine { environment, ..CommandLine::default() };
            let names = of_variable.names_elsewhere();
            assert!(name == "./server.py" || names.contains(name), "{name} in ANY={word}");
        }
        let words = ["python3", "-m", "server.main"].map(str::to_owned).to_vec();
        let names = CommandLine { words, ..CommandLine::default() }.names_elsewhere();
        assert!(names.contains("./server.py") && names.contains("./server"), "{names:?}");
        let environment = vec![("PYTHONPATH", "lib:/x".to_owned())];
        let names = CommandLine { environment, ..CommandLine::default() }.names_elsewhere();
        assert!(names.contains("./lib") && names.contains("/x"), "{names:?}");
    }

    #[test]
    fn what_runs_a_directory_is_told() {
        for (words, runs) in [
            (&["python3", "."][..], Some(".")),
            (&["/usr/bin/node", "--inspect", "."], Some(".")),
            (&["go", "run", "."], Some(".")),
            (&["npx", "-y", "server", "."], Some("server")),
            (&["node", "-", "."], None),
            (&["server-filesystem", "."], None),
            (&[], None),
        ] {
            let words = words.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(CommandLine { words, ..CommandLine::default() }.runs(), runs);
        }
    }

    #[test]
    fn variables_that_decide_are_known() {
        for name in ["PATH", "LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "NODE_OPTIONS", "ENV", "BASH_ENV"] {
            assert!(decides_code(name), "{name}");
        }
        for name in ["TOKEN", "HOME", "XPATH", "PATHS", ""] {
            assert!(!decides_code(name), "{name}");
        }
    }
}
