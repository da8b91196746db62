use std::time::Duration;

use super::*;
use crate::ensemble::parse_ensemble;
use crate::plan::{InvokerKind, InvokerPlan, Piece};
use crate::rule::Permission;

const BUILTINS: [BuiltinSpec<'static>; 6] = [
    BuiltinSpec { name: "calculator", effects: Effects::None },
    BuiltinSpec { name: "read_file", effects: Effects::Read },
    BuiltinSpec { name: "write_file", effects: Effects::Write },
    // Of these nothing is known but what they do.
    BuiltinSpec { name: "reckoner", effects: Effects::None },
    BuiltinSpec { name: "peek_file", effects: Effects::Read },
    BuiltinSpec { name: "poke_file", effects: Effects::Write },
];

struct Run {
    resolved: Resolution,
    /// `code path:line`
    findings: Vec<String>,
}

impl Run {
    fn plan(&self, name: &str) -> &EnsemblePlan {
        self.resolved.plans.iter().find(|plan| plan.name.as_str() == name).unwrap()
    }

    /// `name scope` of the plans.
    fn names(&self) -> Vec<String> {
        self.resolved.plans.iter().map(|plan| format!("{} {:?}", plan.name, plan.origin.scope)).collect()
    }

    fn broken(&self) -> Vec<String> {
        let name =
            |broken: &BrokenEnsemble| format!("{} {:?}", broken.name.as_deref().unwrap_or("?"), broken.scope);
        self.resolved.broken.iter().map(name).collect()
    }
}

fn run(files: &[(Scope, &str)], project_trusted: bool) -> Run {
    run_with(files, project_trusted, false)
}

fn run_with(files: &[(Scope, &str)], project_trusted: bool, require_env: bool) -> Run {
    let mut sources = SourceMap::new();
    let mut descriptors = Vec::new();
    for (at, (scope, text)) in files.iter().enumerate() {
        let id = sources.add(format!("f{at}"), *scope, text);
        descriptors.push(parse_ensemble(&sources, id).value);
    }
    let environment = Environment::new([("SET".to_owned(), "s3cret".to_owned())]);
    let given = ResolveInput {
        builtins: &BUILTINS,
        environment: &environment,
        project_trusted,
        compile_schemas: true,
        require_env,
    };
    let resolved = resolve(&sources, &descriptors, &given);
    let findings = resolved.diagnostics.iter().map(|diagnostic| {
        let finding = diagnostic.finding(&sources);
        format!("{} {}:{}", finding.code, finding.file, finding.line.unwrap_or(0))
    });
    Run { findings: findings.collect(), resolved }
}

fn ensemble(name: &str, builtin: &str, rest: &str) -> String {
    format!(
        "[ensemble]\nname = \"{name}\"\ndescription = \"d\"\n[[invokers]]\nname = \"tool\"\ndescription = \"d\"\nbuiltin = \"{builtin}\"\n{rest}"
    )
}

fn server(name: &str) -> String {
    format!(
        "[ensemble]\nname = \"{name}\"\ndescription = \"d\"\n[connection]\ntransport = \"stdio\"\ncommand = [\"x\"]\n"
    )
}

