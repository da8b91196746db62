//! Adds the entry for the gateway to the text of a program's file. Every other byte stays, with comments and trailing commas.

use jsonc_parser::ast::Value as Node;
use jsonc_parser::common::Ranged as _;
use jsonc_parser::tokens::Token;
use jsonc_parser::{CollectOptions, ParseResult, parse_to_ast};
use serde_json::{Map, Value};

use crate::MAX_BYTES;
use crate::note::{Notes, quoted};
use crate::server::ForeignError;
use crate::tree;

/// What becomes of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Merged {
    /// The file has this entry already.
    Unchanged,
    /// The new text of the file, to which the entry was added.
    Added(String),
    /// The new text of the file, in which the entry replaces another one.
    Replaced(String),
}

/// Why an entry is not added. Holds no text of the file but names of keys.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MergeError {
    /// Why the program cannot use the gateway in this way.
    #[error("{0}")]
    Unusable(String),
    #[error(transparent)]
    Unreadable(ForeignError),
    #[error("it has another entry {0}")]
    Differs(String),
    #[error("it has another entry {0}, which is replaced only by hand in TOML")]
    ByHand(String),
    #[error("the entry cannot be added to it: {0}")]
    Shape(String),
}

impl From<ForeignError> for MergeError {
    fn from(error: ForeignError) -> Self {
        Self::Unreadable(error)
    }
}

/// The text of a TOML file with the entry, which is a table with a name of two parts, at its end.
pub(super) fn toml(text: &str, entry: &str, keys: [&str; 2]) -> Result<Merged, MergeError> {
    check_size(text)?;
    let [outer, inner] = keys;
    let (old, wanted) = (tree::toml(text)?, Value::Object(tree::toml(entry)?));
    match old.get(outer).and_then(|servers| servers.get(inner)) {
        Some(known) if *known == wanted[outer][inner] => return Ok(Merged::Unchanged),
        Some(_) => return Err(MergeError::ByHand(format!("`{outer}.{inner}`"))),
        None => {}
    }
    let newline = newline(text);
    let gap = match text {
        "" => "",
        text if text.ends_with('\n') => newline,
        _ => &newline.repeat(2),
    };
    let new = format!("{text}{gap}{}", entry.replace('\n', newline));
    // A table that is written in another way cannot get one more member at the end of the file.
    match tree::toml(&new) {
        Ok(_) => Ok(Merged::Added(new)),
        Err(_) => Err(MergeError::Shape(format!("a server cannot be added to `{outer}` at its end"))),
    }
}

/// The text of a JSON file with the members of each object of `file`, and with the elements of each list that have an `id`
/// of their own.
pub(super) fn json(text: &str, file: &Map<String, Value>, force: bool) -> Result<Merged, MergeError> {
    check_size(text)?;
    let (mark, text) = text.strip_prefix('\u{feff}').map_or(("", text), |text| ("\u{feff}", text));
    let mut notes = Notes::default();
    let old = tree::json(text, &mut notes)?;
    if let Some(note) = notes.into_list().first() {
        return Err(MergeError::Shape(note.message.clone()));
    }
    let (mut new, mut wanted, mut is_replaced) = (text.to_owned(), old.clone(), false);
    for (key, value) in file {
        let Some(known) = wanted.get_mut(key) else {
            wanted.insert(key.clone(), value.clone());
            new = with_item(&new, &[], Some(key), value).ok_or_else(unknown)?;
            continue;
        };
        match (known, value) {
            (Value::Object(known), Value::Object(members)) => {
                for (name, member) in members {
                    let path = [key.as_str(), name];
                    match known.get(name) {
                        Some(there) if there == member => continue,
                        Some(_) if !force => return Err(MergeError::Differs(quoted(name))),
                        Some(_) => {
                            is_replaced = true;
                            new = with_value(&new, &path, member).ok_or_else(unknown)?;
                        }
                        None => new = with_item(&new, &path[..1], Some(name), member).ok_or_else(unknown)?,
                    }
                    known.insert(name.clone(), member.clone());
                }
            }
            (Value::Array(known), Value::Array(elements)) => {
                for element in elements {
                    if !known.iter().any(|there| there["id"] == element["id"]) {
                        new = with_item(&new, &[key], None, element).ok_or_else(unknown)?;
                        known.push(element.clone());
                    }
                }
            }
            _ => return Err(MergeError::Shape(format!("its `{key}` has another form"))),
        }
    }
    if new == text {
        return Ok(Merged::Unchanged);
    }
    // What would be read otherwise is not written.
    if tree::json(&new, &mut Notes::default()).ok() != Some(wanted) {
        return Err(unknown());
    }
    let new = format!("{mark}{new}");
    Ok(if is_replaced { Merged::Replaced(new) } else { Merged::Added(new) })
}

