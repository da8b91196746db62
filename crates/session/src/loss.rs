//! Detects lost data that the journal itself does not show.
//!
//! A crash tears the last line, but loses no complete line that was noted: totals are written after the journal is
//! synced. So files next to a journal may prove that it was longer.

use crate::storage::{Area, SessionStorage};
use crate::synced::Synced;
use crate::{Metadata, SessionError, files, journal};

/// Returns the error for a journal without a complete first line: damage if there is evidence that it had one.
pub(crate) fn of_all(at: &dyn SessionStorage) -> SessionError {
    let path = at.path(journal::FILE);
    match evidence(at) {
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
pub(crate) fn is_certain(at: &dyn SessionStorage) -> bool {
    let length = journal::state(at).map_or(0, |(length, _)| length);
    at_end(&Metadata::read(at), length).is_some() || (length == 0 && evidence(at).is_some())
}

fn evidence(at: &dyn SessionStorage) -> Option<String> {
    if let Some(totals) = Metadata::read(at).totals.filter(|totals| totals.journal > 0) {
        return Some(format!("its beginning is missing; it had {} bytes", totals.journal));
    }
    let names = |area| at.names(area).unwrap_or_default();
    if names(Area::Content).iter().any(|name| !name.starts_with(files::TEMPORARY)) {
        return Some("its beginning is missing, but its content exists".to_owned());
    }
    let kept = names(Area::Session).iter().any(|name| name.starts_with("journal.v"));
    kept.then(|| "its beginning is missing, but the journal from before its migration exists".to_owned())
}
