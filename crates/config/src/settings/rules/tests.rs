use serde_json::json;

use super::*;
use crate::diagnostic::Checked;
use crate::parse_settings;
use crate::rule::{BaseDirs, Conditions};

fn read(scope: Scope, text: &str) -> (Vec<Rule>, Vec<String>) {
    let mut sources = SourceMap::new();
    let id = sources.add("s.toml", scope, text);
    let Checked { value, diagnostics } = parse_settings(&sources, id);
    let findings = diagnostics.iter().map(|diagnostic| {
        let finding = diagnostic.finding(&sources);
        format!("{} {}:{}", finding.code, finding.line.unwrap_or(0), finding.column.unwrap_or(0))
    });
    (value.rules, findings.collect())
}

const FULL: &str = r#"
[[rules]]
tools = ["io.write_file", "io.edit_*"]
decision = "deny"
effects = ["write", "external"]
interactive = false
reason = "the repository's hooks are not for models"
match = ["io.write_file path=.git/hooks/x", 'io.write_file {"path":"a/../.git/x"}', "io.edit_file path=\".git/a b\""]
not_match = "io.write_file path=README.md"
[rules.arguments]
path = ".git/**"

[[rules]]
tools = "t"
decision = "allow"
match = "t.x n=5 s=abc m=2 e=null p=a/b"
not_match = ["t.x n=11 s=abc m=2 e=null p=a/b", "t.x s=abc", "t.x"]
arguments = { n = { min = 1, max = 10.5 }, s = { glob = "a*", prefix = "ab", regex = "[a-z]+" }, m = { one_of = [1, 2] }, p = { path = "a/*" } }
"#;

#[test]
fn a_rule_is_read_whole() {
    let (rules, findings) = read(Scope::User, FULL);
    assert_eq!(findings, [""; 0]);
    let [deny, allow] = rules.as_slice() else { panic!("{rules:?}") };
    assert_eq!((deny.pattern.as_str(), deny.source.as_str()), ("io.write_file, io.edit_*", "s.toml:2"));
    assert_eq!((deny.permission, deny.interactive), (Permission::Deny, Some(false)));
    assert_eq!(deny.effects, Some(vec![Effects::Write, Effects::External]));
    assert_eq!(deny.reason.as_deref(), Some("the repository's hooks are not for models"));
    let Conditions::All(conditions) = &allow.conditions else { panic!("{allow:?}") };
    let counts: Vec<usize> = conditions.iter().map(|one| one.tests.len()).collect();
    assert_eq!((allow.source.as_str(), counts), ("s.toml:13", vec![2, 3, 1, 1]));
}

#[test]
fn a_project_may_not_allow() {
    let (rules, findings) = read(Scope::Project, FULL);
    assert_eq!(findings, ["project-scope 15:12"]);
    assert_eq!(rules.len(), 1);
    let (rules, findings) = read(Scope::Project, "[[rules]]\ntools = \"*\"\ndecision = \"ask\"\n");
    assert_eq!((rules.len(), findings.len()), (1, 0));
}

#[test]
fn mistakes_are_pointed_at_and_leave_no_half_a_rule() {
    let head = "[[rules]]\ntools = \"io\"\ndecision = \"deny\"\n";
    for (rest, expected) in [
        ("arguments = { path = \"[\" }", "bad-pattern 4:22"),
        ("arguments = { path = \"\" }", "bad-pattern 4:22"),
        ("arguments = { path = { regex = \"(\" } }", "bad-pattern 4:32"),
        ("arguments = { path = { globb = \"x\" } }", "unknown-key 4:24"),
        ("arguments = { path = {} }", "bad-value 4:15"),
        ("arguments = { path = { glob = 5 } }", "wrong-type 4:31"),
        ("arguments = { path = { one_of = \"a\" } }", "wrong-type 4:33"),
        ("arguments = { path = { min = \"1\" } }", "wrong-type 4:30"),
        ("arguments = { path = { min = nan } }", "out-of-range 4:30"),
        ("arguments = { path = [\"a\"] }", "wrong-type 4:22"),
        ("arguments = { \"/a~2\" = \"a\" }", "bad-value 4:15"),
        ("arguments = 5", "wrong-type 4:13"),
        ("arguments = '{\"a\":1}'", "wrong-type 4:13"),
        ("effects = \"wirte\"", "bad-value 4:11"),
        ("effects = []", "bad-value 4:11"),
        ("interactive = \"no\"", "wrong-type 4:15"),
        ("reasons = \"x\"", "unknown-key 4:1"),
        ("definition = \"x\"", "unknown-key 4:1"),
        ("match = \"web.x\"", "rule-example 4:9"),
        ("match = [\"io.x\", \"nonsense\"]", "rule-example 4:18"),
        ("not_match = \"io.x\"", "rule-example 4:13"),
        ("match = 5", "wrong-type 4:9"),
        ("match = [{ file = \"/tmp\" }]", "wrong-type 4:10"),
    ] {
        let (rules, findings) = read(Scope::User, &format!("{head}{rest}\n"));
        assert_eq!(findings, [expected], "{rest}");
        assert!(rules.is_empty(), "{rest}");
    }
    for (text, expected) in [
        ("[[rules]]\ndecision = \"deny\"\n", "missing-key 1:1"),
        ("[[rules]]\ntools = \"io\"\n", "missing-key 1:1"),
        ("[[rules]]\ntools = \"io\"\ndecision = \"refuse\"\n", "bad-value 3:12"),
        ("[[rules]]\ntools = \"io.[\"\ndecision = \"deny\"\n", "bad-pattern 2:9"),
        ("[[rules]]\ntools = [\"io\", \"\"]\ndecision = \"deny\"\n", "bad-pattern 2:16"),
        ("[[rules]]\ntools = []\ndecision = \"deny\"\n", "bad-value 2:9"),
        ("[rules]\ntools = \"io\"\ndecision = \"deny\"\n", "wrong-type 1:1"),
        ("rules = [3]\n", "wrong-type 1:10"),
    ] {
        let (rules, findings) = read(Scope::User, text);
        assert_eq!((findings, rules.len()), (vec![expected.to_owned()], 0), "{text}");
    }
}

