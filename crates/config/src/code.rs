//! Diagnostic codes: one stable name per kind of problem.
//!
//! A code is never renamed or reused. `docs/reference/codes.md` is generated from the list below.

macro_rules! codes {
    ($($variant:ident $code:literal $description:literal $hint:literal,)*) => {
        /// The kind of problem that a diagnostic reports.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code { $(#[doc = $description] $variant,)* }

        impl Code {
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Returns the name in kebab-case, such as `unknown-key`.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $code,)* }
            }

            /// Returns one line that says when this code is reported.
            pub fn description(self) -> &'static str {
                match self { $(Self::$variant => $description,)* }
            }

            /// Returns the hint for diagnostics that have no hint of their own.
            pub fn hint(self) -> &'static str {
                match self { $(Self::$variant => $hint,)* }
            }
        }
    };
}

codes! {
    ArgumentInBody "argument-in-body"
        "An argument of the call is inside a text `body`, where nothing encodes it"
        "use `form = { name = \"{argument}\" }`, or write `body` as a table, which is sent as JSON",
    ArgumentInHost "argument-in-host"
        "The scheme or host of a URL depends on an argument of the call"
        "put the argument after the first `/` that follows the host, or into `query`",
    ArgumentInProgram "argument-in-program"
        "The program that a command starts depends on an argument of the call"
        "write the name of the program; arguments may be in the elements after it",
    ArgumentInScript "argument-in-script"
        "An argument of the call would be code of a shell or another interpreter, or would choose the file that it runs"
        "write the code or its file in the descriptor, and pass the argument as a later element, which a shell reads as `\"$1\"`: `[\"sh\", \"-c\", 'wc -l \"$1\"', \"sh\", \"{file}\"]`",
    BadName "bad-name"
        "A name has a character or a length that is not allowed"
        "choose another name; lower-case letters, digits and `-` are always allowed, with a letter first",
    BadPattern "bad-pattern"
        "A pattern is not a valid glob"
        "`*` matches any characters and `?` matches one; close every `[` and `{`",
    BadSchema "bad-schema"
        "The schema of an invoker's arguments is not a JSON Schema for an object, is too large, or is too expensive to check"
        "fix the schema at the marked place; the smallest schema is `type = \"object\"` with `properties`",
    BadSource "bad-source"
        "The path in `source` is not a relative path inside the directory of the descriptor"
        "write a path relative to this file, such as `source = \"notes/invokers/read.toml\"`",
    BadTemplate "bad-template"
        "A `${VAR}`, `env:VAR` or `{argument}` is malformed or nested"
        "write `${NAME}`, `${NAME:-default}`, or `env:NAME` as the whole text; for an argument write `{name}`, and for a brace `{{` or `}}`",
    BadValue "bad-value"
        "A value has the right type but is not allowed here"
        "look up the allowed values of this key in the reference",
    BuiltinArgument "builtin-argument"
        "An invoker does not declare an argument that its built-in requires, so every call fails"
        "add the argument to `properties` and to `required`; the descriptor reference lists the arguments of each built-in",
    CachedEffects "cached-effects"
        "A tool has `cache`, but changes something and is not idempotent, so a call answered from the cache has no effect"
        "remove `cache`, or declare the tool as it is: `effects = \"read\"`, or `idempotent = true`",
    ConnectFailed "connect-failed"
        "The server of an ensemble could not be started or reached (`check --connect`)"
        "for a slow server, raise `connect_timeout`",
    DefaultRefused "default-refused"
        "The schema of a server's tool refuses its own `default`, such as `null` for a text, so converse does not fill it in (`check --connect`)"
        "no change is needed for converse; in the server, declare the argument as nullable: `\"type\": [\"string\", \"null\"]`",
    DuplicateCase "duplicate-case"
        "Two cases of a suite have the same name (`converse eval`)"
        "rename or remove one of the cases",
    DuplicateEnsemble "duplicate-ensemble"
        "Two ensembles of the same scope have the same name"
        "rename or remove one of the ensembles",
    DuplicateInvoker "duplicate-invoker"
        "Two invokers of the same ensemble have the same name"
        "rename or remove one of the invokers",
    DuplicateKey "duplicate-key"
        "A key or table is given twice"
        "remove one of them",
    DuplicateView "duplicate-view"
        "Two views have the same name"
        "rename or remove one of the views",
    EffectsLowered "effects-lowered"
        "A descriptor declares weaker `effects` than its built-in has"
        "remove `effects`, or declare stronger effects",
    EmptyEnsemble "empty-ensemble"
        "An ensemble has neither invokers nor a connection"
        "add an `[[invokers]]` or a `[connection]`",
    LockDamaged "lock-damaged"
        "A lockfile cannot be read in full or is inconsistent, so the tools of its ensembles are held back"
        "restore the lockfile, or write it again: `converse ensembles lock --accept`",
    LockDrift "lock-drift"
        "A tool differs from its definition in the lockfile (`check --locked`, and at run time)"
        "to accept the change: `converse ensembles lock --accept`",
    LockIncomplete "lock-incomplete"
        "A lockfile has no entry for the prompts or resources of a server, so they are not held back (`check --locked`)"
        "to pin them too: `converse ensembles lock`",
    LockMissing "lock-missing"
        "A directory of ensembles has no lockfile (`check --locked`)"
        "to write the lockfile: `converse ensembles lock`",
    MissingDescription "missing-description"
        "An ensemble or invoker has no description; models choose tools by their descriptions"
        "add a `description` of one sentence that says what it is for",
    MissingKey "missing-key"
        "A required key or table is missing"
        "add the key or table",
    MixedConnection "mixed-connection"
        "An ensemble has both a connection and invokers"
        "move the invokers to another ensemble file",
    MixedInvoker "mixed-invoker"
        "An invoker has more than one of `builtin`, `command` and `http`"
        "keep one of `builtin`, `command` and `http`",
    MoreProblems "more-problems"
        "A file or directory has more problems than are listed"
        "fix the listed problems and check again",
    NameClash "name-clash"
        "Two tools would have the same name for models"
        "give one of the ensembles a `prefix` of its own",
    NotUtf8 "not-utf8"
        "A file is not UTF-8 text"
        "save the file as UTF-8",
    OneWord "one-word"
        "A command is a single element that contains blanks, so converse looks for a program with that whole name"
        "write each word as an element of its own: `[\"git\", \"log\"]`",
    OpenapiDocument "openapi-document"
        "A file is not an OpenAPI document that can be imported, or has no such operation (`import openapi`)"
        "OpenAPI 3.0 and 3.1 in JSON or YAML can be imported: `converse ensembles import openapi openapi.yaml`",
    OpenapiLeftOut "openapi-left-out"
        "An operation of an OpenAPI document, or a part of it, cannot be expressed and is left out (`import openapi`)"
        "the other operations are imported; write the missing tool by hand if you need it",
    OpenapiReference "openapi-reference"
        "A `$ref` of an OpenAPI document leads to another document, or to nothing (`import openapi`)"
        "put everything into one document: `npx @redocly/cli bundle openapi.yaml -o bundled.yaml`",
    OpenapiSecurity "openapi-security"
        "A security scheme of an OpenAPI document is unknown or cannot be sent (`import openapi`)"
        "add the header by hand: `headers = { Authorization = \"Bearer ${TOKEN}\" }`",
    OpenapiServer "openapi-server"
        "An OpenAPI document names no server that requests can be sent to (`import openapi`)"
        "name the server: `--server https://api.example.com/v1`",
    OpenapiSimplified "openapi-simplified"
        "A schema of an OpenAPI document contains itself, is too large, or leads to another document, and takes any value (`import openapi`)"
        "no change is needed; the server checks the value, and you can describe it in the descriptor",
    OpeningsWithoutSandbox "openings-without-sandbox"
        "A command has `reads`, `writes` or `network`, but no sandbox"
        "add `sandbox = \"require\"` or `sandbox = \"best-effort\"`; without a sandbox the program has all of your rights",
    OptionalInUrl "optional-in-url"
        "A URL contains an argument that a call may leave out; such a call fails"
        "add the argument to `required`, give it a `default`, or move it to `query`",
    OutOfRange "out-of-range"
        "A number, duration or size is outside its limits"
        "choose a value within the limits",
    OutsideRoot "outside-root"
        "A symbolic link leads out of the directory"
        "replace the link by the file itself",
    ProjectScope "project-scope"
        "A project's settings try to do more than tighten the user's settings"
        "move this to your own `config.toml`",
    ProviderAdapts "provider-adapts"
        "A provider rejects a tool as declared, and converse adapts the tool to the provider (`check --provider`)"
        "no change is needed for converse; other programs may send the tool unchanged",
    ProviderIgnores "provider-ignores"
        "A provider ignores a part of a tool, or does not enforce a limit that it documents (`check --provider`)"
        "repeat this part in the description, or use a form that the provider obeys",
    ProviderRejects "provider-rejects"
        "A provider rejects every request that contains this tool, so the other tools of the request are lost too (`check --provider`)"
        "change the tool at the marked place, or exclude it with `exclude` in `[tools]`",
    RequiredUnknown "required-unknown"
        "A name in `required` is not in `properties`"
        "add the name to `properties`, or remove it from `required`",
    RuleExample "rule-example"
        "An example in `match` or `not_match` contradicts its rule"
        "fix the rule or the example; to see what each rule says about a call: `converse explain ENSEMBLE.TOOL ARGUMENTS`",
    RuleNeverMatches "rule-never-matches"
        "A permission rule can never match: no tool has this name, no tool of this name has these effects or arguments, or the conditions contradict each other"
        "fix or remove the rule; `converse ensembles list` and `converse ensembles show` list the tools",
    RuleShadowed "rule-shadowed"
        "A permission rule never decides, because a stricter rule without conditions covers all of its tools"
        "narrow the stricter rule, or remove this rule; deny beats ask beats allow, in any order",
    SandboxWithoutCommand "sandbox-without-command"
        "An invoker without a `[command]` has `sandbox`"
        "remove `sandbox`; it applies only to the program of a `[command]`",
    SchemaFitsNothing "schema-fits-nothing"
        "No value fits a part of a schema, such as a `minimum` above the `maximum`, so the argument can never be given"
        "write limits that some value fits: `minimum = 1` and `maximum = 10`",
    SecretInFile "secret-in-file"
        "A value in a descriptor looks like a secret, which every reader of the file can see"
        "put the secret into an environment variable and write `env:NAME`; replace a secret that was shared",
    ShellSyntax "shell-syntax"
        "A command or a value contains syntax of a shell, such as `>` or `$(…)`, but no shell reads it"
        "to use a shell: `[\"sh\", \"-c\", \"first > output.txt\"]`",
    Syntax "syntax"
        "The text is not valid TOML"
        "write `key = value` on one line, and texts in quotes",
    TestContradicts "test-contradicts"
        "The schema of a tool makes the expectation of a test impossible"
        "for arguments that do not fit the schema, expect only `outcome = \"invalid\"`",
    TooLarge "too-large"
        "A file, all files together, or a description exceed the size limit"
        "split the content, or remove a part of it",
    TooMany "too-many"
        "There are more files or entries than converse reads"
        "split the content, or remove a part of it",
    ToolAbsent "tool-absent"
        "`include`, `exclude` or `[tools.NAME]` names a tool that the server does not have, so the entry has no effect (`check --connect`)"
        "write the current name of the tool, or remove the entry; `converse ensembles show` lists the tools of an ensemble",
    ToolLeftOut "tool-left-out"
        "A server offers a tool that converse cannot use as it is (`check --connect`)"
        "report the problem to the author of the server; the other tools of the server work",
    ToolsWithoutConnection "tools-without-connection"
        "An ensemble has `[tools]`, but no connection to a server whose tools `[tools]` could describe"
        "remove `[tools]`, or add a `[connection]`",
    UnexpandedTilde "unexpanded-tilde"
        "A path begins with `~`, which only a shell replaces by the home directory"
        "write `${HOME}/notes`, or the absolute path",
    UnexpandedVariable "unexpanded-variable"
        "A value or a word of a command contains `$NAME`, which only a shell replaces by the value of the variable"
        "write `${NAME}`, or `env:NAME` as the whole text",
    UnknownArgument "unknown-argument"
        "A placeholder is not the name of a property of `[arguments]`"
        "add the name to `properties`, or write `{{` and `}}` for braces",
    UnknownBuiltin "unknown-builtin"
        "No built-in tool has this name"
        "the descriptor reference lists the built-ins",
    UnknownKey "unknown-key"
        "A key or table is not part of the format"
        "remove the key or table, or look up its name in the reference",
    UnknownKeyword "unknown-keyword"
        "A keyword of a schema is misspelt, so it has no effect"
        "look up the name of the keyword: <https://json-schema.org/understanding-json-schema/keywords>",
    UnpinnedPackage "unpinned-package"
        "A command runs a package or image without an exact version, so a later run may execute code that nobody reviewed"
        "add the version: `npx pkg@1.2.3`, `uvx pkg==1.2.3`, `go run module@v1.2.3`, `docker run image@sha256:…`",
    Unreadable "unreadable"
        "A file or directory cannot be read"
        "check that the path exists, and that you may read it: `ls -ld PATH`",
    UnsetVariable "unset-variable"
        "An environment variable that a file refers to is not set"
        "set the variable (`export NAME=…`), or give a default: `${NAME:-default}`",
    UntrustedConfiguration "untrusted-configuration"
        "An untrusted project ensemble has a `[configuration]`, so each call of its tools asks first"
        "to see everything that the project declares, and trust it: `converse ensembles trust`",
    UntrustedConnection "untrusted-connection"
        "An untrusted project ensemble would start a command, contact a server, or open files below an absolute `root`, so it is left out"
        "to see everything that the project declares, and trust it: `converse ensembles trust`",
    UntrustedExcess "untrusted-excess"
        "The untrusted ensembles of a project exceed the size that converse shows to models, so this ensemble is left out"
        "to see everything that the project declares, and trust it: `converse ensembles trust`",
    UntrustedPermission "untrusted-permission"
        "An untrusted project ensemble cannot allow its own tools"
        "to see everything that the project declares, and trust it: `converse ensembles trust`",
    UntrustedShadow "untrusted-shadow"
        "An untrusted project ensemble has the name of another ensemble, which it cannot replace"
        "rename the ensemble; or, to see everything that the project declares, and trust it: `converse ensembles trust`",
    UnusedArgument "unused-argument"
        "A property of the arguments is in no placeholder, so it never reaches the command or the request"
        "write `{name}` where the value belongs, or remove the property",
    ViewArgument "view-argument"
        "A view fixes an argument that the tool does not have, or to a value that the schema does not allow"
        "fix the name or the value; `converse ensembles show` lists the arguments of each tool",
    ViewToolUnknown "view-tool-unknown"
        "A view names a tool that no ensemble has"
        "write the current name of the tool, or remove the entry; `converse ensembles list` and `converse ensembles show` list the tools",
    WrongType "wrong-type"
        "A value has the wrong type"
        "use the expected type; texts need quotes",
}

impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Returns the text of `docs/reference/codes.md`.
pub fn codes_markdown() -> String {
    let mut page = String::from(
        "# Diagnostic codes\n\nGenerated by `cargo xtask codegen`; do not edit.\n\n\
         A code names one kind of problem in a descriptor or settings file. Codes are never renamed or reused.\n\n\
         | code | meaning | hint |\n| --- | --- | --- |\n",
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
    fn codes_are_unique_and_sorted_with_one_line_texts() {
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
