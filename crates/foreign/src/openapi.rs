//! Imports an OpenAPI document (3.0, 3.1; JSON or YAML) as an ensemble of HTTP requests.
//!
//! The document is foreign: its size, depth, references and aliases are bounded, nothing that it names is read or
//! contacted, and every tool is checked as `ensembles check` does before it is given.

mod body;
mod choice;
mod document;
mod finding;
mod operation;
mod response;
mod schema;
mod security;
mod server;
mod tool;
mod yaml;

use std::collections::BTreeSet;

use converse_canister::EnsembleName;
use converse_config::{Code, Finding, Severity};

use crate::name::cleaned;
use crate::sketch::SketchFile;
use crate::toml_text::quoted as toml;
use crate::validate;
use document::{Node, parse, resolved};
use finding::{Findings, Place, prose, quoted};
use operation::{Common, LeftOut, Operation};
use security::{Credentials, holds, schemes};
use server::{Servers, checked};
use tool::{Names, origin};

pub use tool::WRITTEN;

/// The largest document, in bytes.
pub const MAX_DOCUMENT: usize = 20 * 1024 * 1024;
/// The tools of an ensemble.
const MAX_TOOLS: usize = 256;
/// A tool is sent to a model with every request.
const MAX_TOOL: usize = 12 * 1024;
/// Bytes of a tool's name with that of its ensemble.
const MAX_NAME: usize = 64;

const MAX_OPERATIONS: usize = 10_000;

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
    check_version(&root, findings)?;
    let name = ensemble_name(&root, options, findings)?;
    let all = operations(&root, &name, findings)?;
    let chosen = choice::select(&all, options, findings)?;
    let servers = check_options(&root, options, findings)?;
    let common = Common {
        credentials: Credentials::new(&root, &name, options.security.as_deref()),
        result: options.result.as_deref(),
    };
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
    if let Some(pointer) = options.result.as_deref().filter(|_| !tools.iter().any(has_result)) {
        let message = format!("no response has {}, so all responses are passed on whole", quoted(pointer));
        findings.option(Severity::Warning, Code::OpenapiDocument, "result", message, None);
    }
    let variables = common.credentials.variables.iter().filter_map(|(scheme, variable)| {
        let reference = format!("${{{variable}}}");
        let scheme = schemes(&root).iter().rev().find(|(known, _)| known == scheme);
        let is_used = tools.iter().any(|file| file.text.contains(&reference));
        Some((variable.clone(), holds(&root, &scheme.filter(|_| is_used)?.1)))
    });
    let variables = variables.collect();
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

fn has_result(file: &SketchFile) -> bool {
    file.text.lines().any(|line| line.starts_with("result = "))
}

fn check_version(root: &Node, findings: &mut Findings) -> Option<()> {
    let version = root.get("openapi").and_then(Node::scalar).unwrap_or_default();
    if version.starts_with("3.0") || version.starts_with("3.1") {
        return Some(());
    }
    let found = root.get("openapi").or_else(|| root.get("swagger"));
    let is_swagger = root.get("swagger").is_some();
    let hint = is_swagger.then(|| "npx swagger2openapi@7 DOCUMENT > openapi.json".to_owned());
    let message = match (is_swagger, version.is_empty()) {
        (true, _) => "this is Swagger 2.0: expected OpenAPI 3.0 or 3.1".to_owned(),
        (false, true) => "expected `openapi` with the version 3.0 or 3.1, found no version".to_owned(),
        (false, false) => {
            format!("expected `openapi` with the version 3.0 or 3.1, found {}", quoted(&version))
        }
    };
    let place = found.map_or(root.place, |node| node.place);
    findings.error(Code::OpenapiDocument, place, message, hint);
    None
}

/// Returns where requests go to, if the options that do not choose operations are sound.
fn check_options<'a>(
    root: &'a Node,
    options: &'a ApiOptions,
    findings: &mut Findings,
) -> Option<Servers<'a>> {
    let mut refuse = |code, option, message, hint: Option<String>| {
        findings.option(Severity::Error, code, option, message, hint);
        None
    };
    let names: Vec<&str> = schemes(root).iter().map(|(name, _)| name.as_str()).collect();
    if let Some(wished) = options.security.as_deref().filter(|wished| !names.contains(wished)) {
        let message = format!("the document has no security scheme {}", quoted(wished));
        let names = names.into_iter().map(quoted).collect::<Vec<_>>().join(", ");
        let hint = match names.is_empty() {
            true => "the document has no security schemes: leave `--security` out".to_owned(),
            false => format!("use `--security` with one of: {names}"),
        };
        return refuse(Code::OpenapiSecurity, "security", message, Some(hint));
    }
    if let Some(pointer) = options.result.as_deref().filter(|pointer| !pointer.starts_with('/')) {
        let message = format!("expected a JSON pointer, which begins with `/`, found {}", quoted(pointer));
        return refuse(Code::BadValue, "result", message, Some("--result /data".to_owned()));
    }
    let given = match options.server.as_deref().map(|url| (url, checked(url))) {
        Some((url, Err(why))) => {
            return refuse(Code::OpenapiServer, "server", format!("the address {} {why}", quoted(url)), None);
        }
        Some((_, Ok(url))) => Some(url),
        None => None,
    };
    Some(Servers { root, given, address: options.address.as_deref() })
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
            findings.option(Severity::Error, Code::BadName, "name", bad.to_string(), hint);
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

#[cfg(test)]
mod tests;