fn check_size(text: &str) -> Result<(), MergeError> {
    if text.len() > MAX_BYTES { Err(ForeignError::TooLarge { most: MAX_BYTES }.into()) } else { Ok(()) }
}

fn unknown() -> MergeError {
    MergeError::Shape("its form is not understood".to_owned())
}

/// The text with one more member or, without a name, element at the end of the object or list at `path`.
fn with_item(text: &str, path: &[&str], name: Option<&str>, value: &Value) -> Option<String> {
    let parsed = parsed(text)?;
    let (range, last) = match at(parsed.value.as_ref()?, path)? {
        Node::Object(object) => (object.range, object.properties.last().map(|property| property.range)),
        Node::Array(array) => (array.range, array.elements.last().map(|element| element.range())),
        _ => return None,
    };
    let close = range.end.checked_sub(1)?;
    let begin = last.map_or(range.start + 1, |last| last.end);
    let is_comma =
        |token: &Token<'_>, start: usize| *token == Token::Comma && (begin..close).contains(&start);
    let has_comma = parsed.tokens?.iter().any(|one| is_comma(&one.token, one.range.start));
    let end = begin + text.get(begin..close)?.trim_end().len();
    let is_flat = match last {
        Some(_) => !text.get(range.start..close)?.contains('\n'),
        None => is_flat(text),
    };
    let (newline, outer) = (newline(text), indentation(text, range.start));
    let own_line = last.map(|last| last.start).filter(|start| begins_line(text, *start));
    let inner = own_line
        .map_or_else(|| format!("{outer}{}", unit(text)), |start| indentation(text, start).to_owned());
    let name = name.map(|name| format!("{}: ", Value::from(name))).unwrap_or_default();
    let item = format!("{name}{}{}", written(text, value, is_flat, &inner), if has_comma { "," } else { "" });
    let comma = if last.is_some() && !has_comma { "," } else { "" };
    let (gap, rest) = match is_flat {
        true => (if last.is_some() { " " } else { "" }.to_owned(), String::new()),
        false if text.get(end..close)?.contains('\n') => (format!("{newline}{inner}"), String::new()),
        false => (format!("{newline}{inner}"), format!("{newline}{outer}")),
    };
    Some([text.get(..begin)?, comma, text.get(begin..end)?, &gap, &item, &rest, text.get(end..)?].concat())
}

/// The text with another value at `path`.
fn with_value(text: &str, path: &[&str], value: &Value) -> Option<String> {
    let parsed = parsed(text)?;
    let range = at(parsed.value.as_ref()?, path)?.range();
    let value = written(text, value, is_flat(text), indentation(text, range.start));
    Some([text.get(..range.start)?, &value, text.get(range.end..)?].concat())
}

fn parsed(text: &str) -> Option<ParseResult<'_>> {
    let options = CollectOptions { tokens: true, ..CollectOptions::default() };
    parse_to_ast(text, &options, &tree::LENIENT).ok()
}

fn at<'n, 't>(root: &'n Node<'t>, path: &[&str]) -> Option<&'n Node<'t>> {
    path.iter().try_fold(root, |node, key| match node {
        Node::Object(object) => object
            .properties
            .iter()
            .find(|property| property.name.as_str() == *key)
            .map(|property| &property.value),
        _ => None,
    })
}

/// A value as the text writes its own: on one line, or with its indentation and line ends.
fn written(text: &str, value: &Value, is_flat: bool, indentation: &str) -> String {
    if is_flat {
        return value.to_string();
    }
    let (unit, pretty) = (unit(text), format!("{value:#}"));
    let lines = pretty.lines().map(|line| {
        let words = line.trim_start();
        format!("{}{words}", unit.repeat((line.len() - words.len()) / 2))
    });
    lines.collect::<Vec<_>>().join(&format!("{}{indentation}", newline(text)))
}

/// Whether everything is on one line.
fn is_flat(text: &str) -> bool {
    !text.trim().contains('\n')
}

fn newline(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

/// The blanks at the beginning of the line of this place.
fn indentation(text: &str, at: usize) -> &str {
    let line = text.get(..at).unwrap_or_default().rsplit('\n').next().unwrap_or_default();
    line.get(..line.len() - line.trim_start().len()).unwrap_or_default()
}

fn begins_line(text: &str, at: usize) -> bool {
    text.get(..at).is_some_and(|before| before.ends_with(&format!("\n{}", indentation(text, at))))
}

/// The blanks of one level.
fn unit(text: &str) -> &str {
    let first = text.lines().skip(1).find(|line| line.trim_start().starts_with('"'));
    let blanks = first.map(|line| line.get(..line.len() - line.trim_start().len()).unwrap_or_default());
    blanks.filter(|blanks| !blanks.is_empty()).unwrap_or("  ")
}
