//! The labels of a result: where it comes from, and what in it is private.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use converse_canister::{Content, Labels, Origin};
use converse_config::{Effects, InvokerKind};
use converse_text::secrets::known_secret;
use serde_json::Value;

use crate::named_path::{NamedPath, PathUse};
use crate::path_class::class_of;
use crate::rules::Rules;
use crate::tool::Tool;
use crate::verdict::Approved;

/// The built-in whose lines name files.
const SEARCH: &str = "search_files";

/// Returns the labels of a result, or `None` if nobody else can have written it and nothing in it is private. A tool
/// without effects only computes; what its arguments held the model has seen before.
pub(crate) fn labels(approved: &Approved, content: &[Content], rules: &Rules) -> Option<Labels> {
    let tool = &approved.tool;
    if tool.policy.effects == Effects::None {
        return None;
    }
    let texts: Vec<Cow<'_, str>> = content.iter().filter_map(text).collect();
    let mut private = private_files(approved, &texts, rules);
    private.extend(texts.iter().filter_map(|text| known_secret(text)).map(str::to_owned));
    private.dedup();
    let from = origin(approved);
    (from.is_foreign() || !private.is_empty()).then_some(Labels { from, private })
}

/// Returns the private files that a file tool has read: the one that the call names, and those that a search has lines of.
/// A search does not open files with credentials.
fn private_files(approved: &Approved, texts: &[Cow<'_, str>], rules: &Rules) -> Vec<String> {
    let Some(named) = &approved.named else { return Vec::new() };
    let is_private = |path: &Path| {
        rules.is_private_file(path)
            || class_of(path, PathUse::Read).is_some_and(|class| class.holds_credentials())
    };
    if named.used == PathUse::Read && is_private(&named.path) {
        return vec![format!("`{}`", named.written)];
    }
    // Lines of other tools begin with what the file says.
    let is_search = matches!(approved.tool.kind(), Some(InvokerKind::Builtin(name)) if name == SEARCH);
    if !is_search || !rules.has_private_files() {
        return Vec::new();
    }
    let mut files: Vec<&str> = texts.iter().flat_map(|text| text.lines()).filter_map(searched_file).collect();
    files.dedup();
    files.retain(|file| rules.is_private_file(&result_path(named, file)));
    files.into_iter().map(|file| format!("`{file}`")).collect()
}

/// Returns the file that a line of a search is from: `path:12: text`, or `path-12- text` around a match.
fn searched_file(line: &str) -> Option<&str> {
    let is_number = |text: &str, sign: char| {
        let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
        rest.len() < text.len() && rest.strip_prefix(sign).is_some_and(|rest| rest.starts_with(' '))
    };
    let signs = line.char_indices().filter(|(_, c)| matches!(c, ':' | '-'));
    let mut ends = signs.filter(|(at, sign)| line.get(at + 1..).is_some_and(|rest| is_number(rest, *sign)));
    ends.next().and_then(|(at, _)| line.get(..at))
}

/// Returns the path of a file that a search has found. The search shows it below the directory that the call names.
fn result_path(named: &NamedPath, shown: &str) -> PathBuf {
    let (shown, directory) = (Path::new(shown), Path::new(&named.written));
    let directory = directory.strip_prefix(".").unwrap_or(directory);
    shown.strip_prefix(directory).map_or_else(|_| named.root.join(shown), |below| named.path.join(below))
}

fn text(content: &Content) -> Option<Cow<'_, str>> {
    match content {
        Content::Text { text, .. } => Some(Cow::Borrowed(text)),
        Content::Structured { value } => Some(Cow::Owned(value.to_string())),
        _ => None,
    }
}

fn origin(approved: &Approved) -> Origin {
    let tool = &approved.tool;
    let external = tool.policy.effects == Effects::External;
    let argument = || host(approved.arguments.object.get("url").and_then(Value::as_str)?);
    match tool.kind() {
        None => Origin::server(ensemble(tool)),
        Some(InvokerKind::Builtin(_)) if external => {
            Origin::web(&argument().unwrap_or_else(|| "search".to_owned()))
        }
        Some(InvokerKind::Builtin(_)) => Origin::workspace(),
        Some(InvokerKind::Command(_)) if external => Origin::program(&tool.qualified),
        Some(InvokerKind::Command(_)) => Origin::machine(),
        Some(InvokerKind::Http(plan)) => {
            let address: String = plan.url.literals().take(1).collect();
            Origin::web(&host(&address).unwrap_or_else(|| tool.qualified.clone()))
        }
    }
}

fn ensemble(tool: &Tool) -> &str {
    let name = tool.qualified.strip_suffix(tool.invoker.as_str());
    name.map_or(&*tool.qualified, |name| name.trim_end_matches('.'))
}

fn host(url: &str) -> Option<String> {
    url.parse::<http::Uri>().ok()?.host().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_search_name_their_file() {
        for (line, file) in [
            ("secret.txt:12: text", Some("secret.txt")),
            ("docs/a-1.txt-3- around", Some("docs/a-1.txt")),
            ("a:b.txt:1: c:2: d", Some("a:b.txt")),
            ("secret.txt: text", None),
            ("secret.txt:12:text", None),
            ("secret.txt:: text", None),
            ("nothing matches", None),
        ] {
            assert_eq!(searched_file(line), file, "{line}");
        }
    }

    #[test]
    fn a_found_file_is_below_the_directory_that_the_call_names() {
        for (written, shown, expected) in [
            (".", "a/b.txt", "/real/a/b.txt"),
            ("./link", "link/b.txt", "/real/b.txt"),
            ("link", "link/b.txt", "/real/b.txt"),
            ("/w/link", "/w/link/b.txt", "/real/b.txt"),
            ("link", "other/b.txt", "/w/other/b.txt"),
        ] {
            let (argument, written) = ("path".to_owned(), written.to_owned());
            let (root, path) = ("/w".into(), "/real".into());
            let named = NamedPath { argument, written, root, path, used: PathUse::Read, holds_key: false };
            assert_eq!(result_path(&named, shown), Path::new(expected), "{shown}");
        }
    }
}
