//! Parses and vets an elicitation request before it is shown to the user.

use serde_json::Value;

use super::{Field, Kind, fields, secret_field, secret_words};
use crate::responders::Elicitation;
use crate::sanitize;

/// Bytes shown of a message and of an address.
const MESSAGE: usize = 8 * 1024;
const ADDRESS: usize = 4 * 1024;

/// Why a request is not shown to the user.
pub(crate) enum Rejected {
    /// The request violates the protocol.
    Invalid(String),
    /// The request is valid but must not be shown.
    Declined(String),
}

pub(crate) fn parse_request(params: &Value) -> Result<Elicitation, Rejected> {
    let text =
        params["message"].as_str().ok_or_else(|| Rejected::Invalid("`message` is missing".to_owned()))?;
    let message = shown(text);
    match params.get("mode").and_then(Value::as_str) {
        None | Some("form") => {
            let schema = params.get("requestedSchema");
            let schema =
                schema.ok_or_else(|| Rejected::Invalid("`requestedSchema` is missing".to_owned()))?;
            let fields = fields(schema)
                .map_err(|why| Rejected::Declined(format!("the form cannot be shown: {why}")))?;
            if let Some(field) = secret_field(&fields) {
                let field = sanitize::clean(field, 100);
                return Err(Rejected::Declined(format!(
                    "field `{field}` looks like a secret, which is not allowed in forms"
                )));
            }
            // Choices and booleans cannot carry a secret that the server does not know.
            let is_free = |field: &Field| matches!(field.kind, Kind::Text { .. } | Kind::Number { .. });
            if fields.iter().any(is_free) && secret_words(text) {
                return Err(Rejected::Declined(
                    "the form asks for a secret, which is not allowed in forms".to_owned(),
                ));
            }
            Ok(Elicitation::Form { message, schema: schema.clone() })
        }
        Some("url") => {
            let url = params["url"].as_str().unwrap_or_default();
            address(url).map(|url| Elicitation::Url { message, url })
        }
        Some(_) => Err(Rejected::Invalid("`mode` is neither `form` nor `url`".to_owned())),
    }
}

/// Returns the address in normalized form, so that the host shown is the host contacted.
fn address(text: &str) -> Result<String, Rejected> {
    let declined = |why: &str| Rejected::Declined(format!("the address {why}"));
    let url = reqwest::Url::parse(text).map_err(|_| declined("is not valid"))?;
    let loopback = match url.host_str() {
        None => return Err(declined("has no host")),
        Some(host) => matches!(host, "localhost" | "127.0.0.1" | "[::1]"),
    };
    if !(url.scheme() == "https" || (url.scheme() == "http" && loopback)) {
        return Err(declined("is not https"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(declined("contains a user name, which hides the host"));
    }
    if url.as_str().len() > ADDRESS {
        return Err(declined("is too long to be read"));
    }
    Ok(url.into())
}

/// Cleans a message, keeping its line breaks.
fn shown(text: &str) -> String {
    let lines = text.lines().map(|line| sanitize::clean(line, MESSAGE));
    let whole = lines.collect::<Vec<_>>().join("\n");
    converse_text::shorten::bytes(&whole, MESSAGE).into_owned()
}
