use serde_json::Map;

mod providers;

use super::*;
use crate::plan::Effects;
use crate::rule::{Permission, Subject, judge};

fn read(scope: Scope, text: &str) -> (SettingsPlan, Vec<String>) {
    let mut sources = SourceMap::new();
    let id = sources.add("s.toml", scope, text);
    let Checked { value, diagnostics } = parse_settings(&sources, id);
    let findings = diagnostics.iter().map(|diagnostic| {
        let finding = diagnostic.finding(&sources);
        // A value has a hint of its own, which says what to write.
        let is_of_value = matches!(finding.code, crate::Code::BadValue | crate::Code::OutOfRange);
        assert!(!is_of_value || finding.hint.as_deref() != Some(finding.code.hint()), "{finding:?}");
        format!("{} {}:{}", finding.code, finding.line.unwrap_or(0), finding.column.unwrap_or(0))
    });
    (value, findings.collect())
}

const FULL: &str = "\
model = \"anthropic/claude-sonnet-5\"
system = \"be brief\"
show_reasoning = true

[limits]
max_iterations = 10
max_invocations = 50
deadline = 90
max_cost = 0.5

[timeouts]
connect = 1000
first_byte = 2000
stream_idle = 3000
stream_content = 4000
retry_first = 5
retry_cap = 6
retry_total = 7
max_retries = 0

[context]
compact = false
compact_at = 0.5
lazy_tools = 0

