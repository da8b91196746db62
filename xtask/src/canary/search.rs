//! Looks through all files that a suite has left.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::needles::Needle;
use super::tokens;
use crate::Result;

/// Around a key, so that it is known whose words it stands in.
const AROUND: usize = 100;

#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) files: usize,
    pub(super) bytes: u64,
    /// Files that are still as a test wrote them, with a key.
    pub(super) own: usize,
    /// Grants of servers, with tokens.
    pub(super) grants: usize,
    pub(super) leaks: Vec<Leak>,
}

#[derive(Debug)]
pub(super) struct Leak {
    pub(super) file: PathBuf,
    pub(super) how: &'static str,
    pub(super) around: String,
}

/// Everything below the directory, but the record of what the tests wrote themselves, and what is looked at apart.
pub(super) fn all(directory: &Path, needles: &[Needle], apart: &Path) -> Result<Found> {
    let written = written(&directory.join("written"))?;
    let mut found = Found::default();
    for file in files(directory)? {
        if file.starts_with(directory.join("written")) || file == apart {
            continue;
        }
        let Ok(bytes) = fs::read(&file) else { continue };
        found.files += 1;
        found.bytes += bytes.len() as u64;
        let mut text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some(rest) = tokens::without(&file, &text) {
            found.grants += 1;
            text = rest;
        }
        let text = format!("{}\n{text}", file.display());
        let leaks: Vec<Leak> = needles.iter().filter_map(|needle| leak(&file, &text, needle)).collect();
        if leaks.is_empty() {
            continue;
        }
        let is_own =
            written.get(&file).is_some_and(|texts| texts.iter().any(|text| text.as_bytes() == bytes));
        if is_own {
            found.own += 1;
        } else {
            found.leaks.extend(leaks);
        }
    }
    Ok(found)
}

fn leak(file: &Path, text: &str, needle: &Needle) -> Option<Leak> {
    let at = text.find(&needle.text)?;
    let from = text.floor_char_boundary(at.saturating_sub(AROUND));
    let to = text.ceil_char_boundary((at + needle.text.len() + AROUND / 2).min(text.len()));
    let around = text.get(from..to).unwrap_or_default().to_owned();
    Some(Leak { file: file.to_owned(), how: needle.how, around })
}

/// What the tests wrote into each file; it may have been written several times.
fn written(directory: &Path) -> Result<HashMap<PathBuf, Vec<String>>> {
    let mut written: HashMap<PathBuf, Vec<String>> = HashMap::new();
    for record in files(directory)? {
        let record: serde_json::Value = serde_json::from_slice(&fs::read(record)?)?;
        let text =
            |key: &str| record.get(key).and_then(serde_json::Value::as_str).unwrap_or_default().to_owned();
        written.entry(text("path").into()).or_default().push(text("text"));
    }
    Ok(written)
}

/// Regular files; links are not followed, what cannot be read is passed over.
fn files(below: &Path) -> Result<Vec<PathBuf>> {
    let (mut found, mut waiting) = (Vec::new(), vec![below.to_path_buf()]);
    while let Some(directory) = waiting.pop() {
        let Ok(entries) = fs::read_dir(directory) else { continue };
        for entry in entries {
            let entry = entry?;
            match entry.file_type()? {
                kind if kind.is_dir() => waiting.push(entry.path()),
                kind if kind.is_file() => found.push(entry.path()),
                _ => {}
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::super::needles::needles;
    use super::*;

    #[test]
    fn a_key_is_found_in_any_file_and_in_its_name_but_not_where_a_test_put_it() {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = directory.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            path
        };
        let (own, changed) =
            ("key = 'sk-canary-0123456789abcdef'", "key = 'sk-canary-0123456789abcdef' # more");
        for (index, name) in ["homes/a/own", "homes/a/changed"].into_iter().enumerate() {
            let path = write(name, own);
            write(&format!("written/{index}"), &serde_json::json!({ "path": path, "text": own }).to_string());
        }
        write("homes/a/changed", changed);
        write("stdout/1", "nothing to see");
        write("trace", "canary-0123456789");
        write("stderr/1", "header: Y2FuYXJ5LTAxMjM0NTY3ODl5");
        write("homes/sk-canary-0123456789abcdef", "");
        let found = all(directory.path(), &needles(), &directory.path().join("trace")).unwrap();
        let mut leaks: Vec<_> = found
            .leaks
            .iter()
            .map(|leak| (leak.file.file_name().unwrap().to_string_lossy().into_owned(), leak.how))
            .collect();
        leaks.sort();
        let expected =
            [("1", "in base64"), ("changed", "as it is"), ("sk-canary-0123456789abcdef", "as it is")];
        assert_eq!(leaks, expected.map(|(name, how)| (name.to_owned(), how)));
        assert_eq!((found.files, found.own), (5, 1));
    }
}
