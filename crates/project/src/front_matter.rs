//! Front matter: a mapping in YAML between two lines `---` at the beginning of a Markdown file.

use saphyr_parser::{Event, Parser, Span};

use crate::problem::{Place, Problem, ProblemKind};

/// Limit on values inside values.
const MAX_DEPTH: usize = 32;
/// Limit on keys.
const MAX_FIELDS: usize = 64;

/// A file in its two parts.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Parts<'t> {
    /// `None`: the file has no front matter.
    pub fields: Option<Vec<Field>>,
    pub body: &'t str,
}

/// A key at the top of the mapping.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Field {
    pub name: String,
    /// `None`: a list or a mapping.
    pub value: Option<String>,
    /// Where the key is.
    pub place: Place,
}

/// Splits a file. Without front matter, all of it is the body.
///
/// # Errors
///
/// Returns what is wrong with the front matter, and where.
pub(crate) fn split(text: &str) -> Result<Parts<'_>, Problem> {
    let is_fence = |line: &str| line.trim_end() == "---";
    let mut lines = text.split_inclusive('\n');
    let Some(first) = lines.next().filter(|line| is_fence(line)) else {
        return Ok(Parts { fields: None, body: text });
    };
    let rest = text.get(first.len()..).unwrap_or_default();
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        let (head, tail) = rest.split_at(at);
        if is_fence(line) {
            let body = tail.get(line.len()..).unwrap_or_default();
            return Ok(Parts { fields: Some(fields(head)?), body });
        }
        at += line.len();
    }
    let message = "the front matter has no end: expected a line `---`";
    Err(Problem::error(ProblemKind::Syntax, Place::TOP, message))
}

fn fields(yaml: &str) -> Result<Vec<Field>, Problem> {
    let (mut depth, mut key, mut found) = (0_usize, None::<(String, Place)>, Vec::new());
    let wrong = |place, message: String| Problem::error(ProblemKind::Syntax, place, message);
    for event in Parser::new_from_str(yaml) {
        let (event, span) = event.map_err(|error| {
            let place = Place { line: error.marker().line() + 1, column: error.marker().col() + 1 };
            wrong(
                place,
                format!("the front matter is not YAML (a text with `: ` needs quotes): {}", error.info()),
            )
        })?;
        let place = place(span);
        match event {
            Event::SequenceStart(..) | Event::Scalar(..) if depth == 0 => {
                let message = "the front matter is not a mapping: expected lines such as `description: TEXT`";
                return Err(wrong(place, message.to_owned()));
            }
            Event::MappingStart(..) | Event::SequenceStart(..) => {
                depth += 1;
                if depth > MAX_DEPTH {
                    return Err(wrong(place, "the front matter is nested too deeply".to_owned()));
                }
                if depth == 2 {
                    found.extend(key.take().map(|(name, place)| Field { name, value: None, place }));
                }
            }
            Event::MappingEnd | Event::SequenceEnd => depth = depth.saturating_sub(1),
            Event::Scalar(text, ..) if depth == 1 => match key.take() {
                None => key = Some((text.into_owned(), place)),
                Some((name, place)) => found.push(Field { name, value: Some(text.into_owned()), place }),
            },
            Event::Alias(..) if depth == 1 => {
                found.extend(key.take().map(|(name, place)| Field { name, value: None, place }));
            }
            _ => {}
        }
        if found.len() > MAX_FIELDS {
            return Err(wrong(place, format!("the front matter has more than {MAX_FIELDS} keys")));
        }
    }
    Ok(found)
}

/// The line in the file, after the first `---`.
fn place(span: Span) -> Place {
    Place { line: span.start.line() + 1, column: span.start.col() + 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names_and_values(fields: Vec<Field>) -> Vec<(String, String)> {
        let value = |field: Field| (field.name, field.value.unwrap_or_else(|| "…".to_owned()));
        fields.into_iter().map(value).collect()
    }

    #[test]
    fn fields_and_text_are_told_apart() {
        let none: &[(&str, &str)] = &[];
        for (text, fields, body) in [
            ("", None, ""),
            ("# x\n---\na: b\n---\n", None, "# x\n---\na: b\n---\n"),
            ("---\n---\nbody", Some(none), "body"),
            ("---\r\na: b\r\n---\r\nbody", Some(&[("a", "b")]), "body"),
            ("---\na: \"b: c\"\nn: 5\n---", Some(&[("a", "b: c"), ("n", "5")]), ""),
            ("---\na: >-\n  one\n  two\nb: x\n---\ny", Some(&[("a", "one two"), ("b", "x")]), "y"),
            (
                "---\nl: [a, {b: c}]\nm:\n  n: o\nz: last\n---\n",
                Some(&[("l", "…"), ("m", "…"), ("z", "last")]),
                "",
            ),
        ] {
            let parts = split(text).unwrap();
            assert_eq!(parts.body, body, "{text:?}");
            let expected = fields.map(|fields| {
                fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
            });
            assert_eq!(parts.fields.map(names_and_values), expected, "{text:?}");
        }
    }

    #[test]
    fn places_are_those_in_the_file() {
        let fields = split("---\na: b\n\n  # x\nlonger: {c: d}\n---\n").unwrap().fields.unwrap();
        let places: Vec<_> = fields.iter().map(|field| (field.place.line, field.place.column)).collect();
        assert_eq!(places, [(2, 1), (5, 1)]);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        let deep = format!("---\na: {}\n---\n", "[".repeat(100));
        let many = format!("---\n{}---\n", (0..100).map(|n| format!("k{n}: v\n")).collect::<String>());
        for (text, told, line) in [
            ("---\na: b\n", "no end", 1),
            ("---\na: b\nc: d: e\n---\n", "not YAML", 3),
            ("---\n- a\n---\n", "not a mapping", 2),
            ("---\njust words\n---\n", "not a mapping", 2),
            (&deep, "deeply", 2),
            (&many, "more than 64 keys", 66),
        ] {
            let problem = split(text).unwrap_err();
            assert!(problem.message.contains(told), "{text:?}: {problem:?}");
            assert_eq!(problem.place.line, line, "{text:?}: {problem:?}");
        }
    }
}
