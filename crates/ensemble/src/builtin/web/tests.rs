mod fetched;
mod spelled;
mod travelled;

use bytes::Bytes;

use super::target::Refusal;
use crate::fetch::Fetched;

fn found(status: u16, content_type: &str, body: impl Into<Bytes>) -> Fetched {
    let content_type = (!content_type.is_empty()).then(|| content_type.to_owned());
    Fetched { status, content_type, body: body.into(), truncated: false, location: None, challenges: vec![] }
}

fn redirect(status: u16, location: &str) -> Fetched {
    Fetched { location: Some(location.to_owned()), ..found(status, "text/html", "moved") }
}

fn is_private(refusal: &Refusal) -> bool {
    matches!(refusal, Refusal::Private(_))
}
