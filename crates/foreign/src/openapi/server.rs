//! Where the requests of an operation are sent to.

use super::document::Node;
use super::finding::quoted;
use super::operation::{LeftOut, Operation};
use super::tool::{literal, origin};

/// Bytes of the address of a server.
const MAX_ADDRESS: usize = 2_000;
const LONG_ADDRESS: &str = "the address of a server has more than 2000 bytes";

/// The servers of a document, and what replaces them.
pub(super) struct Servers<'a> {
    pub(super) root: &'a Node,
    /// The address that the user named, checked.
    pub(super) given: Option<String>,
    /// Address of the document, if it has one.
    pub(super) address: Option<&'a str>,
}

impl Servers<'_> {
    /// Returns the address that the path of an operation is appended to: of the operation, its path, or the document.
    pub(super) fn of(&self, operation: Operation<'_>) -> Result<String, LeftOut> {
        if let Some(given) = &self.given {
            return Ok(given.clone());
        }
        let first = |node: &'_ Node| node.get("servers").and_then(|servers| servers.items().first().cloned());
        let own = [operation.node, operation.item, self.root].into_iter().find_map(first);
        let place = own.as_ref().map_or(self.root.place, |server| server.place);
        let declared = self.declared(own.as_ref()).map_err(str::to_owned);
        let checked = declared.and_then(|url| {
            checked(&url).map_err(|why| format!("the address {} of its server {why}", quoted(&url)))
        });
        checked.map_err(|why| LeftOut { place, why })
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
            let Some(variable) = variables.and_then(|all| all.get(name)) else {
                return Err("a variable in the address of its server is not declared");
            };
            // Ports are often written as numbers.
            let default = variable.get("default").and_then(Node::scalar);
            url.push_str(&default.ok_or("a variable in the address of its server has no default")?);
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
        let address = self.address.and_then(|address| address.split_once("://"));
        let (scheme, rest) = address.ok_or("the document does not say on which server its operations are")?;
        Ok(format!("{scheme}://{}{url}", rest.split(['/', '?', '#']).next().unwrap_or_default()))
    }
}

/// Returns the address of a server as the beginning of a template.
///
/// # Errors
///
/// What is wrong with the address, as the predicate of a sentence.
pub(super) fn checked(url: &str) -> Result<String, &'static str> {
    if !url.starts_with("http://") && !url.starts_with("https://") {
        return Err("does not begin with `http://` or `https://`");
    }
    if url.contains(['?', '#', '{', '}', '@']) || url.contains(char::is_whitespace) {
        return Err("has more than a host and a path");
    }
    let url = literal(url.trim_end_matches('/'));
    if origin(&url).is_none() { Err("has no host") } else { Ok(url) }
}
