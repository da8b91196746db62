//! How lists and objects are written in URLs, headers and forms.

use serde_json::Value;

use crate::template::value_text;

/// How a list or an object is written outside of a JSON body. Other values are not concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// One text: `a,b`; an object is `key,value,key,value`.
    Comma,
    /// The same with blanks.
    Space,
    /// The same with `|`.
    Pipe,
    /// A field for each element: `tag=a&tag=b`; the fields of an object have the names of its keys. Elsewhere one text:
    /// `a,b`; an object is `key=value,key=value`.
    Repeat,
    /// A field for each element, at any depth: `filter[key]=a&filter[list][0]=b`. Elsewhere as `Comma`.
    Brackets,
}

impl Style {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Comma => "comma",
            Self::Space => "space",
            Self::Pipe => "pipe",
            Self::Repeat => "repeat",
            Self::Brackets => "brackets",
        }
    }

    /// Returns a list or an object as one text. A comma is a delimiter of URLs, so it is not quoted.
    pub fn joined(self, value: &Value, quote: &impl Fn(String) -> String) -> String {
        let delimiter = match self {
            Self::Space => quote(" ".to_owned()),
            Self::Pipe => quote("|".to_owned()),
            Self::Comma | Self::Repeat | Self::Brackets => ",".to_owned(),
        };
        let parts: Vec<String> = match value {
            Value::Array(elements) => elements.iter().map(|element| quote(value_text(element))).collect(),
            Value::Object(fields) if self == Self::Repeat => fields
                .iter()
                .map(|(key, value)| format!("{}={}", quote(key.clone()), quote(value_text(value))))
                .collect(),
            Value::Object(fields) => fields
                .iter()
                .flat_map(|(key, value)| [quote(key.clone()), quote(value_text(value))])
                .collect(),
            other => vec![quote(value_text(other))],
        };
        // An empty list is an empty value, which some places refuse.
        if parts.is_empty() { quote(String::new()) } else { parts.join(&delimiter) }
    }

    /// Passes the name and value of each field of a list or an object to `field`, and stops at its first error. Returns
    /// `None` if the style makes one field.
    ///
    /// Long keys around many values make fields that are many times as large as the argument. `field` must limit their
    /// total size.
    pub fn fields<E>(
        self,
        name: &str,
        value: &Value,
        field: &mut impl FnMut(&str, String) -> Result<(), E>,
    ) -> Option<Result<(), E>> {
        match (self, value) {
            (Self::Repeat, Value::Array(elements)) => {
                Some(elements.iter().try_for_each(|element| field(name, value_text(element))))
            }
            (Self::Repeat, Value::Object(entries)) => {
                Some(entries.iter().try_for_each(|(key, value)| field(key, value_text(value))))
            }
            (Self::Brackets, value) => Some(spread(&mut name.to_owned(), value, field)),
            _ => None,
        }
    }
}

/// Passes each value at any depth to `field`. All names are written into one text. The depth of arguments is limited.
fn spread<E>(
    name: &mut String,
    value: &Value,
    field: &mut impl FnMut(&str, String) -> Result<(), E>,
) -> Result<(), E> {
    let length = name.len();
    let mut inner = |key: &str, value: &Value| {
        name.extend(["[", key, "]"]);
        let done = spread(name, value, field);
        name.truncate(length);
        done
    };
    match value {
        Value::Array(elements) => {
            elements.iter().enumerate().try_for_each(|(at, element)| inner(&at.to_string(), element))
        }
        Value::Object(entries) => entries.iter().try_for_each(|(key, value)| inner(key, value)),
        value => field(name, value_text(value)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// <https://spec.openapis.org/oas/v3.1.0#style-values>: `simple`, exploded or not (checked 2026-11).
    #[test]
    fn an_object_is_pairs_or_a_list() {
        let value = json!({ "r": 100, "g,b": "x=y" });
        let quote = |text: String| text.replace(',', "%2C").replace('=', "%3D");
        assert_eq!(Style::Comma.joined(&value, &quote), "r,100,g%2Cb,x%3Dy");
        assert_eq!(Style::Repeat.joined(&value, &quote), "r=100,g%2Cb=x%3Dy");
        assert_eq!(Style::Repeat.joined(&json!([1, "a"]), &quote), "1,a");
    }

    #[test]
    fn the_first_error_ends_the_fields() {
        let value = json!({ "k": [1, [2, 3]], "l": { "m": [4] }, "n": [] });
        let fields = |style: Style, most: usize| {
            let mut found = Vec::new();
            let done = style.fields("f", &value, &mut |name, text| {
                if found.len() == most {
                    return Err(name.to_owned());
                }
                found.push(format!("{name}={text}"));
                Ok(())
            });
            (done, found.join("&"))
        };
        let all = "f[k][0]=1&f[k][1][0]=2&f[k][1][1]=3&f[l][m][0]=4";
        assert_eq!(fields(Style::Brackets, 9), (Some(Ok(())), all.to_owned()));
        let two = "f[k][0]=1&f[k][1][0]=2".to_owned();
        assert_eq!(fields(Style::Brackets, 2), (Some(Err("f[k][1][1]".to_owned())), two));
        let one = "k=[1,[2,3]]".to_owned();
        assert_eq!(fields(Style::Repeat, 1), (Some(Err("l".to_owned())), one));
        assert_eq!(fields(Style::Comma, 0), (None, String::new()));
    }
}
