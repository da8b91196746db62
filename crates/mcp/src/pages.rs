//! A server's lists, read page by page: whatever it lists, a list without end costs the server.
//! <https://modelcontextprotocol.io/specification/2025-11-25/server/utilities/pagination> (checked 2026-11).

use std::collections::HashSet;

use rmcp::model::{
    ClientRequest, ErrorCode, ListPromptsRequest, ListResourceTemplatesRequest, ListResourcesRequest,
    ListToolsRequest, PaginatedRequestParams,
};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::error::Failure;
use crate::link::{Link, NoAnswer};
use crate::raw::First;
use crate::sanitize;

const MAX_PAGES: usize = 50;
/// Of all pages together.
pub(crate) const MAX_ENTRIES: usize = 10_000;
const MAX_BYTES: usize = 32 * 1024 * 1024;
const MAX_CURSOR: usize = 64 * 1024;

/// What is listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Tools,
    Resources,
    Templates,
    Prompts,
}

impl Kind {
    fn request(self, params: PaginatedRequestParams) -> ClientRequest {
        match self {
            Self::Tools => ClientRequest::ListToolsRequest(ListToolsRequest::with_param(params)),
            Self::Resources => ClientRequest::ListResourcesRequest(ListResourcesRequest::with_param(params)),
            Self::Templates => {
                ClientRequest::ListResourceTemplatesRequest(ListResourceTemplatesRequest::with_param(params))
            }
            Self::Prompts => ClientRequest::ListPromptsRequest(ListPromptsRequest::with_param(params)),
        }
    }

    pub(crate) fn method(self) -> &'static str {
        match self {
            Self::Tools => "tools/list",
            Self::Resources => "resources/list",
            Self::Templates => "resources/templates/list",
            Self::Prompts => "prompts/list",
        }
    }

    /// The field that holds the entries.
    fn field(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Resources => "resources",
            Self::Templates => "resourceTemplates",
            Self::Prompts => "prompts",
        }
    }

    fn what(self) -> &'static str {
        match self {
            Self::Templates => "resource templates",
            other => other.field(),
        }
    }
}

/// Every entry, as the server wrote it. Bounded in time by whoever asks.
pub(crate) async fn all(link: &Link, kind: Kind) -> Result<Vec<Box<RawValue>>, Failure> {
    let endless = |why: String| Failure::Endless { what: kind.what(), why };
    let mut entries = Vec::new();
    let mut seen = HashSet::new();
    let mut cursor = None;
    let mut bytes = 0;
    for _ in 0..MAX_PAGES {
        let params = PaginatedRequestParams::default().with_cursor(cursor.take());
        let (found, next_cursor) = match link.ask(kind.request(params)).await {
            Ok(text) => {
                bytes += text.len();
                page(&text, kind).map_err(|said| Failure::Nonsense(link.redacted(said)))?
            }
            // A server that has none of them need not know the method.
            Err(NoAnswer::Error(error)) if error.code == ErrorCode::METHOD_NOT_FOUND => Default::default(),
            Err(NoAnswer::Error(error)) => {
                let said = link.redacted(sanitize::clean(&error.message, sanitize::MAX_ERROR));
                return Err(Failure::Refused(format!("{}: {said}", kind.method())));
            }
            Err(NoAnswer::Failed(failure)) => return Err(failure),
        };
        entries.extend(found.items);
        if found.left > 0 || entries.len() > MAX_ENTRIES {
            return Err(endless(format!("more than {MAX_ENTRIES} {}", kind.what())));
        }
        if bytes > MAX_BYTES {
            return Err(endless(format!("more than {MAX_BYTES} bytes")));
        }
        match next_cursor.filter(|next| !next.is_empty()) {
            None => return Ok(entries),
            Some(next) if next.len() > MAX_CURSOR => {
                return Err(endless(format!("a cursor of {} bytes", next.len())));
            }
            Some(next) if !seen.insert(next.clone()) => {
                return Err(endless("a cursor came twice".to_owned()));
            }
            next => cursor = next,
        }
    }
    Err(endless(format!("more than {MAX_PAGES} pages")))
}

/// Unread: each may be malformed in its own way.
pub(crate) type Unread = First<Box<RawValue>, MAX_ENTRIES>;

/// Only the list that was asked for is looked at.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Page<'a> {
    #[serde(borrow)]
    tools: Option<&'a RawValue>,
    #[serde(borrow)]
    resources: Option<&'a RawValue>,
    #[serde(borrow)]
    resource_templates: Option<&'a RawValue>,
    #[serde(borrow)]
    prompts: Option<&'a RawValue>,
    next_cursor: Option<String>,
}

/// One page, and where the next one is.
pub(crate) fn page(text: &str, kind: Kind) -> Result<(Unread, Option<String>), String> {
    let unread = |why: &str| format!("its list of {} could not be read: {why}", kind.what());
    // The error repeats what it does not like, however long that is.
    let said = |error: serde_json::Error| unread(&sanitize::clean(&error.to_string(), 300));
    let page: Page<'_> = serde_json::from_str(text).map_err(said)?;
    let found = match kind {
        Kind::Tools => page.tools,
        Kind::Resources => page.resources,
        Kind::Templates => page.resource_templates,
        Kind::Prompts => page.prompts,
    };
    let found = found.ok_or_else(|| unread(&format!("missing field `{}`", kind.field())))?;
    Ok((serde_json::from_str(found.get()).map_err(said)?, page.next_cursor))
}

/// What a list of anything but tools came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offered<T> {
    /// In the server's order.
    pub items: Vec<T>,
    /// Why others are left out: `name: reason`. Cleaned.
    pub skipped: Vec<String>,
}

impl<T> Default for Offered<T> {
    fn default() -> Self {
        Self { items: Vec::new(), skipped: Vec::new() }
    }
}

/// Of one entry, before any of it is read.
const MAX_ENTRY: usize = 256 * 1024;

/// Entry by entry: one bad one costs itself only.
pub(crate) fn sift<T>(
    entries: &[Box<RawValue>],
    read: impl Fn(&RawValue) -> Result<T, String>,
) -> Offered<T> {
    let mut offered = Offered::default();
    for (place, entry) in entries.iter().enumerate() {
        let bytes = entry.get().len();
        let item = match bytes > MAX_ENTRY {
            true => Err(format!("its declaration has {bytes} bytes, more than {MAX_ENTRY}")),
            false => read(entry),
        };
        match item {
            Ok(item) => offered.items.push(item),
            Err(why) => {
                let name = name_of(entry).unwrap_or_else(|| format!("#{}", place + 1));
                let (name, why) = (sanitize::clean(&name, 128), sanitize::clean(&why, 300));
                offered.skipped.push(format!("{name}: {why}"));
            }
        }
    }
    offered
}

fn name_of(entry: &RawValue) -> Option<String> {
    #[derive(Deserialize)]
    struct Named {
        name: String,
    }
    serde_json::from_str(entry.get()).ok().map(|named: Named| named.name)
}

/// A field that is a text; any other is as good as none.
pub(crate) fn string(raw: Option<&RawValue>) -> Option<String> {
    serde_json::from_str(raw?.get()).ok()
}

/// The same made fit for a message; an empty one is none.
pub(crate) fn label(raw: Option<&RawValue>, most: usize) -> Option<String> {
    string(raw).map(|text| sanitize::clean(&text, most)).filter(|text| !text.is_empty())
}
