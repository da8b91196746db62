//! `server.json` of the MCP registry, in both spellings of its keys, also as the registry's API wraps it.
//!
//! <https://github.com/modelcontextprotocol/registry/blob/main/docs/reference/server-json/generic-server-json.md>
//! (checked 2026-11). One server is imported: its first package that can be started, else its first address. Versions are
//! those of the file. One that is not exact is noted with the code of `ensembles check`.

use converse_config::{Code, unpinned_package};
use serde_json::{Map, Value};

use super::OLD_SSE;
use crate::draft::{Draft, DraftReach, Named, RawText};
use crate::name::{is_variable, variable};
use crate::note::{Notes, quoted};
use crate::server::{Drafts, ForeignError};
use crate::text::{Dialect, Piece, Text};

/// Packages, addresses, arguments and variables that are read of each list.
const MAX_ENTRIES: usize = 256;

pub(crate) fn drafts(root: &Map<String, Value>, notes: &mut Notes) -> Result<Drafts, ForeignError> {
    let root = root.get("server").and_then(Value::as_object).unwrap_or(root);
    let whole = text(root, "name").ok_or(ForeignError::Missing { format: "server-json", key: "name" })?;
    let name = whole.rsplit('/').next().unwrap_or(whole);
    let (packages, remotes) = (list(root, "packages"), list(root, "remotes"));
    let package = packages.iter().find_map(|package| of_package(package, name, notes));
    let reach = match package {
        Some(reach) => Some(reach),
        None => of_remotes(&remotes, name, notes),
    };
    let Some(reach) = reach else {
        notes.server(name, "it has neither a package that can be started nor an address and is left out");
        return Ok(Drafts::of(Vec::new()));
    };
    let others = packages.len() + remotes.len() - 1;
    if others > 0 {
        let which = if matches!(reach, DraftReach::Http { .. }) { "an address" } else { "a package" };
        notes.server(
            name,
            format!("{which} is imported; {others} more of its packages and addresses are not"),
        );
    }
    if matches!(text(root, "status"), Some("deprecated" | "deleted")) {
        notes.server(name, "the registry says that it is deprecated");
    }
    let mut draft = Draft::new(name, Dialect::None, reach);
    draft.description = text(root, "description").map(str::to_owned);
    Ok(Drafts::of(vec![draft]))
}

fn of_package(package: &Map<String, Value>, server: &str, notes: &mut Notes) -> Option<DraftReach> {
    let (registry, identifier) = (text(package, "registryType")?, text(package, "identifier")?);
    let transport = package.get("transport").and_then(Value::as_object);
    if transport.and_then(|transport| text(transport, "type")).is_some_and(|kind| kind != "stdio") {
        notes.server(
            server,
            "a package that serves HTTP itself is not imported: start it, and import its address",
        );
        return None;
    }
    let version = text(package, "version").filter(|version| !version.is_empty());
    let pinned = match version {
        Some(version) => format!("{identifier}@{version}"),
        None => identifier.to_owned(),
    };
    let environment = variables(&list(package, "environmentVariables"), server, notes);
    let plain = |word: &str| vec![Piece::Plain(word.to_owned())];
    let arguments = |key: &str| -> Vec<Text> {
        list(package, key).iter().flat_map(|argument| of_argument(argument, server)).collect()
    };
    let (runtime, own) = (arguments("runtimeArguments"), arguments("packageArguments"));
    let hint = text(package, "runtimeHint");
    let or = |known: &[&str], usual: &'static str| {
        plain(hint.filter(|hint| known.contains(hint)).unwrap_or(usual))
    };
    let words: Vec<Text> = match registry {
        "npm" => {
            let yes = (!runtime.contains(&plain("-y"))).then(|| plain("-y"));
            let begin = std::iter::once(or(&["npx", "bunx"], "npx")).chain(yes).chain(runtime);
            begin.chain([plain(&pinned)]).chain(own).collect()
        }
        "pypi" => {
            let begin = std::iter::once(or(&["uvx", "pipx"], "uvx"));
            begin.chain(runtime).chain([plain(&pinned)]).chain(own).collect()
        }
        "nuget" => {
            let begin = [plain("dnx"), plain(&pinned), plain("--yes")].into_iter().chain(runtime);
            begin.chain([plain("--")]).chain(own).collect()
        }
        "oci" => {
            let has_tag = identifier.rsplit('/').next().is_some_and(|last| last.contains([':', '@']));
            let image = match version {
                Some(version) if !has_tag => format!("{identifier}:{version}"),
                _ => identifier.to_owned(),
            };
            let passed = environment.iter().flat_map(|(name, _)| [plain("-e"), plain(name)]);
            let begin = [or(&["docker", "podman"], "docker"), plain("run"), plain("-i"), plain("--rm")];
            begin.into_iter().chain(runtime).chain(passed).chain([plain(&image)]).chain(own).collect()
        }
        "mcpb" => {
            let digest = text(package, "fileSha256").filter(|digest| digest.len() == 64);
            let digest = digest.filter(|digest| digest.chars().all(|c| c.is_ascii_hexdigit()));
            let digest = digest.map(|digest| format!(" if its SHA-256 is {digest}")).unwrap_or_default();
            notes.server(
                server,
                format!("it has a bundle: download the `.mcpb` file and import that{digest}"),
            );
            return None;
        }
        other => {
            notes.server(server, format!("packages of {} are not imported", quoted(other)));
            return None;
        }
    };
    // A word with a variable is an option or an argument, never the package.
    let known = words.iter().map(|word| match word.as_slice() {
        [Piece::Plain(text)] => text.as_str(),
        _ => "{}",
    });
    if let Some(why) = unpinned_package(&known.collect::<Vec<_>>()) {
        let message = format!("{why}: another one may be started each time");
        notes.finding(server, Code::UnpinnedPackage, message);
    }
    if text(package, "fileSha256").is_some() {
        notes.server(
            server,
            "the digest of its package is not checked: the program that starts it downloads it",
        );
    }
    Some(DraftReach::Stdio {
        command: words.into_iter().map(RawText::Parsed).collect(),
        environment,
        cwd: None,
    })
}

