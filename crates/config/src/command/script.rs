//! Does an argument of an invocation stand in the text of a script, `sh -c "grep {pattern} notes"`?
//!
//! There it would be code and not a value, whatever quotes are put around it. The shell may stand anywhere in the list
//! (`env sh -c`, `docker exec box sh -c`). Of languages that take their program in another way nothing is known here.

use super::ArgvDescriptor;
use crate::source::Spanned;
use crate::template::{Template, TemplatePiece};

const SHELLS: [&str; 11] = ["sh", "ash", "bash", "csh", "dash", "fish", "ksh", "mksh", "tcsh", "yash", "zsh"];
/// Options whose value is the next element.
const WITH_VALUE: [&str; 6] = ["-o", "+o", "-O", "+O", "--rcfile", "--init-file"];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Reading {
    Words,
    /// After the name of a shell.
    Options,
    /// After its `-c`: the first element that is no option is the script.
    Script,
}

/// The scripts with arguments in them, each with the first of these.
pub(super) fn arguments_as_code(argv: &[ArgvDescriptor]) -> Vec<(&Spanned<Template>, &str)> {
    let mut found = Vec::new();
    let mut reading = Reading::Words;
    let mut elements = argv.iter().flat_map(ArgvDescriptor::templates);
    while let Some(element) = elements.next() {
        let option = literal(&element.value).filter(|text| text.starts_with(['-', '+']));
        match (reading, option) {
            (Reading::Options | Reading::Script, Some(option)) => {
                if WITH_VALUE.contains(&option) {
                    elements.next();
                } else if takes_script(option) {
                    reading = Reading::Script;
                }
            }
            (Reading::Script, None) => {
                found.extend(element.value.arguments().next().map(|argument| (element, argument)));
                reading = Reading::Words;
            }
            // What it will be is not known, and may be an option.
            (Reading::Options, None) if element.value.arguments().next().is_some() => {}
            _ if is_shell(&element.value) => reading = Reading::Options,
            _ => reading = Reading::Words,
        }
    }
    found
}

/// `-c`, also among others: `-euc`.
fn takes_script(option: &str) -> bool {
    option == "--command"
        || option.strip_prefix('-').is_some_and(|letters| !letters.starts_with('-') && letters.contains('c'))
}

fn literal(template: &Template) -> Option<&str> {
    match template.pieces.as_slice() {
        [TemplatePiece::Text(text)] => Some(text),
        _ => None,
    }
}

fn is_shell(template: &Template) -> bool {
    let named = |path: &str| path.rsplit('/').next().is_some_and(|name| SHELLS.contains(&name));
    match template.pieces.as_slice() {
        [TemplatePiece::Variable { name, default }] => {
            name == "SHELL" || default.as_deref().is_some_and(named)
        }
        // The end of a path decides: `${PREFIX}/bin/sh`.
        [.., TemplatePiece::Text(text)] => named(text),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Span;
    use crate::{Scope, SourceMap};

    fn found(argv: &[&str]) -> Option<String> {
        let source = SourceMap::new().add("x", Scope::User, "");
        let span = Span { source, start: 0, end: 0 };
        let one = |text: &&str| ArgvDescriptor::One(Spanned { value: Template::parse(text).unwrap(), span });
        let argv: Vec<_> = argv.iter().map(one).collect();
        arguments_as_code(&argv).first().map(|(_, argument)| (*argument).to_owned())
    }

    #[test]
    fn arguments_in_scripts_are_found() {
        for argv in [
            &["sh", "-c", "echo {x}"][..],
            &["/bin/bash", "-c", "{x}"],
            &["bash", "-euxc", "a\n{x}"],
            &["bash", "-o", "pipefail", "-c", "{x} | wc"],
            &["bash", "-c", "-x", "{x}"],
            &["bash", "-c", "-o", "pipefail", "{x}"],
            &["env", "A=b", "sh", "-c", "'{x}'"],
            &["${SHELL}", "-c", "{x}"],
            &["${SH:-/bin/sh}", "-c", "{x}"],
            &["${PREFIX}/bin/sh", "-c", "{x}"],
            &["sh", "{y}", "-c", "{x}"],
            &["fish", "--command", "{x}"],
            &["sh", "-c", "true", "sh", "-c", "{x}"],
        ] {
            assert_eq!(found(argv).as_deref(), Some("x"), "{argv:?}");
        }
    }

    #[test]
    fn arguments_beside_scripts_are_not() {
        for argv in [
            &["sh", "-c", "echo \"$1\"", "sh", "{x}"][..],
            &["sh", "-c", "echo {{x}} ${HOME}"],
            &["sh", "script.sh", "-c", "{x}"],
            &["sh", "-e", "script.sh", "{x}"],
            &["grep", "-c", "{x}"],
            &["git", "-c", "a={x}"],
            &["publish", "-c", "{x}"],
            &[],
        ] {
            assert_eq!(found(argv), None, "{argv:?}");
        }
    }
}
