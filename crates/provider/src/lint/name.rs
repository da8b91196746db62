//! The name of a tool. converse offers every tool under a name that all providers accept, so a name never fails. It is
//! reported because users see the adapted name in answers and logs.

use converse_canister::ToolName;

use super::{LintTarget, Objection, Remedy};

/// The names that a provider accepts.
struct Rule {
    whom: LintTarget,
    /// Characters.
    most: usize,
    /// Beside letters, digits, `_` and `-`.
    marks: &'static str,
    letter_first: bool,
    says: &'static str,
}

const RULES: [Rule; 3] = [
    // The pattern of its refusals: <https://github.com/home-assistant/core/issues/147760> (checked 2026-11).
    Rule {
        whom: LintTarget::Anthropic,
        most: 128,
        marks: "",
        letter_first: false,
        says: "accepts only names of at most 128 letters, digits, `_` and `-`",
    },
    // <https://platform.openai.com/docs/api-reference/chat/create> (as its SDK 3.52.0 quotes it).
    Rule {
        whom: LintTarget::OpenAi,
        most: 64,
        marks: "",
        letter_first: false,
        says: "accepts only names of at most 64 letters, digits, `_` and `-`",
    },
    // The SDK's types (google-genai 3.4.0) say 128; the older documents say 64.
    // <https://ai.google.dev/api/caching#FunctionDeclaration> (checked 2026-11).
    Rule {
        whom: LintTarget::Gemini,
        most: 64,
        marks: ".:",
        letter_first: true,
        says: "accepts only names of at most 64 letters, digits, `_`, `-`, `.` and `:` that begin with a letter or `_`",
    },
];

/// `wanted` is the name as it would be without converse's care: `ensemble__invoker`; `shown` is the one it gets.
pub fn lint_name(which: LintTarget, wanted: &str, shown: &ToolName) -> Option<Objection> {
    let rule = RULES.iter().find(|rule| rule.whom == which)?;
    if rule.takes(wanted) {
        return None;
    }
    let (says, taken) = (rule.says, rule.takes(shown.as_str()));
    let (remedy, then) = match taken {
        true => (Remedy::Adapted, format!("converse shows it as `{shown}`")),
        false => (Remedy::MustChange, format!("`{shown}` is not accepted either")),
    };
    let message = format!("{says}; `{wanted}` is not accepted; {then}");
    Some(Objection { kind: "name", pointer: String::new(), message, remedy })
}

impl Rule {
    fn takes(&self, name: &str) -> bool {
        let word = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c) || self.marks.contains(c);
        let first = |c: char| c.is_ascii_alphabetic() || c == '_';
        (1..=self.most).contains(&name.chars().count())
            && name.chars().all(word)
            && (!self.letter_first || name.starts_with(first))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_held_against_each_providers_own_pattern() {
        let long = "x".repeat(65);
        let longer = "x".repeat(129);
        for (wanted, taken) in [
            ("io__read", [true, true, true]),
            ("io__read.file", [false, false, true]),
            ("io__a/b", [false, false, false]),
            ("1st", [true, true, false]),
            ("-x", [true, true, false]),
            ("", [false, false, false]),
            ("é", [false, false, false]),
            (&long, [true, false, false]),
            (&longer, [false, false, false]),
        ] {
            let shown = ToolName::cleaned(wanted);
            let objections = LintTarget::ALL.map(|which| lint_name(which, wanted, &shown));
            assert_eq!(objections.each_ref().map(Option::is_none), taken, "{wanted}");
            for objection in objections.into_iter().flatten() {
                assert_eq!(objection.remedy, Remedy::Adapted, "{wanted}");
                assert!(objection.message.contains(shown.as_str()), "{}", objection.message);
            }
        }
    }
}
