//! The connection and configuration of an ensemble as JSON, the input of the digest that approvals are bound to.

use serde_json::{Map, Value, json};

use crate::grants::{Grants, LogLevel};
use crate::plan::{ConnectionPlan, EnsemblePlan, SecretRef, TransportPlan};

impl EnsemblePlan {
    /// Returns the connection and `[configuration]`, including literal values. For hashing only: it may contain secrets.
    pub fn connection_json(&self) -> Value {
        let connection = self.connection.as_ref().map(connection);
        json!({ "connection": connection, "configuration": self.configuration })
    }
}

/// Leaves out defaults, so that digests stay the same when new keys are introduced.
fn connection(plan: &ConnectionPlan) -> Value {
    let mut whole = transport(plan);
    if let Some(auth) = &plan.auth {
        whole["auth"] = json!({
            "client_id": auth.client_id.as_ref().map(SecretRef::to_string),
            "client_secret": auth.client_secret.as_ref().map(SecretRef::to_string),
            "scopes": auth.scopes,
            "client_metadata_url": auth.client_metadata_url,
            "redirect_port": auth.redirect_port,
        });
    }
    if plan.grants != Grants::default() {
        let grants = &plan.grants;
        whole["grants"] = json!({
            "roots": grants.roots,
            "elicitation": grants.elicitation,
            "sampling": grants.sampling,
            "log_level": grants.log_level.map(LogLevel::as_str),
        });
    }
    whole
}

fn transport(plan: &ConnectionPlan) -> Value {
    let named = |entries: &[(String, SecretRef)]| {
        entries.iter().map(|(name, given)| (name.clone(), json!(given.to_string()))).collect::<Map<_, _>>()
    };
    match &plan.transport {
        TransportPlan::Stdio { command, environment, cwd } => json!({
            "command": command.iter().map(SecretRef::to_string).collect::<Vec<_>>(),
            "environment": named(environment),
            "cwd": cwd,
        }),
        TransportPlan::Http { url, headers } => json!({ "url": url.to_string(), "headers": named(headers) }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oauth::OauthPlan;
    use crate::plan::{Origin, Piece, Scope};

    fn plan(transport: TransportPlan) -> EnsemblePlan {
        let origin = Origin { scope: Scope::User, file: "x.toml".into(), line: 1 };
        let connection = Some(ConnectionPlan::new(transport));
        EnsemblePlan { connection, ..EnsemblePlan::new("x".to_owned().try_into().unwrap(), origin) }
    }

    #[test]
    fn everything_that_decides_what_runs_is_included() {
        let literal = |text: &str| SecretRef::Literal(text.to_owned());
        let environment =
            vec![("A".into(), literal("plain")), ("B".into(), SecretRef::Environment("C".into()))];
        let command = vec![literal("run"), SecretRef::Environment("D".into())];
        let stdio = plan(TransportPlan::Stdio { command, environment, cwd: Some("sub".into()) });
        let whole = json!({ "command": ["run", "env:D"], "environment": { "A": "plain", "B": "env:C" }, "cwd": "sub" });
        assert_eq!(stdio.connection_json()["connection"], whole);
        let pieces = vec![
            Piece::Text("Bearer ".into()),
            Piece::Variable { name: "T".into(), default: Some("x".into()) },
        ];
        let headers = vec![("authorization".into(), SecretRef::Template(pieces))];
        let mut http = plan(TransportPlan::Http { url: literal("https://h/"), headers });
        http.configuration.insert("root".into(), json!("a"));
        let whole = json!({ "url": "https://h/", "headers": { "authorization": "Bearer ${T:-x}" } });
        assert_eq!(http.connection_json(), json!({ "connection": whole, "configuration": { "root": "a" } }));
    }

    #[test]
    fn authentication_and_grants_are_included_if_given() {
        let json_of = |change: &dyn Fn(&mut ConnectionPlan)| {
            let transport =
                TransportPlan::Http { url: SecretRef::Literal("https://h/".into()), headers: vec![] };
            let mut plan = plan(transport);
            change(plan.connection.as_mut().unwrap());
            plan.connection_json()["connection"].to_string()
        };
        let scoped = |scope: &str| OauthPlan { scopes: vec![scope.to_owned()], ..OauthPlan::default() };
        let all = [
            json_of(&|_| ()),
            json_of(&|plan| plan.auth = Some(OauthPlan::default())),
            json_of(&|plan| plan.auth = Some(scoped("a"))),
            json_of(&|plan| plan.auth = Some(scoped("b"))),
            json_of(&|plan| plan.grants.sampling = true),
            json_of(&|plan| plan.grants.elicitation = false),
            json_of(&|plan| plan.grants.roots = vec![".".to_owned()]),
            json_of(&|plan| plan.grants.log_level = Some(LogLevel::Debug)),
        ];
        assert_eq!(all[0], r#"{"url":"https://h/","headers":{}}"#);
        let different: std::collections::BTreeSet<&String> = all.iter().collect();
        assert_eq!(different.len(), all.len(), "{all:?}");
    }
}
