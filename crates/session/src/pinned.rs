//! Directories whose files are pinned by digests: what was unpacked from a package, and is compared before it runs.
//!
//! `NAME-DIGEST/` has the files, and `NAME-DIGEST.sha256` beside it the list of their digests, as `sha256sum` writes it.
//! DIGEST is the beginning of the SHA-256 of the list. So whoever names the directory pins each file of it.

use std::fs;
use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use converse_canister::Digest;
use sha2::{Digest as _, Sha256};

use crate::digest;
use crate::files::{self, Mode, Replace};

/// Hexadecimal digits of the digest in the name.
const DIGEST: usize = 32;
const MAX_LIST: u64 = 32 * 1024 * 1024;

/// The directory of the pinned directories, below that of the data.
pub const STORE: &str = "packages";

/// A file to write: its path below the directory, whether it is executable, and its bytes.
pub type PinnedFile<'f> = (&'f str, bool, &'f [u8]);

/// Writes the files to a directory that `list` pins. Files that are there already are replaced.
///
/// # Errors
///
/// A file cannot be written, or its path is not plain.
pub fn write<'f>(
    directory: &Path,
    list: &str,
    contents: impl IntoIterator<Item = PinnedFile<'f>>,
) -> io::Result<()> {
    files::private_dir(directory)?;
    for (path, executable, bytes) in contents {
        if !is_plain(path) {
            return Err(io::Error::other("a path leads out of the directory"));
        }
        let path = directory.join(path);
        for parent in path.ancestors().skip(1).take_while(|parent| *parent != directory) {
            if parent.symlink_metadata().is_ok_and(|there| there.is_symlink()) {
                return Err(io::Error::other("a directory is a link"));
            }
        }
        fs::create_dir_all(path.parent().unwrap_or(directory))?;
        let mode = Mode::Exact(if executable { 0o700 } else { 0o600 });
        files::replace(&path, bytes, Replace { mode, ..Replace::PRIVATE })?;
    }
    files::replace(&list_of(directory), list.as_bytes(), Replace::PRIVATE)
}

