//! The body of an operation: its media type, and an argument for each of its fields.

use serde_json::{Map, Value as Json, json};

use converse_config::Code;

use super::document::{Node, parts, resolved};
use super::finding::{Findings, quoted};
use super::operation::{LeftOut, Operation, is_scalar, may_be, query_style};
use super::response::inner;
use super::schema::Reader;
use super::tool::{Body, Part, Tool};

const MAX_FIELDS: usize = 100;

impl<'d> Operation<'d> {
    pub(super) fn body(
        self,
        tool: &mut Tool,
        reader: &mut Reader<'d>,
        findings: &mut Findings,
    ) -> Result<(), LeftOut> {
        let Some(body) = self.node.get("requestBody") else { return Ok(()) };
        let body = resolved(self.root, body).map_err(|_| LeftOut {
            place: body.place,
            why: "its body is a reference that is not in the document".to_owned(),
        })?;
        let required = body.flag("required").unwrap_or(false);
        let content = body.get("content").map_or(&[][..], Node::entries);
        let found = content.iter().min_by_key(|(kind, _)| preference(kind));
        let Some((kind, media)) = found.filter(|_| !matches!(self.method, "get" | "head")) else {
            let why = match found {
                None => "the document has no content for it".to_owned(),
                Some(_) => format!("a {} request has none", self.method.to_uppercase()),
            };
            if required && found.is_some() {
                return Err(LeftOut { place: body.place, why: format!("it needs a body, and {why}") });
            }
            let message = format!("the body of {} is left out: {why}", quoted(&tool.name));
            findings.warning(Code::OpenapiLeftOut, body.place, message);
            return Ok(());
        };
        let schema = media.get("schema").map_or_else(|| json!({}), |schema| reader.schema(schema));
        // A body of any media type whose values are known is JSON.
        let is_any = kind.starts_with("*/*") && !may_be_text(&schema);
        let kind = if is_any { "application/json" } else { kind.as_str() };
        self.content(kind, media, schema, required, tool, findings)
    }

    fn content(
        self,
        kind: &str,
        media: &'d Node,
        schema: Json,
        required: bool,
        tool: &mut Tool,
        findings: &mut Findings,
    ) -> Result<(), LeftOut> {
        let plain = essence(kind);
        let preference = preference(kind);
        match (preference, fields_of(&schema, matches!(preference, 2 | 3))) {
            (0 | 1, Some(fields)) => {
                let placeholders = add_fields(fields, &schema, tool);
                tool.body = Some(Body::Json(placeholders));
                if plain != "application/json" {
                    tool.headers.push(("Content-Type".to_owned(), plain));
                }
            }
            (2, Some(fields)) => {
                let placeholders = add_fields(fields, &schema, tool);
                encodings(media, &placeholders, tool);
                tool.body = Some(Body::Form(placeholders));
            }
            (3, Some(fields)) => self.multipart(media, fields, &schema, tool, findings)?,
            (2 | 3, None) => {
                let why = format!("the fields of its {} body are not known", quoted(&plain));
                return Err(LeftOut { place: media.place, why });
            }
            (5, _) => {
                let schema = json!({ "type": "string", "description": "Path of the file to send, below the working directory" });
                let placeholder = tool.argument("file", schema, required);
                tool.body = Some(Body::File(placeholder));
                tool.headers.push(("Content-Type".to_owned(), plain));
            }
            // A text is inserted as it is, which is not JSON.
            (0 | 1, None) if may_be_text(&schema) => {
                let why = format!("its {} body is a text or may be one", quoted(&plain));
                return Err(LeftOut { place: media.place, why });
            }
            (_, _) => {
                // What is not JSON is written by the model: an object would be inserted as JSON.
                let is_written = preference == 4 && !may_be_text(&schema);
                let schema = match is_written {
                    true => json!({ "type": "string", "description": format!("The body as {plain}") }),
                    false => schema,
                };
                let placeholder = tool.argument("body", schema, required);
                tool.body = Some(Body::Text(placeholder));
                tool.headers.push(("Content-Type".to_owned(), plain));
            }
        }
        Ok(())
    }

