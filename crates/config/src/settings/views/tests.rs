use serde_json::json;

use super::*;
use crate::diagnostic::Checked;
use crate::plan::{ConnectionPlan, EnsemblePlan, InvokerPlan, Origin, Scope, ToolFilter, TransportPlan};
use crate::{InvokerKind, Permission, Policy, SettingsPlan, parse_settings};

fn read(scope: Scope, text: &str) -> (Vec<ViewPlan>, Vec<String>) {
    let mut sources = SourceMap::new();
    let id = sources.add("s.toml", scope, text);
    let Checked { value, diagnostics } = parse_settings(&sources, id);
    let found = diagnostics.iter().map(|one| line(one, &sources));
    (value.views, found.collect())
}

fn line(one: &Diagnostic, sources: &SourceMap) -> String {
    let finding = one.finding(sources);
    format!("{} {}:{}", finding.code, finding.line.unwrap_or(0), finding.column.unwrap_or(0))
}

const SALES: &str = r#"[[views]]
name = "sales"
instructions = "Answer questions about sales."
tools = [
    "io.read_*",
    { tool = "db.query", name = "query_sales", description = "Queries sales", arguments = { database = "sales" } },
    { tool = "db.query", name = "query_stock", arguments = { database = "stock", limit = 5 } },
]
search = true
tokens = ["9F9F5111", "0123456789abcdef"]
claims = { group = "data", "/realm/roles" = ["analyst", "admin"] }

[views.permissions]
deny = ["io.read_secret"]
[views.budget]
calls_per_minute = 9

[[views]]
name = "rest"
tools = ["*"]
"#;

#[test]
fn a_view_is_read() {
    let (views, found) = read(Scope::User, SALES);
    assert_eq!(found, [""; 0]);
    let [sales, rest] = views.as_slice() else { panic!("{views:?}") };
    assert_eq!((sales.name.as_str(), sales.search), ("sales", true));
    assert_eq!(sales.instructions.as_deref(), Some("Answer questions about sales."));
    assert_eq!(sales.tokens, ["9f9f5111", "0123456789abcdef"]);
    assert_eq!(sales.claims["group"], ["data"]);
    assert_eq!(sales.claims["/realm/roles"], ["analyst", "admin"]);
    assert_eq!((sales.budget.calls_per_minute, rest.budget), (Some(9), BudgetPlan::default()));
    assert!(sales.names_principals() && !rest.names_principals());
    let rules: Vec<_> = sales.rules.iter().map(|rule| (rule.pattern.as_str(), rule.permission)).collect();
    assert_eq!(rules, [("io.read_secret", Permission::Deny)]);
    let [reads, of_sales, of_stock] = sales.tools.as_slice() else { panic!("{:?}", sales.tools) };
    assert!(reads.matches("io.read_file") && !reads.matches("io.write_file") && !reads.is_single);
    assert!(of_sales.matches("db.query") && !of_sales.matches("db.query2") && of_sales.is_single);
    assert_eq!(of_sales.name.as_ref().map(ToolName::as_str), Some("query_sales"));
    assert_eq!(of_sales.description.as_deref(), Some("Queries sales"));
    assert_eq!(json!(of_stock.arguments), json!({ "database": "stock", "limit": 5 }));
    assert!(rest.rules.is_empty() && rest.tools[0].matches("db.query"));
}

#[test]
fn a_project_has_no_views() {
    let (views, found) = read(Scope::Project, "[[views]]\nname = \"a\"\ntools = [\"*\"]\n");
    assert_eq!((views.len(), found), (0, vec!["project-scope 1:3".to_owned()]));
    let user = SettingsPlan { views: read(Scope::User, SALES).0, ..SettingsPlan::default() };
    assert_eq!(user.under(SettingsPlan::default()).views.len(), 2);
}

