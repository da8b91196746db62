use std::sync::Arc;

use converse_canister::{
    Blobs, Canister, Content, Digest, Document, InvocationId, InvocationResult, Outcome, ProviderName, User,
};

use super::*;
use crate::{AcceptedMedia, AuthScheme, Controls, Degraded, Quirks, degraded};

fn endpoint(dialect: Dialect) -> Endpoint {
    let provider = ProviderName::new("there").unwrap();
    Endpoint::new(provider, dialect, "https://there.example".to_owned(), AuthScheme::None, Quirks::OPENAI)
}

fn facts(yes: bool) -> Facts {
    let takes = AcceptedMedia { images: Some(yes), documents: Some(yes), audio: Some(yes) };
    Facts { takes, ..Facts::default() }
}

const MIMES: [&str; 6] =
    ["image/png", "image/gif", "application/pdf", "audio/wav", "audio/flac", "image/svg+xml"];

/// One letter for each of [`MIMES`]: what is said, then what is in a result.
fn row(dialect: Dialect, model: &str, facts: &Facts) -> String {
    let endpoint = endpoint(dialect);
    let letter = |place, mime| match delivery(&endpoint, model, facts, place, mime) {
        Delivery::Inline => 'i',
        Delivery::Following => 'f',
        Delivery::Words => '-',
    };
    let letters = |place| MIMES.iter().map(|mime| letter(place, mime)).collect::<String>();
    format!("{} {}", letters(Position::UserMessage), letters(Position::Result))
}

#[test]
fn every_wire_has_its_places_for_bytes() {
    let rows = [
        (Dialect::AnthropicMessages, "claude", "iii--- iii---", "iii--- iii---"),
        (Dialect::OpenAiChat, "gpt", "iiii-- ffff--", "ii---- ff----"),
        (Dialect::OpenAiResponses, "gpt", "iii--- iii---", "iii--- iii---"),
        (Dialect::Gemini, "gemini-2.5-flash", "i-iii- f-fff-", "i-iii- f-fff-"),
        (Dialect::Gemini, "gemini-3.5-pro", "i-iii- i-iff-", "i-iii- i-iff-"),
        (Dialect::Gemini, "models/gemini-flash-latest", "i-iii- i-iff-", "i-iii- i-iff-"),
        (Dialect::Gemini, "gemma-3-27b-it", "i-iii- f-fff-", "i-iii- f-fff-"),
        (Dialect::Ollama, "llava", "i----- f-----", "i----- f-----"),
    ];
    for (dialect, model, able, unknown) in rows {
        assert_eq!(row(dialect, model, &facts(true)), able, "{dialect:?} {model}");
        assert_eq!(row(dialect, model, &Facts::default()), unknown, "{dialect:?} {model}, nothing known");
        assert_eq!(row(dialect, model, &facts(false)), "------ ------", "{dialect:?} {model}, not able");
    }
}

#[test]
fn a_type_has_one_name() {
    let endpoint = endpoint(Dialect::OpenAiChat);
    for (mime, expected) in [
        ("image/JPG", Delivery::Inline),
        ("image/png; charset=binary", Delivery::Inline),
        ("audio/x-wav", Delivery::Inline),
        ("audio/mp3", Delivery::Inline),
        ("image/bmp", Delivery::Words),
        ("text/plain", Delivery::Words),
        ("", Delivery::Words),
    ] {
        assert_eq!(delivery(&endpoint, "m", &facts(true), Position::UserMessage, mime), expected, "{mime}");
    }
}

/// As many bytes as the digest's first byte says, in units of a million.
struct Sized;

impl Blobs for Sized {
    fn bytes(&self, digest: &Digest) -> Option<Arc<[u8]>> {
        match digest.0[0] {
            255 => None,
            millions => Some(vec![7; usize::from(millions) * 1_000_000 + usize::from(digest.0[1])].into()),
        }
    }
}

