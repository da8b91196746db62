//! Files and directories of trust are for the user's eyes only. The umask narrows a mode and what is there already keeps
//! its own, so it is set afterwards too.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

/// Makes it, and those above it that are missing.
pub(super) fn private_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    if fs::metadata(path)?.permissions().mode() & 0o7777 != 0o700 {
        fs::set_permissions(path, Permissions::from_mode(0o700))?;
    }
    Ok(())
}

pub(super) fn private_file(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let file = options.mode(0o600).open(path)?;
    file.set_permissions(Permissions::from_mode(0o600))?;
    Ok(file)
}
