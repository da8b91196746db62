//! What elements mean for a text, as a table.
//!
//! <https://html.spec.whatwg.org/#the-element-interfaces> (checked 2026-11)

/// A tag without its place in the text.
pub(super) type StartTag = html5gum::emitters::default::StartTag<()>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Element {
    /// A part of a line.
    Inline,
    /// Stands on lines of its own, with an empty one around.
    Block,
    /// Stands on a line of its own.
    Line,
    Break,
    Rule,
    Heading(u8),
    List {
        is_numbered: bool,
    },
    Item,
    Row,
    Cell,
    Preformatted,
    Link,
    Image,
    Title,
    /// Its text is not shown.
    Raw,
}

impl Element {
    pub(super) fn of(name: &[u8]) -> Self {
        match name {
            b"h1" => Self::Heading(1),
            b"h2" => Self::Heading(2),
            b"h3" => Self::Heading(3),
            b"h4" => Self::Heading(4),
            b"h5" => Self::Heading(5),
            b"h6" => Self::Heading(6),
            b"ul" | b"menu" => Self::List { is_numbered: false },
            b"ol" => Self::List { is_numbered: true },
            b"li" => Self::Item,
            b"tr" => Self::Row,
            b"td" | b"th" => Self::Cell,
            b"pre" => Self::Preformatted,
            b"a" => Self::Link,
            b"img" => Self::Image,
            b"title" => Self::Title,
            b"br" => Self::Break,
            b"hr" => Self::Rule,
            b"script" | b"style" | b"noscript" | b"iframe" | b"noembed" | b"noframes" | b"textarea" => {
                Self::Raw
            }
            b"p" | b"blockquote" | b"table" | b"section" | b"article" | b"main" | b"header" | b"footer"
            | b"aside" | b"nav" | b"figure" | b"dl" | b"fieldset" | b"form" | b"details" | b"hgroup"
            | b"address" => Self::Block,
            b"div" | b"dt" | b"dd" | b"figcaption" | b"caption" | b"summary" | b"legend" | b"option"
            | b"body" | b"head" | b"html" => Self::Line,
            _ => Self::Inline,
        }
    }
}

/// Would a reader of the page not see it, or not read it? `nav` is menus.
pub(super) fn is_unseen(tag: &StartTag) -> bool {
    let name: &[u8] = &tag.name;
    if is_void(name) {
        return false;
    }
    let has = |attribute: &[u8]| tag.attributes.contains_key(attribute);
    match name {
        b"nav" | b"template" | b"object" | b"audio" | b"video" | b"canvas" | b"select" | b"datalist" => true,
        b"svg" => !tag.self_closing,
        b"dialog" => !has(b"open"),
        _ => has(b"hidden") || tag.attributes.get(&b"style"[..]).is_some_and(|style| hides(&style.value)),
    }
}

fn hides(style: &[u8]) -> bool {
    let style: String = String::from_utf8_lossy(style).to_ascii_lowercase().split_whitespace().collect();
    style.contains("display:none") || style.contains("visibility:hidden")
}

/// Elements without content, so without an end.
pub(super) fn is_void(name: &[u8]) -> bool {
    matches!(
        name,
        b"area"
            | b"base"
            | b"br"
            | b"col"
            | b"embed"
            | b"hr"
            | b"img"
            | b"input"
            | b"link"
            | b"meta"
            | b"param"
            | b"source"
            | b"track"
            | b"wbr"
    )
}

/// Elements that another of their name ends, since their end tag may be left out.
pub(super) fn has_optional_end(name: &[u8]) -> bool {
    matches!(name, b"p" | b"li" | b"dt" | b"dd" | b"tr" | b"td" | b"th" | b"option" | b"optgroup" | b"tbody")
}
