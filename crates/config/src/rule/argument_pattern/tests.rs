//! Which calls an answer "always, where …" covers, row by row.

use proptest::prelude::*;
use serde_json::{Map, json};

use super::super::*;
use super::*;
use Permission::{Allow, Ask, Deny};
use converse_canister::Digest;
use serde_json::Value;

const BINDING: Binding = Binding { definition: Digest([1; 32]), connection: Digest([9; 32]), local: false };

fn map(value: &Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

fn rule(varying: &[(&str, &str)], fixed: &Value) -> Rule {
    let one = |(name, text): &(&str, &str)| ((*name).to_owned(), ArgumentPattern::new(name, text).unwrap());
    let varying = varying.iter().map(one).collect();
    Rule::exactly("t.x", Allow, "approvals.toml:3")
        .unwrap()
        .with_patterns(map(fixed), varying)
        .bound_to(BINDING)
}

fn subject(arguments: &Map<String, Value>) -> Subject<'_> {
    Subject {
        tool: "t.x",
        effects: crate::Effects::Write,
        arguments,
        interactive: true,
        definition: Some(BINDING.definition),
        connection: Some(BINDING.connection),
        local: false,
        own: Ask,
        own_source: "own",
        trusted: true,
        workspace: Some("/home/u/p"),
        home: Some("/home/u"),
    }
}

fn allows(rule: &Rule, arguments: &Value) -> bool {
    judge(std::slice::from_ref(rule), subject(&map(arguments))).permission == Allow
}

/// Of one text, named `name`.
fn takes(name: &str, pattern: &str, text: &str) -> bool {
    allows(&rule(&[(name, pattern)], &json!({})), &json!({ name: text }))
}

#[test]
fn a_path_stays_where_it_was_allowed() {
    for (pattern, text, expected) in [
        ("src/**", "src/a.rs", true),
        ("src/**", "src/a/b.rs", true),
        ("src/*", "src/a.rs", true),
        ("src/*", "src/a/b.rs", false),
        ("src/*.rs", "src/a.rs", true),
        ("src/*.rs", "src/a.rs.sh", false),
        ("src/**/*.rs", "src/a/b/c.rs", true),
        ("src/**", "src", false),
        ("src/**", "srcx/a", false),
        ("src/**", "./src/a.rs", true),
        ("src/**", "src/./b/../a.rs", true),
        ("src/**", "src//a.rs", true),
        ("src/**", "src/../a.rs", false),
        ("src/**", "src/a/../../b", false),
        ("src/**", "src/../../p/src/a", true),
        ("src/**", "src/%2e%2e/a.rs", false),
        ("src/**", "src/..%2fa.rs", false),
        ("src/**", "src/%252e%252e/a.rs", false),
        ("src/**", "src\\..\\a.rs", false),
        ("src/**", "x/../src/a.rs", false),
        ("src/**", " src/a.rs", false),
        ("src/**", "src/a.rs ", false),
        ("src/**", "src/a.rs\n", false),
        ("src/**", "SRC/a.rs", false),
        ("src/**", "Src/a.rs", false),
        ("src/**", "file:///home/u/p/src/a.rs", false),
        ("src/**", "/home/u/p/src/a.rs", false),
        ("/home/u/p/src/**", "/home/u/p/src/a.rs", true),
        ("/home/u/p/src/**", "/home/u/p/src/../x", false),
        ("/home/u/p/src/**", "src/a.rs", false),
        ("/tmp/**", "/tmp/a", true),
        ("/tmp/**", "/tmp/../etc/passwd", false),
        ("~/notes/**", "~/notes/a", true),
        ("~/notes/**", "~/notes/../.ssh/id", false),
        ("../q/**", "../q/a", true),
        ("../q/**", "../q/../p/a", false),
        ("**", "a/b", true),
        ("**", "/etc/passwd", false),
        ("**", "../q/a", false),
        ("**", "~/.ssh/id", false),
        ("**", "$HOME/.ssh/id", false),
        ("**", "https://evil.example/x", false),
        ("**", "https:evil.example", false),
        ("**", "..", false),
        ("*.md", "README.md", true),
        ("*.md", "docs/README.md", false),
        ("*.md", "-rf.md", false),
        ("**", "--output=x", false),
        // Looks like `src`, dots or a slash.
        ("src/**", "\u{455}rc/a.rs", false),
        ("src/**", "src/\u{ff0e}\u{ff0e}/a", false),
        ("src/**", "src/\u{2025}/a", false),
        ("src/**", "src/\u{2215}etc", false),
        ("src/**", "src/a\u{200b}.rs", false),
        ("src/**", "src/\u{202e}a", false),
        ("src/**", "src/a\u{a0}b", false),
        ("src/**", "src/caf\u{e9}.rs", true),
        ("src/**", "src/a b.rs", false),
        ("src/**", "src/a;rm", false),
        ("src/**", "src/$(id)", false),
        ("src/[a]*", "src/[a]b", true),
        ("src/[a]*", "src/ab", false),
        ("src/a?*", "src/a?b", true),
        ("src/a?*", "src/abb", false),
        ("{a,b}*", "a", false),
    ] {
        assert_eq!(takes("path", pattern, text), expected, "{pattern} {text:?}");
    }
}

