//! Who calls: for the audit, and never for a decision. A client says of itself what it likes.

use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::service::RequestContext;

/// Characters of what a client calls itself.
const NAME: usize = 100;

/// Who calls.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Caller {
    /// Its name and version, as it gives them.
    pub client: Option<String>,
    /// Where it calls from, or who it has shown to be; over HTTP only.
    pub remote: Option<Arc<str>>,
}

/// What the front knows of a caller: an extension of the HTTP request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remote(pub Arc<str>);

impl Caller {
    pub(crate) fn of(context: &RequestContext<RoleServer>) -> Self {
        let client = context.client_info().map(|info| {
            let name: String = format!("{} {}", info.name, info.version);
            name.chars().filter(|c| !c.is_control()).take(NAME).collect()
        });
        let parts = context.extensions.get::<http::request::Parts>();
        let remote = parts.and_then(|parts| parts.extensions.get::<Remote>());
        Self { client, remote: remote.map(|remote| Arc::clone(&remote.0)) }
    }

    /// In a line: `claude-code 2.1, 10.0.0.7`.
    pub fn line(&self) -> Option<String> {
        match (&self.client, &self.remote) {
            (None, None) => None,
            (Some(client), None) => Some(client.clone()),
            (None, Some(remote)) => Some(remote.to_string()),
            (Some(client), Some(remote)) => Some(format!("{client}, {remote}")),
        }
    }
}