[permissions]
allow = [\"weather.*\"]
ask = [\"io\"]
deny = [\"*.delete_*\"]

[providers.my-server]
base_url = \"http://127.0.0.1:8080/v1\"
dialect = \"openai-chat\"
key_env = \"MY_KEY\"
default_model = \"m\"
local = true

[presets.reviewer]
model = \"openai/gpt-5\"
system = \"review\"
ensembles = [\"git\", \"io\"]
temperature = 0.2
max_output_tokens = 2000
description = \"Reviews a change\"
permissions = { deny = [\"io.write_file\"] }

[session]
ephemeral = true

[audit]
enabled = false

[sandbox]
method = \"bubblewrap\"
[repl]
vi = true
notify = \"never\"
status = \"{branch}\"
theme = \"light\"
[serve]
calls_per_minute = 60
cost_per_day = 2.5
bytes_per_day = 1000
[store]
url = \"postgres://me@db/converse\"
";

#[test]
fn a_full_file_is_read() {
    let (plan, findings) = read(Scope::User, FULL);
    assert_eq!(findings, [""; 0]);
    assert_eq!(plan.model.as_deref(), Some("anthropic/claude-sonnet-5"));
    assert_eq!(
        (plan.system.as_deref(), plan.ephemeral, plan.audit),
        (Some("be brief"), Some(true), Some(false))
    );
    assert_eq!(plan.sandbox, Some(SandboxMethod::Bubblewrap));
    assert_eq!(plan.store.as_deref(), Some("postgres://me@db/converse"));
    assert_eq!((plan.show_reasoning, plan.vi, plan.notify), (Some(true), Some(true), Some(Notify::Never)));
    assert_eq!(plan.theme, Some(Theme::Light));
    assert!(plan.status.is_some_and(|status| status.shows(StatusValue::Branch)));
    let (cost_per_day, bytes_per_day) = (Some(Cost(2_500_000)), Some(1000));
    assert_eq!(plan.serve, BudgetPlan { calls_per_minute: Some(60), cost_per_day, bytes_per_day });
    let (deadline, max_cost) = (Some(Duration::from_secs(90)), Some(Cost(500_000)));
    assert_eq!(
        plan.limits,
        LimitsPlan { max_iterations: Some(10), max_invocations: Some(50), deadline, max_cost }
    );
    assert_eq!(plan.bounds, LimitsPlan::default());
    let millis = |millis| Some(Duration::from_millis(millis));
    let (compact, compact_at, lazy_tools) = (Some(false), Some(0.5), Some(0.0));
    assert_eq!(plan.context, ContextPlan { compact, compact_at, lazy_tools });
    assert_eq!(
        plan.timeouts,
        TimeoutsPlan {
            connect: millis(1000),
            first_byte: millis(2000),
            stream_idle: millis(3000),
            stream_content: millis(4000),
            retry_first: millis(5),
            retry_cap: millis(6),
            retry_total: millis(7),
            max_retries: Some(0),
        }
    );
    let rules: Vec<_> = plan
        .rules
        .iter()
        .map(|rule| (rule.pattern.as_str(), rule.permission, rule.source.as_str()))
        .collect();
    assert_eq!(
        rules,
        [
            ("weather.*", Permission::Allow, "s.toml:27"),
            ("io", Permission::Ask, "s.toml:28"),
            ("*.delete_*", Permission::Deny, "s.toml:29"),
        ]
    );
    let subject = Subject {
        tool: "io.delete_all",
        effects: Effects::Write,
        arguments: &Map::new(),
        interactive: true,
        definition: None,
        connection: None,
        local: false,
        own: Permission::Allow,
        own_source: "own",
        trusted: true,
        workspace: None,
        home: None,
    };
    assert_eq!(judge(&plan.rules, subject).permission, Permission::Deny);
    let provider = &plan.providers[&ProviderName::new("my-server").unwrap()];
    assert_eq!(
        *provider,
        ProviderPlan {
            base_url: Some("http://127.0.0.1:8080/v1".into()),
            dialect: Some(Dialect::OpenAiChat),
            key_env: Some("MY_KEY".into()),
            default_model: Some("m".into()),
            local: true,
            ..ProviderPlan::default()
        }
    );
    let preset = &plan.presets["reviewer"];
    assert_eq!(preset.ensembles.as_deref(), Some(&["git".to_owned(), "io".to_owned()][..]));
    assert_eq!((preset.temperature, preset.max_output_tokens), (Some(0.2), Some(2000)));
    assert_eq!(preset.description.as_deref(), Some("Reviews a change"));
    assert_eq!(preset.rules.len(), 1);
    assert_eq!(preset.rules[0].source, "s.toml:45");
    assert!(plan.rules.iter().all(|rule| rule.source != "s.toml:45"), "it is judged with the preset alone");
}

#[test]
fn a_project_may_only_tighten() {
    let (plan, findings) = read(Scope::Project, FULL);
    assert_eq!(
        findings,
        [
            "project-scope 3:1",
            "project-scope 11:2",
            "project-scope 21:2",
            "project-scope 27:1",
            "project-scope 31:2",
            "project-scope 50:2",
            "project-scope 53:2",
            "project-scope 55:2",
            "project-scope 60:2",
            "project-scope 64:2"
        ]
    );
    assert_eq!((plan.timeouts, plan.context), (TimeoutsPlan::default(), ContextPlan::default()));
    assert!(plan.providers.is_empty() && plan.audit.is_none() && plan.sandbox.is_none());
    assert_eq!(plan.store, None);
    assert!(
        plan.show_reasoning.is_none()
            && plan.vi.is_none()
            && plan.notify.is_none()
            && plan.status.is_none()
            && plan.theme.is_none()
            && plan.serve == BudgetPlan::default()
    );
    assert!(plan.rules.iter().all(|rule| rule.permission > Permission::Allow));
    assert_eq!(plan.rules.len(), 2);
    assert_eq!(plan.limits, LimitsPlan::default());
    assert_eq!((plan.bounds.max_iterations, plan.bounds.max_cost), (Some(10), Some(Cost(500_000))));
    assert!(plan.model.is_some() && plan.system.is_some() && plan.presets.len() == 1);

    for text in [
        "[providers.openai]\nbase_url = \"http://evil\"\n",
        "providers = { x = { base_url = \"http://evil\" } }\n",
    ] {
        let (plan, findings) = read(Scope::Project, text);
        assert!(findings[0].starts_with("project-scope 1:"), "{findings:?}");
        assert!(plan.providers.is_empty());
    }
    let (_, findings) = read(Scope::Project, "log = \"/var/x\"\n[paths]\nstate = \"/var\"\n");
    assert_eq!(findings, ["unknown-key 1:1", "unknown-key 2:2"]);
}

#[test]
fn mistakes_are_pointed_at() {
    for (text, expected) in [
        ("modle = \"a/b\"\n", "unknown-key 1:1"),
        ("model = \"a b\"\n", "bad-value 1:9"),
        ("model = 3\n", "wrong-type 1:9"),
        ("limits = 3\n", "wrong-type 1:10"),
        ("[limits]\nmax_iteration = 3\n", "unknown-key 2:1"),
        ("[limits]\nmax_iterations = 0\n", "out-of-range 2:18"),
        ("[limits]\ndeadline = \"never\"\n", "bad-value 2:12"),
        ("[limits]\nmax_cost = 0\n", "out-of-range 2:12"),
        ("[limits]\nmax_cost = \"1\"\n", "wrong-type 2:12"),
        ("show_reasoning = 1\n", "wrong-type 1:18"),
        ("[repl]\nvi = \"yes\"\n", "wrong-type 2:6"),
        ("[repl]\nnotify = \"loud\"\n", "bad-value 2:10"),
        ("[repl]\nnotify = true\n", "wrong-type 2:10"),
        ("[repl]\nstatus = \"{modle}\"\n", "bad-value 2:10"),
        ("[repl]\ntheme = \"blue\"\n", "bad-value 2:9"),
        ("[timeouts]\nconnect = 1.5\n", "wrong-type 2:11"),
        ("[context]\ncompact = 1\n", "wrong-type 2:11"),
        ("[context]\ncompact_at = 0.96\n", "out-of-range 2:14"),
        ("[context]\nlazy_tools = -0.1\n", "out-of-range 2:14"),
        ("[context]\nlazy = true\n", "unknown-key 2:1"),
        ("[timeouts]\nconnect = 0\n", "out-of-range 2:11"),
        ("[permissions]\ndeny = [\"io.[\"]\n", "bad-pattern 2:9"),
        ("[permissions]\ndeny = \"io\"\n", "wrong-type 2:8"),
        ("[permissions]\nblock = [\"io\"]\n", "unknown-key 2:1"),
        ("[permissions]\nprivate = [\"[\"]\n", "bad-pattern 2:12"),
        ("[[flows]]\nto = \"io\"\ndecision = \"ask\"\n", "missing-key 1:1"),
        ("[[flows]]\nfrom = \"web\"\nto = \"io.[\"\ndecision = \"ask\"\n", "bad-pattern 3:6"),
        ("[providers.OpenAI]\n", "bad-name 1:12"),
        ("[providers]\nopenai = 3\n", "unknown-key 2:1"),
        ("[providers.x]\nbase_url = \"localhost\"\n", "bad-value 2:12"),
        ("[providers.x]\nbase_url = \"http://u:p@h/x?key=1\"\n", "bad-value 2:12"),
        ("[providers.x]\ndialect = \"openai\"\n", "bad-value 2:11"),
        ("[providers.x]\nkey_env = \"sk-abc-def\"\n", "bad-value 2:11"),
        ("[presets.x]\ntemperature = 3\n", "out-of-range 2:15"),
        ("[presets.x]\ntemprature = 1\n", "unknown-key 2:1"),
        ("[session]\nephemeral = \"no\"\n", "wrong-type 2:13"),
        ("[audit]\nenable = false\n", "unknown-key 2:1"),
        ("[sandbox]\nmethod = \"docker\"\n", "bad-value 2:10"),
        ("[serve]\ncalls_per_minute = 0\n", "out-of-range 2:20"),
        ("[serve]\nbytes_per_day = \"1 GB\"\n", "wrong-type 2:17"),
        ("[serve]\ncalls = 1\n", "unknown-key 2:1"),
        ("[sandbox]\nlevel = \"off\"\n", "unknown-key 2:1"),
        ("[store]\nurl = \"mysql://db/converse\"\n", "bad-value 2:7"),
        ("[store]\nurl = \"postgres://me:canary@db/converse\"\n", "secret-in-file 2:7"),
        ("[store]\nurl = \"postgres://me@db/converse?a=b&password=canary\"\n", "secret-in-file 2:7"),
    ] {
        assert_eq!(read(Scope::User, text).1, [expected], "{text}");
    }
}

#[test]
fn a_project_opens_no_way_for_data() {
    let flow =
        |decision: &str| format!("[[flows]]\nfrom = \"private\"\nto = \"*\"\ndecision = \"{decision}\"\n");
    let (plan, found) = read(Scope::Project, &flow("allow"));
    assert_eq!((plan.rules.len(), found), (0, vec!["project-scope 4:12".to_owned()]));
    let (plan, found) = read(Scope::Project, &flow("deny"));
    assert_eq!((plan.rules.len(), found), (1, Vec::new()));
}

#[test]
fn a_key_that_was_pasted_is_not_repeated() {
    let mut sources = SourceMap::new();
    let id = sources.add("s.toml", Scope::User, "[providers.x]\nkey_env = \"sk-secret-1234\"\n");
    let found = parse_settings(&sources, id).diagnostics;
    assert!(!found[0].finding(&sources).to_json().to_string().contains("sk-secret"));
    assert!(!found[0].render(&sources).contains("sk-secret"), "{}", found[0].render(&sources));
}

#[test]
fn files_are_laid_over_each_other() {
    let user = read(Scope::User, FULL).0;
    let project = read(
        Scope::Project,
        "model = \"x/y\"\n[limits]\nmax_iterations = 99\ndeadline = 5\nmax_cost = 0.25\n[permissions]\ndeny = [\"weather\"]\n",
    );
    assert_eq!(project.1, [""; 0]);
    let merged = user.under(project.0);
    assert_eq!(merged.model.as_deref(), Some("x/y"));
    assert_eq!(merged.system.as_deref(), Some("be brief"));
    assert_eq!(merged.rules.len(), 4);
    assert_eq!(merged.context.compact_at, Some(0.5));
    assert_eq!(merged.timeouts.connect, Some(Duration::from_millis(1000)));
    assert_eq!(merged.limits.max_iterations, Some(10));
    let effective = merged.limits.bounded_by(merged.bounds);
    assert_eq!(effective.max_iterations, Some(10), "a project's bound does not raise");
    assert_eq!(effective.deadline, Some(Duration::from_secs(5)));
    assert_eq!(effective.max_invocations, Some(50));
    assert_eq!(effective.max_cost, Some(Cost(250_000)));
}
