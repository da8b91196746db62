//! Reports text that only a shell would change, and that converse uses as written: `$TOKEN`, `~/notes`, `|`.
//!
//! The findings about words and values are reported by `check` only, so that runs do not repeat them. A `cwd` that begins
//! with `~` cannot work, so it is an error in every run.

use converse_text::secrets::{is_scheme, shows_itself};

use super::Resolver;
use super::command_line::{FILLED, Words, after_wrappers, command_lines, is_shell, lists, program, text};
use crate::connection::TransportDescriptor;
use crate::diagnostic::{Diagnostic, quoted};
use crate::plan::SecretRef;
use crate::program::is_plain_line;
use crate::source::{Span, Spanned};
use crate::template::Template;
use crate::{Code, EnsembleDescriptor};

/// Words that a shell reads as syntax.
const OPERATORS: &str = "| || |& & && ; < << <<< > >> >| 2> 2>> 2>&1 &> &>>";
/// Programs with a syntax of their own for these words, and those that hand the words to a shell.
const OWN_SYNTAX: &str = "[ awk expr find gawk gst-launch-1.0 jq mawk nawk perl ssh test";

/// A value with a name: a header, a variable, an entry of a query.
struct NamedValue<'a> {
    name: &'a str,
    text: String,
    span: Span,
}

impl Resolver<'_> {
    pub(super) fn unexpanded(&mut self) {
        for cwd in directories(self.descriptor) {
            self.home_as_cwd(cwd);
        }
        if !self.given.compile_schemas {
            return;
        }
        for value in named_values(self.descriptor) {
            self.value(&value);
        }
        for words in command_lines(self.descriptor) {
            self.words(&words);
        }
    }

    fn home_as_cwd(&mut self, cwd: &Spanned<String>) {
        let Some(rest) = below_home(&cwd.value) else { return };
        let message = "`cwd` begins with `~`, which is not replaced by the home directory";
        let home = self.given.environment.get("HOME").filter(|home| is_plain(home) && is_plain(rest));
        let hint = match home {
            Some(home) => format!("write `cwd = \"{}{rest}\"`", home.trim_end_matches('/')),
            None => "write the absolute path, such as `cwd = \"/home/me/notes\"`".to_owned(),
        };
        self.diagnostics.push(Diagnostic::error(Code::UnexpandedTilde, cwd.span, message).hint(hint));
    }

    fn value(&mut self, value: &NamedValue<'_>) {
        let NamedValue { name, text, span } = value;
        let key = if is_bare_key(name) { (*name).to_owned() } else { format!("\"{name}\"") };
        let credentials = name.eq_ignore_ascii_case("authorization");
        let found = variable(text, credentials).map(|(before, variable, after)| {
            let whole = (before.is_empty() || is_scheme(before.trim_end())) && after.is_empty() && is_plain(name);
            let fix = if whole { format!("{key} = \"{before}${{{variable}}}\"") } else { format!("${{{variable}}}") };
            let message = format!(
                "the value of {} contains `${variable}`, which is used as written: only `${{{variable}}}` is replaced",
                quoted(name)
            );
            (Code::UnexpandedVariable, message, Some(fix))
        });
        let found = found.or_else(|| {
            let rest = below_home(text)?;
            let fix = (is_plain(name) && is_plain(rest)).then(|| format!("{key} = \"${{HOME}}{rest}\""));
            let message = format!("the value of {} begins with `~`, which is used as written", quoted(name));
            Some((Code::UnexpandedTilde, message, fix))
        });
        let found = found.or_else(|| {
            let message = || format!("the value of {} contains `$(…)`, and no shell runs it", quoted(name));
            text.contains("$(").then(|| (Code::ShellSyntax, message(), None))
        });
        let Some((code, message, fix)) = found else { return };
        let diagnostic = match code {
            // A `$` cannot be in credentials: <https://www.rfc-editor.org/rfc/rfc9110#section-11.2> (checked 2026-11).
            Code::UnexpandedVariable if credentials => Diagnostic::error(code, *span, message),
            _ => Diagnostic::warning(code, *span, message),
        };
        let hint = fix.map(|fix| format!("write `{fix}`"));
        // The value may also contain a literal secret.
        let diagnostic = diagnostic.without_excerpt();
        self.diagnostics.push(match hint {
            Some(hint) => diagnostic.hint(hint),
            None if code == Code::ShellSyntax => {
                diagnostic.hint("put the output into an environment variable and write `${NAME}`")
            }
            None => diagnostic,
        });
    }

    fn words(&mut self, words: &Words) {
        let texts: Vec<&str> = words.iter().map(|(text, _)| text.as_str()).collect();
        let start = after_wrappers(&texts);
        let own_syntax = texts.get(start).is_some_and(|word| lists(OWN_SYNTAX, program(word)));
        if own_syntax || texts.iter().any(|word| is_shell(word)) {
            return;
        }
        for (word, span) in words {
            // The value of `--directory=~/notes`.
            let option = word.split_once('=').filter(|(name, _)| name.starts_with('-'));
            let (start, value) = option.map_or(("", word.as_str()), |(_, value)| {
                (word.get(..word.len() - value.len()).unwrap_or_default(), value)
            });
            let found = whole_variable(value).map(|(variable, rest)| {
                let message = format!("`${variable}` is used as written: only `${{{variable}}}` is replaced");
                (Code::UnexpandedVariable, message, format!("${{{variable}}}"), rest)
            });
            let found = found.or_else(|| {
                let message = "`~` is used as written: it is not replaced by the home directory".to_owned();
                below_home(value).map(|rest| (Code::UnexpandedTilde, message, "${HOME}".to_owned(), rest))
            });
            let Some((code, message, replacement, rest)) = found else { continue };
            let whole = is_plain(start) && is_plain(rest);
            let fix = if whole { format!("\"{start}{replacement}{rest}\"") } else { replacement };
            let diagnostic = Diagnostic::warning(code, *span, message).without_excerpt();
            self.diagnostics.push(diagnostic.hint(format!("write `{fix}`")));
        }
        let operator = words.iter().skip(1).find(|(word, _)| lists(OPERATORS, word));
        if let Some((operator, span)) = operator {
            let message =
                format!("`{operator}` is passed to the program as an argument, because no shell reads it");
            let diagnostic = Diagnostic::warning(Code::ShellSyntax, *span, message).without_excerpt();
            let line = texts.join(" ");
            self.diagnostics.push(match is_plain_line(&line) {
                true => diagnostic.hint(format!("to use a shell: `[\"sh\", \"-c\", \"{line}\"]`")),
                false => diagnostic,
            });
        }
    }
}

