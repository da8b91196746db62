//! Files that are dropped into the terminal, which pastes their paths: quoted, with backslashes, or as `file:` URLs, and
//! several of them with spaces or line breaks between.

use std::path::{Path, PathBuf};

use url::Url;

use super::slash::words;
use converse_host::attach::is_picture_file;

/// Files that are dropped at once.
const MOST: usize = 20;
/// Bytes of a paste that is looked at.
const LONGEST: usize = 64 * 1024;

/// Returns the pictures of a paste that is nothing but paths of pictures.
pub(super) fn pictures(paste: &str, home: Option<&Path>) -> Option<Vec<PathBuf>> {
    readings(paste, home).into_iter().find(|paths| paths.iter().all(|path| is_picture_file(path)))
}

/// Returns the lists of paths that a paste may be. All of them are absolute.
fn readings(paste: &str, home: Option<&Path>) -> Vec<Vec<PathBuf>> {
    let paste = paste.trim();
    if paste.len() > LONGEST {
        return Vec::new();
    }
    // Some terminals paste the path of one file as it is.
    let whole = (!paste.contains('\n')).then(|| vec![paste.to_owned()]);
    let lists = whole.into_iter().chain([words(paste)]);
    let lists = lists.filter(|list| (1..=MOST).contains(&list.len()));
    lists.filter_map(|list| list.iter().map(|word| path(word, home)).collect()).collect()
}

/// An absolute path, a path below the home directory, or a `file:` URL of this machine.
fn path(word: &str, home: Option<&Path>) -> Option<PathBuf> {
    let path = match (word.strip_prefix("~/"), word.contains("://")) {
        (Some(rest), _) => home?.join(rest),
        (None, true) => Url::parse(word).ok().filter(|url| url.scheme() == "file")?.to_file_path().ok()?,
        (None, false) => PathBuf::from(word),
    };
    // Without repeated slashes; of no other text than it is shown.
    (path.is_absolute() && path.to_str().is_some()).then(|| path.components().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pastes_of_terminals_are_read_as_paths() {
        for (paste, paths) in [
            ("/a/one.png", &["/a/one.png"][..]),
            ("/a/one.png ", &["/a/one.png"]),
            (r"/a/my\ picture\ \(1\).png ", &["/a/my picture (1).png"]),
            ("'/a/my picture.png'", &["/a/my picture.png"]),
            (r"'/a/it'\''s.png'", &["/a/it's.png"]),
            ("\"/a/my picture.png\"", &["/a/my picture.png"]),
            ("/a/one.png /b/two.jpg", &["/a/one.png", "/b/two.jpg"]),
            ("'/a/one b.png' '/b/two.jpg' ", &["/a/one b.png", "/b/two.jpg"]),
            ("file:///a/my%20picture.png", &["/a/my picture.png"]),
            ("file://localhost/a/%C3%A9.png\r\nfile:///b.gif\r\n", &["/a/é.png", "/b.gif"]),
            ("~/a.png", &["/home/me/a.png"]),
            ("/a//b/./c.png", &["/a/b/c.png"]),
        ] {
            let paths: Vec<PathBuf> = paths.iter().map(PathBuf::from).collect();
            let readings = readings(paste, Some(Path::new("/home/me")));
            assert_eq!(readings.last(), Some(&paths), "{paste:?}");
        }
        // A path with spaces as it is.
        assert_eq!(readings("/a/my picture.png", None), [[PathBuf::from("/a/my picture.png")]]);
    }

    #[test]
    fn what_is_no_path_of_this_machine_is_text() {
        let many = "/a.png ".repeat(MOST + 1);
        let long = format!("/{}", "x".repeat(LONGEST));
        for paste in [
            "",
            " \n",
            "one.png",
            "./one.png",
            "see /a/one.png",
            "https://example.org/one.png",
            "file://elsewhere/one.png",
            "file:///%ff.png",
            "file:one.png",
            "~other/one.png",
            "~/one.png",
            &many,
            &long,
        ] {
            let readings = readings(paste, None);
            assert!(
                readings.iter().all(|paths| paths.len() == 1 && paste.starts_with("/a.png ")),
                "{readings:?}"
            );
        }
    }

    #[test]
    fn only_a_paste_of_nothing_but_pictures_is_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
        for name in ["one.png", "my picture.gif"] {
            std::fs::write(path(name), b"GIF89a....").unwrap();
        }
        std::fs::write(path("text.png"), "text").unwrap();
        let (one, two, text) = (path("one.png"), path("my picture.gif"), path("text.png"));
        for (paste, expected) in [
            (one.clone(), Some(vec![one.clone()])),
            (two.clone(), Some(vec![two.clone()])),
            (format!("{one} '{two}'"), Some(vec![one.clone(), two.clone()])),
            (format!("{one} {text}"), None),
            (format!("{one} and"), None),
            (format!("{one}\n\nwhat is it?"), None),
            (dir.path().to_str().unwrap().to_owned(), None),
        ] {
            let expected = expected.map(|paths| paths.into_iter().map(PathBuf::from).collect());
            assert_eq!(pictures(&paste, None), expected, "{paste:?}");
        }
    }
}
