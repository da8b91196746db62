//! One operation of a document: its parameters, body and response become a tool.

use serde_json::{Value as Json, json};

use converse_config::{Code, is_reserved_header};

use super::document::{Node, resolved};
use super::finding::{self, Findings, Place, prose, quoted};
use super::schema::{Detail, Reader};
use super::security::Credentials;
use super::tool::{Tool, literal, origin};

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
        if self.path.contains(['?', '#']) {
            return Err(refused(format!("its path {} has a query or a fragment", quoted(self.path))));
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
            let may_be_many =
                !is_scalar(&schema) && parameter.is_none_or(|node| node.get("content").is_none());
            let placeholder = tool.argument(name, schema, true);
            let style = parameter.and_then(|node| node.text_of("style")).unwrap_or("simple");
            let explode = parameter.and_then(|node| node.flag("explode")).unwrap_or(false);
            if may_be_many {
                tool.style(&placeholder, simple_style(explode));
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
                    tool.style(&placeholder, simple_style(node.flag("explode") == Some(true)));
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
}

/// How a query or form writes what is not one value. <https://spec.openapis.org/oas/v3.1.0#style-values> (checked 2026-11)
pub(super) fn query_style(node: &Node, schema: &Json) -> Option<&'static str> {
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

/// How a path or a header writes what is not one value: `a,b` and `k,v`, or `k=v` if it is exploded.
const fn simple_style(explode: bool) -> &'static str {
    if explode { "repeat" } else { "comma" }
}

/// Whether only one value fits. Of a schema without a type that is not known.
pub(super) fn is_scalar(schema: &Json) -> bool {
    let is_one = |name: &Json| !matches!(name.as_str(), Some("array" | "object"));
    match schema.get("type") {
        Some(Json::Array(names)) => names.iter().all(is_one),
        Some(name) => is_one(name),
        None => schema.get("enum").is_some(),
    }
}

/// Whether a value of this type is named, also as one of several.
pub(super) fn may_be(schema: &Json, of: &str) -> bool {
    let is_named = match schema.get("type") {
        Some(Json::Array(names)) => names.iter().any(|name| name == of),
        Some(name) => name == of,
        None => false,
    };
    let parts = ["anyOf", "allOf"].iter().filter_map(|key| schema.get(key)?.as_array());
    is_named || parts.flatten().any(|part| may_be(part, of))
}

fn is_token(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c))
}
