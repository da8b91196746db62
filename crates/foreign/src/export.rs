//! Exports plans as `mcpServers`, which most other programs read.
//!
//! References become `${NAME}` and `${NAME:-default}`, as Claude Code fills them in
//! (<https://code.claude.com/docs/en/mcp>, checked 2026-11). Only servers can be exported: other
//! programs do not know declared tools.

use converse_config::{
    ConnectionPlan, EnsemblePlan, Piece as Part, Policy, Scope, SecretRef, ToolFilter, TransportPlan,
};
use serde_json::{Map, Value, json};

use crate::draft::{Draft, DraftOauth, DraftReach, RawText};
use crate::finish::Finisher;
use crate::note::{Note, Notes};
use crate::server::{Oauth, Reach, Server};
use crate::text::{Dialect, Inputs, Piece, Text};
use crate::variables::Variables;

/// The exported servers.
#[derive(Debug, Clone, PartialEq)]
pub struct Exported {
    /// `{"mcpServers": {…}}`
    pub value: Value,
    /// What `mcpServers` cannot express.
    pub notes: Vec<Note>,
}

/// Exports the servers among these ensembles. `named`: they were named one by one, so a built-in ensemble without a server is
/// noted too.
pub fn export<'p>(plans: impl IntoIterator<Item = &'p EnsemblePlan>, named: bool) -> Exported {
    let plans: Vec<&EnsemblePlan> = plans.into_iter().collect();
    let mut notes = Notes::default();
    let referred = plans.iter().flat_map(|plan| plan.variables()).map(str::to_owned).collect();
    let mut variables = Variables::referring(referred);
    let mut servers = Map::new();
    for plan in plans {
        let name = plan.name.as_str();
        let Some(connection) = &plan.connection else {
            if named || plan.origin.scope != Scope::Shipped {
                notes.server(name, "its tools are declared, not those of a server, and cannot be exported");
            }
            continue;
        };
        note_losses(plan, connection, &mut notes);
        let draft = draft(plan, connection);
        let inputs = Inputs::new();
        let server = Finisher::new(name, &draft, &inputs, &mut variables, &mut notes).server();
        if let Some(server) = server {
            if !server.variables.is_empty() {
                let lifted = server.variables.join("`, `");
                notes.server(name, format!("possible secrets are not exported; set them in `{lifted}`"));
            }
            servers.insert(name.to_owned(), entry(&server));
        }
    }
    Exported { value: json!({ "mcpServers": servers }), notes: notes.into_list() }
}

/// Notes what `mcpServers` cannot express.
fn note_losses(plan: &EnsemblePlan, connection: &ConnectionPlan, notes: &mut Notes) {
    let name = plan.name.as_str();
    if !plan.enabled {
        notes.server(
            name,
            "it is not enabled here and exported with `disabled`, which not every program supports",
        );
    }
    if plan.filter != ToolFilter::default() {
        notes.server(
            name,
            "`include` and `exclude` are not exported: another program will offer all of its tools",
        );
    }
    if let Some(auth) = &connection.auth {
        let own = auth.client_secret.is_some() || auth.client_metadata_url.is_some();
        let named = matches!(&auth.client_id, Some(id) if !id.variables().is_empty());
        let with = match (own, named) {
            (_, true) => "; its client id is a variable and is not exported",
            (true, false) => "; of its client only the id is exported",
            (false, false) => "",
        };
        notes.server(name, format!("it uses OAuth: the other program must log in itself{with}"));
    }
    let limits =
        plan.defaults != Policy::default() || !plan.tools.is_empty() || connection.connect_timeout.is_some();
    if limits {
        notes.server(name, "limits and permissions are not exported");
    }
}

fn draft(plan: &EnsemblePlan, connection: &ConnectionPlan) -> Draft {
    let named = |values: &[(String, SecretRef)]| {
        values.iter().map(|(name, value)| (name.clone(), parsed(value))).collect()
    };
    let reach = match &connection.transport {
        TransportPlan::Stdio { command, environment, cwd } => DraftReach::Stdio {
            command: command.iter().map(parsed).collect(),
            environment: named(environment),
            cwd: cwd.as_ref().map(|cwd| cwd.to_string_lossy().into_owned()),
        },
        TransportPlan::Http { url, headers } => {
            DraftReach::Http { url: parsed(url), headers: named(headers) }
        }
    };
    let mut draft = Draft::new(plan.name.as_str(), Dialect::None, reach);
    draft.enabled = plan.enabled;
    draft.oauth = connection.auth.as_ref().map(|auth| DraftOauth {
        client_id: auth.client_id.as_ref().filter(|id| id.variables().is_empty()).map(parsed),
        scopes: auth.scopes.clone(),
        redirect_port: auth.redirect_port,
        ..DraftOauth::default()
    });
    draft.description = Some(plan.description.clone());
    draft
}

fn parsed(value: &SecretRef) -> RawText {
    let part = |part: &Part| match part {
        Part::Text(text) => Piece::Plain(text.clone()),
        Part::Variable { name, default } => Piece::Variable { name: name.clone(), default: default.clone() },
    };
    let text: Text = match value {
        SecretRef::Literal(text) => vec![Piece::Plain(text.clone())],
        SecretRef::Environment(name) => vec![Piece::Variable { name: name.clone(), default: None }],
        SecretRef::Template(parts) => parts.iter().map(part).collect(),
    };
    RawText::Parsed(text)
}

fn entry(server: &Server) -> Value {
    let mut entry = Map::new();
    let texts = |values: &[(String, String)]| -> Value {
        values
            .iter()
            .map(|(name, value)| (name.clone(), Value::String(reference(value))))
            .collect::<Map<_, _>>()
            .into()
    };
    match &server.reach {
        Reach::Stdio { command, environment, cwd } => {
            let mut words = command.iter().map(|word| reference(word));
            entry.insert("command".to_owned(), words.next().unwrap_or_default().into());
            entry.insert("args".to_owned(), words.map(Value::String).collect());
            if !environment.is_empty() {
                entry.insert("env".to_owned(), texts(environment));
            }
            if let Some(cwd) = cwd {
                entry.insert("cwd".to_owned(), cwd.clone().into());
            }
        }
        Reach::Http { url, headers } => {
            entry.insert("type".to_owned(), "http".into());
            entry.insert("url".to_owned(), reference(url).into());
            if !headers.is_empty() {
                entry.insert("headers".to_owned(), texts(headers));
            }
        }
    }
    if let Some(oauth) = server.oauth.as_ref().and_then(client) {
        entry.insert("oauth".to_owned(), oauth);
    }
    if !server.enabled {
        entry.insert("disabled".to_owned(), true.into());
    }
    entry.into()
}

/// As Claude Code has it. References are not filled in there, so a client that is one is not exported, nor is what
/// looks like a secret.
fn client(oauth: &Oauth) -> Option<Value> {
    let mut client = Map::new();
    if let Some(id) = oauth.client_id.as_ref().filter(|id| !id.starts_with("env:")) {
        client.insert("clientId".to_owned(), id.clone().into());
    }
    if let Some(port) = oauth.redirect_port {
        client.insert("callbackPort".to_owned(), port.into());
    }
    if !oauth.scopes.is_empty() {
        client.insert("scopes".to_owned(), oauth.scopes.join(" ").into());
    }
    (!client.is_empty()).then_some(client.into())
}

/// Rewrites `env:NAME`, which only converse reads.
fn reference(value: &str) -> String {
    value.strip_prefix("env:").map_or_else(|| value.to_owned(), |name| format!("${{{name}}}"))
}
