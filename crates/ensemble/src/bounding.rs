//! Limits the size of answers. A model gets only bounded content. A truncated answer is stored as an artefact, and the
//! model gets a note.

use std::borrow::Cow;

use converse_canister::{Artefact, Content};

use crate::roster::Artefacts;

/// Keeps the first `limit` bytes of all text and structured content together. The whole is stored as an artefact, and
/// the model gets a note. Images and audio are blobs already and count only as a reference.
pub(crate) fn bound_content(
    content: Vec<Content>,
    limit: usize,
    artefacts: &dyn Artefacts,
) -> (Vec<Content>, Option<Artefact>) {
    // Written once: a structure of 16 MiB is not worth writing twice.
    let texts: Vec<Option<Cow<'_, str>>> = content.iter().map(written).collect();
    let total: usize = texts.iter().flatten().map(|text| text.len()).sum();
    if total <= limit {
        drop(texts);
        return (content, None);
    }
    let digest = artefacts.keep(whole(&texts).as_bytes());
    let mut kept_bytes = 0;
    let mut kept = Vec::new();
    let mut full = false;
    for (piece, text) in content.iter().zip(texts) {
        let cut = match text {
            None => None,
            Some(_) if full => continue,
            Some(text) => {
                let cut = text.floor_char_boundary(text.len().min(limit - kept_bytes));
                kept_bytes += cut;
                full = cut < text.len();
                full.then(|| Content::text(&text[..cut]))
            }
        };
        kept.push(cut.unwrap_or_else(|| piece.clone()));
    }
    let place = digest.map_or_else(String::new, |digest| format!("; the whole is kept as artefact {digest}"));
    kept.push(Content::text(format!("[truncated: kept {kept_bytes} of {total} bytes{place}]")));
    (kept, Some(Artefact { bytes: total as u64, kept: kept_bytes as u64, digest }))
}

fn whole<'a>(texts: &'a [Option<Cow<'_, str>>]) -> Cow<'a, str> {
    let mut texts = texts.iter().flatten().map(Cow::as_ref);
    match (texts.next(), texts.next()) {
        (Some(first), Some(second)) => {
            let rest = [first, second].into_iter().chain(texts);
            rest.collect::<Vec<_>>().join("\n").into()
        }
        (only, _) => only.unwrap_or_default().into(),
    }
}

fn written(content: &Content) -> Option<Cow<'_, str>> {
    match content {
        Content::Text { text, .. } | Content::Reasoning { text, .. } => Some(text.into()),
        Content::Structured { value } => Some(value.to_string().into()),
        Content::Resource { uri, .. } => Some(uri.into()),
        Content::Blob { .. } => None,
    }
}

pub(crate) fn bound_text(mut text: String, limit: usize) -> String {
    if text.len() > limit {
        text.truncate(text.floor_char_boundary(limit));
        text.push_str(" [truncated]");
    }
    text
}

#[cfg(test)]
mod tests {
    use converse_canister::Digest;

    use super::*;
    use crate::testing::Shelf;

    fn bound(content: Vec<Content>, limit: usize) -> (Vec<Content>, Option<Artefact>, Vec<Vec<u8>>) {
        let shelf = Shelf::default();
        let (content, artefact) = bound_content(content, limit, &shelf);
        (content, artefact, shelf.kept.into_inner().unwrap())
    }

    #[test]
    fn what_fits_is_untouched() {
        let content = vec![Content::text("abc"), Content::Structured { value: serde_json::json!([1]) }];
        assert_eq!(bound(content.clone(), 6), (content, None, vec![]));
    }

    #[test]
    fn what_does_not_is_cut_at_a_character_told_and_kept_whole() {
        let blob =
            Content::Blob { mime: "image/png".into(), digest: Digest([0; 32]), name: None, seal: None };
        let content = vec![Content::text("жжж"), blob.clone(), Content::text("tail")];
        let (kept, artefact, shelf) = bound(content, 5);
        assert_eq!(kept[..2], [Content::text("жж"), blob]);
        let told = kept[2].as_text().unwrap();
        assert!(
            told.starts_with("[truncated: kept 4 of 10 bytes; the whole is kept as artefact 0707"),
            "{told}"
        );
        assert_eq!(kept.len(), 3);
        assert_eq!(artefact, Some(Artefact { bytes: 10, kept: 4, digest: Some(Digest([7; 32])) }));
        assert_eq!(shelf, ["жжж\ntail".as_bytes()]);
    }

    #[test]
    fn a_structure_that_is_cut_becomes_text() {
        let value = serde_json::json!({ "long": "x".repeat(100) });
        let (kept, ..) = bound(vec![Content::Structured { value }], 10);
        assert_eq!(kept[0], Content::text("{\"long\":\"x"));
    }

    #[test]
    fn an_error_text_is_bounded_too() {
        assert_eq!(bound_text("ж".repeat(10), 5), "жж [truncated]");
        assert_eq!(bound_text("short".into(), 5), "short");
    }
}
