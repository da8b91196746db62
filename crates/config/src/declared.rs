//! What a plan says of how its ensemble is reached and what it is given, as JSON. Who would run something else, or run it
//! otherwise, says something else here.

use serde_json::{Map, Value, json};

use crate::grants::{Grants, LogLevel};
use crate::plan::{ConnectionPlan, EnsemblePlan, SecretRef, Way};

impl EnsemblePlan {
    /// Connection and `[configuration]`, with the values that are written down: to be hashed, never to be shown.
    pub fn whole_connection(&self) -> Value {
        let connection = self.connection.as_ref().map(connection);
        json!({ "connection": connection, "configuration": self.configuration })
    }
}

/// What is as it is by default is left out: digests that were made before it could be said stay as they are.
fn connection(plan: &ConnectionPlan) -> Value {
    let mut whole = way(plan);
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

fn way(plan: &ConnectionPlan) -> Value {
    let named = |entries: &[(String, SecretRef)]| {
        entries.iter().map(|(name, given)| (name.clone(), json!(given.to_string()))).collect::<Map<_, _>>()
    };
    match &plan.way {
        Way::Stdio { command, environment, cwd } => json!({
            "command": command.iter().map(SecretRef::to_string).collect::<Vec<_>>(),
            "environment": named(environment),
            "cwd": cwd,
        }),
        Way::Http { url, headers } => json!({ "url": url.to_string(), "headers": named(headers) }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oauth::OauthPlan;
    use crate::plan::{Origin, Piece, Scope};

    fn plan(way: Way) -> EnsemblePlan {
        let origin = Origin { scope: Scope::User, file: "x.toml".into(), line: 1 };
        let connection = Some(ConnectionPlan::over(way));
        EnsemblePlan { connection, ..EnsemblePlan::bare("x".to_owned().try_into().unwrap(), origin) }
    }

    #[test]
    fn whatever_decides_what_runs_is_in_it() {
        let literal = |text: &str| SecretRef::Literal(text.to_owned());
        let environment =
            vec![("A".into(), literal("plain")), ("B".into(), SecretRef::Environment("C".into()))];
        let command = vec![literal("run"), SecretRef::Environment("D".into())];
        let stdio = plan(Way::Stdio { command, environment, cwd: Some("sub".into()) });
        let whole = json!({ "command": ["run", "env:D"], "environment": { "A": "plain", "B": "env:C" }, "cwd": "sub" });
        assert_eq!(stdio.whole_connection()["connection"], whole);
        let pieces = vec![
            Piece::Text("Bearer ".into()),
            Piece::Variable { name: "T".into(), default: Some("x".into()) },
        ];
        let headers = vec![("authorization".into(), SecretRef::Template(pieces))];
        let mut http = plan(Way::Http { url: literal("https://h/"), headers });
        http.configuration.insert("root".into(), json!("a"));
        let whole = json!({ "url": "https://h/", "headers": { "authorization": "Bearer ${T:-x}" } });
        assert_eq!(http.whole_connection(), json!({ "connection": whole, "configuration": { "root": "a" } }));
    }

    #[test]
    fn whom_it_speaks_for_and_what_it_may_ask_is_in_it_once_it_is_said() {
        let said = |change: &dyn Fn(&mut ConnectionPlan)| {
            let way = Way::Http { url: SecretRef::Literal("https://h/".into()), headers: vec![] };
            let mut plan = plan(way);
            change(plan.connection.as_mut().unwrap());
            plan.whole_connection()["connection"].to_string()
        };
        let scoped = |scope: &str| OauthPlan { scopes: vec![scope.to_owned()], ..OauthPlan::default() };
        let all = [
            said(&|_| ()),
            said(&|plan| plan.auth = Some(OauthPlan::default())),
            said(&|plan| plan.auth = Some(scoped("a"))),
            said(&|plan| plan.auth = Some(scoped("b"))),
            said(&|plan| plan.grants.sampling = true),
            said(&|plan| plan.grants.elicitation = false),
            said(&|plan| plan.grants.roots = vec![".".to_owned()]),
            said(&|plan| plan.grants.log_level = Some(LogLevel::Debug)),
        ];
        assert_eq!(all[0], r#"{"url":"https://h/","headers":{}}"#);
        let different: std::collections::BTreeSet<&String> = all.iter().collect();
        assert_eq!(different.len(), all.len(), "{all:?}");
    }
}
