//! Finds a batch whose id is not known, because the run that submitted it ended too early.

use std::collections::HashSet;
use std::time::Duration;

use converse_engine::AttemptError;
use converse_host::failure::Failure;
use converse_host::world::World;
use converse_provider::{BatchState, BatchStatus};

use super::calls::{Calls, is_absent};
use super::record::Submission;

/// Pages of a list that are read.
const MOST_PAGES: usize = 20;
/// The clock of the provider may be behind by this.
const SKEW: Duration = Duration::from_secs(600);
/// Time in which a provider may not show yet what it has: a batch that was submitted, or all results of one that has ended.
pub(super) const UNSEEN: Duration = Duration::from_secs(15 * 60);
/// Lines before the first result.
const MOST_BLANK: usize = 100;
/// Characters of a time up to its seconds.
const SECONDS: usize = 19;

pub(super) enum Found {
    Batch(BatchStatus),
    /// A batch that has not ended may be the one.
    Perhaps,
    /// The list had more pages than are read, or batches that cannot be read: one of them may be the one.
    Unread,
    Nothing,
}

/// Returns a time in RFC 3339 before which no batch of now was created.
pub(super) fn a_while_ago() -> String {
    let now = World::now();
    now.checked_sub(SKEW).unwrap_or(now).to_string()
}

/// Whether a submission is so recent that the provider may not show its batch yet.
pub(super) fn is_recent(submission: &Submission) -> bool {
    age(&submission.since).is_some_and(|age| age < SKEW + UNSEEN)
}

/// The time between now and a time in RFC 3339.
pub(super) fn age(since: &str) -> Option<Duration> {
    since.parse().ok().map(|since| World::now().duration_since(since).unsigned_abs())
}

/// Looks for a batch in the list of the provider: by its mark, or by the ids of its parts, which are known once a batch
/// has ended. `known` are batches that are of other submissions.
///
/// # Errors
///
/// The provider does not answer.
pub(super) async fn find(
    calls: &Calls<'_>,
    submission: &Submission,
    known: &HashSet<&str>,
) -> Result<Found, Failure> {
    let (mut next, mut may_be, mut is_whole) = (None, false, true);
    for page in 1..=MOST_PAGES {
        let list = calls.repeat(|api| api.list(next.as_deref()), |api, body| api.read_list(body));
        let list = list.await?;
        is_whole &= list.skipped == 0;
        let is_older = list.batches.last().is_some_and(|batch| !may_be_newer(batch, submission));
        for batch in list.batches {
            if known.contains(batch.id.as_str()) || !may_be_newer(&batch, submission) {
                continue;
            }
            if calls.api.has_marks() {
                if batch.mark.as_deref() == Some(&submission.mark) {
                    return Ok(Found::Batch(batch));
                }
                continue;
            }
            let counts_fit = batch.counts.is_none_or(|(_, all)| all == submission.parts.len() as u64);
            match batch.state {
                _ if !counts_fit => {}
                BatchState::Running | BatchState::Canceling => may_be = true,
                BatchState::Ended(_) => match has_parts(calls, &batch, submission).await? {
                    Some(true) => return Ok(Found::Batch(batch)),
                    Some(false) => {}
                    None => is_whole = false,
                },
            }
        }
        next = list.next;
        if next.is_none() || is_older {
            break;
        }
        is_whole &= page < MOST_PAGES;
    }
    Ok(match (may_be, is_whole) {
        (true, _) => Found::Perhaps,
        (false, false) => Found::Unread,
        (false, true) => Found::Nothing,
    })
}

fn may_be_newer(batch: &BatchStatus, submission: &Submission) -> bool {
    let created = batch.created.as_deref().and_then(|time| time.get(..SECONDS));
    created.is_none_or(|created| submission.since.get(..SECONDS).is_none_or(|since| created >= since))
}

/// Whether the first result of a batch is of a part of the submission; `None` if it cannot be read.
async fn has_parts(
    calls: &Calls<'_>,
    batch: &BatchStatus,
    submission: &Submission,
) -> Result<Option<bool>, Failure> {
    let Some(file) = batch.files.first() else { return Ok(None) };
    for failures in 1.. {
        match first_line(calls, file).await {
            Ok(line) => {
                let result = calls.api.read_result(&line).ok();
                return Ok(result.map(|result| submission.number(&result.id).is_some()));
            }
            Err(cause) if is_absent(&cause) => return Ok(None),
            Err(cause) => calls.pause(cause, failures).await?,
        }
    }
    Ok(None)
}

async fn first_line(calls: &Calls<'_>, file: &str) -> Result<Vec<u8>, AttemptError> {
    Ok(calls.open(file, MOST_BLANK).await?.next().await?.map(|(line, _)| line).unwrap_or_default())
}
