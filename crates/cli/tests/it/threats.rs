//! The threat table of `docs/security.md` names tests that exist.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The text of all Rust files at or below `paths`.
fn sources(paths: Vec<PathBuf>) -> String {
    let (mut text, mut open) = (String::new(), paths);
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            text += &fs::read_to_string(&path).unwrap_or_default();
        }
    }
    text
}

/// Returns whether a test is where its name in the table says: `file::name` or `crate: name`.
fn is_there(name: &str) -> bool {
    let (text, function) = if let Some((package, function)) = name.split_once(": ") {
        (sources(vec![root().join("crates").join(package)]), function)
    } else if let Some((file, function)) = name.split_once("::") {
        let place = root().join("crates/cli/tests/it").join(file);
        (sources(vec![place.with_extension("rs"), place]), function)
    } else {
        return false;
    };
    text.contains(&format!("fn {function}()"))
}

#[test]
fn every_threat_has_tests_that_exist() {
    let page = fs::read_to_string(root().join("docs/security.md")).unwrap();
    let rows: Vec<&str> =
        page.lines().filter(|line| line.starts_with("| T") && line.as_bytes()[3].is_ascii_digit()).collect();
    assert!(rows.len() >= 18, "{rows:?}");
    for row in rows {
        let tests = row.trim_end_matches(" |").rsplit(" | ").next().unwrap();
        let names: Vec<&str> = tests.split('`').skip(1).step_by(2).collect();
        assert!(!names.is_empty(), "a threat without a test: {row}");
        for name in names {
            assert!(is_there(name), "no such test: `{name}`");
        }
    }
}
