//! Parameters of a query string. Unknown ones are refused, like unknown keys of a body.

use std::borrow::Cow;

use super::failure::ApiFailure;

#[derive(Debug)]
pub(super) struct Parameters<'q>(Vec<(Cow<'q, str>, Cow<'q, str>)>);

impl<'q> Parameters<'q> {
    pub(super) fn read(query: &'q str, known: &[&str]) -> Result<Self, ApiFailure> {
        let pairs: Vec<_> = url::form_urlencoded::parse(query.as_bytes()).collect();
        for (index, (name, _)) in pairs.iter().enumerate() {
            if !known.contains(&name.as_ref()) {
                return Err(ApiFailure::bad_request(format!("unknown parameter `{name}`")));
            }
            if pairs.iter().take(index).any(|(other, _)| other == name) {
                return Err(ApiFailure::bad_request(format!("`{name}` is given twice")));
            }
        }
        Ok(Self(pairs))
    }

    /// Returns a parameter that is not empty.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_ref()).filter(|value| !value.is_empty())
    }

    pub(super) fn number(&self, name: &str) -> Result<Option<usize>, ApiFailure> {
        let wrong = |_| ApiFailure::bad_request(format!("`{name}` is not a number"));
        self.text(name).map(|text| text.parse().map_err(wrong)).transpose()
    }
}