#[test]
fn defaults_are_filled_in_and_the_nearest_word_wins() {
    let text = "\
[ensemble]
name = \"e\"
description = \"d\"
prefix = \"\"
required = true
[configuration]
root = \"x\"
at = 1979-05-27
[defaults]
timeout = \"1m\"
parallel = false
result_limit = \"1 KiB\"
[[invokers]]
name = \"a\"
description = \"da\"
builtin = \"peek_file\"
timeout = 0.5
permission = \"deny\"
on_failure = \"stop\"
max_retries = 3
idempotent = true
max_invocations = 5
[[invokers]]
name = \"b\"
description = \"db\"
builtin = \"reckoner\"
effects = \"external\"
arguments = { type = \"object\", required = [\"x\"], properties.x = { type = \"integer\" } }
";
    let run = run(&[(Scope::User, text)], false);
    assert_eq!(run.findings, [""; 0]);
    let plan = run.plan("e");
    assert!(plan.required && plan.enabled && !plan.lazy && plan.trusted);
    assert_eq!(plan.prefix.as_deref(), Some(""));
    assert_eq!(Value::Object(plan.configuration.clone()).to_string(), r#"{"root":"x","at":"1979-05-27"}"#);
    assert_eq!(plan.origin, Origin { scope: Scope::User, file: "f0".into(), line: 1 });
    let base = Policy {
        timeout: Duration::from_secs(60),
        parallel: false,
        result_limit: 1024,
        effects: Effects::Read,
        ..Policy::default()
    };
    let a = Policy {
        timeout: Duration::from_millis(500),
        permission: Some(Permission::Deny),
        permission_at: Some("f0:18".into()),
        on_failure: crate::OnFailure::Stop,
        max_retries: 3,
        idempotent: true,
        max_invocations: Some(5),
        ..base.clone()
    };
    let origin = |line| Origin { scope: Scope::User, file: "f0".into(), line };
    assert_eq!(
        plan.invokers,
        [
            InvokerPlan {
                name: converse_canister::InvokerName::new("a").unwrap(),
                description: "da".into(),
                arguments: Some(serde_json::json!({ "type": "object", "properties": {} }).into()),
                kind: InvokerKind::Builtin("peek_file".into()),
                policy: a,
                tests: Vec::new(),
                origin: origin(13),
            },
            InvokerPlan {
                name: converse_canister::InvokerName::new("b").unwrap(),
                description: "db".into(),
                arguments: Some(
                    serde_json::json!({ "type": "object", "required": ["x"], "properties": { "x": { "type": "integer" } } }).into()
                ),
                kind: InvokerKind::Builtin("reckoner".into()),
                policy: Policy { effects: Effects::External, ..base },
                tests: Vec::new(),
                origin: origin(23),
            },
        ]
    );
}

#[test]
fn a_connection_is_planned_and_its_secrets_are_named() {
    let text = format!(
        "{}environment = {{ A = \"env:SET\", B = \"Bearer ${{SET}}\", C = \"plain\" }}\ncwd = \"sub\"\n\
         [defaults]\ntimeout = 60\n[tools]\ninclude = [\"get_*\"]\nexclude = [\"x\"]\n\
         [tools.get_weather]\neffects = \"read\"\nidempotent = true\n",
        server("w")
    );
    let run = run(&[(Scope::User, &text)], false);
    assert_eq!(run.findings, [""; 0]);
    let plan = run.plan("w");
    let piece = |name: &str| Piece::Variable { name: name.into(), default: None };
    let environment = vec![
        ("A".to_owned(), SecretRef::Environment("SET".into())),
        ("B".to_owned(), SecretRef::Template(vec![Piece::Text("Bearer ".into()), piece("SET")])),
        ("C".to_owned(), SecretRef::Literal("plain".into())),
    ];
    let command = vec![SecretRef::Literal("x".into())];
    assert_eq!(
        plan.connection,
        Some(ConnectionPlan {
            transport: TransportPlan::Stdio { command, environment, cwd: Some("sub".into()) },
            ..ConnectionPlan::new(TransportPlan::Stdio { command: vec![], environment: vec![], cwd: None })
        })
    );
    assert_eq!(plan.filter, crate::ToolFilter { include: vec!["get_*".into()], exclude: vec!["x".into()] });
    let (name, policy) = plan.tools.first_key_value().unwrap();
    assert_eq!((name.as_str(), policy.effects, policy.idempotent), ("get_weather", Effects::Read, true));
    assert_eq!(policy.timeout, Duration::from_secs(60));
    assert!(!format!("{plan:?}").contains("s3cret"));
}

#[test]
fn the_nearest_scope_wins() {
    let all = [Scope::Shipped, Scope::User, Scope::Project, Scope::Explicit];
    let text = ensemble("e", "reckoner", "");
    let files: Vec<_> = all.iter().map(|scope| (*scope, text.as_str())).collect();
    for count in 1..=4 {
        let run = run(&files[..count], true);
        assert_eq!(run.names(), [format!("e {:?}", all[count - 1])]);
        assert_eq!(run.findings, [""; 0]);
    }
    let off = text.replace("description = \"d\"\n[[", "enabled = false\ndescription = \"d\"\n[[");
    let run = run(&[files[0], (Scope::User, &off)], true);
    assert!(!run.plan("e").enabled, "a nearer one that is off hides a farther one");
}

#[test]
fn two_of_one_name_in_one_scope_are_an_error_at_the_second() {
    let text = ensemble("e", "reckoner", "");
    let other = ensemble("f", "reckoner", "");
    let run = run(&[(Scope::User, &text), (Scope::User, &text), (Scope::User, &other)], true);
    assert_eq!(run.findings, ["duplicate-ensemble f1:2"]);
    assert_eq!(run.names(), ["e User", "f User"]);
    assert_eq!(run.resolved.plans[0].origin.file, "f0");
    assert_eq!(run.broken(), ["e User"]);
}

#[test]
fn a_broken_ensemble_is_left_out_and_still_hides() {
    let good = ensemble("e", "poke_file", "");
    let bad = ensemble("e", "poke_file", "permission = \"dney\"\n");
    let other = ensemble("f", "reckoner", "");
    let trusted = run(&[(Scope::Shipped, &good), (Scope::Project, &bad), (Scope::User, &other)], true);
    assert_eq!(
        (trusted.names(), trusted.broken()),
        (vec!["f User".to_owned()], vec!["e Project".to_owned()])
    );
    let untrusted = run(&[(Scope::Shipped, &good), (Scope::Project, &bad)], false);
    assert_eq!(
        (untrusted.names(), untrusted.broken()),
        (vec!["e Shipped".to_owned()], vec!["e Project".to_owned()])
    );
}

#[test]
fn an_untrusted_ensemble_replaces_nothing() {
    let text = ensemble("e", "reckoner", "");
    for (scope, place) in [(Scope::Shipped, "f1:2"), (Scope::User, "f1:2"), (Scope::Explicit, "f1:2")] {
        let run = run(&[(scope, &text), (Scope::Project, &text)], false);
        assert_eq!(run.names(), [format!("e {scope:?}")]);
        assert_eq!(run.findings, [format!("untrusted-shadow {place}")]);
        assert!(run.broken().is_empty());
    }
    let alone = run(&[(Scope::Project, &text)], false);
    assert_eq!(alone.names(), ["e Project"]);
    assert!(!alone.plan("e").trusted);
}

#[test]
fn an_untrusted_ensemble_allows_nothing() {
    let permission = |run: &Run| run.plan("e").invokers[0].policy.permission;
    let allow = ensemble("e", "poke_file", "permission = \"allow\"\n[defaults]\npermission = \"allow\"\n");
    let untrusted = run(&[(Scope::Project, &allow)], false);
    assert_eq!(permission(&untrusted), Some(Permission::Ask));
    assert_eq!(untrusted.plan("e").defaults.permission, Some(Permission::Ask));
    assert_eq!(untrusted.findings, ["untrusted-permission f0:10", "untrusted-permission f0:8"]);
    let trusted = run(&[(Scope::Project, &allow)], true);
    assert_eq!((permission(&trusted), trusted.findings.len()), (Some(Permission::Allow), 0));
    assert_eq!(permission(&run(&[(Scope::User, &allow)], false)), Some(Permission::Allow));

    let deny = ensemble("e", "poke_file", "permission = \"deny\"\n[configuration]\nroot = \"/\"\n");
    assert_eq!(permission(&run(&[(Scope::Project, &deny)], false)), Some(Permission::Deny));
    let plain = ensemble("e", "reckoner", "");
    assert_eq!(permission(&run(&[(Scope::Project, &plain)], false)), None);
    // A reader pointed elsewhere would otherwise be allowed by default.
    let elsewhere = ensemble("e", "peek_file", "[configuration]\nroot = \"notes\"\n");
    let untrusted = run(&[(Scope::Project, &elsewhere)], false);
    assert_eq!(permission(&untrusted), Some(Permission::Ask));
    assert!(!untrusted.plan("e").reaches_out());
    assert_eq!(untrusted.findings, ["untrusted-configuration f0:8"]);
}

#[test]
fn an_absolute_root_needs_trust() {
    let outside = ensemble("e", "peek_file", "[configuration]\nroot = \"/home\"\n");
    let untrusted = run(&[(Scope::Project, &outside)], false);
    assert!(untrusted.plan("e").reaches_out() && !untrusted.plan("e").trusted);
    assert_eq!(untrusted.findings, ["untrusted-connection f0:8"]);
    for (scope, trusted) in [(Scope::Project, true), (Scope::User, false), (Scope::Explicit, false)] {
        let run = run(&[(scope, &outside)], trusted);
        assert_eq!((run.plan("e").outer_root(), run.findings.len()), (Some("/home"), 0));
    }
}

#[test]
fn an_untrusted_connection_is_kept_and_marked() {
    let run = run(&[(Scope::Project, &server("s"))], false);
    assert_eq!(run.findings, ["untrusted-connection f0:4"]);
    assert!(run.plan("s").connection.is_some() && !run.plan("s").trusted);
}

#[test]
fn an_unset_variable_is_an_error_where_all_are_required() {
    let text = server("s") + "environment = { A = \"${NONE}\", B = \"${SET}\", C = \"${NONE:-x}\" }\n";
    for (require_env, broken) in [(false, 0), (true, 1)] {
        let run = run_with(&[(Scope::User, &text)], true, require_env);
        assert_eq!(run.findings, ["unset-variable f0:7"]);
        let errors = run.resolved.diagnostics.iter().filter(|diagnostic| diagnostic.is_error()).count();
        assert_eq!((errors, run.resolved.broken.len()), (broken, broken));
    }
}

/// What a stranger says is sent to a model with every request.
#[test]
fn untrusted_ensembles_say_so_much_and_no_more() {
    let said = |name: &str, rest: &str, bytes: usize| {
        let invoker = "\n[[invokers]]\nname = \"i\"\ndescription = \"d\"\nbuiltin = \"reckoner\"\n";
        let schema =
            format!("arguments = {{ type = \"object\", description = \"{}\" }}\n", "s".repeat(bytes));
        format!("[ensemble]\nname = \"{name}\"\ndescription = \"d\"\n{rest}{invoker}{schema}")
    };
    let (a, b, c) = (said("a", "", 30_000), said("b", "", 30_000), said("c", "", 30_000));
    let (d, off) = (said("d", "", 5_000), said("0ff", "enabled = false\n", 30_000));
    // Nothing of it is ever sent.
    let inert = said("0inert", "", 40_000).replace("builtin = \"reckoner\"", "command.argv = [\"x\"]");
    let texts = [&off, &a, &b, &c, &d, &inert];
    let files = |scope| texts.map(|text| (scope, text.as_str()));
    let untrusted = run(&files(Scope::Project), false);
    assert_eq!(untrusted.names(), ["0inert Project", "a Project", "b Project", "d Project"]);
    assert_eq!(untrusted.broken(), ["c Project", "0ff Project"]);
    let beyond = ["untrusted-connection f5:5", "untrusted-excess f3:2", "untrusted-excess f0:2"];
    assert_eq!(untrusted.findings, beyond);
    assert!(untrusted.resolved.diagnostics.iter().all(|diagnostic| !diagnostic.is_error()));
    for (scope, trusted) in [(Scope::Project, true), (Scope::User, false)] {
        assert_eq!(run(&files(scope), trusted).findings, [""; 0]);
    }
}

#[test]
fn a_schema_that_is_too_large_is_offered_to_nobody() {
    let long = "s".repeat(64 * 1024);
    let arguments = format!("arguments = {{ type = \"object\", description = \"{long}\" }}\n");
    let text = ensemble("e", "reckoner", &arguments);
    let mut sources = SourceMap::new();
    let id = sources.add("f", Scope::User, &text);
    let descriptors = [parse_ensemble(&sources, id).value];
    let environment = Environment::default();
    for compile_schemas in [true, false] {
        let given = ResolveInput {
            builtins: &BUILTINS,
            environment: &environment,
            project_trusted: true,
            compile_schemas,
            require_env: false,
        };
        let resolved = resolve(&sources, &descriptors, &given);
        assert_eq!((resolved.plans.len(), resolved.broken.len()), (0, 1), "{compile_schemas}");
    }
}

#[test]
fn tools_shown_by_one_name_clash() {
    let prefixed = |name: &str, prefix: &str| {
        ensemble(name, "reckoner", "")
            .replace("[ensemble]\n", &format!("[ensemble]\nprefix = \"{prefix}\"\n"))
    };
    let (a, b, c) = (prefixed("a", ""), prefixed("b", ""), ensemble("c", "reckoner", ""));
    let clash = run(&[(Scope::User, &a), (Scope::User, &b), (Scope::User, &c)], true);
    assert_eq!((clash.findings, clash.resolved.plans.len()), (vec!["name-clash f1:2".to_owned()], 2));
    // The untrusted one yields, whatever the order.
    let thief = prefixed("a-thief", "c");
    let run = run(&[(Scope::Project, &thief), (Scope::Explicit, &c)], false);
    assert_eq!(
        (run.names(), run.broken()),
        (vec!["c Explicit".to_owned()], vec!["a-thief Project".to_owned()])
    );
    let off = c.replace("description = \"d\"\n[[", "enabled = false\ndescription = \"d\"\n[[");
    assert_eq!(
        super::tests::run(&[(Scope::User, &prefixed("x", "c")), (Scope::User, &off)], true).findings,
        [""; 0]
    );
}

#[test]
fn schemas_are_compiled_only_when_asked() {
    let text =
        ensemble("e", "reckoner", "arguments = { type = \"object\", properties.a.type = \"nothing\" }\n");
    let mut sources = SourceMap::new();
    let id = sources.add("f", Scope::User, &text);
    let descriptors = [parse_ensemble(&sources, id).value];
    let environment = Environment::default();
    for (compile_schemas, broken) in [(true, 1), (false, 0)] {
        let given = ResolveInput {
            builtins: &BUILTINS,
            environment: &environment,
            project_trusted: true,
            compile_schemas,
            require_env: false,
        };
        assert_eq!(resolve(&sources, &descriptors, &given).broken.len(), broken);
    }
}

#[test]
fn a_built_in_is_told_what_it_cannot_do_without() {
    let bound = |builtin: &str, rest: &str| {
        let text = format!(
            "[ensemble]\nname = \"e\"\ndescription = \"d\"\n[[invokers]]\nname = \"i\"\ndescription = \"d\"\n\
             builtin = \"{builtin}\"\n{rest}"
        );
        run(&[(Scope::User, &text)], false).findings
    };
    let arguments = |rest: &str| format!("[invokers.arguments]\ntype = \"object\"\n{rest}\n");
    for (builtin, rest, wanted) in [
        ("read_file", arguments("properties.path.type = \"string\""), &[][..]),
        ("read_file", arguments("properties.pth.type = \"string\""), &["builtin-argument f0:10"]),
        (
            "read_file",
            arguments("required = [\"pth\"]"),
            &["required-unknown f0:10", "builtin-argument f0:8"],
        ),
        ("write_file", String::new(), &["builtin-argument f0:7", "builtin-argument f0:7"]),
        ("calculator", arguments("properties.expression = {}"), &[]),
    ] {
        assert_eq!(bound(builtin, &rest), wanted, "{builtin} {rest}");
    }
}