    fn multipart(
        self,
        media: &'d Node,
        fields: Map<String, Json>,
        schema: &Json,
        tool: &mut Tool,
        findings: &mut Findings,
    ) -> Result<(), LeftOut> {
        let mut parts: Vec<Part> = Vec::new();
        for (name, mut property) in fields {
            let is_required = names(schema).any(|known| known == name);
            let encoding = media.get("encoding").and_then(|encoding| encoding.get(&name));
            let own = media.get("schema").and_then(|schema| inner(self.root, schema, &name));
            let is_file = own.is_some_and(|own| self.is_file(own, encoding));
            if is_file && parts.iter().any(|part| part.is_file) {
                let why = format!("a request can send one file, and {} is another", quoted(&name));
                if is_required {
                    return Err(LeftOut { place: media.place, why });
                }
                let tool = quoted(&tool.name);
                let message = format!("the optional part {} of {tool} is left out: {why}", quoted(&name));
                findings.warning(Code::OpenapiLeftOut, media.place, message);
                continue;
            }
            if is_file {
                let about = property.get("description").and_then(Json::as_str).unwrap_or("The file");
                property = json!({ "type": "string", "description": format!("Path of a file below the working directory. {about}") });
            }
            let (style, media_type) = self.part(&property, encoding);
            let value = tool.argument(&name, property, is_required);
            style.into_iter().for_each(|style| tool.style(&value, style));
            parts.push(Part { name, value, is_file, media_type });
        }
        tool.body = Some(Body::Multipart(parts));
        Ok(())
    }

    /// The style and the media type of a part. <https://spec.openapis.org/oas/v3.1.0#encoding-object> (checked 2026-11)
    fn part(self, schema: &Json, encoding: Option<&Node>) -> (Option<&'static str>, Option<String>) {
        let declares =
            |node: &&Node| ["style", "explode", "allowReserved"].iter().any(|key| node.get(key).is_some());
        // A style says nothing in 3.0, and more than a media type since 3.1.
        if let Some(styled) = encoding.filter(declares).filter(|_| self.is_3_1()) {
            return (query_style(styled, schema), None);
        }
        let is_list = may_be(schema, "array") && !may_be(schema, "object");
        let value = if is_list { schema.get("items").unwrap_or(schema) } else { schema };
        let declared =
            encoding.and_then(|one| one.text_of("contentType")).filter(|kind| !kind.contains([',', '*']));
        let is_object = may_be(value, "object") && !may_be(value, "string");
        let media_type = declared.map(essence).or(is_object.then(|| "application/json".to_owned()));
        (is_list.then_some("repeat"), media_type)
    }

    /// Whether a part, or each of its elements, is a file: `format: binary` of 3.0, `contentMediaType` without an encoding,
    /// no type at all since 3.1, or a media type of files.
    fn is_file(self, part: &Node, encoding: Option<&Node>) -> bool {
        let all = |node| parts(self.root, node, &["allOf", "anyOf", "oneOf"]);
        let kind = encoding.and_then(|one| one.text_of("contentType")).unwrap_or_default();
        let is_of_files = ["image/", "audio/", "video/"].iter().any(|start| kind.starts_with(start))
            || ["application/octet-stream", "application/pdf", "application/zip"].contains(&kind);
        let says_nothing = |one: &Node| {
            [
                "type",
                "enum",
                "const",
                "items",
                "properties",
                "additionalProperties",
                "anyOf",
                "oneOf",
                "allOf",
            ]
            .iter()
            .all(|key| one.get(key).is_none())
        };
        let is_one = |node| {
            all(node).into_iter().any(|one| {
                let is_open = self.is_3_1() && says_nothing(one) && one.get("contentEncoding").is_none();
                is_binary(one)
                    || is_of_files && one.text_of("type") == Some("string")
                    || is_open && (kind.is_empty() || is_of_files)
            })
        };
        let mut items = all(part).into_iter().filter_map(|one| resolved(self.root, one.get("items")?).ok());
        is_one(part) || items.any(is_one)
    }