#[test]
fn mistakes_are_pointed_at_and_leave_no_half_a_view() {
    let head = "[[views]]\nname = \"a\"\n";
    for (rest, expected) in [
        ("tools = []", "bad-value 3:9"),
        ("tools = \"io\"", "wrong-type 3:9"),
        ("tools = [3]", "wrong-type 3:10"),
        ("tools = [\"io.[\"]", "bad-pattern 3:10"),
        ("tools = [{ name = \"x\" }]", "missing-key 3:10"),
        ("tools = [{ tool = \"io\" }]", "bad-value 3:19"),
        ("tools = [{ tool = \"io.x\", name = \"a b\" }]", "bad-name 3:34"),
        ("tools = [{ tool = \"io.x\", argumnets = {} }]", "unknown-key 3:27"),
        ("tools = [{ tool = \"io.x\", arguments = 3 }]", "wrong-type 3:39"),
        ("tools = [{ tool = \"a.x\", name = \"n\" }, { tool = \"b.x\", name = \"n\" }]", "name-clash 3:40"),
        ("tools = [\"*\"]\ntokens = []", "bad-value 4:10"),
        ("tools = [\"*\"]\ntokens = \"9f9f5111\"", "wrong-type 4:10"),
        ("tools = [\"*\"]\ntokens = [\"9f9f511\"]", "bad-value 4:11"),
        ("tools = [\"*\"]\nclaims = {}", "bad-value 4:1"),
        ("tools = [\"*\"]\nclaims = { group = [] }", "bad-value 4:20"),
        ("tools = [\"*\"]\nclaims = { group = 3 }", "wrong-type 4:20"),
        ("tools = [\"*\"]\nclaims = { group = [\"a\", 3] }", "wrong-type 4:20"),
        ("tools = [\"*\"]\nsearch = 1", "wrong-type 4:10"),
        ("tools = [\"*\"]\ntoken = [\"9f9f5111\"]", "unknown-key 4:1"),
        ("tools = [\"*\"]\npermissions = { deny = [\"[\"] }", "bad-pattern 4:25"),
    ] {
        let (views, findings) = read(Scope::User, &format!("{head}{rest}\n"));
        assert_eq!((findings, views.len()), (vec![expected.to_owned()], 0), "{rest}");
    }
    for (text, expected, left) in [
        ("[[views]]\ntools = [\"*\"]\n", "missing-key 1:1", 0),
        ("[[views]]\nname = \"a\"\n", "missing-key 1:1", 0),
        ("[[views]]\nname = \"a/b\"\ntools = [\"*\"]\n", "bad-name 2:8", 0),
        ("[views]\nname = \"a\"\ntools = [\"*\"]\n", "wrong-type 1:1", 0),
        (&format!("{head}tools = [\"*\"]\n").repeat(2), "duplicate-view 4:1", 1),
        (
            &(0..=MAX_VIEWS)
                .map(|number| format!("[[views]]\nname = \"v{number}\"\ntools = [\"*\"]\n"))
                .collect::<String>(),
            "too-many 1:3",
            MAX_VIEWS,
        ),
    ] {
        let (views, findings) = read(Scope::User, text);
        assert_eq!((findings, views.len()), (vec![expected.to_owned()], left), "{text:.90}");
    }
}

#[test]
fn a_token_in_the_place_of_its_digest_is_not_repeated() {
    let mut sources = SourceMap::new();
    let text = "[[views]]\nname = \"a\"\ntools = [\"*\"]\ntokens = [\"hunter2-hunter2-hunter2\"]\n";
    let id = sources.add("s.toml", Scope::User, text);
    let found = parse_settings(&sources, id).diagnostics;
    assert_eq!(found.len(), 1);
    assert!(!found[0].finding(&sources).to_json().to_string().contains("hunter2"));
    assert!(!found[0].render(&sources).contains("hunter2"), "{}", found[0].render(&sources));
}

#[test]
fn names_that_no_tool_has_are_found() {
    let origin = || Origin { scope: Scope::User, file: "x.toml".into(), line: 1 };
    let bare = |name: &str| EnsemblePlan::new(name.to_owned().try_into().unwrap(), origin());
    let query = InvokerPlan {
        name: "query".to_owned().try_into().unwrap(),
        description: String::new(),
        arguments: Some(
            json!({
                "type": "object",
                "properties": { "database": { "type": "string" }, "sql": { "type": "string" } },
                "required": ["database", "sql"],
            })
            .into(),
        ),
        kind: InvokerKind::Builtin("x".into()),
        policy: Policy::default(),
        tests: Vec::new(),
        origin: origin(),
    };
    let way = TransportPlan::Stdio { command: Vec::new(), environment: Vec::new(), cwd: None };
    let server = EnsemblePlan {
        connection: Some(ConnectionPlan::new(way)),
        filter: ToolFilter { exclude: vec!["drop_*".to_owned()], ..ToolFilter::default() },
        ..bare("server")
    };
    let plans = [EnsemblePlan { invokers: vec![query], ..bare("db") }, server];
    for (tools, expected) in [
        ("\"db\"", None),
        ("\"*.query\"", None),
        ("\"server.any\"", None),
        ("{ tool = \"db.query\", arguments = { database = \"a\" } }", None),
        ("{ tool = \"server.any\", arguments = { x = 1 } }", None),
        ("\"dbs\"", Some(("view-tool-unknown 3:10", Some("did you mean `db`?")))),
        ("\"server.drop_all\"", Some(("view-tool-unknown 3:10", None))),
        ("{ tool = \"db.qery\" }", Some(("view-tool-unknown 3:19", Some("did you mean `db.query`?")))),
        ("{ tool = \"db.query\", arguments = { databse = \"a\" } }", Some(("view-argument 3:55", None))),
        ("{ tool = \"db.query\", arguments = { database = 1 } }", Some(("view-argument 3:56", None))),
    ] {
        let mut sources = SourceMap::new();
        let text = format!("[[views]]\nname = \"a\"\ntools = [{tools}]\n");
        let id = sources.add("s.toml", Scope::User, &text);
        let checked = parse_settings(&sources, id);
        assert!(!checked.has_errors(), "{:?}", checked.diagnostics);
        let found = unfit_views(&checked.value.views, &plans);
        let found: Vec<_> = found.iter().map(|one| (line(one, &sources), one.hints.first())).collect();
        let expected = expected.map(|(place, hint)| (place.to_owned(), hint.map(str::to_owned)));
        let found: Vec<_> = found.into_iter().map(|(place, hint)| (place, hint.cloned())).collect();
        assert_eq!(found, expected.into_iter().collect::<Vec<_>>(), "{tools}");
    }
}