fn blob(mime: &str, millions: u8, more: u8, name: Option<&str>) -> Content {
    let mut digest = Digest([0; 32]);
    (digest.0[0], digest.0[1]) = (millions, more);
    Content::Blob { mime: mime.to_owned(), digest, name: name.map(str::to_owned), seal: None }
}

fn prompt<'a>(view: &'a [Canister], controls: &'a Controls, facts: &'a Facts) -> Prompt<'a> {
    Prompt { model: "m", view, tools: &[], controls, facts, blobs: &Sized }
}

#[test]
fn what_is_shown_has_its_usual_type_and_what_is_not_says_why() {
    let (controls, facts) = (Controls::default(), Facts::default());
    let prompt = prompt(&[], &controls, &facts);
    let endpoint = endpoint(Dialect::AnthropicMessages);
    let media = Media::of(&prompt, &endpoint);
    let jpg = blob("image/jpg", 0, 3, Some("a.jpg"));
    let shown = media.inline(&jpg, Position::UserMessage).unwrap();
    assert_eq!((shown.data_url().as_str(), shown.name), ("data:image/jpeg;base64,BwcH", Some("a.jpg")));
    assert_eq!(media.following(&jpg), None);
    assert_eq!(media.inline(&Content::text("words"), Position::UserMessage), None);
    for (content, why, words) in [
        (
            blob("image/bmp", 0, 3, None),
            OmissionReason::NotTaken,
            "[image/bmp, 3 bytes: cannot be shown here]",
        ),
        (
            blob("image/png", 4, 0, Some("b")),
            OmissionReason::TooLarge { bytes: 4_000_000, most: 3_932_160 },
            "[image/png \"b\", 4000000 bytes: too large to be shown here]",
        ),
        (
            blob("image/png", 255, 0, None),
            OmissionReason::Gone,
            "[image/png: the bytes are not available any more]",
        ),
        (blob("image/png", 0, 0, None), OmissionReason::Gone, "[image/png, 0 bytes: cannot be shown here]"),
    ] {
        assert_eq!(media.inline(&content, Position::UserMessage), None);
        assert_eq!(media.refused(&content, Position::UserMessage), Some(why));
        assert_eq!(media.words(&content, Position::UserMessage).as_deref(), Some(words));
    }
}

#[test]
fn in_chat_the_pictures_of_results_follow() {
    let (controls, facts) = (Controls::default(), Facts::default());
    let prompt = prompt(&[], &controls, &facts);
    let endpoint = endpoint(Dialect::OpenAiChat);
    let media = Media::of(&prompt, &endpoint);
    let png = blob("image/png", 0, 1, None);
    assert_eq!(media.inline(&png, Position::Result), None);
    assert!(media.following(&png).is_some());
    assert_eq!(media.refused(&png, Position::Result), None);
    assert_eq!(
        media.words(&png, Position::Result).as_deref(),
        Some("[image/png, 1 bytes: shown in the next message]")
    );
}

#[test]
fn every_piece_that_goes_as_words_is_told_once_and_in_order() {
    let by_user = |content: Vec<Content>| Canister::User(User { content });
    let failed = |outcome, content: Vec<Content>| {
        let result = InvocationResult::new(InvocationId::new("1").unwrap(), outcome, "");
        Canister::Result(InvocationResult { content, ..result })
    };
    let view = [
        by_user(vec![blob("image/png", 0, 1, Some("x.png")), Content::text("words")]),
        Canister::Document(Document {
            name: "d".to_owned(),
            mime: "application/pdf".to_owned(),
            content: vec![blob("application/pdf", 0, 2, None)],
            labels: None,
        }),
        failed(Outcome::Success, vec![blob("image/png", 255, 3, Some("gone"))]),
        failed(Outcome::Failed, vec![blob("image/png", 0, 4, None)]),
    ];
    let controls = Controls::default();
    let descriptions = |dialect, facts: &Facts| {
        let endpoint = endpoint(dialect);
        let omissions = degraded(&prompt(&view, &controls, facts), &endpoint);
        omissions.iter().map(|one| Degraded::describe(one, &endpoint, "m")).collect::<Vec<_>>()
    };
    let gone = "the bytes of the picture gone are no longer available; converse sends a note to there/m";
    assert_eq!(descriptions(Dialect::AnthropicMessages, &Facts::default()), [gone]);
    assert_eq!(
        descriptions(Dialect::OpenAiChat, &facts(false)),
        [
            "there/m does not accept the picture x.png; converse sends a description",
            "there/m does not accept a PDF file (application/pdf); converse sends a description",
            "there/m does not accept the picture gone; converse sends a description",
        ]
    );
}

