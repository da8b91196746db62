//! Imports an OpenAPI document (3.0, 3.1; JSON or YAML) as an ensemble of HTTP requests.
//!
//! The document is foreign: its size, depth, references and aliases are bounded, nothing that it names is read or
//! contacted, and every tool is checked as `ensembles check` does before it is given.

mod document;
mod finding;
mod operation;
mod schema;
mod security;
mod tool;
mod yaml;

use std::collections::BTreeSet;

use converse_canister::EnsembleName;
use converse_config::{Code, Finding};
use converse_text::suggest::nearest;

use crate::name::cleaned;
use crate::sketch::SketchFile;
use crate::toml_text::quoted as toml;
use crate::validate;
use document::{Node, parse, resolved};
use finding::{Findings, Place, prose, quoted};
use operation::{Common, LeftOut, Operation};
use security::Credentials;
use tool::{Names, literal, origin};

/// The largest document, in bytes.
pub const MAX_DOCUMENT: usize = 20 * 1024 * 1024;
/// The tools of an ensemble.
const MAX_TOOLS: usize = 256;
/// A tool is sent to a model with every request.
const MAX_TOOL: usize = 12 * 1024;
/// Bytes of a tool's name with that of its ensemble.
const MAX_NAME: usize = 64;

const MAX_OPERATIONS: usize = 10_000;
/// Bytes of the address of a server.
const MAX_ADDRESS: usize = 2_000;
const LONG_ADDRESS: &str = "the address of a server has more than 2000 bytes";

const METHODS: [&str; 6] = ["get", "post", "put", "patch", "delete", "head"];

/// What to import of a document, and how.
#[derive(Debug, Clone, Default)]
pub struct ApiOptions {
    /// Name of the ensemble; made of the title of the document if it is missing.
    pub name: Option<String>,
    /// An operation is imported if one of these names it, or if all are empty.
    pub tags: Vec<String>,
    /// As in the document (`/pets/{id}`), or the beginning of one (`/pets/*`).
    pub paths: Vec<String>,
    /// Each an `operationId`.
    pub operations: Vec<String>,
    /// Where requests are sent to, instead of the first server of the document.
    pub server: Option<String>,
    /// The security scheme to use where a document offers several, or none.
    pub security: Option<String>,
    /// JSON pointer to the part of responses that is passed on, where a response has it.
    pub result: Option<String>,
    /// Address of the document, if it has one.
    pub address: Option<String>,
}

/// The ensemble that a document became.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportedApi {
    pub name: String,
    /// The descriptor first, then the file of each tool. Empty if nothing could be imported; an error says why.
    pub files: Vec<SketchFile>,
    /// The variables to set, and what they hold.
    pub variables: Vec<(String, String)>,
    /// Scheme, host and port of the addresses that requests are sent to.
    pub servers: BTreeSet<String>,
    pub findings: Vec<Finding>,
}

/// Reads a document; `file` is what findings call it.
pub fn read_openapi(file: &str, bytes: &[u8], options: &ApiOptions) -> ImportedApi {
    let mut findings = Findings::of(file);
    let found = import(bytes, options, &mut findings);
    let Parts { name, files, variables, servers } = found.unwrap_or_default();
    ImportedApi { name, files, variables, servers, findings: findings.into_list() }
}

#[derive(Default)]
struct Parts {
    name: String,
    files: Vec<SketchFile>,
    variables: Vec<(String, String)>,
    servers: BTreeSet<String>,
}

