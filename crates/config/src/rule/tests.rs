mod properties;

use serde_json::json;

use super::*;
use Permission::{Allow, Ask, Deny};

fn rules(list: &[(&str, Permission)]) -> Vec<Rule> {
    list.iter().map(|(pattern, permission)| Rule::new(*pattern, *permission, "test").unwrap()).collect()
}

fn no_arguments() -> &'static Map<String, Value> {
    static NONE: std::sync::OnceLock<Map<String, Value>> = std::sync::OnceLock::new();
    NONE.get_or_init(Map::new)
}

fn subject(tool: &str, own: Permission) -> Subject<'_> {
    Subject {
        tool,
        effects: Effects::Write,
        arguments: no_arguments(),
        interactive: true,
        definition: None,
        connection: None,
        local: false,
        own,
        own_source: "own",
        trusted: true,
        workspace: Some("/home/u/p"),
        home: Some("/home/u"),
    }
}

fn decide(list: &[(&str, Permission)], tool: &str, own: Permission) -> Permission {
    judge(&rules(list), subject(tool, own)).permission
}

/// A rule about one argument, in the form of settings.
fn about(permission: Permission, name: &str, test: Test) -> Rule {
    let predicate = Predicate { at: ArgumentPath::new(name).unwrap(), tests: vec![test] };
    Rule { conditions: Conditions::All(vec![predicate]), ..Rule::new("t.*", permission, "test").unwrap() }
}

fn glob(text: &str) -> Test {
    Test::Glob(ValueGlob::new(text, false).unwrap())
}

#[test]
fn the_strictest_matching_rule_wins_in_any_order() {
    for list in [[("io.*", Allow), ("io.write_file", Deny)], [("io.write_file", Deny), ("io.*", Allow)]] {
        assert_eq!(decide(&list, "io.write_file", Ask), Deny);
        assert_eq!(decide(&list, "io.read_file", Ask), Allow);
        assert_eq!(decide(&list, "web.fetch", Ask), Ask);
    }
    assert_eq!(decide(&[("*", Allow), ("io", Ask)], "io.read_file", Allow), Ask);
    assert_eq!(decide(&[("*", Allow)], "io.read_file", Deny), Deny, "a tool's own deny holds");
    assert_eq!(decide(&[("w*.get_?", Allow)], "weather.get_x", Ask), Allow);
    assert_eq!(decide(&[("weather", Allow)], "weather.admin/x", Ask), Allow, "`*` crosses slashes");
    assert_eq!(decide(&[("weather", Allow)], "weather2.x", Ask), Ask);
}

#[test]
fn the_judgement_names_its_rule_and_its_reason() {
    let judgement = judge(&rules(&[("io.*", Deny)]), subject("io.x", Allow));
    assert_eq!((judgement.because().as_str(), judgement.by_rule), ("io.* (test)", true));
    let judgement = judge(&[], subject("io.x", Allow));
    assert_eq!((judgement.because().as_str(), judgement.by_rule), ("own", false));
    let reason = Some("not for models".to_owned());
    let why = [Rule { reason, ..Rule::new("io", Deny, "c.toml:1").unwrap() }];
    assert_eq!(judge(&why, subject("io.x", Allow)).because(), "io (c.toml:1): not for models");
    let first = judge(&rules(&[("io.x", Ask), ("io", Deny), ("*", Deny)]), subject("io.x", Allow));
    assert_eq!(first.rule, "io (test)", "of several, the one that was read first");
}

#[test]
fn a_kept_rule_never_allows_what_nobody_has_trusted() {
    let untrusted = Subject { trusted: false, ..subject("notes.add", Ask) };
    let kept = |permission| vec![Rule::new("notes.*", permission, "config.toml:3").unwrap()];
    assert_eq!(judge(&kept(Allow), untrusted).permission, Ask);
    assert_eq!(judge(&kept(Deny), untrusted).permission, Deny);
    let typed = vec![Rule::new("notes.*", Allow, "--allow").unwrap().for_this_run()];
    assert_eq!(judge(&typed, untrusted).permission, Allow);
    let binding = Binding { definition: Digest([1; 32]), connection: Digest([9; 32]), local: true };
    let answered = [Rule::exactly("notes.add", Allow, "approvals.toml:3").unwrap().bound_to(binding)];
    let shown = Subject {
        definition: Some(Digest([1; 32])),
        connection: Some(Digest([9; 32])),
        local: true,
        ..untrusted
    };
    assert_eq!(judge(&answered, shown).permission, Ask);
    assert_eq!(judge(&answered, Subject { trusted: true, ..shown }).permission, Allow);
}

