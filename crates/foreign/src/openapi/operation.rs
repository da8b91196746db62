//! One operation of a document: its parameters, body and response become a tool.

use serde_json::{Map, Value as Json, json};

use converse_config::{Code, is_reserved_header};

use super::document::{Node, Value, resolved};
use super::finding::{self, Findings, Place, prose, quoted};
use super::schema::{Detail, Reader};
use super::security::Credentials;
use super::tool::{Body, Part, Tool, literal, origin};

/// Of the description of a tool; providers allow 1,024 characters.
const MAX_DESCRIPTION: usize = 1_000;
const MAX_PARAMETERS: usize = 200;
const MAX_PATH: usize = 2_000;

/// An operation and what stands around it.
#[derive(Clone, Copy)]
pub(super) struct Operation<'d> {
    pub(super) root: &'d Node,
    /// Of the document, `/pets/{id}`.
    pub(super) path: &'d str,
    /// Lower case.
    pub(super) method: &'static str,
    pub(super) node: &'d Node,
    /// What all operations of the path have.
    pub(super) item: &'d Node,
}

/// Why an operation cannot be a tool.
pub(super) struct LeftOut {
    pub(super) place: Place,
    pub(super) why: String,
}

/// What is the same for all tools of an import.
pub(super) struct Common<'o> {
    pub(super) credentials: Credentials<'o>,
    pub(super) result: Option<&'o str>,
}

impl<'d> Operation<'d> {
    pub(super) fn tool(
        self,
        name: &str,
        base: &str,
        common: &Common<'_>,
        detail: Detail,
        findings: &mut Findings,
    ) -> Result<Tool, LeftOut> {
        let method = self.method.to_ascii_uppercase();
        let mut tool = Tool { name: name.to_owned(), method, ..Tool::default() };
        tool.description = self.description();
        let mut reader = Reader::new(self.root, detail);
        let count = |node: &Node| node.get("parameters").map_or(0, |all| all.items().len());
        if count(self.node) + count(self.item) > MAX_PARAMETERS {
            let why = format!("it has more than {MAX_PARAMETERS} parameters");
            return Err(LeftOut { place: self.node.place, why });
        }
        self.url(base, &mut tool, &mut reader)?;
        let credentials = common.credentials.of(self, name, findings);
        let is_credential = |node: &&Node| {
            let (name, place) = (node.text_of("name").unwrap_or_default(), node.text_of("in"));
            credentials.iter().any(|one| one.is(place.unwrap_or_default(), name))
        };
        // A parameter that a credential is sent as is no argument of the model.
        for parameter in self.parameters().into_iter().filter(|node| !is_credential(node)) {
            self.parameter(parameter, &mut tool, &mut reader, findings)?;
        }
        self.body(&mut tool, &mut reader, findings)?;
        credentials.into_iter().for_each(|one| one.add(&mut tool));
        self.response(common.result, &mut tool);
        for (place, why) in reader.opened {
            let message = format!("`{name}` takes any value in place of {why}");
            findings.warning(Code::OpenapiSimplified, place, message);
        }
        Ok(tool)
    }

    fn description(self) -> String {
        let one = |key: &str| self.node.text_of(key).or(self.item.text_of(key)).unwrap_or_default().trim();
        let (summary, description) = (one("summary"), one("description"));
        let mut text = match (summary.is_empty(), description.is_empty()) {
            (false, false) if !description.starts_with(summary) => {
                format!("{}. {description}", summary.trim_end_matches('.'))
            }
            (false, true) => summary.to_owned(),
            _ => description.to_owned(),
        };
        if self.node.flag("deprecated") == Some(true) {
            text = format!("Deprecated. {text}");
        }
        let text = prose(&text, MAX_DESCRIPTION);
        if text.is_empty() {
            prose(&format!("{} {}", self.method.to_uppercase(), self.path), 200)
        } else {
            text
        }
    }

