//! Plans as `mcpServers`, the shape that most other programs read.
//!
//! References become `${NAME}` and `${NAME:-default}`, as Claude Code fills them in
//! (<https://code.claude.com/docs/en/mcp>, checked 2026-11). Only servers can be handed out: of declared tools no other
//! program knows anything.

use converse_config::{
    ConnectionPlan, EnsemblePlan, Piece as Part, Policy, Scope, SecretRef, ToolFilter, Way,
};
use serde_json::{Map, Value, json};

use crate::draft::{Draft, DraftOauth, DraftReach, Written};
use crate::finish::Finisher;
use crate::note::{Note, Notes};
use crate::server::{Oauth, Reach, Server};
use crate::text::{Dialect, Inputs, Piece, Text};
use crate::variables::Variables;

/// What is handed out.
#[derive(Debug, Clone, PartialEq)]
pub struct Exported {
    /// `{"mcpServers": {…}}`
    pub value: Value,
    /// What could not be said in it.
    pub notes: Vec<Note>,
}

/// The servers among these ensembles. `all` of them are what somebody named; otherwise those without a server are
/// passed over in silence if they are converse's own.
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
                notes.server(name, "its tools are declared, not a server's, and cannot be handed out");
            }
            continue;
        };
        lost(plan, connection, &mut notes);
        let draft = draft(plan, connection);
        let inputs = Inputs::new();
        let server = Finisher::new(name, &draft, &inputs, &mut variables, &mut notes).server();
        if let Some(server) = server {
            if !server.lifted.is_empty() {
                let lifted = server.lifted.join("`, `");
                notes.server(
                    name,
                    format!("values that may be secret are not handed out; `{lifted}` stand for them"),
                );
            }
            servers.insert(name.to_owned(), entry(&server));
        }
    }
    Exported { value: json!({ "mcpServers": servers }), notes: notes.into_list() }
}

/// What `mcpServers` has no words for.
fn lost(plan: &EnsemblePlan, connection: &ConnectionPlan, notes: &mut Notes) {
    let name = plan.name.as_str();
    if !plan.enabled {
        notes.server(name, "it is not enabled here; `disabled` says so, which not every program heeds");
    }
    if plan.filter != ToolFilter::default() {
        notes.server(
            name,
            "`include` and `exclude` are not handed out: another program will offer all of its tools",
        );
    }
    if let Some(auth) = &connection.auth {
        let own = auth.client_secret.is_some() || auth.client_metadata_url.is_some();
        let named = matches!(&auth.client_id, Some(id) if !id.variables().is_empty());
        let with = match (own, named) {
            (_, true) => "; its client is named by a variable and not handed out",
            (true, false) => "; of its client only the id is handed out",
            (false, false) => "",
        };
        notes.server(name, format!("it is spoken to over OAuth: the other program must log in itself{with}"));
    }
    let limits =
        plan.defaults != Policy::default() || !plan.tools.is_empty() || connection.connect_timeout.is_some();
    if limits {
        notes.server(name, "limits and permissions are not handed out");
    }
}

fn draft(plan: &EnsemblePlan, connection: &ConnectionPlan) -> Draft {
    let named = |values: &[(String, SecretRef)]| {
        values.iter().map(|(name, value)| (name.clone(), ours(value))).collect()
    };
    let reach = match &connection.way {
        Way::Stdio { command, environment, cwd } => DraftReach::Stdio {
            command: command.iter().map(ours).collect(),
            environment: named(environment),
            cwd: cwd.as_ref().map(|cwd| cwd.to_string_lossy().into_owned()),
        },
        Way::Http { url, headers } => DraftReach::Http { url: ours(url), headers: named(headers) },
    };
    let mut draft = Draft::new(plan.name.as_str(), Dialect::None, reach);
    draft.enabled = plan.enabled;
    draft.oauth = connection.auth.as_ref().map(|auth| DraftOauth {
        client_id: auth.client_id.as_ref().filter(|id| id.variables().is_empty()).map(ours),
        scopes: auth.scopes.clone(),
        redirect_port: auth.redirect_port,
        ..DraftOauth::default()
    });
    draft.description = Some(plan.description.clone());
    draft
}

fn ours(value: &SecretRef) -> Written {
    let part = |part: &Part| match part {
        Part::Text(text) => Piece::Plain(text.clone()),
        Part::Variable { name, default } => Piece::Variable { name: name.clone(), default: default.clone() },
    };
    let text: Text = match value {
        SecretRef::Literal(text) => vec![Piece::Plain(text.clone())],
        SecretRef::Environment(name) => vec![Piece::Variable { name: name.clone(), default: None }],
        SecretRef::Template(parts) => parts.iter().map(part).collect(),
    };
    Written::Ours(text)
}

fn entry(server: &Server) -> Value {
    let mut entry = Map::new();
    let texts = |values: &[(String, String)]| -> Value {
        values
            .iter()
            .map(|(name, value)| (name.clone(), Value::String(theirs(value))))
            .collect::<Map<_, _>>()
            .into()
    };
    match &server.reach {
        Reach::Stdio { command, environment, cwd } => {
            let mut words = command.iter().map(|word| theirs(word));
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
            entry.insert("url".to_owned(), theirs(url).into());
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

/// As Claude Code has it. References are not filled in there, so a client that is one is not handed out, nor is what
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

/// `env:NAME` is converse's own way to write it.
fn theirs(value: &str) -> String {
    value.strip_prefix("env:").map_or_else(|| value.to_owned(), |name| format!("${{{name}}}"))
}