#[test]
fn an_address_stays_with_its_host() {
    for (pattern, text, expected) in [
        ("https://a.example/**", "https://a.example/x/y?q=1&r=2", true),
        ("https://a.example/**", "https://a.example/", true),
        ("https://a.example/*", "https://a.example/x", true),
        ("https://a.example/*", "https://a.example/x/y", false),
        ("https://a.example/docs/**", "https://a.example/docs/x", true),
        ("https://a.example/docs/**", "https://a.example/docs/../admin", false),
        ("https://a.example/docs/**", "https://a.example/docs/%2e%2e/admin", false),
        ("https://a.example/docs/**", "https://a.example/docs/..%2fadmin", false),
        ("https://a.example/**", "https://u:p@a.example/x", false),
        ("https://a.example/**", "https://a.example@evil.example/x", false),
        ("https://a.example/**", "https://a.example:p@evil.example/", false),
        ("https://a.example/**", "https://a.example.evil.example/x", false),
        ("https://a.example/**", "https://a.example:8443/x", false),
        ("https://a.example/**", "https://A.Example/x", false),
        ("https://A.Example:443/**", "https://a.example/x", true),
        ("https://a.example/**", "http://a.example/x", false),
        ("https://a.example/**", "https:a.example/x", false),
        ("https://a.example/**", "https://evil.example/https://a.example/", false),
        ("https://a.example/**", "https://a.example\\@evil.example/", false),
        ("https://a.example/**", "https://a\u{3002}example/x", false),
        ("https://a.example/**", "https://\u{430}.example/x", false),
        ("https://a.example/**", "https://a.example/x;y", false),
        ("https://a.example/**", "https://a.example/x y", false),
        ("https://a.example/**", "https://a.example/x%0d%0aHost:e", false),
        ("https://a.example/**", "\thttps://a.example/x", false),
    ] {
        assert_eq!(takes("url", pattern, text), expected, "{pattern} {text:?}");
    }
}

