//! Size limit of all media in one request.
//!
//! Servers limit the whole request, and base64 media are most of a large one. The newest media are sent as long as they
//! fit together, and a line of text replaces older ones. Checked 2026-11:
//! - Anthropic: 32 MB, <https://platform.claude.com/docs/en/api/overview> (request size limits).
//! - Gemini: 20 MB, "total request size", <https://firebase.google.com/docs/ai-logic/input-file-requirements>.

use std::collections::{HashMap, HashSet};

use converse_canister::{Canister, Content, Digest};

use super::{Media, Position};
use crate::Dialect;

/// Returns the most bytes of base64 for all media of a request, if the wire's server is known to limit them. The rest of
/// the server's limit is for text: four bytes for each of a million tokens, or two.
pub fn budget(dialect: Dialect) -> Option<usize> {
    match dialect {
        Dialect::AnthropicMessages => Some(32_000_000 - 4_000_000),
        Dialect::Gemini => Some(20_000_000 - 2_000_000),
        Dialect::OpenAiChat | Dialect::OpenAiResponses | Dialect::Ollama => None,
    }
}

/// Returns the length of `bytes` bytes in base64.
pub fn encoded(bytes: usize) -> usize {
    bytes.div_ceil(3).saturating_mul(4)
}

/// Returns every content that may have media, with its position, in order. Failed results are text on every wire.
pub(crate) fn placed(view: &[Canister]) -> impl DoubleEndedIterator<Item = (&Content, Position)> {
    let placed = view.iter().filter_map(|canister| match canister {
        Canister::User(user) => Some((&user.content, Position::UserMessage)),
        Canister::Document(document) => Some((&document.content, Position::UserMessage)),
        Canister::Result(result) if result.outcome.is_success() => Some((&result.content, Position::Result)),
        _ => None,
    });
    placed.flat_map(|(contents, place)| contents.iter().map(move |content| (content, place)))
}

/// Returns the blobs that do not fit beside newer ones. Repeated blobs count each time, and are kept or left out together.
pub(super) fn left_out(media: &Media<'_>, view: &[Canister]) -> HashSet<Digest> {
    let Some(whole) = budget(media.endpoint.dialect) else { return HashSet::new() };
    let mut newest_first = Vec::new();
    let mut sizes: HashMap<Digest, usize> = HashMap::new();
    for (content, place) in placed(view).rev() {
        let (Content::Blob { digest, .. }, Some(Ok((_, bytes)))) = (content, media.judge(content, place))
        else {
            continue;
        };
        let size = sizes.entry(*digest).or_insert_with(|| {
            newest_first.push(*digest);
            0
        });
        *size += encoded(bytes.len());
    }
    let mut room = Some(whole);
    newest_first.retain(|digest| {
        let size = sizes.get(digest).copied().unwrap_or(0);
        if size <= whole {
            // After the first blob that does not fit, no older one is sent, so an omitted blob stays omitted.
            room = room.and_then(|room| room.checked_sub(size));
        }
        size > whole || room.is_none()
    });
    newest_first.into_iter().collect()
}
