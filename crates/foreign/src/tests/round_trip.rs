//! What is exported and taken over again means the same.

use std::path::PathBuf;

use converse_canister::EnsembleName;
use converse_config::{
    Checked, ConnectionPlan, EnsemblePlan, Environment, OauthPlan, Origin, Piece, ResolveInput, Scope,
    SecretRef, SourceMap, TransportPlan, parse_ensemble, resolve,
};
use proptest::prelude::*;

use crate::{Format, export, read};

fn plan(name: &str, way: TransportPlan, enabled: bool) -> EnsemblePlan {
    let origin = Origin { scope: Scope::User, file: "x.toml".into(), line: 1 };
    let connection = ConnectionPlan::new(way);
    let mut plan = EnsemblePlan::new(EnsembleName::new(name).unwrap(), origin);
    plan.connection = Some(connection);
    plan.enabled = enabled;
    plan
}

/// A descriptor's text, as a plan.
fn resolved(toml: &str) -> EnsemblePlan {
    let mut sources = SourceMap::new();
    let id = sources.add("x.toml", Scope::User, toml);
    let Checked { value, .. } = parse_ensemble(&sources, id);
    let environment = Environment::default();
    let given = ResolveInput {
        builtins: &[],
        environment: &environment,
        project_trusted: true,
        compile_schemas: true,
        require_env: false,
    };
    resolve(&sources, &[value], &given).plans.remove(0)
}

/// `env:X` and `${X}` are two ways to say one thing.
fn plain(value: &SecretRef) -> SecretRef {
    match value {
        SecretRef::Template(pieces) => match pieces.as_slice() {
            [Piece::Variable { name, default: None }] => SecretRef::Environment(name.clone()),
            _ => value.clone(),
        },
        _ => value.clone(),
    }
}

fn meant(plan: &EnsemblePlan) -> (String, bool, TransportPlan) {
    let named = |values: &[(String, SecretRef)]| {
        values.iter().map(|(name, value)| (name.clone(), plain(value))).collect()
    };
    let way = match &plan.connection.as_ref().unwrap().transport {
        TransportPlan::Stdio { command, environment, cwd } => TransportPlan::Stdio {
            command: command.iter().map(plain).collect(),
            environment: named(environment),
            cwd: cwd.clone(),
        },
        TransportPlan::Http { url, headers } => {
            TransportPlan::Http { url: plain(url), headers: named(headers) }
        }
    };
    (plan.name.to_string(), plan.enabled, way)
}

/// Nothing that is taken for a secret: a `-` made by chance may say `-pSOMETHING`, which is a password.
fn text() -> impl Strategy<Value = SecretRef> {
    let variable = "[A-Z][A-Z_]{0,8}";
    let piece = prop_oneof![
        "[a-z ./,]{1,8}".prop_map(Piece::Text),
        (variable, proptest::option::of("[a-z/]{0,6}"))
            .prop_map(|(name, default)| Piece::Variable { name, default }),
    ];
    prop_oneof![
        "[a-z ./,]{0,12}".prop_map(SecretRef::Literal),
        "--[a-c]{1,3}|-[xyz]|[a-z]{1,4}-[a-z]{1,4}".prop_map(SecretRef::Literal),
        variable.prop_map(SecretRef::Environment),
        // Texts do not stand side by side, and there is a reference.
        (piece, variable).prop_map(|(piece, name)| SecretRef::Template(vec![
            piece,
            Piece::Variable { name, default: Some("d".into()) }
        ])),
    ]
}