    /// Those of the path that the operation does not declare itself, and those of the operation.
    fn parameters(self) -> Vec<&'d Node> {
        let of = |node: &'d Node| {
            let list = node.get("parameters").map_or(&[][..], Node::items).iter();
            list.map(|one| resolved(self.root, one).unwrap_or(one)).collect::<Vec<_>>()
        };
        let key = |node: &'d Node| (node.text_of("name"), node.text_of("in"));
        let own = of(self.node);
        let mut all: Vec<_> =
            of(self.item).into_iter().filter(|one| !own.iter().any(|own| key(own) == key(one))).collect();
        all.extend(own);
        all
    }

    /// The URL with a placeholder for each parameter of the path.
    fn url(self, base: &str, tool: &mut Tool, reader: &mut Reader<'d>) -> Result<(), LeftOut> {
        let refused = |why: String| LeftOut { place: self.item.place, why };
        // Without it `.b.example` would continue the host `a.example`.
        if !self.path.starts_with('/') {
            return Err(refused(format!("its path {} does not begin with `/`", quoted(self.path))));
        }
        if self.path.len() > MAX_PATH {
            return Err(refused(format!("its path has more than {MAX_PATH} bytes")));
        }
        let mut url = base.to_owned();
        let mut rest = self.path;
        let parameters = self.parameters();
        let mut known: Vec<(String, String)> = Vec::new();
        while let Some(open) = rest.find('{') {
            url.push_str(&literal(&rest[..open]));
            let Some(close) = rest[open..].find('}') else { break };
            let name = &rest[open + 1..open + close];
            rest = &rest[open + close + 1..];
            if let Some((_, written)) = known.iter().find(|(known, _)| known == name) {
                url.push_str(written);
                continue;
            }
            let is_meant =
                |one: &&&Node| one.text_of("in") == Some("path") && one.text_of("name") == Some(name);
            let parameter = parameters.iter().find(is_meant).copied();
            let schema =
                parameter.map_or_else(|| json!({ "type": "string" }), |node| self.schema_of(node, reader));
            let may_be_many = !is_scalar(&schema);
            let placeholder = tool.argument(name, schema, true);
            let style = parameter.and_then(|node| node.text_of("style")).unwrap_or("simple");
            let explode = parameter.and_then(|node| node.flag("explode")).unwrap_or(false);
            if may_be_many {
                tool.style(&placeholder, "comma");
            }
            if may_be_many && explode && style != "simple" {
                let place = parameter.map_or(self.node.place, |node| node.place);
                let why = format!("its path has the list {} in the style `{style}`", quoted(name));
                return Err(LeftOut { place, why });
            }
            let written = match style {
                "label" => format!(".{placeholder}"),
                "matrix" => format!(";{}={placeholder}", literal(name)),
                _ => placeholder,
            };
            url.push_str(&written);
            known.push((name.to_owned(), written));
        }
        url.push_str(&literal(rest));
        if origin(&url).is_none() || origin(&url) != origin(base) {
            return Err(refused("its path leads to another host than its server".to_owned()));
        }
        tool.url = url;
        Ok(())
    }

    /// The schema of a parameter, with the description of the parameter.
    fn schema_of(self, parameter: &'d Node, reader: &mut Reader<'d>) -> Json {
        let content = parameter.get("content").and_then(|content| content.entries().first());
        let schema = parameter.get("schema").or_else(|| content.and_then(|(_, media)| media.get("schema")));
        let mut schema = schema.map_or_else(|| json!({ "type": "string" }), |schema| reader.schema(schema));
        let text = prose(parameter.text_of("description").unwrap_or_default(), 400);
        if let (false, Some(fields)) = (text.is_empty(), schema.as_object_mut()) {
            // The default of the schema stays.
            let default = fields
                .get("description")
                .and_then(Json::as_str)
                .and_then(|text| text.find("Default: ").map(|at| text[at..].to_owned()));
            let text = default.map_or_else(|| text.clone(), |default| format!("{text} {default}"));
            fields.insert("description".to_owned(), text.into());
        }
        schema
    }

    fn parameter(
        self,
        node: &'d Node,
        tool: &mut Tool,
        reader: &mut Reader<'d>,
        findings: &mut Findings,
    ) -> Result<(), LeftOut> {
        let (Some(name), Some(place)) = (node.text_of("name"), node.text_of("in")) else {
            let why =
                "one of its parameters is a reference that is not in the document, or has no name".to_owned();
            return Err(LeftOut { place: node.place, why });
        };
        let required = node.flag("required").unwrap_or(false);
        let is_set = matches!(place, "header")
            && (["accept", "content-type", "authorization"].iter().any(|set| name.eq_ignore_ascii_case(set))
                || is_reserved_header(name));
        match place {
            "path" => {}
            "header" if is_set => {}
            "query" => {
                let schema = self.schema_of(node, reader);
                let style = query_style(node, &schema);
                let placeholder = tool.argument(name, schema, required);
                style.into_iter().for_each(|style| tool.style(&placeholder, style));
                tool.query.push((name.to_owned(), placeholder));
            }
            "header"
                if is_token(name)
                    && !tool.headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name)) =>
            {
                let schema = self.schema_of(node, reader);
                let many = !is_scalar(&schema) && node.get("content").is_none();
                let placeholder = tool.argument(name, schema, required);
                if many {
                    tool.style(&placeholder, "comma");
                }
                tool.headers.push((name.to_owned(), placeholder));
            }
            _ => {
                if required {
                    let why = format!("its {} parameter {} cannot be sent", quoted(place), quoted(name));
                    return Err(LeftOut { place: node.place, why });
                }
                let why = if place == "cookie" { "cookies cannot be sent" } else { "it cannot be sent" };
                let message = format!(
                    "the optional {} parameter {} of {} is left out: {why}",
                    finding::shown(place),
                    quoted(name),
                    quoted(&tool.name)
                );
                findings.warning(Code::OpenapiLeftOut, node.place, message);
            }
        }
        Ok(())
    }

    fn body(self, tool: &mut Tool, reader: &mut Reader<'d>, findings: &mut Findings) -> Result<(), LeftOut> {
        let Some(body) = self.node.get("requestBody") else { return Ok(()) };
        let body = resolved(self.root, body).map_err(|_| LeftOut {
            place: body.place,
            why: "its body is a reference that is not in the document".to_owned(),
        })?;
        let required = body.flag("required").unwrap_or(false);
        let content = body.get("content").map_or(&[][..], Node::entries);
        let Some((kind, media)) = content.iter().min_by_key(|(kind, _)| preference(kind)) else {
            let message =
                format!("the body of {} is left out: the document has no content for it", quoted(&tool.name));
            findings.warning(Code::OpenapiLeftOut, body.place, message);
            return Ok(());
        };
        if matches!(self.method, "get" | "head") {
            let message = format!(
                "the body of {} is left out: a {} request has none",
                quoted(&tool.name),
                self.method.to_uppercase()
            );
            findings.warning(Code::OpenapiLeftOut, body.place, message);
            return Ok(());
        }
        let schema = media.get("schema").map_or_else(|| json!({}), |schema| reader.schema(schema));
        let fields = fields_of(&schema);
        let plain = essence(kind);
        match (preference(kind), fields) {
            (0 | 1, Some(fields)) => {
                let placeholders = self.add_fields(fields, &schema, tool);
                tool.body = Some(Body::Json(placeholders));
                if plain != "application/json" {
                    tool.headers.push(("Content-Type".to_owned(), plain));
                }
            }
            (2, Some(fields)) => {
                let placeholders = self.add_fields(fields, &schema, tool);
                self.encodings(media, &placeholders, tool);
                tool.body = Some(Body::Form(placeholders));
            }
            (3, Some(fields)) => self.multipart(media, fields, &schema, tool, findings)?,
            (2 | 3, None) => {
                return Err(LeftOut {
                    place: media.place,
                    why: format!("the fields of its {} body are not known", quoted(&plain)),
                });
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
                let placeholder = tool.argument("body", schema, required);
                tool.body = Some(Body::Text(placeholder));
                tool.headers.push(("Content-Type".to_owned(), plain));
            }
        }
        Ok(())
    }

    /// Each property of the body is an argument. A call always sends the body, so what an optional body requires is required.
    fn add_fields(self, fields: Map<String, Json>, schema: &Json, tool: &mut Tool) -> Vec<(String, String)> {
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
    fn encodings(self, media: &'d Node, fields: &[(String, String)], tool: &mut Tool) {
        for (name, placeholder) in fields {
            let argument = placeholder.trim_matches(['{', '}']);
            let schema = tool.properties.get(argument).cloned().unwrap_or_default();
            let encoding = media.get("encoding").and_then(|encoding| encoding.get(name));
            let is_json =
                encoding.and_then(|one| one.text_of("contentType")).is_some_and(|kind| preference(kind) < 2);
            let style = encoding
                .map_or_else(|| (!is_scalar(&schema)).then_some("repeat"), |one| query_style(one, &schema));
            if let Some(style) = style.filter(|_| !is_json) {
                tool.style(placeholder, style);
            }
        }
    }

    fn multipart(
        self,
        media: &'d Node,
        fields: Map<String, Json>,
        schema: &Json,
        tool: &mut Tool,
        findings: &mut Findings,
    ) -> Result<(), LeftOut> {
        let declared = media.get("schema").and_then(|schema| resolved(self.root, schema).ok());
        let mut parts: Vec<Part> = Vec::new();
        for (name, mut property) in fields {
            let is_required = names(schema).any(|known| known == name);
            let own = declared.and_then(|schema| schema.get("properties")).and_then(|all| all.get(&name));
            let own = own.and_then(|own| resolved(self.root, own).ok());
            let items =
                own.and_then(|own| own.get("items")).and_then(|items| resolved(self.root, items).ok());
            let is_file = own.is_some_and(is_binary) || items.is_some_and(is_binary);
            if is_file && parts.iter().any(|part| part.is_file) {
                let why = format!("a request can send one file, and {} is another", quoted(&name));
                if is_required {
                    return Err(LeftOut { place: media.place, why });
                }
                findings.warning(
                    Code::OpenapiLeftOut,
                    media.place,
                    format!(
                        "the optional part {} of {} is left out: {why}",
                        quoted(&name),
                        quoted(&tool.name)
                    ),
                );
                continue;
            }
            let encoding = media.get("encoding").and_then(|encoding| encoding.get(&name));
            let media_type =
                encoding.and_then(|one| one.text_of("contentType")).filter(|kind| !kind.contains([',', '*']));
            let is_object = property.get("type").is_some_and(|of| of == "object");
            let media_type = media_type.map(essence).or(is_object.then(|| "application/json".to_owned()));
            if is_file {
                let about = property.get("description").and_then(Json::as_str).unwrap_or("The file");
                property = json!({ "type": "string", "description": format!("Path of a file below the working directory. {about}") });
            }
            let is_list = property.get("type").is_some_and(|of| of == "array");
            let value = tool.argument(&name, property, is_required);
            if is_list {
                tool.style(&value, "repeat");
            }
            parts.push(Part { name, value, is_file, media_type });
        }
        tool.body = Some(Body::Multipart(parts));
        Ok(())
    }

    /// What the tool asks for, and which part of the response it passes on.
    fn response(self, result: Option<&str>, tool: &mut Tool) {
        let responses = self.node.get("responses").map_or(&[][..], Node::entries);
        let Some((_, success)) = responses.iter().find(|(code, _)| code.starts_with('2')) else { return };
        let success = resolved(self.root, success).unwrap_or(success);
        let content = success.get("content").map_or(&[][..], Node::entries);
        let Some((kind, media)) = content.iter().find(|(kind, _)| preference(kind) < 2) else { return };
        if content.len() > 1 || essence(kind) != "application/json" {
            tool.headers.push(("Accept".to_owned(), essence(kind)));
        }
        let Some(pointer) = result else { return };
        let mut at = media.get("schema").and_then(|schema| resolved(self.root, schema).ok());
        for part in pointer.split('/').skip(1) {
            let part = part.replace("~1", "/").replace("~0", "~");
            at = at.and_then(|schema| property(self.root, schema, &part, 0));
        }
        if at.is_some() {
            tool.result = Some(pointer.to_owned());
        }
    }
}

