//! The readings of a text in the arguments.
//!
//! A tool may read `a/../.git/x`, `./.git//x`, ` %2egit\x`, `file:///…/.git/x` and an absolute path as the same file.
//! Decoders may run one after another, so readings are read again until nothing new appears. The disk is not used: links
//! are checked when a file is opened.

use super::address::{Address, address, file_paths};

/// Limit on the variants of one text. Each layer of encoding adds one.
const MAX_VARIANTS: usize = 64;

/// The absolute directories that paths start from, if known.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct BaseDirs<'a> {
    pub(crate) workspace: Option<&'a str>,
    /// The user's home directory: `~/`, `$HOME/`.
    pub(crate) home: Option<&'a str>,
}

/// One reading of a text: as written, or as a normalised path or URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reading {
    /// A path inside the workspace is relative to it.
    pub(super) text: String,
    /// Other spellings: a path from the root and from the home directory, a URL without its last slash.
    pub(super) others: Vec<String>,
    pub(super) kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Written,
    Path,
    Address,
    /// A URL, read as a path.
    AddressAsPath,
}

/// All readings, the text itself first.
#[derive(Debug)]
pub(super) struct Readings {
    pub(super) list: Vec<Reading>,
    /// There were too many variants.
    pub(super) cut: bool,
}

pub(super) fn readings(text: &str, base: BaseDirs<'_>) -> Readings {
    let (variants, cut) = variants(text, base);
    let mut list: Vec<Reading> = Vec::new();
    for Variant { text, at_home } in variants {
        let written = Reading { text: bare(&text).to_owned(), others: Vec::new(), kind: Kind::Written };
        let address = address(&text);
        let kind = if address.is_some() && text.contains("://") { Kind::AddressAsPath } else { Kind::Path };
        let address = address.map(|Address { text, others }| Reading { text, others, kind: Kind::Address });
        let written = (!at_home).then_some(written);
        for reading in written.into_iter().chain(address).chain([as_path(&text, base, kind)]) {
            if !list.contains(&reading) {
                list.push(reading);
            }
        }
    }
    Readings { list, cut }
}

struct Variant {
    text: String,
    /// The home directory replaced `~`, so this is a path that nobody wrote.
    at_home: bool,
}

/// Returns all decodings of a text and of its decodings, and whether there were too many.
fn variants(text: &str, base: BaseDirs<'_>) -> (Vec<Variant>, bool) {
    let mut variants = vec![Variant { text: text.to_owned(), at_home: false }];
    let mut next = 0;
    while let Some(Variant { text, at_home }) = variants.get(next) {
        let at_home = *at_home;
        let mut found = vec![(text.trim().to_owned(), at_home), (text.replace('\\', "/"), at_home)];
        found.extend(percent_decoded(text).map(|text| (text, at_home)));
        found.extend(file_paths(text).into_iter().map(|text| (text, at_home)));
        found.extend(base.home.and_then(|home| from_home(text, home)).map(|text| (text, true)));
        for (text, at_home) in found {
            if variants.iter().any(|known| known.text == text) {
                continue;
            }
            if variants.len() >= MAX_VARIANTS {
                return (variants, true);
            }
            variants.push(Variant { text, at_home });
        }
        next += 1;
    }
    (variants, false)
}

/// Expands the home directory as a shell does.
fn from_home(text: &str, home: &str) -> Option<String> {
    Some(format!("{}{}", home.trim_end_matches('/'), below_home(text)?))
}

/// Returns the rest of `~/…`, `$HOME/…` and `${HOME}/…`, with its slash.
pub(super) fn below_home(text: &str) -> Option<&str> {
    let rest = ["~", "$HOME", "${HOME}"].into_iter().find_map(|home| text.strip_prefix(home))?;
    (rest.is_empty() || rest.starts_with('/')).then_some(rest)
}

fn bare(text: &str) -> &str {
    text.strip_prefix("./").filter(|bare| !bare.is_empty()).unwrap_or(text)
}