#[test]
fn a_command_line_stays_one_command() {
    for (pattern, text, expected) in [
        ("git status *", "git status", true),
        ("git status *", "git status -s", true),
        ("git status *", "git status -s ../x", true),
        ("git status *", "git stash", false),
        ("git status *", "git statusx", false),
        ("git status *", "git  status", false),
        ("git status *", "git status ", false),
        ("git status *", " git status", false),
        ("git status *", "Git status", false),
        ("git status *", "git -c core.pager=x status", false),
        ("git status *", "git status; rm -rf ~", false),
        ("git status *", "git status;rm", false),
        ("git status *", "git status -s && rm x", false),
        ("git status *", "git status | sh", false),
        ("git status *", "git status $(rm x)", false),
        ("git status *", "git status `rm x`", false),
        ("git status *", "git status > x", false),
        ("git status *", "git status <x", false),
        ("git status *", "git status (x)", false),
        ("git status *", "git status &", false),
        ("git status *", "git status -s\nrm x", false),
        ("git status *", "git status -s\rrm x", false),
        ("git status *", "git status\trm", false),
        ("git status *", "git status $IFS", false),
        ("git status *", "git status \u{ff1b} rm", false),
        ("git status *", "git status \u{37e} rm", false),
        ("git status *", "git status \u{202e}x", false),
        ("git status *", "git\u{a0}status x", false),
        ("git commit -m *", "git commit -m 'two words'", true),
        ("git commit -m *", "git commit -m 'a;b'", false),
        ("cat src/*", "cat src/a", true),
        ("cat src/*", "cat src/a src/b", false),
        ("cat src/*", "cat src/../../x", false),
        ("cat src/*", "cat src/a/../../x", false),
        ("cat src/* | wc -l", "cat src/a | wc -l", true),
        ("cat src/* | wc -l", "cat src/'a | wc -l", false),
        ("cat src/* | wc -l", "cat src/a;b | wc -l", false),
        ("cat src/* | wc -l", "cat src/a | wc -l x", false),
        ("cp * out/", "cp a out/", true),
        ("cp * out/", "cp -r out/", false),
        ("cp * out/", "cp a b out/", false),
        ("cd x && make *", "cd x && make all", true),
        ("cd x && make *", "cd x && make all && rm x", false),
        ("cd x && make *", "cd y && make all", false),
        ("curl https://a.example/*", "curl https://a.example/x", true),
        ("curl https://a.example/*", "curl https://a.example/x -o y", false),
        ("curl https://a.example/*", "curl https://a.example@e.example/x", false),
    ] {
        assert_eq!(takes("command", pattern, text), expected, "{pattern} {text:?}");
    }
}

#[test]
fn any_text_is_any_text() {
    for text in ["", "a\nb", "\u{202e}", "$(id)", "../x"] {
        assert!(takes("content", "*", text), "{text:?}");
    }
    for value in [json!(1), json!(null), json!(["a"]), json!({ "a": "b" }), json!(true)] {
        assert!(!allows(&rule(&[("content", "*")], &json!({})), &json!({ "content": value })), "{value}");
        assert!(!allows(&rule(&[("path", "**")], &json!({})), &json!({ "path": value })), "{value}");
    }
}

#[test]
fn what_is_not_named_is_what_it_was() {
    let rule =
        rule(&[("path", "src/**"), ("content", "*")], &json!({ "append": false, "mode": "x", "n": 1 }));
    let whole = json!({ "path": "src/a", "content": "c", "append": false, "mode": "x", "n": 1 });
    assert!(allows(&rule, &whole));
    for (name, value) in [
        ("append", json!(true)),
        ("append", json!("false")),
        ("append", Value::Null),
        ("mode", json!("X")),
        ("mode", json!("./x")),
        ("mode", json!(["x"])),
        ("n", json!(2)),
        ("n", json!("1")),
        ("force", json!(false)),
        ("Path", json!("src/a")),
        ("path", json!(["src/a"])),
    ] {
        let mut other = whole.clone();
        other[name] = value;
        assert!(!allows(&rule, &other), "{other}");
    }
    for name in ["path", "content", "append", "mode", "n"] {
        let mut less = map(&whole);
        less.remove(name);
        assert!(!allows(&rule, &Value::Object(less)), "without {name}");
    }
    let arguments = map(&whole);
    let same = subject(&arguments);
    let says = |subject| judge(std::slice::from_ref(&rule), subject).permission;
    assert_eq!(says(same), Allow);
    for other in [
        Subject { tool: "t.y", ..same },
        Subject { tool: "t.xx", ..same },
        Subject { definition: Some(Digest([2; 32])), ..same },
        Subject { definition: None, ..same },
        Subject { connection: Some(Digest([8; 32])), ..same },
        Subject { connection: None, ..same },
        Subject { local: true, ..same },
        Subject { trusted: false, ..same },
    ] {
        assert_eq!(says(other), Ask, "{other:?}");
    }
    assert_eq!(says(Subject { own: Deny, ..same }), Deny);
    let stricter = [rule.clone(), Rule::new("t", Ask, "c").unwrap()];
    assert_eq!(judge(&stricter, same).permission, Ask);
    let other = map(&json!({ "path": "a", "content": "c", "append": true, "mode": "x", "n": 1 }));
    let told = explain(std::slice::from_ref(&rule), subject(&other)).rules;
    let whys = ["`path` does not match `src/**`", "the fixed arguments are different"];
    assert_eq!(told[0].effect, RuleEffect::NotApplicable(whys.map(str::to_owned).to_vec()));
}

