//! Finds a batch whose id is not known, because the run that submitted it ended too early.

use std::collections::HashSet;
use std::time::Duration;

use converse_engine::AttemptError;
use converse_host::failure::Failure;
use converse_host::world::World;
use converse_provider::{BatchState, BatchStatus};

use super::calls::Calls;
use super::record::Submission;

/// Pages of a list that are read.
const MOST_PAGES: usize = 20;
/// The clock of the provider may be behind by this.
const SKEW: Duration = Duration::from_secs(600);
/// Characters of a time up to its seconds.
const SECONDS: usize = 19;

pub(super) enum Found {
    Batch(BatchStatus),
    /// A batch that has not ended may be the one.
    Perhaps,
    Nothing,
}

/// Returns a time in RFC 3339 before which no batch of now was created.
pub(super) fn a_while_ago() -> String {
    let now = World::now();
    now.checked_sub(SKEW).unwrap_or(now).to_string()
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
    let (mut next, mut found) = (None, Found::Nothing);
    for _ in 0..MOST_PAGES {
        let list = calls.repeat(|api| api.list(next.as_deref()), |api, body| api.read_list(body));
        let page = list.await?;
        let is_older = page.batches.last().is_some_and(|batch| !may_be_newer(batch, submission));
        for batch in page.batches {
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
                BatchState::Running | BatchState::Canceling => found = Found::Perhaps,
                BatchState::Ended(_) => {
                    if has_parts(calls, &batch, submission).await? {
                        return Ok(Found::Batch(batch));
                    }
                }
            }
        }
        next = page.next;
        if next.is_none() || is_older {
            break;
        }
    }
    Ok(found)
}

fn may_be_newer(batch: &BatchStatus, submission: &Submission) -> bool {
    let created = batch.created.as_deref().and_then(|time| time.get(..SECONDS));
    created.is_none_or(|created| submission.since.get(..SECONDS).is_none_or(|since| created >= since))
}

/// Whether the first result of a batch is of a part of the submission.
async fn has_parts(calls: &Calls<'_>, batch: &BatchStatus, submission: &Submission) -> Result<bool, Failure> {
    let Some(file) = batch.files.first() else { return Ok(false) };
    for failures in 1.. {
        match first_line(calls, file).await {
            Ok(line) => {
                let result = calls.api.read_result(&line);
                return Ok(result.is_ok_and(|result| submission.number(&result.id).is_some()));
            }
            Err(cause) => calls.pause(cause, failures).await?,
        }
    }
    Ok(false)
}

async fn first_line(calls: &Calls<'_>, file: &str) -> Result<Vec<u8>, AttemptError> {
    Ok(calls.open(file).await?.next().await?.map(|(line, _)| line).unwrap_or_default())
}