/// Returns `None` after an error.
fn import(bytes: &[u8], options: &ApiOptions, findings: &mut Findings) -> Option<Parts> {
    let mut refuse = |place, message: String, hint: Option<&str>| {
        findings.error(Code::OpenapiDocument, place, message, hint.map(str::to_owned));
        None
    };
    if bytes.len() > MAX_DOCUMENT {
        return refuse(Place::START, format!("the document is larger than {MAX_DOCUMENT} bytes"), None);
    }
    let Ok(text) = std::str::from_utf8(bytes) else {
        return refuse(Place::START, "the document is not UTF-8".to_owned(), Some("save it as UTF-8"));
    };
    let root = match parse(text.strip_prefix('\u{feff}').unwrap_or(text)) {
        Ok(root) => root,
        Err(bad) => return refuse(bad.place, bad.message, None),
    };
    let version = root.text_of("openapi").unwrap_or_default();
    if !version.starts_with("3.0") && !version.starts_with("3.1") {
        let swagger = root.get("swagger").is_some();
        let hint = swagger.then_some("npx swagger2openapi@7 DOCUMENT > openapi.json");
        let message = if swagger {
            "this is Swagger 2.0: expected OpenAPI 3.0 or 3.1".to_owned()
        } else {
            format!("expected `openapi` with the version 3.0 or 3.1, found {}", quoted(version))
        };
        let found = root.get("openapi").or_else(|| root.get("swagger"));
        return refuse(found.map_or(root.place, |node| node.place), message, hint);
    }
    let name = ensemble_name(&root, options, findings)?;
    let all = operations(&root, &name, findings)?;
    let chosen = select(&all, options, findings)?;
    let schemes = root.get("components").and_then(|all| all.get("securitySchemes"));
    let known = || schemes.map_or(&[][..], Node::entries).iter().map(|(name, _)| name.as_str());
    if let Some(wished) = options.security.as_deref().filter(|wished| !known().any(|name| name == *wished)) {
        let message = format!("the document has no security scheme {}", quoted(wished));
        let names = known().map(quoted).collect::<Vec<_>>().join(", ");
        let hint = format!("use `--security` with one of: {names}");
        findings.error(Code::OpenapiSecurity, Place::START, message, Some(hint));
        return None;
    }
    let credentials = Credentials { ensemble: &name, chosen: options.security.as_deref() };
    let common = Common { credentials, result: options.result.as_deref() };
    let servers = Servers { root: &root, options };
    let (mut tools, mut used_servers) = (Vec::<SketchFile>::new(), BTreeSet::new());
    for (tool, operation) in chosen {
        let base = match servers.of(*operation) {
            Ok(base) => base,
            Err(LeftOut { place, why }) => {
                findings.error(Code::OpenapiServer, place, why, None);
                return None;
            }
        };
        match file_of(tool, &name, *operation, &base, &common, findings) {
            Ok((file, origin)) => {
                used_servers.insert(origin);
                tools.push(file);
            }
            Err(LeftOut { place, why }) => {
                findings.warning(Code::OpenapiLeftOut, place, format!("{} is left out: {why}", quoted(tool)));
            }
        }
    }
    if tools.is_empty() {
        let message = "no operation of the document can be imported".to_owned();
        let hint = (!all.is_empty()).then(|| "see the warnings above".to_owned());
        findings.error(Code::OpenapiDocument, root.place, message, hint);
        return None;
    }
    let used = |name: &&str| {
        let reference = format!("${{{}}}", common.credentials.variable(name));
        tools.iter().any(|file| file.text.contains(&reference))
    };
    let variables = known()
        .filter(used)
        .map(|scheme| (common.credentials.variable(scheme), holds(&root, scheme)))
        .collect();
    let description = root.get("info").map_or("", |info| info.text_of("title").unwrap_or_default());
    let sources: String =
        tools.iter().map(|file| format!("\n[[invokers]]\nsource = {}\n", toml(&file.path))).collect();
    let description = match prose(description, 200) {
        title if title.is_empty() => "Requests to an HTTP API".to_owned(),
        title => title,
    };
    let head = format!("[ensemble]\nname = {}\ndescription = {}\n{sources}", toml(&name), toml(&description));
    let mut files = vec![SketchFile { path: format!("{name}.toml"), text: head }];
    files.extend(tools);
    Some(Parts { name, files, variables, servers: used_servers })
}

fn ensemble_name(root: &Node, options: &ApiOptions, findings: &mut Findings) -> Option<String> {
    let title = root.get("info").and_then(|info| info.text_of("title")).unwrap_or_default();
    let made = || {
        let made = cleaned(title).to_ascii_lowercase().replace("__", "_");
        let short = made.get(..made.len().min(24)).unwrap_or_default().trim_end_matches(['-', '_']);
        if title.is_empty() || short == "server" { "api".to_owned() } else { short.to_owned() }
    };
    let name = options.name.clone().unwrap_or_else(made);
    match EnsembleName::new(name.as_str()) {
        Ok(_) => Some(name),
        Err(bad) => {
            let hint = Some("use `--name`, for example: `--name tickets`".to_owned());
            findings.error(Code::BadName, Place::START, bad.to_string(), hint);
            None
        }
    }
}