fn directories(descriptor: &EnsembleDescriptor) -> impl Iterator<Item = &Spanned<String>> {
    let of_server = match descriptor.connection.as_ref().map(|connection| &connection.transport) {
        Some(TransportDescriptor::Stdio { cwd, .. }) => cwd.as_ref(),
        _ => None,
    };
    let invokers = descriptor.invokers.iter().filter_map(|entry| entry.invoker.as_ref());
    let commands = invokers.filter_map(|invoker| invoker.command.as_ref());
    of_server.into_iter().chain(commands.filter_map(|command| command.cwd.as_ref()))
}

fn named_values(descriptor: &EnsembleDescriptor) -> Vec<NamedValue<'_>> {
    fn of_secret((name, value): &(String, Spanned<SecretRef>)) -> NamedValue<'_> {
        NamedValue { name, text: text(&Template::from(&value.value)), span: value.span }
    }
    fn of_template((name, value): &(String, Spanned<Template>)) -> NamedValue<'_> {
        NamedValue { name, text: text(&value.value), span: value.span }
    }
    let mut values = Vec::new();
    match descriptor.connection.as_ref().map(|connection| &connection.transport) {
        Some(TransportDescriptor::Stdio { environment, .. }) => {
            values.extend(environment.iter().map(of_secret))
        }
        Some(TransportDescriptor::Http { headers, url }) => {
            values.extend(headers.iter().map(of_secret));
            values.push(NamedValue { name: "url", text: text(&Template::from(&url.value)), span: url.span });
        }
        None => {}
    }
    for invoker in descriptor.invokers.iter().filter_map(|entry| entry.invoker.as_ref()) {
        values.extend(invoker.command.iter().flat_map(|command| &command.environment).map(of_secret));
        if let Some(request) = &invoker.request {
            values.extend(request.query.iter().chain(&request.headers).map(of_template));
            let url = request.url.iter();
            values.extend(url.map(|url| NamedValue { name: "url", text: text(&url.value), span: url.span }));
        }
    }
    values
}

/// Finds `$NAME` in a value: the text before it, the name, and the text after it. Names of variables are upper-case, and
/// the `$` is not in the middle of a word, as it may be in a password.
fn variable(text: &str, any_case: bool) -> Option<(&str, &str, &str)> {
    text.match_indices('$').find_map(|(at, _)| {
        let (before, rest) = (text.get(..at)?, text.get(at + 1..)?);
        let in_word = before.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '$' || c == FILLED);
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        let is_name = name.len() > 1
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && (any_case || !name.contains(|c: char| c.is_ascii_lowercase()));
        (is_name && !in_word).then_some((before, name, after))
    })
}

/// Finds a word that is `$NAME` or `$NAME/…`.
fn whole_variable(word: &str) -> Option<(&str, &str)> {
    let (before, name, after) = variable(word, false)?;
    (before.is_empty() && (after.is_empty() || after.starts_with('/'))).then_some((name, after))
}

/// Returns the rest of a path that begins with `~`.
fn below_home(path: &str) -> Option<&str> {
    path.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns whether text can be repeated in a hint: it needs no quoting and does not look like a secret.
fn is_plain(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-=:@+,".contains(c);
    text.chars().all(is_plain) && !shows_itself(text)
}

fn is_bare_key(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_of_a_shell_are_found() {
        for (text, any_case, found) in [
            ("Bearer $TOKEN", false, Some("TOKEN")),
            ("$HOME/bin:$PATH", false, Some("HOME")),
            ("https://h/$API_KEY/x", false, Some("API_KEY")),
            ("Bearer $token", true, Some("token")),
            ("$filter", false, None),
            ("pa$SWORD", false, None),
            ("$$PID", false, None),
            ("$1", false, None),
            ("\u{1}$AB", false, None),
            ("5 $", false, None),
            ("$X", false, None),
        ] {
            assert_eq!(variable(text, any_case).map(|(_, name, _)| name), found, "{text}");
        }
    }
}