/// Reads at most `most` bytes of a regular file, also through a link.
///
/// # Errors
///
/// It is not a regular file, or cannot be read.
pub fn read_regular(path: &Path, most: usize) -> io::Result<Vec<u8>> {
    if !path.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file; `-` reads standard input"));
    }
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(most as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads the files of a directory, without `.git`: their paths, whether they are executable, and their bytes.
///
/// # Errors
///
/// A file cannot be read, is a link, or there are more files or bytes.
pub fn files_below(
    directory: &Path,
    most_files: usize,
    most_bytes: usize,
) -> io::Result<Vec<(String, bool, Vec<u8>)>> {
    let mut found = Vec::new();
    let mut room = most_bytes as u64;
    let mut open = vec![directory.to_path_buf()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(next)? {
            let path = entry?.path();
            if path.symlink_metadata()?.is_dir() {
                if path.file_name().is_none_or(|name| name != ".git") {
                    open.push(path);
                }
                continue;
            }
            let below = path.strip_prefix(directory).ok().and_then(Path::to_str);
            let below = below.ok_or_else(|| io::Error::other("a path is not UTF-8"))?.to_owned();
            let file = files::open_regular(&path)
                .map_err(|error| io::Error::other(format!("`{below}`: {error}")))?;
            let executable = file.metadata()?.permissions().mode() & 0o111 != 0;
            let mut bytes = Vec::new();
            file.take(room + 1).read_to_end(&mut bytes)?;
            let left = room.checked_sub(bytes.len() as u64).filter(|_| found.len() < most_files);
            room = left.ok_or_else(|| io::Error::other("it has too many files or bytes"))?;
            found.push((below, executable, bytes));
        }
        if open.len() > most_files {
            return Err(io::Error::other("it has too many directories"));
        }
    }
    Ok(found)
}

/// Compares each file with the list, and the list with the name of the directory.
///
/// # Errors
///
/// Which file is not what it was, for the user.
pub fn verify(directory: &Path) -> Result<(), String> {
    let changed = |what: &str| {
        format!("{what} has changed since the package was imported; import it again with `--force`")
    };
    let list = list_of(directory);
    let mut text = String::new();
    let read = fs::File::open(&list).and_then(|file| file.take(MAX_LIST).read_to_string(&mut text));
    let name = directory.file_name().unwrap_or_default().to_string_lossy();
    let digest: String = digest(text.as_bytes()).to_string().chars().take(DIGEST).collect();
    if read.is_err() || !name.ends_with(&format!("-{digest}")) {
        return Err(changed(&format!("`{}`", list.display())));
    }
    for line in text.lines() {
        let (digest, path) = line.split_once("  ").unwrap_or_default();
        let file = directory.join(path);
        if !is_plain(path) || digest_of(&file).ok().as_deref() != Some(digest) {
            return Err(changed(&format!("`{}`", file.display())));
        }
    }
    Ok(())
}

/// The pinned directories that a text names: `/…/packages/NAME-DIGEST`, wherever the user's data is now. One that is gone
/// is named too, and fails to verify.
pub fn named(text: &str) -> Vec<PathBuf> {
    let marker = format!("/{STORE}/");
    let pinned = text.match_indices(&marker).filter_map(|(at, _)| {
        let name = text.get(at + marker.len()..)?.split('/').next()?.split(ENDS).next()?;
        let (_, digest) = name.rsplit_once('-')?;
        let is_digest = digest.len() == DIGEST && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
        let store = store_before(text.get(..at)?).filter(|_| is_digest)?;
        Some(store.join(name))
    });
    pinned.collect()
}

/// What may stand between two paths.
const ENDS: [char; 7] = [':', ' ', '"', '\'', '=', ',', ';'];

/// The directory of the packages at the end of a text. A name of a directory may have a blank: what is there counts.
fn store_before(text: &str) -> Option<PathBuf> {
    let begins =
        |place: usize| text.get(..place).is_none_or(|before| before.is_empty() || before.ends_with(ENDS));
    let starts = text.match_indices('/').map(|(place, _)| place).filter(|place| begins(*place));
    let stores: Vec<PathBuf> =
        starts.filter_map(|start| Some(Path::new(text.get(start..)?).join(STORE))).collect();
    stores.iter().find(|store| store.is_dir()).or(stores.last()).cloned()
}

fn list_of(directory: &Path) -> PathBuf {
    let mut name = directory.as_os_str().to_owned();
    name.push(".sha256");
    name.into()
}

fn digest_of(path: &Path) -> io::Result<String> {
    let mut file = files::open_regular(path)?;
    let mut sum = Sha256::new();
    let mut part = vec![0; 64 * 1024];
    loop {
        match file.read(&mut part)? {
            0 => return Ok(Digest(sum.finalize().into()).to_string()),
            read => sum.update(part.get(..read).unwrap_or_default()),
        }
    }
}

fn is_plain(path: &str) -> bool {
    !path.is_empty() && path.split('/').all(|part| !matches!(part, "" | "." | ".."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(store: &Path) -> PathBuf {
        let list = format!("{}  a/run\n{}  b\n", digest(b"one"), digest(b"two"));
        let directory = store.join(format!("p-{}", &digest(list.as_bytes()).to_string()[..DIGEST]));
        write(&directory, &list, [("a/run", true, &b"one"[..]), ("b", false, b"two")]).unwrap();
        directory
    }

    #[test]
    fn each_changed_file_is_found() {
        let store = tempfile::tempdir().unwrap();
        let directory = package(store.path());
        assert_eq!(verify(&directory), Ok(()));
        let run = directory.join("a/run");
        fs::write(directory.join("more"), "made by it").unwrap();
        assert_eq!(verify(&directory), Ok(()), "what the server writes itself is not pinned");
        let list = PathBuf::from(format!("{}.sha256", directory.display()));
        for (path, damage) in [(&run, "another"), (&list, "")] {
            let kept = fs::read(path).unwrap();
            fs::write(path, damage).unwrap();
            let why = verify(&directory).unwrap_err();
            assert!(why.contains(path.to_str().unwrap()) && why.contains("has changed"), "{why}");
            fs::write(path, kept).unwrap();
        }
        fs::remove_file(&run).unwrap();
        std::os::unix::fs::symlink("/bin/sh", &run).unwrap();
        assert!(verify(&directory).is_err(), "a link");
    }

    #[test]
    fn a_directory_is_read_as_it_is_and_links_are_refused() {
        let store = tempfile::tempdir().unwrap();
        let directory = package(store.path());
        fs::create_dir_all(directory.join(".git/x")).unwrap();
        fs::write(directory.join(".git/x/y"), "left out").unwrap();
        let mut found = files_below(&directory, 2, 6).unwrap();
        found.sort();
        let file = |path: &str, executable, bytes: &[u8]| (path.to_owned(), executable, bytes.to_vec());
        assert_eq!(found, [file("a/run", true, b"one"), file("b", false, b"two")]);
        assert!(files_below(&directory, 1, 6).is_err() && files_below(&directory, 2, 5).is_err());
        std::os::unix::fs::symlink("/etc/passwd", directory.join("link")).unwrap();
        assert!(files_below(&directory, 9, 999_999).is_err());
    }

    #[test]
    fn nothing_is_written_outside() {
        let store = tempfile::tempdir().unwrap();
        let directory = store.path().join("p-1");
        for path in ["../out", "a/../../out", "/tmp/out", "", "a//b"] {
            assert!(write(&directory, "", [(path, false, &b"x"[..])]).is_err(), "{path}");
        }
        let outside = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(outside.path(), directory.join("link")).unwrap();
        assert!(write(&directory, "", [("link/out", false, &b"x"[..])]).is_err());
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_text_names_packages_wherever_they_are() {
        let [one, other] = [format!("p-{}", "a".repeat(DIGEST)), format!("q-r-{}", "0".repeat(DIGEST))];
        let path = |name: &str| PathBuf::from(format!("/d/converse/packages/{name}"));
        for (text, found) in [
            (format!("/d/converse/packages/{one}"), vec![path(&one)]),
            (format!("/d/converse/packages/{one}/bin/run"), vec![path(&one)]),
            (
                format!("--lib=/d/converse/packages/{one}/a:/d/converse/packages/{other}/b"),
                vec![path(&one), path(&other)],
            ),
            (format!("packages/{one}/x"), vec![]),
            ("/d/converse/packages/p-1/x".to_owned(), vec![]),
            ("/d/converse/packages".to_owned(), vec![]),
        ] {
            assert_eq!(named(&text), found, "{text}");
        }
    }
}