#[test]
fn a_command_is_allowed_by_its_first_words_and_is_single() {
    let rule = |decision: &str, pattern: &str| {
        let text = format!(
            "[[rules]]\ntools = \"shell.run\"\ndecision = \"{decision}\"\n\
             arguments = {{ command = {{ command = \"{pattern}\" }} }}\n"
        );
        read(Scope::User, &text)
    };
    let (rules, problems) = rule("allow", "cargo test *");
    assert!(problems.is_empty() && rules.len() == 1, "{problems:?}");
    for (given, expected) in [
        ("cargo test", true),
        ("cargo test -p x --lib 'a name'", true),
        ("cargo testx", false),
        ("cargo test; rm -rf .", false),
        ("cargo test && rm x", false),
        ("cargo test || rm x", false),
        ("cargo test | sh", false),
        ("cargo test & rm x", false),
        ("cargo test $(rm x)", false),
        ("cargo test `rm x`", false),
        ("cargo test > x", false),
        ("cargo test < x", false),
        ("cargo test\nrm x", false),
        ("cargo test\r\nrm x", false),
        ("cargo test \n", false),
        ("cargo test $X", false),
        ("cargo test \u{ff1b} rm x", false),
        ("X=1 cargo test", false),
        ("cargo --config x test", false),
        ("cargo  test", false),
        (" cargo test", false),
        ("./cargo test", false),
        ("(cargo test)", false),
        ("", false),
    ] {
        for (value, expected) in [(json!(given), expected), (json!([given]), expected)] {
            let arguments = json!({ "command": value });
            let misses = rules[0].unmet(arguments.as_object().unwrap(), BaseDirs::default());
            assert_eq!(misses.is_empty(), expected, "{arguments}");
        }
    }
    for value in [json!(1), json!(null), json!({ "a": "cargo test" }), json!([])] {
        let arguments = json!({ "command": value });
        assert!(!rules[0].unmet(arguments.as_object().unwrap(), BaseDirs::default()).is_empty(), "{value}");
    }
    for (decision, pattern) in
        [("deny", "rm *"), ("ask", "rm *"), ("allow", "*"), ("allow", "sudo *"), ("allow", "ls")]
    {
        let (rules, problems) = rule(decision, pattern);
        assert!(rules.is_empty() && problems.len() == 1, "{decision} {pattern}: {problems:?}");
    }
}

/// The place that people try first: after `[rules.arguments]`, `match` is the name of an argument.
#[test]
fn an_example_in_the_wrong_table_is_a_mistake() {
    for (line, expected) in [
        ("match = [\"io.x path=a\"]", vec!["bad-value 6:1"]),
        ("match = \"io.x path=a\"", vec!["bad-value 6:1"]),
        ("reason = \"why\"", vec!["bad-value 6:1"]),
        ("\"/match\" = \"the argument\"", vec![]),
    ] {
        let head = "[[rules]]\ntools = \"io\"\ndecision = \"deny\"\n[rules.arguments]\npath = \"a\"\n";
        assert_eq!(read(Scope::User, &format!("{head}{line}\n")).1, expected, "{line}");
    }
}

#[test]
fn there_are_not_too_many() {
    let text = "[[rules]]\ntools = \"io\"\ndecision = \"deny\"\n".repeat(MAX_RULES + 1);
    let (rules, findings) = read(Scope::User, &text);
    assert_eq!((rules.len(), findings.len()), (MAX_RULES, 1));
    assert!(findings[0].starts_with("too-many 1:"), "{findings:?}");
}
