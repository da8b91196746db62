//! What is gone from a journal without a trace in it.
//!
//! A crash tears the last line and takes no whole one that was noted: totals are written after the journal is on the
//! disk. So what stands beside a journal may prove that there was more.

use std::path::Path;

use crate::check::{is_litter, names};
use crate::{Metadata, SessionError, journal};

/// Of a journal without a whole first line: damage, if it ever had one. It is on the disk before anything else is.
pub(crate) fn of_all(dir: &Path) -> SessionError {
    let path = dir.join(journal::FILE);
    match evidence(dir) {
        Some(reason) => SessionError::Corrupt { path, line: 1, reason },
        None => SessionError::Empty { path },
    }
}

/// Bytes that are missing at the end. `noted`: what was read before the journal was, which may grow meanwhile.
pub(crate) fn at_end(noted: &Metadata, length: u64) -> Option<u64> {
    noted.totals.as_ref()?.journal.checked_sub(length).filter(|lost| *lost > 0)
}

/// Is a journal that has nothing behind its first line one that had?
pub(crate) fn is_certain(dir: &Path) -> bool {
    let length = journal::state(dir).map_or(0, |(length, _)| length);
    at_end(&Metadata::read(dir), length).is_some() || (length == 0 && evidence(dir).is_some())
}

fn evidence(dir: &Path) -> Option<String> {
    if let Some(totals) = Metadata::read(dir).totals.filter(|totals| totals.journal > 0) {
        return Some(format!("its beginning is gone, and there were {} bytes", totals.journal));
    }
    if names(&dir.join("content")).iter().any(|path| !is_litter(path)) {
        return Some("its beginning is gone, and there is content of it".to_owned());
    }
    let earlier = |path: &Path| {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        name.starts_with("journal.v")
    };
    let kept = names(dir).iter().any(|path| earlier(path));
    kept.then(|| "its beginning is gone, and what it was before it was migrated is there".to_owned())
}
