//! Files that a command writes on request.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use converse_host::failure::{Failure, Kind};

/// Writes a file that only its owner can read. With `force` an existing file is replaced.
pub(super) fn write_private(path: &Path, text: &str, force: bool, code: &'static str) -> Result<(), Failure> {
    let mut options = OpenOptions::new();
    options.write(true).mode(0o600).create_new(!force).create(force).truncate(force);
    let written = options.open(path).and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| {
        let failure = Failure::new(Kind::Output, code, format!("{}: {error}", path.display()));
        match error.kind() {
            ErrorKind::AlreadyExists => {
                Failure { kind: Kind::Usage, ..failure }.hint("`--force` replaces it")
            }
            _ => failure,
        }
    })
}
