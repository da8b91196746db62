use super::*;
use crate::Scope;
use crate::plan::{ConnectionPlan, Origin, ToolFilter, TransportPlan};

#[test]
fn idle_rules_are_found() {
    let origin = || Origin { scope: Scope::User, file: "x.toml".into(), line: 1 };
    let bare = |name: &str| EnsemblePlan::new(name.to_owned().try_into().unwrap(), origin());
    let invoker = |name: &str| crate::InvokerPlan {
        name: name.to_owned().try_into().unwrap(),
        description: String::new(),
        arguments: Some(
            serde_json::json!({
                "type": "object", "properties": { "a": {}, "n": {} }, "additionalProperties": false,
            })
            .into(),
        ),
        kind: crate::InvokerKind::Builtin("x".into()),
        policy: crate::Policy {
            effects: if name == "read" { crate::Effects::Read } else { crate::Effects::Write },
            ..crate::Policy::default()
        },
        tests: Vec::new(),
        origin: origin(),
    };
    let server = |name: &str, include: &[&str], exclude: &[&str]| {
        let owned = |list: &[&str]| list.iter().map(|&one| one.to_owned()).collect();
        let way = TransportPlan::Stdio { command: Vec::new(), environment: Vec::new(), cwd: None };
        EnsemblePlan {
            connection: Some(ConnectionPlan::new(way)),
            filter: ToolFilter { include: owned(include), exclude: owned(exclude) },
            ..bare(name)
        }
    };
    let open = crate::InvokerPlan { arguments: None, ..invoker("open") };
    let plans = [
        EnsemblePlan { invokers: vec![invoker("read"), invoker("write"), open], ..bare("io") },
        server("any", &[], &["admin_*"]),
        server("some", &["get_*"], &[]),
        server("two", &["a", "b"], &["b"]),
    ];
    let found = |text: &str| {
        let mut sources = crate::SourceMap::new();
        let id = sources.add("s.toml", Scope::User, text);
        let checked = crate::parse_settings(&sources, id);
        assert!(!checked.has_errors(), "{:?}", checked.diagnostics);
        let found = unused_rules(&checked.value.rules, &plans);
        let line = |one: &crate::Diagnostic| format!("{} {}", one.code, one.finding(&sources).line.unwrap());
        found.iter().map(line).collect::<Vec<_>>()
    };
    for (pattern, idle) in [
        ("io", false),
        ("io.read", false),
        ("io.r*", false),
        ("*", false),
        ("*.read", false),
        ("io.reads", true),
        ("oi.read", true),
        ("oi", true),
        ("any.x", false),
        ("any.admin_x", true),
        ("any.a*", false),
        ("an*", false),
        ("any", false),
        ("{any,io}.x", false),
        ("some.get_x", false),
        ("some.set_x", true),
        ("some.s*", false),
        ("two.a", false),
        ("two.b", true),
        ("two.c*", true),
        ("two.*", false),
        ("anyx.y", true),
    ] {
        let expected: &[&str] = if idle { &["rule-never-matches 2"] } else { &[] };
        assert_eq!(found(&format!("[permissions]\nask = [\"{pattern}\"]\n")), expected, "{pattern}");
    }
    let rule = |decision: &str, rest: &str| {
        format!("[[rules]]\ntools = \"io.read\"\ndecision = \"{decision}\"\n{rest}\n")
    };
    let deny = "[permissions]\ndeny = [\"io\"]\n";
    let shadowed = ["rule-shadowed 3"];
    assert_eq!(found(&(deny.to_owned() + &rule("allow", ""))), shadowed);
    assert_eq!(found(&(deny.to_owned() + &rule("ask", "interactive = true"))), shadowed);
    assert_eq!(found(&(deny.to_owned() + &rule("deny", ""))), [""; 0]);
    assert_eq!(found("[permissions]\nallow = [\"io.*\"]\ndeny = [\"io.read\", \"io.?*\"]\n"), [""; 0]);
    assert_eq!(found("[permissions]\nallow = [\"io.r*\"]\nask = [\"io.*\"]\n"), ["rule-shadowed 2"]);
    for condition in ["effects = \"read\"", "interactive = false", "arguments = { a = \"x\" }"] {
        let text = format!("{}{}", rule("deny", condition), rule("allow", ""));
        assert_eq!(found(&text), [""; 0], "{condition}");
    }
    for contradiction in ["{ min = 3, max = 2 }", "{ one_of = [] }"] {
        let text = rule("allow", &format!("arguments = {{ n = {contradiction} }}"));
        assert_eq!(found(&text), ["rule-never-matches 1"], "{contradiction}");
    }
    assert_eq!(found(&rule("allow", "arguments = { n = { min = 3, max = 3 } }")), [""; 0]);
    // What no tool that is named ever is or takes; of servers nothing is known.
    for (tools, wanted, idle) in [
        ("io.read", "arguments = { nope = \"x\" }", true),
        ("io.read", "arguments = { a = \"x\", nope = \"x\" }", true),
        ("io.read", "arguments = { \"/nope/x\" = \"x\" }", true),
        ("io.read", "arguments = { \"/*/x\" = \"x\" }", false),
        ("io.read", "arguments = { a = \"x\" }", false),
        ("io.open", "arguments = { nope = \"x\" }", false),
        ("io.*", "arguments = { nope = \"x\" }", false),
        ("{io.read,io.write}", "arguments = { nope = \"x\" }", false),
        ("io.read", "effects = \"none\"", true),
        ("io.read", "effects = [\"none\", \"read\"]", false),
        ("io.{read,write}", "effects = [\"none\", \"external\"]", true),
        ("io.{read,write}", "effects = [\"none\", \"write\"]", false),
        ("io.{read,write}", "effects = \"write\"\narguments = { nope = \"x\" }", true),
        ("any.read", "effects = \"none\"", false),
        ("{any,io}.read", "effects = \"none\"", false),
        ("*", "effects = \"none\"", false),
    ] {
        for decision in ["allow", "deny"] {
            let text = format!("[[rules]]\ntools = \"{tools}\"\ndecision = \"{decision}\"\n{wanted}\n");
            let expected: &[&str] = if idle { &["rule-never-matches 1"] } else { &[] };
            assert_eq!(found(&text), expected, "{tools} {wanted}");
        }
    }
}
