//! The answer of a server as text for the model: a pure function. Binary content is described.

use converse_text::html::to_text;
use url::Url;

use super::charset::decode;
use super::journey::FetchedPage;
use crate::fetch::Fetched;
use crate::request::{Kind, status};

/// The most that is read of a page, decompressed.
pub(super) const MAX_PAGE: usize = 2 * 1024 * 1024;
/// The most text that is made of one.
const MAX_TEXT: usize = 2 * 1024 * 1024;
/// Maximum characters of the page of a failure, which explains the failure.
const MAX_EXPLANATION: usize = 1000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    /// As a reader sees it.
    Text,
    /// As it was sent.
    Raw,
}

/// What is wanted of a page's text, in characters.
#[derive(Debug, Clone, Copy)]
pub(super) struct Extract {
    pub(super) format: Format,
    pub(super) offset: usize,
    pub(super) limit: usize,
}

/// The error is an answer for the model as well.
pub(super) fn page(found: &FetchedPage, wanted: Extract) -> Result<String, String> {
    let fetched = &found.fetched;
    if !(200..=299).contains(&fetched.status) {
        return Err(failure(found));
    }
    if fetched.body.is_empty() {
        return Ok(format!("(no content; {})", status(fetched)));
    }
    let (text, is_whole) = text(found, wanted.format)?;
    let mut notes = Vec::new();
    if found.moved {
        notes.push(format!("redirected to {}", found.target.url()));
    }
    if !is_whole {
        notes.push(format!("the page is longer; {} of its bytes were read", fetched.body.len()));
    }
    Ok(extract(&text, wanted, notes))
}

/// The characters asked for, and what there is to know about them on a last line.
fn extract(text: &str, wanted: Extract, mut notes: Vec<String>) -> String {
    let all = text.chars().count();
    let mut extract: String = text.chars().skip(wanted.offset).take(wanted.limit).collect();
    let end = wanted.offset.saturating_add(wanted.limit).min(all);
    match () {
        () if all == 0 => extract.push_str("(no text)"),
        () if wanted.offset >= all => {
            notes.push(format!("nothing from character {} on, of {all}", wanted.offset))
        }
        () if end < all => {
            notes.push(format!("characters {} to {end} of {all}; go on with `offset` {end}", wanted.offset));
        }
        () if wanted.offset > 0 => notes.push(format!("characters {} to {end} of {all}", wanted.offset)),
        () => {}
    }
    if notes.is_empty() {
        return extract;
    }
    let gap = if extract.is_empty() || extract.ends_with('\n') { "" } else { "\n" };
    format!("{extract}{gap}[{}]", notes.join("; "))
}

/// The text, and whether that is all of the page.
fn text(found: &FetchedPage, format: Format) -> Result<(String, bool), String> {
    let fetched = &found.fetched;
    let declared = fetched.content_type.as_deref();
    let is_html = is_html(fetched);
    match Kind::of(fetched) {
        Kind::Json | Kind::Text(_) => {}
        _ if is_html => {}
        Kind::Media(mime) | Kind::Other(mime) => {
            return Err(format!(
                "{} is {mime} and no text ({} bytes{}); only texts and web pages are read",
                found.target.url(),
                fetched.body.len(),
                if fetched.truncated { " and more" } else { "" },
            ));
        }
    }
    let text = decode(&fetched.body, declared, is_html);
    if is_html && format == Format::Text {
        let (text, is_whole) = page_text(&text, found.target.url(), MAX_TEXT);
        return Ok((text, is_whole && !fetched.truncated));
    }
    Ok((text, !fetched.truncated))
}

/// Returns the text of an HTML page with the given address, at most `limit` bytes, and whether that was all of it. Links to
/// other pages are absolute.
pub(super) fn page_text(html: &str, base: &Url, limit: usize) -> (String, bool) {
    let link = |href: &str| {
        let url = base.join(href).ok()?;
        matches!(url.scheme(), "http" | "https").then(|| url.into())
    };
    to_text(html, &link, limit)
}

fn is_html(fetched: &Fetched) -> bool {
    let declared = fetched.content_type.as_deref().unwrap_or_default();
    let mime = declared.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match mime.as_str() {
        "text/html" | "application/xhtml+xml" => true,
        "" => {
            let head = fetched.body.get(..512).unwrap_or(&fetched.body).to_ascii_lowercase();
            let head = String::from_utf8_lossy(&head);
            let head = head.trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']);
            head.starts_with("<!doctype html") || head.starts_with("<html")
        }
        _ => false,
    }
}

fn failure(found: &FetchedPage) -> String {
    let said = text(found, Format::Text).map(|(text, _)| text).unwrap_or_default();
    let mut failure = format!("{} from {}", status(&found.fetched), found.target.url());
    if !said.trim().is_empty() {
        failure.push('\n');
        failure.extend(said.trim().chars().take(MAX_EXPLANATION));
    }
    failure
}
