//! Scope names. Most come from servers and are shown to the user or become part of a suggested shell command.

use crate::sanitize;

/// Number of scopes in a suggested command, and bytes of each.
const MAX_SHOWN: usize = 10;
const MAX_SCOPE: usize = 100;

/// Returns whether a text is a scope (RFC 6749, section 3.3, checked 2026-11).
pub(super) fn is_one(scope: &str) -> bool {
    !scope.is_empty() && scope.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"\\".contains(&byte))
}

/// Returns the scopes in the `scope` parameter of a challenge.
pub(super) fn of(text: &str) -> Vec<String> {
    text.split_ascii_whitespace().filter(|scope| is_one(scope)).map(str::to_owned).collect()
}

/// Returns the `--scope` flags of a suggested command with its closing backtick. Only scopes without a special meaning
/// to a shell are part of the command; the others are listed after it.
pub(super) fn command_end(scopes: &[String]) -> String {
    let (plain, odd): (Vec<_>, Vec<_>) = scopes.iter().partition(|scope| is_plain(scope));
    let flags: String = plain.iter().take(MAX_SHOWN).map(|scope| format!(" --scope {scope}")).collect();
    let left = plain.iter().skip(MAX_SHOWN).chain(&odd);
    let count = left.clone().count();
    if count == 0 {
        return format!("{flags}`");
    }
    let named: Vec<_> =
        left.take(MAX_SHOWN).map(|scope| format!("\"{}\"", sanitize::clean(scope, MAX_SCOPE))).collect();
    let more = if count > MAX_SHOWN { format!(" and {} more", count - MAX_SHOWN) } else { String::new() };
    format!(
        "{flags}`; further scopes, to be quoted for the shell after `--scope`: {}{more}",
        named.join(", ")
    )
}

fn is_plain(scope: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.:/-".contains(&byte);
    // A scope with a leading `-` would be parsed as an option.
    scope.len() <= MAX_SCOPE && is_one(scope) && !scope.starts_with('-') && scope.bytes().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owned(scopes: &[&str]) -> Vec<String> {
        scopes.iter().map(|scope| (*scope).to_owned()).collect()
    }

    #[test]
    fn a_suggested_command_is_safe_to_paste() {
        let plain = ["issues:write", "https://as.example/a.b_c-d"];
        let end = " --scope issues:write --scope https://as.example/a.b_c-d`";
        assert_eq!(command_end(&owned(&plain)), end);
        let long = "x".repeat(101);
        for odd in [
            "x;touch${IFS}y",
            "$(id)",
            "`id`",
            "a|b",
            "a>b",
            "a&b",
            "~",
            "a*",
            "'",
            "--no-browser",
            "#",
            &long,
        ] {
            let message = command_end(&owned(&[odd, "a"]));
            let (command, rest) = message.split_once('`').unwrap();
            assert_eq!(command, " --scope a", "{odd}");
            assert!(
                rest.starts_with("; further scopes") && rest.contains(&format!("\"{}", &odd[..1])),
                "{rest}"
            );
        }
        let many: Vec<String> = (0..30).map(|number| format!("s{number}")).collect();
        let message = command_end(&many);
        assert_eq!(message.matches("--scope s").count(), MAX_SHOWN);
        assert!(message.ends_with("\"s19\" and 10 more"), "{message}");
    }

    #[test]
    fn invalid_scopes_are_skipped() {
        assert_eq!(of(" a  b\\c d\"e \u{202e}f g"), ["a", "g"]);
    }
}
