//! Paginated lists, with limits on pages, entries and bytes.
//! <https://modelcontextprotocol.io/specification/2025-11-25/server/utilities/pagination> (checked 2026-11).

use std::collections::HashSet;
use std::fmt;

use converse_config::lock::OfferList;
use rmcp::model::{
    ClientRequest, ErrorCode, ListPromptsRequest, ListResourceTemplatesRequest, ListResourcesRequest,
    ListToolsRequest, PaginatedRequestParams,
};
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::error::Failure;
use crate::link::{Link, NoAnswer};
use crate::raw::First;
use crate::sanitize;

const MAX_PAGES: usize = 50;
/// Entries, and bytes, of all pages together.
pub(crate) const MAX_ENTRIES: usize = 10_000;
const MAX_BYTES: usize = 32 * 1024 * 1024;
const MAX_CURSOR: usize = 64 * 1024;

/// The kind of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Tools,
    Resources,
    Templates,
    Prompts,
}

impl Kind {
    pub(crate) fn of(list: OfferList) -> Self {
        match list {
            OfferList::Prompts => Self::Prompts,
            OfferList::Resources => Self::Resources,
            OfferList::Templates => Self::Templates,
        }
    }

    /// Returns the list that a lockfile has of it; `None` for tools.
    pub(crate) fn pinned_list(self) -> Option<OfferList> {
        OfferList::ALL.into_iter().find(|list| Self::of(*list) == self)
    }

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

    /// Returns the field with the entries.
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

/// Reads all pages and returns the entries as received. The caller sets the time limit.
pub(crate) async fn all(link: &Link, kind: Kind) -> Result<Vec<Box<RawValue>>, Failure> {
    let endless = |why: String| Failure::Endless { what: kind.what(), why };
    let mut entries = Vec::new();
    let mut seen = HashSet::new();
    let mut cursor = None;
    let mut bytes = 0;
    for _ in 0..MAX_PAGES {
        let params = PaginatedRequestParams::default().with_cursor(cursor.take());
        let (page, next_cursor) = match link.ask(kind.request(params)).await {
            Ok(text) => {
                bytes += text.len();
                page(&text, kind).map_err(|cause| Failure::Nonsense(link.redacted(cause)))?
            }
            // A server without such entries need not know the method.
            Err(NoAnswer::Error(error)) if error.code == ErrorCode::METHOD_NOT_FOUND => Default::default(),
            Err(NoAnswer::Error(error)) => {
                let cause = link.redacted(sanitize::clean(&error.message, sanitize::MAX_ERROR));
                return Err(Failure::Refused(format!("{}: {cause}", kind.method())));
            }
            Err(NoAnswer::Failed(failure)) => return Err(failure),
        };
        entries.extend(page.items);
        if page.left > 0 || entries.len() > MAX_ENTRIES {
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
                return Err(endless("the same cursor came twice".to_owned()));
            }
            next => cursor = next,
        }
    }
    Err(endless(format!("more than {MAX_PAGES} pages")))
}

/// Entries that are not parsed yet, because each may be invalid.
pub(crate) type Unread = First<Box<RawValue>, MAX_ENTRIES>;

/// Reads the entries and the next cursor of a page in one pass over its text. Other lists are skipped.
struct PageReader(Kind);

impl<'de> DeserializeSeed<'de> for PageReader {
    type Value = (Option<Unread>, Option<String>);

    fn deserialize<D: Deserializer<'de>>(self, page: D) -> Result<Self::Value, D::Error> {
        page.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for PageReader {
    type Value = (Option<Unread>, Option<String>);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut page: A) -> Result<Self::Value, A::Error> {
        const CURSOR: &str = "nextCursor";
        let (mut list, mut cursor) = (None, None);
        while let Some(key) = page.next_key::<String>()? {
            if key == self.0.field() {
                if list.replace(page.next_value::<Option<Unread>>()?).is_some() {
                    return Err(A::Error::duplicate_field(self.0.field()));
                }
            } else if key == CURSOR {
                if cursor.replace(page.next_value::<Option<String>>()?).is_some() {
                    return Err(A::Error::duplicate_field(CURSOR));
                }
            } else {
                page.next_value::<IgnoredAny>()?;
            }
        }
        Ok((list.flatten(), cursor.flatten()))
    }
}

