//! Every kind of problem, by a name that scripts may rely on.
//!
//! A code is never renamed or reused; the list below is the reference that `docs/reference/codes.md` is made from.

macro_rules! codes {
    ($($variant:ident $code:literal $description:literal $hint:literal,)*) => {
        /// What kind of problem a diagnostic is about.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code { $(#[doc = $description] $variant,)* }

        impl Code {
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The name, in kebab-case: `unknown-key`.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $code,)* }
            }

            /// One line that says when it is reported.
            pub fn description(self) -> &'static str {
                match self { $(Self::$variant => $description,)* }
            }

            /// What usually helps; said where a diagnostic has no hint of its own.
            pub fn hint(self) -> &'static str {
                match self { $(Self::$variant => $hint,)* }
            }
        }
    };
}

codes! {
    ArgumentInBody "argument-in-body"
        "An argument of the invocation stands inside the text of a body, where nothing encodes it"
        "use `form = { name = \"{argument}\" }`, or a table as `body`, which becomes JSON",
    ArgumentInHost "argument-in-host"
        "The scheme or host of a URL depends on an argument of the invocation"
        "put the argument behind the first `/` after the host, or into `query`",
    ArgumentInProgram "argument-in-program"
        "The program that a command starts depends on an argument of the invocation"
        "name the program; arguments may stand in the elements after it",
    ArgumentInScript "argument-in-script"
        "An argument of the invocation would be code of a shell or another interpreter, or choose the file that it runs"
        "write the code or its file down, and pass the argument as an element after it, where a shell reads it as `\"$1\"`: `[\"sh\", \"-c\", 'wc -l \"$1\"', \"sh\", \"{file}\"]`",
    BadName "bad-name"
        "A name has characters, or a length, that names of its kind cannot have"
        "choose another name; the reference of descriptors lists what names may hold",
    BadPattern "bad-pattern"
        "A pattern is not a glob"
        "`*` stands for any characters and `?` for one; `[` and `{` need their closing ones",
    BadSchema "bad-schema"
        "The schema of an invoker's arguments is not a JSON Schema for an object, or is too large or too costly to check"
        "mend it where it is pointed at; the smallest schema is `type = \"object\"` with `properties`",
    BadSource "bad-source"
        "The path after `source` is not a relative path inside the descriptor's directory"
        "write it relative to this file, as in `source = \"notes/invokers/read.toml\"`",
    BadTemplate "bad-template"
        "A `${VAR}`, `env:VAR` or `{argument}` is not well formed, or is nested"
        "write `${NAME}`, `${NAME:-default}`, or `env:NAME` as the whole text; where arguments may stand, `{name}`, and `{{` or `}}` for a brace",
    BadValue "bad-value"
        "A value has the right type and still means nothing here"
        "write one of the values that the message or the reference names",
    BuiltinArgument "builtin-argument"
        "A built-in is bound without an argument that it cannot do without, so each call of it fails"
        "add it to the `properties`, and to `required`; the reference of descriptors lists what each built-in takes",
    CachedEffects "cached-effects"
        "Results are kept of a tool that changes something and is not idempotent: a call that is answered from the cache does nothing"
        "remove `cache`, or say what is true of the tool: `effects = \"read\"`, or `idempotent = true`",
    ConnectFailed "connect-failed"
        "The server of an ensemble could not be started or reached (`check --connect`)"
        "the message says why; `connect_timeout` is how long a slow one may take",
    DuplicateEnsemble "duplicate-ensemble"
        "Two ensembles of one scope have the same name"
        "rename one of them, or remove it",
    DuplicateInvoker "duplicate-invoker"
        "Two invokers of one ensemble have the same name"
        "rename one of them, or remove it",
    DuplicateKey "duplicate-key"
        "A key or table is given twice"
        "keep one of them",
    EffectsLowered "effects-lowered"
        "A descriptor says that a built-in tool does less than it does"
        "leave `effects` out, or name a stronger one",
    EmptyEnsemble "empty-ensemble"
        "An ensemble has neither invokers nor a connection"
        "add an `[[invokers]]` or a `[connection]`",
    LockDamaged "lock-damaged"
        "A lockfile cannot be read in full, or does not add up, so the tools of its ensembles are held back"
        "restore it, or write it anew with `converse ensembles lock --accept`",
    LockDrift "lock-drift"
        "A tool is not what the lockfile says (`check --locked`, and at run time)"
        "if the change is wanted, `converse ensembles lock --accept` writes it into the lockfile",
    LockMissing "lock-missing"
        "A directory of ensembles has no lockfile (`check --locked`)"
        "`converse ensembles lock` writes it",
    MissingDescription "missing-description"
        "An ensemble or invoker has no description, which models choose tools by"
        "say in a sentence what it is for",
    MissingKey "missing-key"
        "A required key or table is not there"
        "add it",
    MixedConnection "mixed-connection"
        "An ensemble has a connection and invokers of its own; a connection stands alone"
        "move the invokers to an ensemble file of their own",
    MixedInvoker "mixed-invoker"
        "An invoker is more than one of a built-in, a command and an HTTP request"
        "keep one of `builtin`, `command` and `http`",
    MoreProblems "more-problems"
        "A file or directory has more problems than are listed"
        "mend those that are listed, and check again",
    NameClash "name-clash"
        "Two tools would be shown to models by the same name"
        "give one of the ensembles a `prefix` of its own",
    NotUtf8 "not-utf8"
        "A file is not UTF-8 text"
        "save it as UTF-8",
    OneWord "one-word"
        "A command is one word with blanks in it, so a program of that whole name is looked for"
        "each word is an element of its own: `[\"git\", \"log\"]`",
    OpeningsWithoutSandbox "openings-without-sandbox"
        "A command says what its sandbox leaves open, and has none"
        "say `sandbox = \"require\"`, or `\"best-effort\"`; without it the program may do all that you may",
    OptionalInUrl "optional-in-url"
        "An argument stands in a URL and may be left out of a call, which then fails"
        "name it in `required`, give it a `default`, or put it into `query`, where it may be left out",
    OutOfRange "out-of-range"
        "A number, duration or size is outside its limits"
        "choose a value within the limits",
    OutsideRoot "outside-root"
        "A file leads out of its directory through a symbolic link"
        "put the file itself into the directory",
    ProjectScope "project-scope"
        "A project's settings try to do more than tighten the user's"
        "say it in your own settings instead",
    ProviderAdapts "provider-adapts"
        "A provider rejects a tool as it is declared, and converse sends it in a way that the provider takes (`check --provider`)"
        "nothing has to be done for converse; other programs may send it as it is",
    ProviderIgnores "provider-ignores"
        "A provider takes a part of a tool and does not heed it, or documents a limit that it does not hold to (`check --provider`)"
        "say it in the description too, or in a way that the provider heeds",
    ProviderRejects "provider-rejects"
        "A provider answers a request that has this tool with an error, and all the request's tools are lost (`check --provider`)"
        "change the tool where it is pointed at, or leave it out with `exclude` in `[tools]`",
    RequiredUnknown "required-unknown"
        "A name in `required` is not among the `properties`"
        "add it to `properties`, or remove it from `required`",
    RuleExample "rule-example"
        "An example in `match` or `not_match` of a rule does not do what it says"
        "mend the rule or the example; `converse explain ensemble.tool ARGUMENTS` shows what every rule says of a call",
    RuleNeverMatches "rule-never-matches"
        "A permission rule can never match: no tool has such a name, none of that name has such effects or arguments, or its \
         conditions contradict each other"
        "mend the rule (`converse ensembles list` and `show` say what tools there are), or remove it",
    RuleShadowed "rule-shadowed"
        "A permission rule never decides, because a stricter one without conditions names all of its tools"
        "deny beats ask beats allow, in whatever order; make the stricter rule narrower, or remove this one",
    SandboxWithoutCommand "sandbox-without-command"
        "A sandbox is asked for, and what it is said of is no command"
        "remove `sandbox`; it confines the programs of `[command]`",
    SecretInFile "secret-in-file"
        "A text in a descriptor looks like a secret, which whoever reads the file then has"
        "put it into a variable of the environment and write `env:NAME`; a secret that was shared once is to be replaced",
    Syntax "syntax"
        "The text is not TOML"
        "this line is not TOML; texts stand in quotes, and a key and its value on one line",
    TestContradicts "test-contradicts"
        "A test expects what its arguments cannot lead to by the schema of the tool"
        "arguments that do not fit end with `outcome = \"invalid\"`, and with nothing else",
    TooLarge "too-large"
        "A file, all files together, or a description are larger than is taken"
        "split it, or remove what is not needed",
    TooMany "too-many"
        "There are more files or entries than are read"
        "split it, or remove what is not needed",
    ToolAbsent "tool-absent"
        "`include`, `exclude` or `[tools.NAME]` speaks of a tool that the server does not have, so it does nothing (`check --connect`)"
        "`converse ensembles show` lists the tools of an ensemble; write the name that the tool has now, or remove it",
    ToolLeftOut "tool-left-out"
        "A server offers a tool that cannot be used as it is (`check --connect`)"
        "its maker must mend it; the server's other tools are used",
    ToolsWithoutConnection "tools-without-connection"
        "`[tools]` speaks of discovered tools, and the ensemble has no connection to discover any"
        "remove `[tools]`, or add the `[connection]` it is for",
    UnknownArgument "unknown-argument"
        "A placeholder names no property of the invoker's `[arguments]`"
        "add it to `properties`, or write `{{` and `}}` for braces",
    UnknownBuiltin "unknown-builtin"
        "No built-in tool has this name"
        "the reference of descriptors lists the built-ins",
    UnknownKey "unknown-key"
        "A key or table is not part of the format"
        "remove it, or look up its name and its table in the reference",
    UnpinnedPackage "unpinned-package"
        "A command runs a package or image without an exact version, so what runs tomorrow is not what was reviewed"
        "name the version: `npx pkg@1.2.3`, `uvx pkg==1.2.3`, `docker run image@sha256:…`",
    Unreadable "unreadable"
        "A file or directory cannot be read"
        "check that it is there, is a regular file, and may be read",
    UnsetVariable "unset-variable"
        "An environment variable that is referred to is not set"
        "set it, or give a default: `${NAME:-default}`",
    UntrustedConfiguration "untrusted-configuration"
        "An untrusted project ensemble configures its invokers, so each of their calls is asked for"
        "`converse ensembles trust` shows what the project declares, and asks",
    UntrustedConnection "untrusted-connection"
        "An untrusted project ensemble would start a command or contact a server, so it is left out"
        "`converse ensembles trust` shows what the project declares, and asks",
    UntrustedExcess "untrusted-excess"
        "The untrusted ensembles of a project would tell models more than is taken of a stranger, so this one is left out"
        "`converse ensembles trust` shows what the project declares, and asks",
    UntrustedPermission "untrusted-permission"
        "An untrusted project ensemble cannot allow its own tools"
        "`converse ensembles trust` shows what the project declares, and asks",
    UntrustedShadow "untrusted-shadow"
        "An untrusted project ensemble has the name of another, which it cannot replace"
        "`converse ensembles trust` shows what the project declares, and asks; or rename it",
    UnusedArgument "unused-argument"
        "A property of the arguments stands in no placeholder, so it never reaches the command or the request"
        "write it as `{name}` where it belongs, or remove it",
    WrongType "wrong-type"
        "A value has the wrong type"
        "write the value in the form that the message names; texts stand in quotes",
}

impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The text of `docs/reference/codes.md`.
pub fn codes_markdown() -> String {
    let mut page = String::from(
        "# Codes of diagnostics\n\nGenerated by `cargo xtask codegen`; do not edit.\n\n\
         A code names a kind of problem in a descriptor or settings file. It is never renamed or reused.\n\n\
         | code | reported when | what helps |\n| --- | --- | --- |\n",
    );
    for code in Code::ALL {
        page.push_str(&format!("| `{code}` | {} | {} |\n", code.description(), code.hint()));
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_sorted_and_said_in_one_line() {
        let names: Vec<_> = Code::ALL.iter().map(|code| code.as_str()).collect();
        let mut sorted = names.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted, names);
        for code in Code::ALL {
            let kebab = code.as_str().split('-').all(|word| {
                !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
            });
            assert!(kebab, "{code}");
            let description = code.description();
            assert!(description.len() > 15, "{code}");
            assert!(code.hint().len() > 5, "{code}");
            for text in [description, code.hint()] {
                assert!(!text.ends_with('.') && !text.contains(['\n', '|']), "{code}");
            }
        }
    }

    #[test]
    fn the_page_of_codes_is_current() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/codes.md");
        let page = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            page == codes_markdown(),
            "docs/reference/codes.md is out of date: run `cargo xtask codegen`"
        );
    }
}