    fn is_3_1(self) -> bool {
        self.root.get("openapi").and_then(Node::scalar).is_some_and(|version| version.starts_with("3.1"))
    }
}

/// Each property of the body is an argument. A call always sends the body, so what an optional body requires is required.
fn add_fields(fields: Map<String, Json>, schema: &Json, tool: &mut Tool) -> Vec<(String, String)> {
    let is_required = |name: &str| names(schema).any(|known| known == name);
    let mut placeholders = Vec::new();
    for (name, property) in fields {
        let is_required = is_required(&name);
        let placeholder = tool.argument(&name, property, is_required);
        placeholders.push((name, placeholder));
    }
    placeholders
}

/// The styles of a form: what `encoding` says, else a field for each element.
fn encodings(media: &Node, fields: &[(String, String)], tool: &mut Tool) {
    for (name, placeholder) in fields {
        let argument = placeholder.trim_matches(['{', '}']);
        let schema = tool.properties.get(argument).cloned().unwrap_or_default();
        let encoding = media.get("encoding").and_then(|encoding| encoding.get(name));
        let is_json = encoding.and_then(|one| one.text_of("contentType")).is_some_and(is_json);
        let style = encoding
            .map_or_else(|| (!is_scalar(&schema)).then_some("repeat"), |one| query_style(one, &schema));
        if let Some(style) = style.filter(|_| !is_json) {
            tool.style(placeholder, style);
        }
    }
}

/// Whether a text fits, as far as types and values say.
fn may_be_text(schema: &Json) -> bool {
    let parts = |key: &str| schema.get(key).and_then(Json::as_array);
    let is_text_type = match schema.get("type") {
        Some(Json::Array(names)) => names.iter().any(|name| name == "string"),
        Some(name) => name == "string",
        None => true,
    };
    is_text_type
        && parts("enum").is_none_or(|values| values.iter().any(Json::is_string))
        && schema.get("const").is_none_or(Json::is_string)
        && parts("allOf").is_none_or(|all| all.iter().all(may_be_text))
        && ["anyOf", "oneOf"].iter().all(|key| parts(key).is_none_or(|any| any.iter().any(may_be_text)))
}

/// The properties of an object that has only these. The fields of a form are also those of an object that may have more.
fn fields_of(schema: &Json, of_form: bool) -> Option<Map<String, Json>> {
    let has_choices = ["anyOf", "allOf"].iter().any(|key| schema.get(key).is_some());
    let is_open = schema.get("additionalProperties").is_some_and(|more| *more != json!(false));
    let properties = schema.get("properties")?.as_object()?;
    let is_known = !has_choices && (of_form || !is_open) && properties.len() <= MAX_FIELDS;
    is_known.then(|| properties.clone())
}

fn names(schema: &Json) -> impl Iterator<Item = &str> {
    schema.get("required").and_then(Json::as_array).into_iter().flatten().filter_map(Json::as_str)
}

/// Media types, the best for a tool first.
fn preference(kind: &str) -> usize {
    match essence(kind).as_str() {
        "application/json" => 0,
        kind if kind.ends_with("+json") => 1,
        "application/x-www-form-urlencoded" => 2,
        "multipart/form-data" => 3,
        kind if kind.starts_with("text/") || kind.ends_with("xml") || kind.ends_with("yaml") => 4,
        _ => 5,
    }
}

pub(super) fn is_json(kind: &str) -> bool {
    preference(kind) < 2
}

/// A media type without its parameters.
pub(super) fn essence(kind: &str) -> String {
    let plain = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let is_sound =
        plain.chars().all(|c| c.is_ascii_alphanumeric() || "/!#$&^_.+-".contains(c)) && plain.contains('/');
    if is_sound { plain } else { "application/octet-stream".to_owned() }
}

/// `format: binary` of 3.0, `contentMediaType` without an encoding of 3.1.
fn is_binary(schema: &Node) -> bool {
    schema.text_of("format") == Some("binary")
        || schema.get("contentMediaType").is_some() && schema.get("contentEncoding").is_none()
}
