//! `@path` in the text of the user: the file is attached, or the listing of a directory. Only what exists counts; everything else stays text, such as
//! `@ensemble.tool` for the understudy.

use std::path::Path;

use super::completing::paths::{Place, mentions};
use converse_editor::FENCE;

/// Number of files attached to one message.
const MOST: usize = 20;
/// Characters of a file name's extension.
const LONGEST_END: usize = 5;

/// The mentioned files, each once.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Mention {
    /// Paths for [`converse_host::attach`].
    pub(super) files: Vec<String>,
    /// Words that look like a path of a missing file.
    pub(super) missing: Vec<String>,
}

/// Finds the files that are mentioned in pastes. A block that is opened or closed around one takes the quotes away, so that a
/// name in it may be another then.
pub(super) fn pasted(pastes: &[String], cwd: &Path, home: Option<&Path>) -> Vec<String> {
    let variants = pastes.iter().flat_map(|paste| [paste.clone(), paste.replace(FENCE, "\n")]);
    variants.flat_map(|text| resolve(&text, cwd, home).files).collect()
}

/// Finds the files that a text mentions and that are not in the working directory, also through a link.
pub(super) fn outside(text: &str, cwd: &Path, home: Option<&Path>) -> Vec<String> {
    let is_inside = |path: &String| {
        let (Ok(path), Ok(cwd)) = (Path::new(path).canonicalize(), cwd.canonicalize()) else { return false };
        path.starts_with(cwd)
    };
    resolve(text, cwd, home).files.into_iter().filter(|path| !is_inside(path)).collect()
}

/// Finds the mentioned files.
pub(super) fn resolve(text: &str, cwd: &Path, home: Option<&Path>) -> Mention {
    let mut found = Mention::default();
    let place = Place { cwd: cwd.to_owned(), home: home.map(Path::to_owned) };
    for named in mentions(text).filter(|mention| mention.is_whole).map(|mention| mention.name) {
        // The words of a sentence may end behind it.
        let bare = named.trim_end_matches(['.', ',', ';', ':', '!', '?', ')']);
        let is_there = |name: &&str| !name.is_empty() && place.of(name).exists();
        let (list, name) = match [named, bare].into_iter().find(is_there) {
            Some(name) if place.of(name).is_file() => {
                (&mut found.files, place.of(name).to_string_lossy().into_owned())
            }
            // The slash says that a directory is meant.
            Some(name) if place.of(name).is_dir() => {
                (&mut found.files, place.of(name).join("").to_string_lossy().into_owned())
            }
            None if looks_like_path(bare) => (&mut found.missing, bare.to_owned()),
            _ => continue,
        };
        if !list.contains(&name) && list.len() < MOST {
            list.push(name);
        }
    }
    found
}

/// Returns whether the name has a slash or an extension.
fn looks_like_path(name: &str) -> bool {
    let ends = |(stem, end): (&str, &str)| {
        !stem.is_empty()
            && (1..=LONGEST_END).contains(&end.len())
            && end.chars().all(|c| c.is_ascii_alphanumeric())
    };
    name.contains('/') || name.rsplit_once('.').is_some_and(ends)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_in_a_paste_is_found_with_the_quotes_of_a_block_around_it() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["a.txt", "b c.txt", "d.txt"] {
            std::fs::write(dir.path().join(name), "x").unwrap();
        }
        for (paste, names) in [
            ("\"\"\"\n@a.txt\"\"\"", &["a.txt"][..]),
            ("one\n@\"b c.txt\"\"\"\"", &["b c.txt"]),
            ("@a.txt\n@d.txt", &["a.txt", "d.txt"]),
            ("none\n@e.txt", &[]),
        ] {
            let mut files = pasted(&[paste.to_owned()], dir.path(), None);
            files.sort();
            files.dedup();
            let expected: Vec<String> =
                names.iter().map(|name| dir.path().join(name).to_str().unwrap().to_owned()).collect();
            assert_eq!(files, expected, "{paste:?}");
        }
    }

    #[test]
    fn what_a_text_mentions_elsewhere_is_told_apart() {
        let dir = tempfile::tempdir().unwrap();
        let cwd = dir.path().join("cwd");
        std::fs::create_dir(&cwd).unwrap();
        std::fs::write(dir.path().join("secret"), "x").unwrap();
        std::fs::write(cwd.join("a.txt"), "x").unwrap();
        std::os::unix::fs::symlink("../secret", cwd.join("link")).unwrap();
        let found = outside("@a.txt @link @~/secret @../secret", &cwd, Some(dir.path()));
        let names: Vec<_> = found.iter().map(|path| path.rsplit('/').next().unwrap()).collect();
        assert_eq!(names, ["link", "secret", "secret"]);
        assert_eq!(outside("", &cwd, None), [""; 0]);
    }

    #[test]
    fn only_what_exists_is_attached() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["a.txt", "b c.txt", "essentials.calculator"] {
            std::fs::write(dir.path().join(name), "x").unwrap();
        }
        std::fs::create_dir(dir.path().join("dir")).unwrap();
        for (text, names, missing) in [
            ("look at @a.txt.", &["a.txt"][..], &[][..]),
            ("(@a.txt) and @a.txt", &["a.txt"], &[]),
            ("@\"b c.txt\" then @nothing", &["b c.txt"], &[]),
            ("@io.read_file path=a.txt", &[], &[]),
            ("me@a.txt @dir @ @\"a.txt", &["dir/"], &[]),
            ("two\nlines: @a.txt,\n@dir/", &["a.txt", "dir/"], &[]),
            ("@~/a.txt", &["a.txt"], &[]),
            ("see @typo.txt, @typo.txt and @src/none", &[], &["typo.txt", "src/none"]),
            ("@.x @essentials.calculate", &[], &[]),
        ] {
            let found = resolve(text, dir.path(), Some(dir.path()));
            let files = names.iter().map(|name| dir.path().join(name).to_str().unwrap().to_owned()).collect();
            let missing = missing.iter().map(|name| (*name).to_owned()).collect();
            assert_eq!(found, Mention { files, missing }, "{text}");
        }
    }
}
