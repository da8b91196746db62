//! Names of scopes: most of them come from servers, and end in a question to a person or in a line for a shell.

use crate::sanitize;

/// That stand in a command.
const MOST: usize = 10;
const LONGEST: usize = 100;

/// RFC 6749, section 3.3 (checked 2026-11): what else a server names is none.
pub(super) fn is_one(scope: &str) -> bool {
    !scope.is_empty() && scope.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"\\".contains(&byte))
}

/// What a challenge asks for.
pub(super) fn of(text: &str) -> Vec<String> {
    text.split_ascii_whitespace().filter(|scope| is_one(scope)).map(str::to_owned).collect()
}

/// The end of `converse ensembles login NAME`, which somebody will paste into a shell, and its closing backtick: only
/// scopes that mean nothing there stand in it; the others are named behind it.
pub(super) fn command_end(scopes: &[String]) -> String {
    let (plain, odd): (Vec<_>, Vec<_>) = scopes.iter().partition(|scope| is_plain(scope));
    let flags: String = plain.iter().take(MOST).map(|scope| format!(" --scope {scope}")).collect();
    let left = plain.iter().skip(MOST).chain(&odd);
    let count = left.clone().count();
    if count == 0 {
        return format!("{flags}`");
    }
    let named: Vec<_> =
        left.take(MOST).map(|scope| format!("\"{}\"", sanitize::clean(scope, LONGEST))).collect();
    let more = if count > MOST { format!(" and {} more", count - MOST) } else { String::new() };
    format!(
        "{flags}`; it names as well, each to be quoted with care after `--scope`: {}{more}",
        named.join(", ")
    )
}

fn is_plain(scope: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.:/-".contains(&byte);
    // What begins like an option could be read as one.
    scope.len() <= LONGEST && is_one(scope) && !scope.starts_with('-') && scope.bytes().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owned(scopes: &[&str]) -> Vec<String> {
        scopes.iter().map(|scope| (*scope).to_owned()).collect()
    }

    #[test]
    fn only_what_means_nothing_to_a_shell_stands_in_a_command() {
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
                rest.starts_with("; it names as well") && rest.contains(&format!("\"{}", &odd[..1])),
                "{rest}"
            );
        }
        let many: Vec<String> = (0..30).map(|number| format!("s{number}")).collect();
        let message = command_end(&many);
        assert_eq!(message.matches("--scope s").count(), MOST);
        assert!(message.ends_with("\"s19\" and 10 more"), "{message}");
    }

    #[test]
    fn what_is_no_scope_is_left_out() {
        assert_eq!(of(" a  b\\c d\"e \u{202e}f g"), ["a", "g"]);
    }
}
