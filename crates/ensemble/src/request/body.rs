//! The body and the headers of a request. Pure.

use bytes::Bytes;
use converse_config::{BodyPlan, JsonTemplate, RequestPlan, Template, is_reserved_header};
use http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value};

use super::url::encode;
use crate::InvokeError;
use crate::template_input::TemplateInput;

const MAX_BODY: usize = 16 * 1024 * 1024;
/// Together; what servers commonly take.
const MAX_HEADERS: usize = 32 * 1024;

/// Returns the body, or `None` if the whole body is an argument that is not given.
pub(super) fn body(plan: &BodyPlan, given: TemplateInput<'_>) -> Result<Option<Bytes>, InvokeError> {
    let text = match plan {
        BodyPlan::Text(template) => given.text(template)?,
        BodyPlan::Form(entries) => Some(form(entries, given)?),
        BodyPlan::Json(template) => json(template, given)?.map(|value| value.to_string()),
    };
    if text.as_ref().is_some_and(|text| text.len() > MAX_BODY) {
        return Err(InvokeError::Invalid(format!("the body would be longer than {MAX_BODY} bytes")));
    }
    Ok(text.map(Bytes::from))
}

/// <https://url.spec.whatwg.org/#application/x-www-form-urlencoded> (checked 2026-11); a blank may be `%20` as well as
/// `+`. An entry that needs an argument that is not given is left out.
fn form(entries: &[(String, Template)], given: TemplateInput<'_>) -> Result<String, InvokeError> {
    let mut fields = Vec::new();
    for (name, template) in entries {
        if let Some(value) = given.text(template)? {
            fields.push(format!("{}={}", encode(name), encode(&value)));
        }
    }
    Ok(fields.join("&"))
}

/// Returns the value, or `None` if it needs an argument that is not given.
fn json(template: &JsonTemplate, given: TemplateInput<'_>) -> Result<Option<Value>, InvokeError> {
    Ok(match template {
        JsonTemplate::Fixed(value) => Some(value.clone()),
        JsonTemplate::Text(text) => match text.sole_argument() {
            // With its type; a null that was given is meant.
            Some(name) => given.arguments.get(name).cloned(),
            None => given.text(text)?.map(Value::String),
        },
        JsonTemplate::Array(entries) => {
            let entries = entries.iter().filter_map(|entry| json(entry, given).transpose());
            Some(Value::Array(entries.collect::<Result<_, _>>()?))
        }
        JsonTemplate::Object(fields) => {
            let mut object = Map::new();
            for (name, field) in fields {
                if let Some(value) = json(field, given)? {
                    object.insert(name.clone(), value);
                }
            }
            Some(Value::Object(object))
        }
    })
}

/// Checks that a descriptor may set each of its headers.
pub(super) fn check_names(plan: &RequestPlan) -> Result<(), String> {
    for (name, _) in &plan.headers {
        let parsed =
            HeaderName::try_from(name).map_err(|_| format!("`{name}` is not the name of a header"))?;
        if is_reserved_header(parsed.as_str()) {
            return Err(format!(
                "the header `{name}` cannot be declared: it is set when the request is sent"
            ));
        }
    }
    Ok(())
}

pub(super) fn headers(plan: &RequestPlan, given: TemplateInput<'_>) -> Result<HeaderMap, InvokeError> {
    let mut headers = HeaderMap::new();
    let mut total = 0;
    for (name, template) in &plan.headers {
        let Some(text) = given.text(template)? else { continue };
        if text.chars().any(char::is_control) {
            let name = given.culprit(template, |text| text.chars().any(char::is_control));
            return Err(match name {
                Some(name) => InvokeError::Invalid(format!(
                    "`{name}` contains a line break or another control character"
                )),
                None => InvokeError::Failed("the value of a header contains a control character".to_owned()),
            });
        }
        total += name.len() + text.len();
        if total > MAX_HEADERS {
            return Err(InvokeError::Invalid(format!(
                "the headers would be longer than {MAX_HEADERS} bytes"
            )));
        }
        let unusable = |_| InvokeError::Failed(format!("the header `{name}` cannot be sent"));
        let name = HeaderName::try_from(name).map_err(|_| unusable(()))?;
        let mut value = HeaderValue::from_bytes(text.as_bytes()).map_err(|_| unusable(()))?;
        // Most hold a key; none is worth showing.
        value.set_sensitive(true);
        headers.append(name, value);
    }
    let kind = match &plan.body {
        Some(BodyPlan::Json(_)) => "application/json",
        Some(BodyPlan::Form(_)) => "application/x-www-form-urlencoded",
        Some(BodyPlan::Text(_)) | None => return Ok(headers),
    };
    headers.entry(CONTENT_TYPE).or_insert(HeaderValue::from_static(kind));
    Ok(headers)
}
