//! Detects lost data that the journal itself does not show.
//!
//! A crash tears the last line, but loses no complete line that was noted: totals are written after the journal is
//! synced. So files next to a journal may prove that it was longer.

use crate::storage::{Area, SessionStorage, is_missing};
use crate::synced::Synced;
use crate::{Metadata, SessionError, files, journal};

/// Returns the error for a journal without a complete first line: damage if there is evidence that it had one. If that
/// cannot be found out, the error that prevents it.
pub(crate) fn of_all(at: &dyn SessionStorage) -> SessionError {
    let path = at.path(journal::FILE);
    match evidence(at) {
        Ok(Some(reason)) => SessionError::Corrupt { path, line: 1, reason },
        Ok(None) => SessionError::Empty { path },
        Err(error) => error,
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
pub(crate) fn is_certain(at: &dyn SessionStorage) -> Result<bool, SessionError> {
    let length = match at.journal() {
        Ok(state) => state.length,
        Err(error) if is_missing(&error) => 0,
        Err(source) => return Err(SessionError::Io { path: at.path(journal::FILE), source }),
    };
    let lost = at_end(&Metadata::load(at)?, length).is_some();
    Ok(lost || (length == 0 && evidence(at)?.is_some()))
}

fn evidence(at: &dyn SessionStorage) -> Result<Option<String>, SessionError> {
    if let Some(totals) = Metadata::load(at)?.totals.filter(|totals| totals.journal > 0) {
        return Ok(Some(format!("its beginning is missing; it had {} bytes", totals.journal)));
    }
    let names = |area| at.names(area).map_err(SessionError::io(at.dir()));
    if names(Area::Content)?.iter().any(|name| !name.starts_with(files::TEMPORARY)) {
        return Ok(Some("its beginning is missing, but its content exists".to_owned()));
    }
    let kept = names(Area::Session)?.iter().any(|name| name.starts_with("journal.v"));
    Ok(kept.then(|| "its beginning is missing, but the journal from before its migration exists".to_owned()))
}
