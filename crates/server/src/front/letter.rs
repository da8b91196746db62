//! The message in a body, before the library sees it.

use bytes::Bytes;
use http::Method;
use http::request::Parts;
use rmcp::model::ErrorData;

use crate::message::{Message, Refused, unreadable};

/// The body for the library. What a call is to run with is among the extensions of its head.
pub(super) fn posted(parts: &mut Parts, body: Bytes) -> Result<Bytes, Refused> {
    if parts.method != Method::POST {
        return Ok(body);
    }
    let text = std::str::from_utf8(&body).map_err(|_| unreadable("it is not UTF-8"))?;
    if text.trim_ascii_start().starts_with('[') {
        let text = "a batch is not read over HTTP; send its messages one by one";
        return Err(ErrorData::invalid_request(text, None).into());
    }
    let message = Message::look_at(text.trim_ascii())?;
    message.read()?;
    let Some(written) = message.written() else { return Ok(body) };
    parts.extensions.insert(written);
    // Arguments are in headers, too, and are held against the body; those that are not exact are answered later.
    match message.bare().filter(|_| !message.is_exact()) {
        Some(bare) => Ok(bare.into()),
        None => Ok(body),
    }
}
