//! What `[command]` and `[connection]` say alike of a program: its variables, its directory, how many words it gets.

use crate::Code;
use crate::diagnostic::Diagnostic;
use crate::escape::quoted;
use crate::plan::SecretRef;
use crate::source::Spanned;
use crate::table::Table;

/// Words of one command line, the program too.
pub(crate) const MAX_WORDS: usize = 1_024;

/// Values by the names of their keys.
pub(crate) type Secrets = Vec<(String, Spanned<SecretRef>)>;

pub(crate) fn environment(table: &Table<'_, '_>) -> Secrets {
    let fault = |name: &str| {
        let sound = |c: char| c.is_ascii_graphic() && !matches!(c, '=' | ':');
        let good = !name.is_empty() && name.chars().all(sound);
        (!good).then_some("the name of a variable is visible ASCII without `=` and `:`")
    };
    let environment = secrets(table, "environment", fault);
    for (name, value) in environment.iter().filter(|(_, value)| value.value.holds(|c| c == '\0')) {
        let message = format!("{} holds a zero byte", quoted(name));
        table.problems.push(Diagnostic::error(Code::BadValue, value.span, message).discreet());
    }
    environment
}

/// `cwd` is plain text: what looks like a place to fill would be looked for under that very name.
pub(crate) fn cwd(table: &Table<'_, '_>) -> Option<Spanned<String>> {
    let cwd = table.string("cwd")?;
    if cwd.value.is_empty() || cwd.value.contains('\0') {
        table.problems.error(Code::BadValue, cwd.span, "`cwd` must name a directory");
        return None;
    }
    if cwd.value.contains(['$', '{']) || cwd.value.starts_with("env:") {
        let message = "nothing is filled in into `cwd`: it is a plain path";
        let hint = "write the path itself, relative to the directory converse is started in";
        table.problems.push(Diagnostic::error(Code::BadValue, cwd.span, message).hint(hint));
        return None;
    }
    Some(cwd)
}

/// Is it a whole command line that stands where only the name of a program can?
pub(crate) fn is_a_line(text: &str) -> bool {
    let text = text.trim();
    // A path may well have a blank in it.
    text.contains(char::is_whitespace) && !text.contains('/')
}

/// A table of texts with variables in them; `fault` says what is wrong with a name.
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
            table.problems.push(Diagnostic::error(Code::WrongType, span, message).discreet());
            continue;
        };
        if let Some(fault) = fault(&name.value) {
            let message = format!("{} cannot be an entry of `{key}`: {fault}", quoted(&name.value));
            table.problems.push(Diagnostic::error(Code::BadName, name.span, message).discreet());
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
            table.problems.push(Diagnostic::error(Code::BadTemplate, text.span, message).discreet());
            None
        }
    }
}
