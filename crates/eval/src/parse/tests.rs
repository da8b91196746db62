use converse_config::{Scope, SourceMap};

use super::*;

fn read(text: &str) -> (Suite, Vec<String>) {
    let mut sources = SourceMap::new();
    let id = sources.add("s.toml", Scope::User, text);
    let checked = parse_suite(&sources, id);
    let place = |diagnostic: &Diagnostic| {
        let finding = diagnostic.finding(&sources);
        assert!(finding.hint.is_some_and(|hint| !hint.is_empty()), "{}", finding.message);
        format!("{} {}:{}", finding.code, finding.line.unwrap_or(0), finding.column.unwrap_or(0))
    };
    let found = checked.diagnostics.iter().map(place).collect();
    (checked.value, found)
}

#[test]
fn every_key_is_read() {
    let text = r#"
[suite]
name = "invoices"
models = ["a/b", "understudy"]
ensembles = ["io"]
system = "Be brief"
repeat = 3
pass_rate = 0.5
limits = { cost = 0.05, time = "30s" }

[[cases]]
name = "first"
prompt = "x"
attachments = ["a.txt"]
ensembles = ["io", "web"]
pass_rate = 1.0
limits.cost = 0.01
tools = { must = ["a.b"], may = [], must_not = ["c"], order = ["a.b"] }

[[cases.calls]]
tool = "a.b"
arguments = { n = 1 }
schema = { required = ["n"] }
pattern = { n = "1" }

[cases.answer]
contains = "375"
not_contains = ["about"]
matches = "3.5"
schema = "answer.json"
judge = { model = "a/b", question = "Is it right?" }

[[cases]]
name = "second"
messages = [{ role = "system", content = "s" }, { role = "user", content = "q" }]
"#;
    let (suite, found) = read(text);
    assert_eq!(found, Vec::<String>::new());
    assert_eq!((suite.name.as_str(), suite.repeat, suite.models.len()), ("invoices", 3, 2));
    let [first, second] = &suite.cases[..] else { panic!("{suite:?}") };
    assert_eq!((first.line, second.line), (11, 33));
    assert_eq!((first.ensembles.len(), second.ensembles.len()), (2, 0));
    assert_eq!((first.pass_rate, second.pass_rate), (1.0, 0.5));
    let time = Some(Duration::from_secs(30));
    assert_eq!(first.limits, CaseLimits { cost: Some(Cost(10_000)), time });
    assert_eq!(second.limits, CaseLimits { cost: Some(Cost(50_000)), time });
    assert_eq!(first.conversation.attachments, ["a.txt"]);
    assert_eq!((second.conversation.before.len(), second.conversation.question.as_str()), (1, "q"));
    assert_eq!(first.expect.may.as_ref().map(Vec::len), Some(0));
    assert!(first.expect.judge.is_some() && first.schema.is_some() && first.expect.calls.len() == 1);
}

#[test]
fn what_is_wrong_has_its_place() {
    let case = |keys: &str| format!("[[cases]]\nname = \"c\"\nprompt = \"x\"\n{keys}\n");
    for (text, expected) in [
        (String::new(), vec!["missing-key 1:1"]),
        ("[[cases]]\n".to_owned(), vec!["missing-key 1:1", "missing-key 1:1"]),
        ("[[cases]]\nname = \"c\"\nprompt = \" \"\n".to_owned(), vec!["bad-value 3:10"]),
        ("[[cases]]\nname = \"\"\nprompt = \"x\"\n".to_owned(), vec!["bad-value 2:8"]),
        (
            "[[cases]]\nname = \"c\"\nmessages = [{ role = \"tool\", content = \"x\" }]\n".to_owned(),
            vec!["bad-value 3:12"],
        ),
        (case("messages = []"), vec!["bad-value 4:12"]),
        (case("promt = 1"), vec!["unknown-key 4:1"]),
        (case("") + &case(""), vec!["duplicate-case 6:8"]),
        (case("tools.must = \"a\""), vec!["wrong-type 4:14"]),
        (case("tools.must = [\"a[\", \"\"]"), vec!["bad-pattern 4:15", "bad-pattern 4:21"]),
        (case("answer.matches = \"(\""), vec!["bad-pattern 4:18"]),
        (case("answer.contains = \"\""), vec!["bad-value 4:19"]),
        (case("answer.judge = { question = \"q\" }"), vec!["missing-key 4:8"]),
        (case("calls = [{ tool = \"a\", arguments = 7 }]"), vec!["wrong-type 4:36"]),
        (case("calls = [{ schema = { type = \"no\" } }]"), vec!["missing-key 4:10", "bad-schema 4:21"]),
        (
            case("calls = [{ tool = \"a\", pattern = { x = \"(\", y = 1 } }]"),
            vec!["bad-pattern 4:34", "bad-value 4:34"],
        ),
        (
            case("[suite]\nrepeat = 0\npass_rate = 2\nlimits = { time = \"soon\", cost = 0 }\nx = 1"),
            vec![
                "out-of-range 5:10",
                "out-of-range 6:13",
                "bad-value 7:19",
                "out-of-range 7:34",
                "unknown-key 8:1",
            ],
        ),
    ] {
        let mut found = read(&text).1;
        found.sort();
        let mut expected: Vec<String> = expected.into_iter().map(str::to_owned).collect();
        expected.sort();
        assert_eq!(found, expected, "{text}");
    }
}
