//! What all test programs need: an ensemble around a connection, and calls of its tools.

#![allow(dead_code, reason = "each test program uses a part of it")]

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use converse_canister::Arguments;
use converse_config::{ConnectionPlan, EnsemblePlan, Environment, Origin, Scope, TransportPlan};
use converse_ensemble::{Answer, Context, Ensemble, Host, InvokeError, NoArtefacts, Tool};
use converse_mcp::{Era, EraStore, McpConnection, Responders, Surroundings, ToolListStore};
use converse_testkit::hang_guard::ends;
use tokio::runtime::Handle;

#[derive(Default)]
pub(crate) struct Remembered(pub(crate) Mutex<HashMap<String, Era>>);

impl EraStore for Remembered {
    fn get(&self, key: &str) -> Option<Era> {
        self.0.lock().unwrap().get(key).copied()
    }

    fn put(&self, key: &str, era: Era) {
        self.0.lock().unwrap().insert(key.to_owned(), era);
    }
}

struct Nowhere;

impl ToolListStore for Nowhere {
    fn get(&self, _: &str) -> Option<String> {
        None
    }

    fn put(&self, _: &str, _: &str) {}
}

fn client(_https: bool) -> Result<reqwest::Client, String> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let config = rustls::ClientConfig::builder()
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    let client = reqwest::Client::builder()
        .tls_backend_preconfigured(config)
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .build();
    client.map_err(|error| error.to_string())
}

pub(crate) fn ensemble(
    way: TransportPlan,
    timeout: Duration,
    workspace: PathBuf,
    eras: &Arc<Remembered>,
) -> Ensemble {
    let connection = ConnectionPlan { connect_timeout: Some(timeout), ..ConnectionPlan::new(way) };
    ensemble_of(connection, workspace, eras, None)
}

pub(crate) fn ensemble_of(
    connection: ConnectionPlan,
    workspace: PathBuf,
    eras: &Arc<Remembered>,
    http_runtime: Option<Handle>,
) -> Ensemble {
    let variables = [("TOKEN", "s3cret-token"), ("QUERY", "key=s3cret-query")];
    let plan = EnsemblePlan {
        connection: Some(connection.clone()),
        ..EnsemblePlan::new(
            "web".to_owned().try_into().unwrap(),
            Origin { scope: Scope::User, file: "x.toml".into(), line: 1 },
        )
    };
    let surroundings = Surroundings {
        workspace,
        environment: Environment::new(variables.map(|(name, value)| (name.to_owned(), value.to_owned()))),
        inherited: vec![("PATH".into(), "/usr/bin:/bin".into()), ("LANG".into(), "C".into())],
        guardian: converse_process::Guardian::new(PathBuf::from("/bin/cat"), vec![]),
        http: Box::new(client),
        eras: Arc::clone(eras) as Arc<dyn EraStore>,
        lists: Arc::new(Nowhere),
        artefacts: Arc::new(NoArtefacts),
        project: None,
        note: Arc::new(|_| {}),
        http_runtime,
        jitter: || 1.0,
        warn: Arc::new(|_| ()),
        start_checks: Arc::new(|_| converse_ensemble::StartCheck::default()),
        responders: Responders::default(),
        reach: None,
        vault: None,
        consent: None,
    };
    Ensemble::new(&plan, Box::new(McpConnection::new(&plan, &connection, Arc::new(surroundings))))
}

/// Cancelled at its deadline, as the pipeline does.
pub(crate) async fn call_within(tool: &Tool, limit: Duration) -> Result<Answer, InvokeError> {
    let deadline = tokio::time::Instant::now() + limit;
    let cancel = tokio_util::sync::CancellationToken::new();
    let context = Context {
        invoker: tool.qualified.clone(),
        cancel: cancel.clone(),
        deadline: deadline.into_std(),
        clock: converse_ensemble::PausableClock::default(),
        cost: converse_ensemble::CostMeter::default(),
        host: Host::default(),
        paths: converse_ensemble::PathPolicy::default(),
    };
    let arguments = Arguments::parse("{\"a\":1}");
    let cancelling = async {
        tokio::time::sleep_until(deadline).await;
        cancel.cancel();
        std::future::pending::<()>().await;
    };
    tokio::select! {
        biased;
        () = cancelling => unreachable!(),
        answer = tool.invocable.invoke(context, &arguments) => answer,
    }
}

pub(crate) async fn call(tool: &Tool) -> Result<Answer, InvokeError> {
    // Longer than the guard: what waits for this limit hangs.
    ends("a call", call_within(tool, Duration::from_secs(3600))).await
}