/// The schema of a property, also in the parts of an `allOf`.
fn property<'d>(root: &'d Node, schema: &'d Node, name: &str, depth: usize) -> Option<&'d Node> {
    let own = schema.get("properties").and_then(|properties| properties.get(name));
    if let Some(own) = own {
        return resolved(root, own).ok();
    }
    let parts = schema.get("allOf").filter(|_| depth < 8).map_or(&[][..], Node::items);
    parts
        .iter()
        .filter_map(|part| resolved(root, part).ok())
        .find_map(|part| property(root, part, name, depth + 1))
}

/// How a query or form writes what is not one value. <https://spec.openapis.org/oas/v3.1.0#style-values> (checked 2026-11)
fn query_style(node: &Node, schema: &Json) -> Option<&'static str> {
    if is_scalar(schema) || node.get("content").is_some() {
        return None;
    }
    let style = node.text_of("style").unwrap_or("form");
    let explode = node.flag("explode").unwrap_or(style == "form");
    Some(match (style, explode) {
        ("deepObject", _) => "brackets",
        ("spaceDelimited", false) => "space",
        ("pipeDelimited", false) => "pipe",
        (_, true) => "repeat",
        (_, false) => "comma",
    })
}

/// Whether only one value fits. Of a schema without a type that is not known.
fn is_scalar(schema: &Json) -> bool {
    let is_one = |name: &Json| !matches!(name.as_str(), Some("array" | "object"));
    match schema.get("type") {
        Some(Json::Array(names)) => names.iter().all(is_one),
        Some(name) => is_one(name),
        None => schema.get("enum").is_some(),
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

/// The properties of an object that has only these.
fn fields_of(schema: &Json) -> Option<Map<String, Json>> {
    let has_choices = ["anyOf", "allOf"].iter().any(|key| schema.get(key).is_some());
    let is_open = schema.get("additionalProperties").is_some_and(|more| *more != json!(false));
    let properties = schema.get("properties")?.as_object()?;
    (!has_choices && !is_open && properties.len() <= 100).then(|| properties.clone())
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

/// A media type without its parameters.
fn essence(kind: &str) -> String {
    let plain = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let is_sound =
        plain.chars().all(|c| c.is_ascii_alphanumeric() || "/!#$&^_.+-".contains(c)) && plain.contains('/');
    if is_sound { plain } else { "application/octet-stream".to_owned() }
}

/// `format: binary` of 3.0, `contentMediaType` without an encoding of 3.1.
fn is_binary(schema: &Node) -> bool {
    let is_bytes = schema.get("contentMediaType").is_some() && schema.get("contentEncoding").is_none();
    schema.text_of("format") == Some("binary") || is_bytes && !matches!(schema.value, Value::Bool(_))
}

fn is_token(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c))
}