/// Parses a page and returns its entries and the cursor of the next page.
pub(crate) fn page(text: &str, kind: Kind) -> Result<(Unread, Option<String>), String> {
    let unread = |why: &str| format!("the list of {} could not be read: {why}", kind.what());
    // The error quotes the invalid text, which may be long.
    let cause = |error: serde_json::Error| unread(&sanitize::clean(&error.to_string(), 300));
    let mut parser = serde_json::Deserializer::from_str(text);
    let (list, next_cursor) = PageReader(kind).deserialize(&mut parser).map_err(cause)?;
    parser.end().map_err(cause)?;
    let list = list.ok_or_else(|| unread(&format!("missing field `{}`", kind.field())))?;
    Ok((list, next_cursor))
}

/// A list of resources, templates or prompts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offered<T> {
    /// In the server's order.
    pub items: Vec<T>,
    /// Skipped entries as `name: reason`, cleaned.
    pub skipped: Vec<String>,
}

impl<T> Default for Offered<T> {
    fn default() -> Self {
        Self { items: Vec::new(), skipped: Vec::new() }
    }
}

impl<T> Offered<T> {
    pub(crate) fn read(entries: Vec<Box<RawValue>>, read: impl Fn(&RawValue) -> Result<T, String>) -> Self {
        let (items, skipped) = sift(entries, read);
        Self { items, skipped: skipped.into_iter().map(|(name, why)| format!("{name}: {why}")).collect() }
    }
}

/// Bytes of one entry; a longer one is not parsed.
pub(crate) const MAX_ENTRY: usize = 256 * 1024;

/// Parses entries one by one. Returns the valid ones, and the cleaned names and faults of the others.
pub(crate) fn sift<T>(
    entries: Vec<Box<RawValue>>,
    read: impl Fn(&RawValue) -> Result<T, String>,
) -> (Vec<T>, Vec<(String, String)>) {
    let (mut items, mut skipped) = (Vec::new(), Vec::new());
    for (place, entry) in entries.into_iter().enumerate() {
        let bytes = entry.get().len();
        let item = match bytes > MAX_ENTRY {
            true => Err(format!("the declaration has {bytes} bytes, more than {MAX_ENTRY}")),
            false => read(&entry),
        };
        match item {
            Ok(item) => items.push(item),
            Err(why) => {
                let name = name_of(&entry).unwrap_or_else(|| format!("#{}", place + 1));
                skipped.push((sanitize::clean(&name, 128), sanitize::clean(&why, 300)));
            }
        }
    }
    (items, skipped)
}

/// Parses an object. The parser alone would also accept an array with the fields in their order.
pub(crate) fn object<'a, T: Deserialize<'a>>(raw: &'a RawValue) -> Result<T, String> {
    if !raw.get().starts_with('{') {
        return Err("not an object".to_owned());
    }
    serde_json::from_str(raw.get()).map_err(|error| error.to_string())
}

fn name_of(entry: &RawValue) -> Option<String> {
    #[derive(Deserialize)]
    struct Named {
        name: String,
    }
    serde_json::from_str(entry.get()).ok().map(|named: Named| named.name)
}

/// Returns the text of a field; `None` if it is not a string.
pub(crate) fn string(raw: Option<&RawValue>) -> Option<String> {
    serde_json::from_str(raw?.get()).ok()
}

/// Returns the text of a field cleaned and shortened for display; `None` if it is empty.
pub(crate) fn label(raw: Option<&RawValue>, most: usize) -> Option<String> {
    string(raw).map(|text| sanitize::clean(&text, most)).filter(|text| !text.is_empty())
}
