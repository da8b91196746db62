//! What may stand in a piece of a page: our own tags, their attributes as we write them, and text.

use html5gum::{StartTag, Token, Tokenizer};

const TAGS: [&str; 29] = [
    "p",
    "h3",
    "h4",
    "h5",
    "h6",
    "em",
    "strong",
    "del",
    "code",
    "pre",
    "br",
    "hr",
    "ul",
    "ol",
    "li",
    "blockquote",
    "a",
    "span",
    "div",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "b",
    "i",
    "details",
    "summary",
];
const VOID: [&str; 2] = ["br", "hr"];
const CLASSES: [&str; 18] = [
    "code", "plain", "to", "image", "raw", "task", "wide", "right", "centre", "keyword", "type", "string",
    "number", "comment", "added", "removed", "strong", "dim",
];

/// Its words, or what is in it that should not be.
pub(crate) fn words(html: &str) -> Result<String, String> {
    let (mut open, mut words) = (Vec::new(), String::new());
    for token in Tokenizer::new(html) {
        match token.map_err(|error| error.to_string())? {
            Token::StartTag(tag) => {
                let name = name(&tag.name);
                is_ours(&name, &tag)?;
                if !VOID.contains(&name.as_str()) {
                    open.push(name);
                }
            }
            Token::EndTag(tag) => {
                let (ends, begun) = (name(&tag.name), open.pop());
                if begun.as_deref() != Some(&ends) {
                    return Err(format!("</{ends}> ends {begun:?}"));
                }
            }
            Token::String(text) => words.push_str(&name(&text)),
            // What Unicode has no letter for, which does nothing.
            Token::Error(error) if format!("{:?}", error.value).starts_with("Noncharacter") => {}
            other => return Err(format!("{other:?}")),
        }
    }
    if open.is_empty() { Ok(words) } else { Err(format!("{open:?} are left open")) }
}

fn name(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn is_ours(tag: &str, start: &StartTag<()>) -> Result<(), String> {
    let mut names = Vec::new();
    for (key, value) in &start.attributes {
        let (key, value) = (name(key), name(value));
        let known = match key.as_str() {
            "class" => CLASSES.contains(&value.as_str()),
            "start" => tag == "ol" && value.parse::<u64>().is_ok(),
            "rel" => tag == "a" && value == "noopener noreferrer nofollow",
            "href" | "title" => tag == "a" && is_address(&value),
            _ => false,
        };
        if !known {
            return Err(format!("{key}={value:?} of <{tag}>"));
        }
        names.push(key);
    }
    let whole = tag != "a" || names == ["href", "rel", "title"];
    let sound = TAGS.contains(&tag) && !start.self_closing && whole;
    if sound { Ok(()) } else { Err(format!("<{tag}> with {names:?}")) }
}

fn is_address(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let known = ["http://", "https://", "mailto:"].iter().any(|scheme| lower.starts_with(scheme));
    known && value.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"<>\\`{}|^".contains(&byte))
}
