//! Content that a conversation refers to, on its way into a session.

use converse_canister::{Blobs as _, Transcript};
use converse_session::{Contents, digests};

use converse_host::contents::Kept;
use converse_host::failure::{Failure, Kind};

/// Everything that the conversation refers to and that is here.
pub(super) fn blobs(transcript: &Transcript, from: &Kept, to: &Contents) -> Result<(), Failure> {
    for digest in transcript.as_slice().iter().flat_map(digests) {
        let Some(bytes) = from.bytes(&digest) else { continue };
        to.put(&bytes).map_err(|error| {
            Failure::new(Kind::Output, "not-kept", format!("an attachment could not be kept: {error}"))
        })?;
    }
    Ok(())
}