proptest! {
    #[test]
    fn servers_come_back_as_they_went(
        arguments in proptest::collection::vec(text(), 0..5),
        // Of no name that the arguments refer to: elsewhere that would be this value.
        environment in proptest::collection::btree_map("_[A-DF-J]{1,3}", text(), 0..4),
        header in text(),
        enabled: bool,
        inside: bool,
    ) {
        let program = SecretRef::Literal("run".into());
        let cwd = inside.then(|| PathBuf::from("some/where"));
        let stdio = TransportPlan::Stdio {
            command: std::iter::once(program).chain(arguments).collect(),
            environment: environment.into_iter().collect(),
            cwd,
        };
        let url = SecretRef::Template(vec![
            Piece::Text("https://".into()),
            Piece::Variable { name: "HOST".into(), default: None },
            Piece::Text("/mcp".into()),
        ]);
        let http = TransportPlan::Http { url, headers: vec![("X-Team".into(), header)] };
        let plans = [plan("one", stdio, enabled), plan("two", http, true)];
        let exported = export(&plans, false);
        let found = read(&exported.value.to_string(), Some(Format::McpServers)).unwrap();
        let back: Vec<_> = found.servers.iter().map(|server| meant(&resolved(&server.toml()))).collect();
        let expected: Vec<_> = plans.iter().map(meant).collect();
        prop_assert_eq!(back, expected, "{:#}", exported.value);
    }
}

#[test]
fn a_client_of_oauth_comes_back() {
    let http =
        || TransportPlan::Http { url: SecretRef::Literal("https://a.example/mcp".into()), headers: vec![] };
    let own = |client_id| OauthPlan {
        client_id,
        client_secret: Some(SecretRef::Environment("SECRET".into())),
        scopes: vec!["x:read".into(), "x:write".into()],
        client_metadata_url: None,
        redirect_port: Some(8080),
    };
    let with = |auth: OauthPlan| {
        let mut plan = plan("a", http(), true);
        plan.connection.as_mut().unwrap().auth = Some(auth);
        export([&plan], false)
    };
    let exported = with(own(Some(SecretRef::Literal("me".into()))));
    assert_eq!(
        exported.value["mcpServers"]["a"]["oauth"],
        serde_json::json!({ "clientId": "me", "callbackPort": 8080, "scopes": "x:read x:write" })
    );
    assert!(exported.notes.iter().any(|note| note.message.contains("only the id is exported")));
    let found = read(&exported.value.to_string(), None).unwrap();
    let back = resolved(&found.servers[0].toml()).connection.unwrap().auth.unwrap();
    assert_eq!(back, OauthPlan { client_secret: None, ..own(Some(SecretRef::Literal("me".into()))) });
    // Nothing is filled in there.
    let exported = with(own(Some(SecretRef::Environment("ID".into()))));
    assert!(exported.value["mcpServers"]["a"]["oauth"].get("clientId").is_none(), "{exported:?}");
    assert!(
        exported.notes.iter().any(|note| note.message.contains("client id is a variable")),
        "{exported:?}"
    );
    assert!(with(OauthPlan::default()).value["mcpServers"]["a"].get("oauth").is_none());
}

#[test]
fn what_cannot_be_said_is_noted() {
    let way = TransportPlan::Http {
        url: SecretRef::Literal("https://a.example/mcp?key=Zq7xW9".into()),
        headers: vec![
            ("Authorization".into(), SecretRef::Literal("Bearer Zq7xW9".into())),
            ("X-Any".into(), SecretRef::Literal("Bearer Zq7xW9".into())),
        ],
    };
    let mut server = plan("a", way, false);
    server.filter.exclude.push("rm_*".into());
    server.defaults.max_retries = 3;
    let mut declared =
        plan("b", TransportPlan::Stdio { command: vec![], environment: vec![], cwd: None }, true);
    declared.connection = None;
    let exported = export([&server, &declared], false);
    assert_eq!(
        exported.value,
        serde_json::json!({ "mcpServers": { "a": {
            "type": "http", "url": "https://a.example/mcp?key=${A_KEY}",
            "headers": { "Authorization": "Bearer ${A_AUTHORIZATION}", "X-Any": "Bearer ${A_X_ANY}" },
            "disabled": true } } })
    );
    let notes: Vec<String> = exported.notes.iter().map(ToString::to_string).collect();
    for part in [
        "not enabled",
        "`exclude`",
        "limits and permissions",
        "`A_KEY`, `A_AUTHORIZATION`, `A_X_ANY`",
        "b: its tools are declared",
    ] {
        assert!(notes.iter().any(|note| note.contains(part)), "{part} {notes:#?}");
    }
    assert!(!format!("{exported:?}").contains("Zq7xW9"));
}