#[test]
fn an_answer_holds_for_the_very_tool() {
    let binding = Binding { definition: Digest([1; 32]), connection: Digest([9; 32]), local: false };
    let arguments = json!({ "path": "a" }).as_object().unwrap().clone();
    let rule =
        Rule::exactly("io.write", Allow, "a").unwrap().bound_to(binding).with_arguments(arguments.clone());
    let same = Subject {
        definition: Some(Digest([1; 32])),
        connection: Some(Digest([9; 32])),
        arguments: &arguments,
        ..subject("io.write", Ask)
    };
    let says = |subject| judge(std::slice::from_ref(&rule), subject).permission;
    assert_eq!(says(same), Allow);
    let more = json!({ "path": "a", "force": true }).as_object().unwrap().clone();
    for other in [
        Subject { definition: Some(Digest([2; 32])), ..same },
        Subject { definition: None, ..same },
        Subject { connection: Some(Digest([8; 32])), ..same },
        Subject { connection: None, ..same },
        Subject { local: true, ..same },
        Subject { tool: "io.write_file", ..same },
        Subject { tool: "io2write", ..same },
        Subject { arguments: &more, ..same },
        Subject { arguments: no_arguments(), ..same },
    ] {
        assert_eq!(says(other), Ask, "{other:?}");
    }
}

#[test]
fn a_name_is_no_pattern() {
    let rule = Rule::exactly("io.a*[b]?", Allow, "a").unwrap();
    assert!(rule.matches("io.a*[b]?") && !rule.matches("io.axb?") && !rule.matches("io.a*bx"));
}

#[test]
fn a_bad_pattern_is_said() {
    assert!(Rule::new("", Deny, "test").is_err());
    assert!(Rule::new("io.[", Deny, "test").unwrap_err().to_string().contains("io.["));
    assert!(Expression::new("a(").is_err() && Expression::new("a)|(b").is_err());
    assert!(Expression::new(&"(a{1000}){1000}".repeat(10)).is_err(), "bounded");
}

#[test]
fn an_explanation_hears_every_rule_of_the_tool() {
    let arguments = json!({ "path": "README.md" }).as_object().unwrap().clone();
    let mut list = rules(&[("t", Allow), ("t.x", Ask), ("other", Deny), ("*", Ask)]);
    list.push(about(Deny, "path", glob(".git/**")));
    list.push(Rule {
        effects: Some(vec![Effects::Read]),
        interactive: Some(false),
        ..about(Deny, "n", glob("1"))
    });
    let subject = Subject { arguments: &arguments, ..subject("t.x", Allow) };
    let Explanation { judgement, rules } = explain(&list, subject);
    assert_eq!((judgement.permission, judgement.rule.as_str()), (Ask, "t.x (test)"));
    let misses =
        |whys: &[&str]| RuleEffect::NotApplicable(whys.iter().map(|why| (*why).to_owned()).collect());
    let expected = [
        (0, RuleEffect::Overruled),
        (1, RuleEffect::Decides),
        (3, RuleEffect::Agrees),
        (4, misses(&["`path` does not match `.git/**`"])),
        (
            5,
            misses(&[
                "the tool has the effects `write`",
                "the rule is for runs without a person to ask",
                "`n` is not given",
            ]),
        ),
    ];
    let rules: Vec<(usize, RuleEffect)> = rules.into_iter().map(|one| (one.index, one.effect)).collect();
    assert_eq!(rules, expected);
    let own = explain(&list, Subject { own: Deny, ..subject });
    assert!(!own.judgement.by_rule);
    assert!(own.rules.iter().all(|one| one.effect != RuleEffect::Decides));
}
