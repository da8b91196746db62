//! The router knows no tool by name: its sources are read to see that none stands there.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test's helpers may panic")]
#![allow(clippy::disallowed_methods, reason = "the sources are files")]

#[test]
fn no_tool_is_known_by_name() {
    let mut folders = vec![std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
    let mut paths = Vec::new();
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let (inner, files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
        folders.extend(inner);
        paths.extend(files);
    }
    let mut read = 0;
    for path in paths {
        let text = std::fs::read_to_string(&path).unwrap().to_lowercase();
        for name in [
            "calculator",
            "current_datetime",
            "read_file",
            "write_file",
            "list_directory",
            "edit_file",
            "search_files",
            "web_search",
            "essentials",
            "io__",
            "io.",
        ] {
            let free = |at: usize| name != "io." || !text[..at].ends_with(|c: char| c.is_alphanumeric());
            assert!(!text.match_indices(name).any(|(at, _)| free(at)), "{name} in {}", path.display());
        }
        read += 1;
    }
    assert!(read > 15, "{read} files were read");
}