/// The transport of an address.
fn kind_of(remote: &Map<String, Value>) -> Option<&str> {
    text(remote, "type").or_else(|| text(remote, "transportType"))
}

/// The first address of streamable HTTP, else the first one.
fn of_remotes(remotes: &[&Map<String, Value>], server: &str, notes: &mut Notes) -> Option<DraftReach> {
    let usable = || remotes.iter().filter(|remote| text(remote, "url").is_some());
    let remote = usable().find(|remote| kind_of(remote) != Some("sse")).or_else(|| usable().next())?;
    if kind_of(remote) == Some("sse") {
        notes.server(server, OLD_SSE);
    }
    let url = template(text(remote, "url")?, remote, server);
    let headers = variables(&list(remote, "headers"), server, notes);
    Some(DraftReach::Http { url: RawText::Parsed(url), headers })
}

/// Environment variables or headers. Those that need not be set and have no value are named in a note.
fn variables(entries: &[&Map<String, Value>], server: &str, notes: &mut Notes) -> Named {
    let mut named = Named::new();
    let mut left_out = Vec::new();
    for entry in entries {
        let Some(name) = text(entry, "name") else { continue };
        let own = if is_variable(name) { name.to_owned() } else { variable(&[server, name]) };
        let secret = flag(entry, "isSecret");
        let value = match (text(entry, "value"), text(entry, "default").filter(|_| !secret)) {
            (Some(value), _) => template(value, entry, server),
            (None, Some(default)) if !default.contains(['{', '}']) => {
                vec![Piece::Variable { name: own, default: Some(default.to_owned()) }]
            }
            (None, Some(default)) => vec![Piece::Plain(default.to_owned())],
            (None, None) if flag(entry, "isRequired") => vec![Piece::Variable { name: own, default: None }],
            (None, None) => {
                left_out.push(quoted(name));
                continue;
            }
        };
        named.push((name.to_owned(), RawText::Parsed(value)));
    }
    if !left_out.is_empty() {
        let names = left_out.join(", ");
        notes.server(server, format!("what need not be set is not imported: {names}"));
    }
    named
}

/// The words of an argument; none if it need not be given and has no value, because then a person chooses.
fn of_argument(argument: &Map<String, Value>, server: &str) -> Vec<Text> {
    let name = text(argument, "name");
    let hint = name.or_else(|| text(argument, "valueHint")).unwrap_or("argument");
    let default = text(argument, "default").filter(|_| !flag(argument, "isSecret"));
    let value = match (text(argument, "value"), default) {
        (Some(value), _) => template(value, argument, server),
        (None, Some(default)) => vec![Piece::Plain(default.to_owned())],
        (None, None) if flag(argument, "isRequired") => {
            vec![Piece::Variable { name: variable(&[server, hint.trim_start_matches('-')]), default: None }]
        }
        (None, None) => return Vec::new(),
    };
    let flag_word = name.map(|name| vec![Piece::Plain(name.to_owned())]);
    flag_word.into_iter().chain([value]).filter(|word| !word.is_empty()).collect()
}

/// Fills in `{name}` from `variables` of the entry: the value, the default, or an environment variable.
fn template(text_of: &str, entry: &Map<String, Value>, server: &str) -> Text {
    let known = entry.get("variables").and_then(Value::as_object);
    let mut pieces = Text::new();
    let mut rest = text_of;
    while let Some((before, name, after)) = next(rest) {
        let found = known.and_then(|known| known.get(name)).and_then(Value::as_object);
        let piece = match found {
            None => Piece::Plain(format!("{{{name}}}")),
            Some(found) => {
                let default = text(found, "default").filter(|_| !flag(found, "isSecret"));
                match text(found, "value").or(default) {
                    Some(value) => Piece::Plain(value.to_owned()),
                    None => Piece::Variable { name: variable(&[server, name]), default: None },
                }
            }
        };
        pieces.extend([Piece::Plain(before.to_owned()), piece]);
        rest = after;
    }
    pieces.push(Piece::Plain(rest.to_owned()));
    pieces.retain(|piece| !matches!(piece, Piece::Plain(plain) if plain.is_empty()));
    pieces
}

fn next(rest: &str) -> Option<(&str, &str, &str)> {
    let (before, inside) = rest.split_once('{')?;
    let (name, after) = inside.split_once('}')?;
    Some((before, name, after))
}

/// The value of a key, also in the spelling of files before 2025-09 (`registry_type`).
fn value<'m>(map: &'m Map<String, Value>, key: &str) -> Option<&'m Value> {
    let snake = || {
        let with_line =
            |c: char| if c.is_ascii_uppercase() { format!("_{}", c.to_ascii_lowercase()) } else { c.into() };
        key.chars().map(with_line).collect::<String>()
    };
    map.get(key).or_else(|| map.get(&snake()))
}

fn text<'m>(map: &'m Map<String, Value>, key: &str) -> Option<&'m str> {
    value(map, key).and_then(Value::as_str)
}

fn flag(map: &Map<String, Value>, key: &str) -> bool {
    value(map, key).and_then(Value::as_bool).unwrap_or_default()
}

fn list<'m>(map: &'m Map<String, Value>, key: &str) -> Vec<&'m Map<String, Value>> {
    let entries = value(map, key).and_then(Value::as_array).into_iter().flatten();
    entries.filter_map(Value::as_object).take(MAX_ENTRIES).collect()
}
