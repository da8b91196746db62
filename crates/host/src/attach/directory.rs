//! A directory that is attached: the names in it.

use std::io;
use std::path::Path;

use converse_text::safe_line;

/// Names that are listed, and names that are read to find the first of them.
const MOST: usize = 1_000;
const MOST_READ: usize = 100_000;
/// Characters of a name; no file system of Linux has more.
const NAME: usize = 255;

/// Returns the names, sorted, one per line; those of directories end in `/`.
pub(super) fn listing(path: &Path) -> io::Result<String> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(path)?.take(MOST_READ) {
        let entry = entry?;
        let end = if entry.file_type()?.is_dir() { "/" } else { "" };
        names.push(format!("{}{end}\n", safe_line(&entry.file_name().to_string_lossy(), NAME)));
    }
    names.sort();
    let more = names.len().saturating_sub(MOST);
    names.truncate(MOST);
    Ok(match (names.is_empty(), more) {
        (true, _) => "(an empty directory)\n".to_owned(),
        (false, 0) => names.concat(),
        (false, more) => format!("{}({more} more)\n", names.concat()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_a_directory_are_listed() {
        let dir = tempfile::tempdir().unwrap();
        let made = |name: &str| std::fs::create_dir(dir.path().join(name)).unwrap();
        assert_eq!(listing(dir.path()).unwrap(), "(an empty directory)\n");
        made("src");
        std::fs::write(dir.path().join("a\nb"), "").unwrap();
        assert_eq!(listing(dir.path()).unwrap(), "a\\nb\nsrc/\n");
        (0..MOST).for_each(|number| made(&number.to_string()));
        assert!(listing(dir.path()).unwrap().ends_with("(2 more)\n"));
        assert!(listing(&dir.path().join("a\nb")).is_err());
    }
}
