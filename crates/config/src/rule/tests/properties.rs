//! What holds of any rules and any arguments.

use proptest::prelude::*;
use serde_json::json;

use super::super::*;
use super::{about, glob, subject};
use Permission::{Allow, Ask, Deny};

const HERE: BaseDirs<'_> = BaseDirs { workspace: Some("/home/u/p"), home: Some("/home/u") };

/// Another way to write a relative path, by a list of dice.
fn respelled(path: &str, dice: &[u8]) -> String {
    let mut spelled = String::new();
    for (index, part) in path.split('/').enumerate() {
        if index > 0 {
            spelled.push('/');
        }
        match dice.get(index).copied().unwrap_or(0) % 6 {
            0 => {}
            1 => spelled.push_str("./"),
            2 => spelled.push_str("x/../"),
            3 => spelled.push_str("x/y/../../"),
            4 if index > 0 => spelled.push('/'),
            _ => spelled.push_str("./a/.././"),
        }
        spelled.push_str(part);
    }
    match dice.last().copied().unwrap_or(0) % 12 {
        7 => format!("~/p/{spelled}"),
        8 => format!("${{HOME}}/./p/{spelled}"),
        9 => format!("FILE:/home/u/p/{}", spelled.replace('.', "%2e")),
        10 => format!(" {}", spelled.replace('/', "%5c")),
        11 => format!("file:///home/u/p/{}", spelled.replace('/', "%252F")),
        1 => format!("/home/u/p/{spelled}"),
        2 => format!("../p/{spelled}"),
        3 => format!("{spelled}/"),
        4 => spelled.replacen('.', "%2e", 1),
        5 => format!("/home//u/../u/p/{spelled}"),
        6 => spelled.replace('/', "\\"),
        _ => spelled,
    }
}

fn permissions() -> impl Strategy<Value = Permission> {
    prop::sample::select(vec![Allow, Ask, Deny])
}

fn patterns() -> impl Strategy<Value = String> {
    "[ab*?]{1,3}(\\.[ab*?]{1,3})?"
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3i64..4).prop_map(Value::from),
        "[ab./]{0,4}".prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 6, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map("[ab]", inner, 0..3)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn tests() -> impl Strategy<Value = Test> {
    prop_oneof![
        "[ab*./]{1,4}".prop_filter_map("a glob", |text| Some(Test::Glob(ValueGlob::new(&text, false).ok()?))),
        "[ab*./]{1,4}".prop_filter_map("a glob", |text| Some(Test::Path(ValueGlob::new(&text, true).ok()?))),
        "[ab./]{0,2}".prop_map(Test::Prefix),
        "[ab]{1,2}[*+]?".prop_map(|text| Test::Regex(Expression::new(&text).unwrap())),
        prop::collection::vec(values(), 0..3).prop_map(Test::OneOf),
        (-3i64..4).prop_map(|number| Test::Min(number.into())),
        (-3i64..4).prop_map(|number| Test::Max(number.into())),
    ]
}

fn any_rule() -> impl Strategy<Value = Rule> {
    let effects = prop::option::of(prop::sample::subsequence(vec![Effects::Read, Effects::Write], 0..=2));
    let conditions = prop::collection::vec(("[ab]|/[ab*]/[ab*]", tests()), 0..3);
    (patterns(), permissions(), effects, prop::option::of(any::<bool>()), conditions).prop_map(
        |(pattern, permission, effects, interactive, conditions)| {
            let predicates = conditions
                .into_iter()
                .map(|(name, test)| Predicate { at: ArgumentPath::new(&name).unwrap(), tests: vec![test] });
            let conditions = Conditions::All(predicates.collect());
            let rule = Rule::new(pattern, permission, "test").unwrap();
            Rule { effects, interactive, conditions, ..rule }
        },
    )
}