#[test]
fn the_newest_fill_a_request_and_older_ones_say_that_they_are_left_out() {
    let by_user = |content: Vec<Content>| Canister::User(User { content });
    let named = |millions, name| blob("application/pdf", millions, 0, Some(name));
    let ok = |content: Vec<Content>| {
        let result = InvocationResult::new(InvocationId::new("1").unwrap(), Outcome::Success, "");
        Canister::Result(InvocationResult { content, ..result })
    };
    let whole = [
        by_user(vec![named(1, "small"), named(6, "old")]),
        ok(vec![named(7, "middle")]),
        by_user(vec![named(5, "new"), Content::text("compare")]),
    ];
    let controls = Controls::default();
    let facts = facts(true);
    let left_out = |dialect, view: &[Canister]| {
        let endpoint = endpoint(dialect);
        let omissions = degraded(&prompt(view, &controls, &facts), &endpoint);
        assert!(omissions.iter().all(|one| one.reason == OmissionReason::NoRoom), "{omissions:?}");
        omissions.into_iter().filter_map(|one| one.name).collect::<Vec<_>>()
    };
    // In base64: 5 and 7 millions are 16, 6 are 8, 1 is 1.3: more than 18 together.
    assert_eq!(left_out(Dialect::Gemini, &whole), ["small", "old"], "nothing skips a gap");
    assert_eq!(left_out(Dialect::Gemini, &whole[..2]), ["small"], "a request ago the old one was shown");
    assert_eq!(left_out(Dialect::AnthropicMessages, &whole), [""; 0]);
    assert_eq!(left_out(Dialect::OpenAiResponses, &whole), [""; 0]);
    let again = [&whole[..], &[by_user(vec![named(6, "old"), named(6, "old")])]].concat();
    assert_eq!(
        left_out(Dialect::AnthropicMessages, &again),
        ["small", "middle", "new"],
        "what comes thrice counts thrice"
    );

    let huge = [&whole[2..], &[ok(vec![named(22, "huge")])]].concat();
    assert_eq!(left_out(Dialect::AnthropicMessages, &huge), ["huge"], "what never fits takes no room");

    let (endpoint, old) = (endpoint(Dialect::Gemini), named(6, "old"));
    let prompt = prompt(&whole, &controls, &facts);
    let media = Media::of(&prompt, &endpoint);
    assert_eq!(media.inline(&old, Position::UserMessage), None);
    assert_eq!(
        media.words(&old, Position::UserMessage).as_deref(),
        Some("[application/pdf \"old\", 6000000 bytes: not shown any more, newer ones fill the request]")
    );
    assert_eq!(
        degraded(&prompt, &endpoint)[1].describe(&endpoint, "m"),
        "the PDF file old is no longer sent to there/m, because newer ones fill the request; converse sends a description"
    );
}

#[test]
fn one_file_of_the_largest_size_fits_alone() {
    for dialect in Dialect::ALL {
        for medium in [Medium::Picture, Medium::Pdf, Medium::Sound] {
            let (Some(one), Some(all)) = (most_bytes(dialect, medium), budget(dialect)) else { continue };
            assert!(encoded(one) <= all, "{dialect:?} {medium:?}");
        }
    }
}
