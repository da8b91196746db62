//! The router knows no tool by name: its sources are read to see that none stands there.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test's helpers may panic")]
#![allow(clippy::disallowed_methods, reason = "the sources are files")]

#[test]
fn no_tool_is_known_by_name() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut read = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap().to_lowercase();
        for name in [
            "calculator",
            "current_datetime",
            "read_file",
            "write_file",
            "list_directory",
            "essentials",
            "io__",
            "io.",
        ] {
            let free = |at: usize| name != "io." || !text[..at].ends_with(|c: char| c.is_alphanumeric());
            assert!(!text.match_indices(name).any(|(at, _)| free(at)), "{name} in {}", path.display());
        }
        read += 1;
    }
    assert!(read > 20, "{read} files were read");
}