proptest! {
    #[test]
    fn adding_a_rule_that_tightens_never_allows_more(
        list in prop::collection::vec(any_rule(), 0..6),
        added in any_rule(),
        tool in "[ab]{1,2}\\.[ab]{1,2}",
        a in values(), b in values(),
        own in permissions(),
        interactive in any::<bool>(),
        trusted in any::<bool>(),
    ) {
        let arguments = json!({ "a": a, "b": b });
        let subject = Subject { arguments: arguments.as_object().unwrap(), interactive, trusted, ..subject(&tool, own) };
        let before = judge(&list, subject).permission;
        for permission in [Ask, Deny] {
            let mut after = list.clone();
            after.push(Rule { permission, ..added.clone() });
            prop_assert!(judge(&after, subject).permission >= before);
            let forwards = judge(&after, subject).permission;
            after.reverse();
            prop_assert_eq!(judge(&after, subject).permission, forwards);
            after.rotate_left(1);
            prop_assert_eq!(judge(&after, subject).permission, forwards);
        }
        prop_assert!(judge(&list, subject).permission >= before.min(own) || own != Deny);
        if own == Deny {
            prop_assert_eq!(before, Deny);
        }
        if !trusted {
            prop_assert!(before >= own, "nothing that is kept allows what nobody has trusted");
        }
    }

    /// What a rule would allow, the same rule would also deny: there is no value that only the milder reading catches.
    #[test]
    fn denying_is_never_narrower_than_allowing(rule in any_rule(), a in values(), b in values()) {
        let arguments = json!({ "a": a, "b": b });
        let arguments = arguments.as_object().unwrap();
        let fits = |permission| Rule { permission, ..rule.clone() }.unmet(arguments, HERE).is_empty();
        prop_assert!(!fits(Allow) || fits(Deny), "{arguments:?}");
    }

    #[test]
    fn any_spelling_of_a_denied_path_stays_denied(
        inner in "[a-c]{1,2}(/[a-c]{1,2}){0,2}",
        dice in prop::collection::vec(any::<u8>(), 1..6),
    ) {
        let path = format!(".git/{inner}");
        let arguments = json!({ "path": respelled(&path, &dice) });
        let subject = Subject { arguments: arguments.as_object().unwrap(), ..subject("t.x", Allow) };
        let texts = [".git/**", "./.git/**", "/home/u/p/.git/**", "~/p/.git/**", "$HOME/p/.git/**", "**/p/.git/**", path.as_str()];
        for text in texts {
            for test in [glob(text), Test::Path(ValueGlob::new(text, true).unwrap())] {
                let decision = judge(&[about(Deny, "path", test)], subject).permission;
                prop_assert_eq!(decision, Deny, "{} {}", text, &arguments);
            }
        }
        let prefix = judge(&[about(Deny, "path", Test::Prefix(".git/".into()))], subject).permission;
        prop_assert_eq!(prefix, Deny, "{}", &arguments);
        for spelling in [path.clone(), format!("/home/u/p/{path}"), format!("~/p/./{path}")] {
            let wanted = Test::OneOf(vec![json!("other"), json!(spelling)]);
            let equal = judge(&[about(Deny, "path", wanted)], subject).permission;
            prop_assert_eq!(equal, Deny, "{} {}", spelling, &arguments);
        }
        for regex in [r"^\.git/", r"^/home/u/p/\.git", r"/p/\.git/[a-c]", "^~/p/.git/"] {
            let found = judge(&[about(Deny, "path", Test::Regex(Expression::new(regex).unwrap()))], subject).permission;
            prop_assert_eq!(found, Deny, "{} {}", regex, &arguments);
        }
    }

    /// Whatever is let in by `src/**` lies in `src`, as a plain reader of paths sees it.
    #[test]
    fn what_is_allowed_lies_inside(text in "(src|x|\\.|\\.\\.|/|%2e%2e|%2f){1,7}") {
        let arguments = json!({ "path": text });
        let subject = Subject { arguments: arguments.as_object().unwrap(), ..subject("t.x", Ask) };
        for test in [glob("src/**"), Test::Path(ValueGlob::new("src/**", true).unwrap())] {
            if judge(&[about(Allow, "path", test)], subject).permission == Allow {
                for text in [text.clone(), text.replace("%2e", ".").replace("%2f", "/")] {
                    prop_assert!(plainly_inside(&text), "{}", text);
                }
            }
        }
    }
}

fn plainly_inside(text: &str) -> bool {
    let mut stack: Vec<&str> = if text.starts_with('/') { Vec::new() } else { vec!["home", "u", "p"] };
    for part in text.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(stack.pop()),
            part => stack.push(part),
        }
    }
    stack.len() > 4 && stack[..4] == ["home", "u", "p", "src"]
}
