//! The body and the headers of a request. Pure.

use bytes::Bytes;
use converse_canister::Digest;
use converse_config::{BodyPlan, JsonTemplate, PartPlan, RequestPlan, is_reserved_header};
use converse_text::trace_context::TraceContext;
use http::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use super::fields::{Fields, Limit, encoded};
use crate::InvokeError;
use crate::template_input::TemplateInput;

const LIMIT: Limit = Limit { what: "body", bytes: 16 * 1024 * 1024 };
/// Bytes of the boundary and the headers of a part, at least.
const PART_OVERHEAD: usize = 80;
/// Together; what servers commonly take.
const MAX_HEADERS: usize = 32 * 1024;

pub(super) struct Body {
    pub(super) bytes: Bytes,
    /// `None` for a text, whose type only the descriptor knows.
    pub(super) content_type: Option<HeaderValue>,
}

/// Adds the place of the call in a trace, unless the descriptor has headers of these names.
pub(super) fn trace(headers: &mut HeaderMap, context: Option<&TraceContext>) {
    if headers.contains_key("traceparent") || headers.contains_key("tracestate") {
        return;
    }
    for (name, value) in context.iter().flat_map(|context| context.fields()) {
        if let Ok(value) = HeaderValue::try_from(value) {
            headers.insert(name, value);
        }
    }
}

/// A file that is sent.
pub(super) struct SentFile {
    /// Without directories.
    pub(super) name: String,
    pub(super) bytes: Vec<u8>,
}

/// Returns the body, or `None` if there is none or the whole body is an argument that is not given. `file` is what
/// [`BodyPlan::file`] names.
pub(super) fn body(
    plan: &RequestPlan,
    given: TemplateInput<'_>,
    file: Option<SentFile>,
) -> Result<Option<Body>, InvokeError> {
    let of_type = |kind| Some(HeaderValue::from_static(kind));
    let Some(declared) = &plan.body else { return Ok(None) };
    let (bytes, content_type) = match declared {
        BodyPlan::Text(template) => (given.text(template)?.map(String::into_bytes), None),
        BodyPlan::Form(entries) => {
            let fields = encoded(entries, plan, given, &LIMIT)?;
            (Some(fields.into_bytes()), of_type("application/x-www-form-urlencoded"))
        }
        BodyPlan::Json(template) => {
            (json(template, given)?.map(|value| value.to_string().into_bytes()), of_type("application/json"))
        }
        BodyPlan::File(_) => (file.map(|file| file.bytes), of_type("application/octet-stream")),
        BodyPlan::Multipart(parts) => {
            let (bytes, content_type) = multipart(parts, plan, given, file)?;
            (Some(bytes), Some(content_type))
        }
    };
    LIMIT.check(bytes.as_ref().map_or(0, Vec::len))?;
    Ok(bytes.map(|bytes| Body { bytes: bytes.into(), content_type }))
}

/// <https://www.rfc-editor.org/rfc/rfc7578> and the names of <https://html.spec.whatwg.org/#multipart-form-data> (checked
/// 2026-11). The boundary is the digest of all parts, so no part contains it.
fn multipart(
    parts: &[PartPlan],
    plan: &RequestPlan,
    given: TemplateInput<'_>,
    mut file: Option<SentFile>,
) -> Result<(Vec<u8>, HeaderValue), InvokeError> {
    let mut fields = Fields::new(plan, given, &LIMIT, PART_OVERHEAD)?;
    let mut written: Vec<Vec<u8>> = Vec::new();
    for part in parts {
        let kind = part.media_type.as_deref();
        if part.is_file {
            let Some(SentFile { name, bytes }) = file.take() else { continue };
            let head = format!("; filename=\"{}\"", in_quotes(&name));
            written.push(of_part(&part.name, &head, kind.or(Some("application/octet-stream")), &bytes));
            continue;
        }
        fields.write(&part.name, &part.value, &|text| text, &mut |name, value| {
            written.push(of_part(&name, "", kind, value.as_bytes()));
        })?;
    }
    let digest = Digest(Sha256::digest(written.concat()).into()).to_string();
    let boundary = format!("converse-{}", digest.get(..32).unwrap_or(&digest));
    let mut bytes = Vec::new();
    for part in written {
        bytes.extend_from_slice(format!("--{boundary}\r\n").as_bytes());
        bytes.extend(part);
    }
    bytes.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    let kind = HeaderValue::try_from(format!("multipart/form-data; boundary={boundary}"));
    kind.map(|kind| (bytes, kind)).map_err(|_| InvokeError::Failed("no boundary can be sent".to_owned()))
}

fn of_part(name: &str, head: &str, media_type: Option<&str>, content: &[u8]) -> Vec<u8> {
    let mut part = format!("Content-Disposition: form-data; name=\"{}\"{head}\r\n", in_quotes(name));
    if let Some(media_type) = media_type {
        part.push_str(&format!("Content-Type: {media_type}\r\n"));
    }
    part.push_str("\r\n");
    let mut part = part.into_bytes();
    part.extend_from_slice(content);
    part.extend_from_slice(b"\r\n");
    part
}

fn in_quotes(name: &str) -> String {
    name.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A")
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
    Ok(headers)
}
