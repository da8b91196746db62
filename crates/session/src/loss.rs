//! Detects lost data that the journal itself does not show.
//!
//! A crash tears the last line, but loses no complete line that was noted: totals are written after the journal is
//! synced. So files next to a journal may prove that it was longer.

use std::path::Path;

use crate::check::{is_litter, names};
use crate::synced::Synced;
use crate::{Metadata, SessionError, journal};

/// Returns the error for a journal without a complete first line: damage if there is evidence that it had one.
pub(crate) fn of_all(dir: &Path) -> SessionError {
    let path = dir.join(journal::FILE);
    match evidence(dir) {
        Some(reason) => SessionError::Corrupt { path, line: 1, reason },
        None => SessionError::Empty { path },
    }
}

/// Returns what the metadata shows to have been on disk.
pub(crate) fn noted(noted: &Metadata) -> Synced {
    Synced::up_to(noted.totals.as_ref().map_or(0, |totals| totals.journal))
}

/// Returns the bytes missing at the end. `noted` was read before the journal, which may grow meanwhile.
pub(crate) fn at_end(noted: &Metadata, length: u64) -> Option<u64> {
    noted.totals.as_ref()?.journal.checked_sub(length).filter(|lost| *lost > 0)
}

/// Returns whether a journal with only a first line provably had more.
pub(crate) fn is_certain(dir: &Path) -> bool {
    let length = journal::state(dir).map_or(0, |(length, _)| length);
    at_end(&Metadata::read(dir), length).is_some() || (length == 0 && evidence(dir).is_some())
}

fn evidence(dir: &Path) -> Option<String> {
    if let Some(totals) = Metadata::read(dir).totals.filter(|totals| totals.journal > 0) {
        return Some(format!("its beginning is missing; it had {} bytes", totals.journal));
    }
    if names(&dir.join("content")).iter().any(|path| !is_litter(path)) {
        return Some("its beginning is missing, but its content exists".to_owned());
    }
    let earlier = |path: &Path| {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        name.starts_with("journal.v")
    };
    let kept = names(dir).iter().any(|path| earlier(path));
    kept.then(|| "its beginning is missing, but the journal from before its migration exists".to_owned())
}
