//! Keys that `[command]` and `[connection]` share: environment, working directory, limits on words.

use converse_text::secrets::{has_option, shows_itself};

use crate::Code;
use crate::diagnostic::{Diagnostic, quoted};
use crate::plan::SecretRef;
use crate::source::Spanned;
use crate::table::Table;

/// Limit on the words of one command line, including the program.
pub(crate) const MAX_WORDS: usize = 1_024;

/// Values by the names of their keys.
pub(crate) type Secrets = Vec<(String, Spanned<SecretRef>)>;

pub(crate) fn environment(table: &Table<'_, '_>) -> Secrets {
    let fault = |name: &str| {
        let is_allowed = |c: char| c.is_ascii_graphic() && !matches!(c, '=' | ':');
        let is_valid = !name.is_empty() && name.chars().all(is_allowed);
        (!is_valid).then_some("a variable name is visible ASCII without `=` and `:`")
    };
    let environment = secrets(table, "environment", fault);
    for (name, value) in environment.iter().filter(|(_, value)| value.value.holds(|c| c == '\0')) {
        let message = format!("{} contains a NUL byte", quoted(name));
        let hint = "remove `\\u0000` from the value";
        table.problems.push(Diagnostic::bad_value(value.span, message, hint).without_excerpt());
    }
    environment
}

const CWD: &str = "write a path relative to the directory where converse starts, such as `cwd = \"tools\"`";

/// Reads `cwd`. It is plain text; a text that looks like a placeholder is an error.
pub(crate) fn cwd(table: &Table<'_, '_>) -> Option<Spanned<String>> {
    let cwd = table.string("cwd")?;
    if cwd.value.is_empty() || cwd.value.contains('\0') {
        table.problems.bad_value(cwd.span, "`cwd` must name a directory", CWD);
        return None;
    }
    if cwd.value.contains(['$', '{']) || cwd.value.starts_with("env:") {
        let message = "`cwd` must be a plain path, without placeholders";
        table.problems.bad_value(cwd.span, message, CWD);
        return None;
    }
    Some(cwd)
}

/// Returns whether a command line can be repeated in a hint: it needs no quoting and shows no secret.
pub(crate) fn is_plain_line(line: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-=:@+, |&<>;~$".contains(c);
    line.len() <= 200 && line.chars().all(is_plain) && !shows_itself(line) && !has_option(line)
}

/// Reads a table of texts with variables; `fault` returns what is wrong with a name.
pub(crate) fn secrets(
    table: &Table<'_, '_>,
    key: &'static str,
    fault: impl Fn(&str) -> Option<&'static str>,
) -> Secrets {
    let Some(inner) = table.table(key) else { return Vec::new() };
    let mut secrets = Vec::new();
    for (name, value) in inner.named() {
        let span = table.problems.span(value.span());
        let Some(text) = value.get_ref().as_str() else {
            let message = format!("{} must be a string", quoted(&name.value));
            table.problems.push(Diagnostic::error(Code::WrongType, span, message).without_excerpt());
            continue;
        };
        if let Some(fault) = fault(&name.value) {
            let message = format!("{} cannot be an entry of `{key}`: {fault}", quoted(&name.value));
            table.problems.push(Diagnostic::error(Code::BadName, name.span, message).without_excerpt());
            continue;
        }
        if let Some(secret) = secret(table, Spanned { value: text.to_owned(), span }) {
            secrets.push((name.value, secret));
        }
    }
    secrets
}

pub(crate) fn secret(table: &Table<'_, '_>, text: Spanned<String>) -> Option<Spanned<SecretRef>> {
    match SecretRef::parse(&text.value) {
        Ok(value) => Some(Spanned { value, span: text.span }),
        Err(message) => {
            table.problems.push(Diagnostic::error(Code::BadTemplate, text.span, message).without_excerpt());
            None
        }
    }
}