fn as_path(text: &str, base: BaseDirs<'_>, kind: Kind) -> Reading {
    if text.is_empty() {
        return Reading { text: String::new(), others: Vec::new(), kind };
    }
    let own = normalised(text);
    let absolute = match base.workspace {
        _ if own.starts_with('/') => Some(own.clone()),
        Some(workspace) => Some(normalised(&format!("{workspace}/{own}"))),
        None => None,
    };
    let within = |directory| absolute.as_deref().zip(directory).and_then(|(path, dir)| below(path, dir));
    let (inside, at_home) = (within(base.workspace), within(base.home));
    let at_home = at_home.map(|path| if path == "." { "~".to_owned() } else { format!("~/{path}") });
    Reading { text: inside.unwrap_or(own), others: absolute.into_iter().chain(at_home).collect(), kind }
}

/// Returns the path from a directory to something in it.
fn below(path: &str, directory: &str) -> Option<String> {
    let rest = path.strip_prefix(directory.trim_end_matches('/'))?;
    match rest.strip_prefix('/') {
        Some(inside) => Some(inside.to_owned()),
        None => rest.is_empty().then(|| ".".to_owned()),
    }
}

/// Removes `.`, empty segments, and `..` where possible.
fn normalised(path: &str) -> String {
    let absolute = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => drop(parts.pop()),
            ".." if absolute => {}
            part => parts.push(part),
        }
    }
    match (absolute, parts.is_empty()) {
        (true, _) => format!("/{}", parts.join("/")),
        (false, true) => ".".to_owned(),
        (false, false) => parts.join("/"),
    }
}

/// Returns `None` if nothing is percent-encoded.
pub(super) fn percent_decoded(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let digits = bytes.get(at + 1..at + 3).filter(|_| *byte == b'%');
        let code = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(code) => {
                decoded.push(code);
                at += 3;
            }
            None => {
                decoded.push(*byte);
                at += 1;
            }
        }
    }
    (decoded.len() < bytes.len()).then(|| String::from_utf8_lossy(&decoded).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: BaseDirs<'_> = BaseDirs { workspace: Some("/home/u/p"), home: Some("/home/u") };

    fn texts(text: &str) -> Vec<String> {
        readings(text, HERE).list.into_iter().map(|reading| reading.text).collect()
    }

    #[test]
    fn a_path_says_the_same_in_fewer_words() {
        for (text, expected) in [
            (".git/x", ".git/x"),
            ("./.git/x", ".git/x"),
            ("a/../.git/x", ".git/x"),
            (".git//x/", ".git/x"),
            ("/home/u/p/.git/x", ".git/x"),
            ("../p/.git/x", ".git/x"),
            ("../../../home/u/p/.git/x", ".git/x"),
            ("%2egit/x", ".git/x"),
            (".git\\x", ".git/x"),
            (" .git/x\n", ".git/x"),
            ("file:///home/u/p/.git/x", ".git/x"),
            ("..", ".."),
            ("/home/u/p", "."),
            ("../x", "../x"),
            ("/home/u/px/y", "/home/u/px/y"),
            ("/../etc", "/etc"),
            ("", ""),
            ("https://U:P@Evil.Example.:443/a/../b?c=../d", "https://evil.example/b?c=../d"),
            ("http://x.example:8080", "http://x.example:8080/"),
            (" %2egit\\x", ".git/x"),
            ("file:///home/u/p/%2egit/x", ".git/x"),
            ("FILE:/home/u/p/.git/x", ".git/x"),
            ("file://localhost/home/u/p/%252egit/x", ".git/x"),
            (".git%5cx", ".git/x"),
            ("%7e/p/.git/x", ".git/x"),
            ("$HOME/p/.git/x", ".git/x"),
            ("${HOME}/q", "/home/u/q"),
            ("~", "/home/u"),
            ("https:x/../.git/x", ".git/x"),
            ("50%", "50%"),
            ("a\u{20ac}%e2%82%ac", "a\u{20ac}\u{20ac}"),
        ] {
            assert!(texts(text).iter().any(|one| one == expected), "{text}: {:?}", texts(text));
        }
        assert_eq!(texts("two words")[0], "two words");
        assert!(!texts("~v/x").iter().any(|text| text.starts_with("/home")));
        let nowhere = readings("x", BaseDirs::default());
        assert!(nowhere.list.iter().all(|reading| reading.others.is_empty()) && !nowhere.cut);
    }

    #[test]
    fn readings_are_bounded() {
        let nested = |depth: usize| readings(&format!(" \\%{}2e ", "25".repeat(depth)), HERE);
        assert!(!nested(5).cut && nested(50).cut);
        assert!(nested(50).list.len() <= 3 * MAX_VARIANTS);
    }
}
