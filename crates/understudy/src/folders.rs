//! Bare names of folders and files, which only the words around them betray: "the docs folder", "the files in src".
//!
//! Refused: words that are said of folders without naming one ("directory listing", "the current directory"), and places.

use crate::evidence::Shape;
use crate::lexicon::lexicon;
use crate::places::places;
use crate::tokens::{Token, path_shape, tokens};
use crate::words::{Word, is_cyrillic, lower};

/// "the files in src", "ls docs": a bare name at the end of what is asked, where only a folder makes sense.
pub(crate) fn is_bare_folder(clause: &str, words: &[Word], token: &Token<'_>) -> bool {
    let name = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let word = lower(token.text);
    let plain =
        ["workspace", "project", "disk", "computer", "machine", "question", "place", "detail", "order"];
    let good = token.text.chars().all(name)
        && token.text.starts_with(|c: char| c.is_ascii_alphabetic())
        && !plain.contains(&word.as_str())
        && may_name_a_folder(&word, token.text.len())
        && places(token.text).is_empty();
    let mut before = words.iter().rev().filter(|word| word.end <= token.start).map(|word| word.text.as_str());
    let mut last = before.next().unwrap_or_default();
    if last == "ls" {
        return good;
    }
    if ["the", "my", "our"].contains(&last) {
        last = before.next().unwrap_or_default();
    }
    let within = ["in", "inside", "under", "of", "within", "в", "из", "внутри"].contains(&last);
    let thing = before.find(|word| !lexicon().is_stop(word)).unwrap_or_default();
    let held = ["file", "directory", "content", "list"].iter().any(|concept| lexicon().means(thing, concept))
        || thing == "contents";
    let after = words.iter().find(|word| word.start >= token.end);
    let ends = after.is_none_or(|next| {
        lexicon().is_stop(&next.text)
            || clause.get(token.end..next.start).is_some_and(|gap| gap.contains(','))
            || next.text.ends_with("ly")
    });
    good && within && held && ends
}

/// "d" is a stop word only for the sake of "I'd"; a name may mean something else ("the folder notes"), unless it is
/// what one says of a folder ("directory listing").
fn may_name_a_folder(word: &str, bytes: usize) -> bool {
    let letter = bytes == 1 && !["a", "i"].contains(&word);
    (letter || !lexicon().is_stop(word))
        && !lexicon().is_weak(word)
        && !lexicon().is_starter(word)
        && !lexicon().is_about_folders(word)
        && !word.ends_with("ly")
}

/// "the folder docs", "the docs folder", «в папке src»: a bare name beside the word for what it is.
pub(crate) fn named_path(
    clause: &str,
    token: &Token<'_>,
    before: &str,
    after: Option<&Token<'_>>,
) -> Option<Shape> {
    let shape_of = |word: &str| {
        let word = lower(word);
        if lexicon().means(&word, "directory") && !word.ends_with('s') {
            Some(Shape::Directory)
        } else if word == "file" || word.starts_with("файл") {
            Some(Shape::File)
        } else {
            None
        }
    };
    let word = lower(token.text);
    let common = !may_name_a_folder(&word, token.text.len());
    let named = token.text.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
        && token.text.starts_with(|c: char| c.is_ascii_alphabetic());
    let plain =
        ["current", "working", "home", "root", "same", "parent", "whole", "tree"].contains(&word.as_str());
    let foreign = clause.chars().any(is_cyrillic);
    if !named || plain || (common && !foreign) {
        return None;
    }
    let followed = after.and_then(|next| shape_of(next.text)).filter(|_| !foreign);
    let next_is_free = after.is_none_or(|next| lexicon().is_stop(&lower(next.text)));
    // "An empty file a.txt" has its name behind it.
    let followed = followed.filter(|shape| {
        *shape == Shape::Directory || !tokens(clause).iter().any(|other| path_shape(other.text).is_some())
    });
    shape_of(before).filter(|_| next_is_free || foreign).or(followed)
}

#[cfg(test)]
mod tests {
    use crate::evidence::{Kind, Shape, evidence};

    fn folder(clause: &str) -> Option<String> {
        let mut found = evidence(clause).into_iter().filter(|one| one.kind == Kind::Path(Shape::Directory));
        found.next().map(|one| one.value)
    }

    #[test]
    fn a_bare_name_is_a_folder_where_only_a_folder_makes_sense() {
        for (clause, name) in [
            ("list the directory d", "d"),
            ("what is in the notes folder", "notes"),
            ("list the files in src recursively", "src"),
            ("list all files in src, including hidden ones", "src"),
            ("the contents of tests", "tests"),
            ("ls docs", "docs"),
            ("файлы в src", "src"),
        ] {
            assert_eq!(folder(clause).as_deref(), Some(name), "{clause}");
        }
        for clause in [
            "directory listing",
            "folder contents please",
            "list the files in the workspace",
            "the files in Paris",
            "explain how directories work",
            "what is in stock",
            "create an empty file a.txt",
        ] {
            assert_eq!(folder(clause), None, "{clause}");
        }
    }
}