#[test]
fn a_pattern_says_what_it_lets_run_or_is_none() {
    for (name, text, why) in [
        ("path", "src/a", "does not contain `*`"),
        ("path", "", "does not contain `*`"),
        ("path", "*", "match any path"),
        ("file_name", "*", "match any path"),
        ("URL", "*", "match any URL"),
        ("command", "*", "match any command"),
        ("command", "git*", "must be written out"),
        ("command", "*git", "must be written out"),
        ("command", "**", "must be written out"),
        ("shellScript", "./scripts/*", "must be written out"),
        ("q", "git* status", "must be written out"),
        ("q", "* status", "must be written out"),
        ("q", "FOO=1 *", "must be written out"),
        ("q", "sudo *", "must be written out"),
        ("q", "/usr/bin/env -i *", "must be written out"),
        ("q", "sh -c *", "must be written out"),
        ("q", "timeout 5 *", "must be written out"),
        ("q", "make && *", "must be written out"),
        ("q", "make; *", "must be written out"),
        ("q", "make | *", "must be written out"),
        ("q", "echo $( *", "must be written out"),
        ("q", "make > *", "must be written out"),
        ("q", "> out *", "must be written out"),
        ("q", "if true; then *", "must be written out"),
        ("q", "a;b*", "a character that a shell interprets"),
        ("q", "echo '*'", "a quote"),
        ("path", "a\\*", "a backslash"),
        ("path", "a**b", "must be alone between slashes"),
        ("path", "src/\u{202e}*", "invisible characters"),
        ("path", "src/\u{a0}*", "invisible characters"),
        ("path", "src\n*", "invisible characters"),
        ("url", "https://a.example*", "the host of a URL must be written out"),
        ("url", "https://*.example/", "the host of a URL must be written out"),
        ("url", "https://*/", "the host of a URL must be written out"),
        ("url", "*://a.example/", "the host of a URL must be written out"),
        ("url", "https://u@a.example/*", "the host of a URL must be written out"),
        ("url", "https://a.example?*", "the host of a URL must be written out"),
        ("url", "://a/*", "the host of a URL must be written out"),
    ] {
        let error = ArgumentPattern::new(name, text).unwrap_err();
        assert!(error.contains(why), "{name}={text}: {error}");
    }
    assert!(ArgumentPattern::new("q", &format!("{}*", "a".repeat(MAX_BYTES))).is_err());
    assert!(ArgumentPattern::new("q", &format!("a {}*", "b ".repeat(MAX_WORDS))).is_err());
    assert!(
        ArgumentPattern::new("q", "sudo apt *").is_ok() && ArgumentPattern::new("q", "FOO=1 make *").is_ok()
    );
}

/// Words and signs from which paths and commands are made.
fn texts() -> impl Strategy<Value = String> {
    let parts = vec![
        "git", "src", "a", "b", "/", " ", ".", "..", "~", "-x", ";", "|", "&&", "$(", ")", "`", "\n", ">",
        "'", "\\", "%2e", "%2f", "%3b", "$HOME", "\u{ff0f}", "https://", "\u{202e}",
    ];
    prop::collection::vec(prop::sample::select(parts), 0..8).prop_map(|parts| parts.concat())
}