/// All operations with their names, in the order of the document. A name does not depend on what is chosen.
fn operations<'d>(
    root: &'d Node,
    ensemble: &str,
    findings: &mut Findings,
) -> Option<Vec<(String, Operation<'d>)>> {
    let (mut names, mut all) = (Names::default(), Vec::new());
    let most = MAX_NAME.saturating_sub(ensemble.len() + 2).max(16);
    for (path, item) in root.get("paths").map_or(&[][..], Node::entries) {
        let item = match resolved(root, item) {
            Ok(item) => item,
            Err(_) => {
                let message = format!("the path {} is a reference that is not in the document", quoted(path));
                findings.warning(Code::OpenapiReference, item.place, message);
                continue;
            }
        };
        for method in METHODS {
            let Some(node) = item.get(method) else { continue };
            if all.len() >= MAX_OPERATIONS {
                let message = format!("the document has more than {MAX_OPERATIONS} operations");
                findings.error(Code::TooMany, node.place, message, Some("divide the document".to_owned()));
                return None;
            }
            let wished = match node.text_of("operationId") {
                Some(id) => id.to_owned(),
                None => format!("{method}_{path}"),
            };
            let mut stem = String::new();
            for c in wished.chars() {
                match c {
                    c if c.is_ascii_alphanumeric() || c == '-' => stem.push(c),
                    _ if stem.is_empty() || stem.ends_with('_') => {}
                    _ => stem.push('_'),
                }
            }
            let stem = stem.trim_matches(['_', '-']);
            let name = names.unique(if stem.is_empty() { method } else { stem }, most);
            all.push((name, Operation { root, path, method, node, item }));
        }
    }
    Some(all)
}

/// The operations that the user named; an error if there is none of one name.
fn select<'a, 'd>(
    all: &'a [(String, Operation<'d>)],
    options: &ApiOptions,
    findings: &mut Findings,
) -> Option<Vec<(&'a str, &'a Operation<'d>)>> {
    let tags = |operation: &Operation<'d>| -> Vec<&'d str> {
        operation.node.get("tags").map_or(&[][..], Node::items).iter().filter_map(Node::text).collect()
    };
    let on_path = |wished: &str, path: &str| match wished.strip_suffix('*') {
        Some(start) => path.starts_with(start),
        None => path == wished,
    };
    let id = |name: &'a str, operation: &Operation<'d>| operation.node.text_of("operationId").unwrap_or(name);
    let mut unknown = |what: &str, wished: &str, known: Vec<&str>| {
        let hint = match nearest(wished, known.iter().copied()) {
            Some(near) => format!("did you mean {}?", quoted(near)),
            None => format!(
                "the document has: {}",
                known.iter().take(20).map(|name| quoted(name)).collect::<Vec<_>>().join(", ")
            ),
        };
        let message = format!("the document has no {what} {}", quoted(wished));
        findings.error(Code::OpenapiDocument, Place::START, message, Some(hint));
    };
    let mut is_sound = true;
    let known_tags: BTreeSet<&str> = all.iter().flat_map(|(_, operation)| tags(operation)).collect();
    for tag in options.tags.iter().filter(|tag| !known_tags.contains(tag.as_str())) {
        unknown("tag", tag, known_tags.iter().copied().collect());
        is_sound = false;
    }
    for path in options.paths.iter().filter(|path| !all.iter().any(|(_, one)| on_path(path, one.path))) {
        unknown("path", path, all.iter().map(|(_, operation)| operation.path).collect());
        is_sound = false;
    }
    let is_called = |wished: &str, (name, operation): &'a (String, Operation<'d>)| {
        name == wished || id(name, operation) == wished
    };
    for wished in options.operations.iter().filter(|wished| !all.iter().any(|one| is_called(wished, one))) {
        unknown("operation", wished, all.iter().map(|(name, operation)| id(name, operation)).collect());
        is_sound = false;
    }
    let is_all = options.tags.is_empty() && options.paths.is_empty() && options.operations.is_empty();
    let is_chosen = |one: &&'a (String, Operation<'d>)| {
        is_all
            || tags(&one.1).iter().any(|tag| options.tags.iter().any(|wished| wished == tag))
            || options.paths.iter().any(|wished| on_path(wished, one.1.path))
            || options.operations.iter().any(|wished| is_called(wished, one))
    };
    let chosen: Vec<_> =
        all.iter().filter(is_chosen).map(|(name, operation)| (name.as_str(), operation)).collect();
    if chosen.len() > MAX_TOOLS {
        let message =
            format!("these are {} operations: an ensemble has at most {MAX_TOOLS} tools", chosen.len());
        let tags = known_tags.iter().take(20).map(|tag| quoted(tag)).collect::<Vec<_>>().join(", ");
        let hint = format!("choose with `--tag`, `--path` or `--operation`; tags of the document: {tags}");
        findings.error(Code::TooMany, Place::START, message, Some(hint));
        return None;
    }
    is_sound.then_some(chosen)
}

/// Where requests are sent to.
struct Servers<'a> {
    root: &'a Node,
    options: &'a ApiOptions,
}

