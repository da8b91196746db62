//! A directory full of mistakes: one run tells all of them, each with its place and what helps.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test's helpers may panic")]

use std::path::{Path, PathBuf};

use converse_config::{BuiltinSpec, Effects, Environment, ResolveInput, Root, Scope, load, resolve};

const BUILTINS: [BuiltinSpec<'static>; 2] = [
    BuiltinSpec { name: "reckoner", effects: Effects::None },
    BuiltinSpec { name: "peek_file", effects: Effects::Read },
];

/// A file and its text, with the findings in it as `line:column code severity hint-begins-with`.
const FILES: [(&str, &str, &[&str]); 13] = [
    (
        "a-syntax.toml",
        "[ensemble]\nname = \"a\"\ndescription = = \"d\"\n[[invokers]]\nname = \"i\"\ndescription = \"d\"\nbuiltin = \"reckoner\"\n",
        &["3:15 syntax error write `key = value`"],
    ),
    (
        "b-unknown-key.toml",
        "[ensemble]\nname = \"b\"\ndescription = \"d\"\nenabeld = true\n[[invokers]]\nsource = \"i/good.toml\"\n",
        &["4:1 unknown-key error did you mean `enabled`?"],
    ),
    (
        "c-wrong-type.toml",
        "[ensemble]\nname = \"c\"\ndescription = \"d\"\nlazy = \"no\"\n[[invokers]]\nsource = \"i/good.toml\"\n",
        &["4:8 wrong-type error use the expected type"],
    ),
    (
        "d-missing-key.toml",
        "[ensemble]\ndescription = \"d\"\n[[invokers]]\nsource = \"i/good.toml\"\n",
        &["1:2 missing-key error add the key"],
    ),
    (
        "e-template.toml",
        "[ensemble]\nname = \"e\"\ndescription = \"d\"\n[connection]\ntransport = \"http\"\nurl = \"https://${HOST\"\n",
        &["6:7 bad-template error write `${NAME}`"],
    ),
    (
        "f-duplicate.toml",
        "[ensemble]\nname = \"f\"\ndescription = \"d\"\n[[invokers]]\nsource = \"i/good.toml\"\n[[invokers]]\nsource = \"i/good.toml\"\n",
        // In the file that is named twice.
        &[],
    ),
    (
        "g-files.toml",
        "[ensemble]\nname = \"g\"\ndescription = \"d\"\n[[invokers]]\nsource = \"i/broken.toml\"\n[[invokers]]\nsource = \"i/none.toml\"\n",
        &["7:10 unreadable error check that the path exists"],
    ),
    (
        "h-range.toml",
        "[ensemble]\nname = \"h\"\ndescription = \"d\"\n[defaults]\ntimeout = \"1h\"\n[[invokers]]\nsource = \"i/good.toml\"\n",
        &["5:11 out-of-range error for example: `timeout = 600`"],
    ),
    (
        "j-mixed.toml",
        "[ensemble]\nname = \"j\"\ndescription = \"d\"\n[connection]\ntransport = \"stdio\"\ncommand = [\"x\"]\n[[invokers]]\nsource = \"i/good.toml\"\n",
        &["7:1 mixed-connection error move the invokers"],
    ),
    (
        "k-command.toml",
        "[ensemble]\nname = \"k\"\ndescription = \"d\"\n[[invokers]]\nsource = \"i/command.toml\"\n[[invokers]]\nsource = \"i/http.toml\"\n",
        &[],
    ),
    (
        "i/broken.toml",
        "[invoker]\nname = \"broken\"\ndescription = \"d\"\nbuiltin = \"reckonar\"\n[arguments]\ntype = \"object\"\nproperties.x = { type = \"numbr\" }\nrequired = [\"x\", \"y\"]\n",
        &[
            "4:11 unknown-builtin error did you mean `reckoner`?",
            "7:25 bad-schema error fix the schema",
            "8:18 required-unknown warning add the name to `properties`",
        ],
    ),
    (
        "i/command.toml",
        "[invoker]\nname = \"command\"\ndescription = \"d\"\n[command]\nargv = [\"git\", \"log\", [\"-n\", \"{cuont}\"]]\nstdin = \"{count}\"\n[arguments]\ntype = \"object\"\nproperties.count = { type = \"integer\" }\n",
        &["5:30 unknown-argument error did you mean `count`?"],
    ),
    (
        "i/http.toml",
        "[invoker]\nname = \"http\"\ndescription = \"d\"\n[http]\nurl = \"https://{host}/x\"\n[arguments]\ntype = \"object\"\nproperties.host = { type = \"string\" }\n",
        &["5:7 argument-in-host error put the argument after"],
    ),
];

struct TempDir(PathBuf);

impl TempDir {
    fn new() -> Self {
        let dir = std::env::temp_dir().join(format!("converse-config-directory-{}", std::process::id()));
        std::fs::create_dir_all(dir.join("i")).unwrap();
        Self(dir)
    }

    fn write(&self, path: &str, text: &str) {
        std::fs::write(self.0.join(Path::new(path)), text).unwrap();
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_directory_of_mistakes_is_told_in_one_run() {
    let dir = TempDir::new();
    let good = "[invoker]\nname = \"good\"\ndescription = \"d\"\nbuiltin = \"peek_file\"\n";
    dir.write("i/good.toml", good);
    dir.write(
        "z-right.toml",
        "[ensemble]\nname = \"z\"\ndescription = \"d\"\n[[invokers]]\nsource = \"i/good.toml\"\n",
    );
    for (path, text, _) in FILES {
        dir.write(path, text);
    }
    let loaded = load(&[Root { scope: Scope::Explicit, dir: dir.0.clone(), shown: "ensembles".into() }], &[]);
    let environment = Environment::default();
    let given = ResolveInput {
        builtins: &BUILTINS,
        environment: &environment,
        project_trusted: false,
        compile_schemas: true,
        require_env: false,
    };
    let resolved = resolve(&loaded.sources, &loaded.descriptors, &given);
    let mut found: Vec<_> = loaded
        .diagnostics
        .iter()
        .chain(&resolved.diagnostics)
        .map(|diagnostic| {
            let finding = diagnostic.finding(&loaded.sources);
            let (line, column) = (finding.line.unwrap(), finding.column.unwrap());
            let hint = finding.hint.clone().unwrap();
            // People and programs are told the same.
            let picture = diagnostic.render(&loaded.sources);
            assert!(picture.contains(&format!(" --> {}:{line}:{column}\n", finding.file)), "{picture}");
            assert!(picture.contains(&format!(" = hint: {hint}\n")), "{picture}");
            assert_eq!(finding.to_json()["hint"], hint);
            format!("{} {line}:{column} {} {} {hint}", finding.file, finding.code, finding.severity.as_str())
        })
        .collect();
    let mut expected: Vec<String> = FILES
        .iter()
        .flat_map(|(path, _, findings)| {
            findings.iter().map(move |finding| format!("ensembles/{path} {finding}"))
        })
        .collect();
    expected.push("ensembles/i/good.toml 2:8 duplicate-invoker error rename or remove one of".to_owned());
    expected.sort();
    found.sort();
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for (found, expected) in found.iter().zip(&expected) {
        assert!(found.starts_with(expected), "expected {expected}\nfound    {found}");
    }
    let right: Vec<_> = resolved.plans.iter().map(|plan| plan.name.as_str()).collect();
    assert_eq!(right, ["z"], "what is right still loads");
    assert_eq!(resolved.broken.len(), 10);
}