fn patterns() -> impl Strategy<Value = ArgumentPattern> {
    let parts = vec!["git", "src", "a", "/", " ", "*", "**", "..", "-x", "&&", "https://a/", "~"];
    let text = prop::collection::vec(prop::sample::select(parts), 1..6).prop_map(|parts| parts.concat());
    let made = prop_oneof![3 => text, 1 => Just("src/**".to_owned()), 1 => Just("git a *".to_owned())];
    made.prop_filter_map("a pattern", |text| ArgumentPattern::new("q", &text).ok())
}

proptest! {
    /// Whatever a star takes: no sign of a shell, nothing unseen, no place outside that was not written out.
    #[test]
    fn nothing_acts_that_was_not_written_out(
        vary in patterns(),
        fills in prop::collection::vec(texts(), 1..4),
        alone in any::<bool>(),
    ) {
        let fill = |at: usize| fills.get(at).or(fills.first()).map_or("", String::as_str);
        let parts = vary.text().split('*').enumerate();
        let filled: String = parts.map(|(at, part)| if at == 0 { part.to_owned() } else { format!("{}{part}", fill(at - 1)) }).collect();
        let text = if alone { fill(0).to_owned() } else { filled };
        let rule = Rule::exactly("t.x", Allow, "a").unwrap().bound_to(BINDING)
            .with_patterns(Map::new(), [("q".to_owned(), vary.clone())].into());
        if vary.is_any() || !allows(&rule, &json!({ "q": text })) {
            return Ok(());
        }
        let count = |text: &str, c: char| text.matches(c).count();
        for sign in [';', '|', '&', '$', '`', '<', '>', '(', ')', '\n', '\u{202e}', '\u{ff0f}'] {
            prop_assert_eq!(count(&text, sign), count(vary.text(), sign), "{} {:?}", vary.text(), text);
        }
        let stays = !vary.text().starts_with(['/', '~', '.']) && !vary.text().contains([' ', ':']);
        if stays && !vary.text().contains("..") {
            let first = text.split('/').next().unwrap_or_default();
            prop_assert!(!["", "..", "~", "$HOME"].contains(&first), "{} {}", vary.text(), text);
            let mut depth = 0_i32;
            for part in text.split('/') {
                depth += match part { "" | "." => 0, ".." => -1, _ => 1 };
                prop_assert!(depth >= 0 || text.contains("p/src"), "{} {}", vary.text(), text);
            }
        }
    }

    #[test]
    fn nothing_else_may_differ(
        vary in patterns(),
        text in texts(),
        fixed in prop::collection::btree_map("[abq]", "[ab]{0,2}", 0..3),
        given in prop::collection::btree_map("[abq]", "[ab]{0,2}", 0..4),
    ) {
        let object = |map: std::collections::BTreeMap<String, String>| -> Map<String, Value> {
            map.into_iter().filter(|(name, _)| name != "q").map(|(name, text)| (name, text.into())).collect()
        };
        let (fixed, mut given) = (object(fixed), object(given));
        let rule = Rule::exactly("t.x", Allow, "a").unwrap().bound_to(BINDING)
            .with_patterns(fixed.clone(), [("q".to_owned(), vary)].into());
        let same = fixed == given;
        given.insert("q".to_owned(), text.into());
        let list = [rule];
        let allowed = judge(&list, subject(&given)).permission == Allow;
        prop_assert!(same || !allowed, "{:?} {:?}", fixed, given);
        // Whatever it would allow, a rule that denies or asks is stronger.
        for permission in [Ask, Deny] {
            let [rule] = list.clone();
            let both = [rule, Rule::new("t.*", permission, "c").unwrap()];
            prop_assert_eq!(judge(&both, subject(&given)).permission, permission);
        }
    }
}