impl Servers<'_> {
    /// Returns the address that the path of an operation is appended to: of the operation, its path, or the document.
    fn of(&self, operation: Operation<'_>) -> Result<String, LeftOut> {
        let first = |node: &'_ Node| node.get("servers").and_then(|servers| servers.items().first().cloned());
        let own = [operation.node, operation.item, self.root].into_iter().find_map(first);
        let place = own.as_ref().map_or(self.root.place, |server| server.place);
        let url = match &self.options.server {
            Some(given) => given.clone(),
            None => self.declared(own.as_ref()).map_err(|why| LeftOut { place, why: why.to_owned() })?,
        };
        if !url.starts_with("http://") && !url.starts_with("https://") {
            let why =
                format!("the server {} has no address that begins with http:// or https://", quoted(&url));
            return Err(LeftOut { place, why });
        }
        if url.contains(['?', '#', '{', '}', '@']) || url.contains(char::is_whitespace) {
            let why = format!("the server {} has more than a host and a path", quoted(&url));
            return Err(LeftOut { place, why });
        }
        let url = literal(url.trim_end_matches('/'));
        if origin(&url).is_none() {
            return Err(LeftOut { place, why: format!("the server {} has no host", quoted(&url)) });
        }
        Ok(url)
    }

    /// A path is relative to the address of the document; without an address there is no server.
    fn declared(&self, server: Option<&Node>) -> Result<String, &'static str> {
        let mut rest = server.and_then(|server| server.text_of("url")).unwrap_or("/");
        let variables = server.and_then(|server| server.get("variables"));
        let mut url = String::new();
        // One pass: the value of a variable is not read for variables again.
        while let Some((before, (name, after))) =
            rest.split_once('{').and_then(|(before, from)| Some((before, from.split_once('}')?)))
        {
            url.push_str(before);
            match variables.and_then(|all| all.get(name)) {
                Some(one) => url.push_str(one.text_of("default").unwrap_or_default()),
                None => return Err("a variable in the address of its server is not declared"),
            }
            if url.len() > MAX_ADDRESS {
                return Err(LONG_ADDRESS);
            }
            rest = after;
        }
        if url.len() + rest.len() > MAX_ADDRESS {
            return Err(LONG_ADDRESS);
        }
        url.push_str(rest);
        if url.starts_with("//") || !url.starts_with('/') {
            return Ok(url);
        }
        let address = self.options.address.as_deref().and_then(|address| address.split_once("://"));
        let (scheme, rest) = address.ok_or("the document does not say on which server its operations are")?;
        Ok(format!("{scheme}://{}{url}", rest.split(['/', '?', '#']).next().unwrap_or_default()))
    }
}

/// The file of a tool, in as much detail as a tool can have, and the origin that its requests go to.
fn file_of(
    tool: &str,
    ensemble: &str,
    operation: Operation<'_>,
    base: &str,
    common: &Common<'_>,
    findings: &mut Findings,
) -> Result<(SketchFile, String), LeftOut> {
    let path = format!("{ensemble}/invokers/{tool}.toml");
    let mut problems = Vec::new();
    for detail in schema::DETAILS {
        // What is said about a form that is not used is not said.
        let mut said = findings.nested();
        let made = operation.tool(tool, base, common, detail, &mut said)?;
        let text = made.toml();
        if text.len() > MAX_TOOL {
            problems = vec![format!("its description has more than {MAX_TOOL} bytes")];
            continue;
        }
        let head = format!(
            "[ensemble]\nname = {0}\ndescription = {0}\n[[invokers]]\nsource = {1}\n",
            toml(ensemble),
            toml(&path)
        );
        let head = SketchFile { path: format!("{ensemble}.toml"), text: head };
        let file = SketchFile { path: path.clone(), text };
        problems = validate::errors(&[head, file.clone()]);
        if problems.is_empty() {
            findings.add(said);
            return Ok((file, origin(&made.url).unwrap_or_default().to_owned()));
        }
    }
    Err(LeftOut { place: operation.node.place, why: finding::shown(&problems.join("; ")) })
}

/// What the variable of a scheme holds.
fn holds(root: &Node, scheme: &str) -> String {
    let schemes = root.get("components").and_then(|all| all.get("securitySchemes"));
    let node = schemes.and_then(|all| all.get(scheme)).and_then(|node| resolved(root, node).ok());
    let text = |key: &str| node.and_then(|node| node.text_of(key)).unwrap_or_default();
    match (text("type"), text("scheme").to_ascii_lowercase().as_str()) {
        ("apiKey", _) => format!("the key for the {} {}", finding::shown(text("in")), quoted(text("name"))),
        ("http", "basic") => "base64 of `USER:PASSWORD`".to_owned(),
        ("oauth2" | "openIdConnect", _) => "an access token".to_owned(),
        _ => "a token".to_owned(),
    }
}

#[cfg(test)]
mod tests;
