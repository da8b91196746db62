//! The interpreter in the first line of a script.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

/// The kernel reads no more of the line (`BINPRM_BUF_SIZE`, linux 6.12).
const MAX_LINE: u64 = 256;

/// Returns the words after `#!`, or nothing if the file is not a script or cannot be read. `path` is a regular file.
pub(super) fn words(path: &Path) -> Vec<String> {
    let mut line = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MAX_LINE).read_to_end(&mut line));
    let Some(rest) = read.ok().and_then(|_| line.strip_prefix(b"#!")) else { return Vec::new() };
    let line = rest.split(|byte| *byte == b'\n').next().unwrap_or_default();
    String::from_utf8_lossy(line).split_whitespace().map(str::to_owned).collect()
}
