//! What tests of this crate share: a directory that goes away, the world around an invoker, templates without a file
//! around them.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use converse_canister::{Arguments, Digest, Invocation, InvocationId, InvocationResult, TurnId};
use converse_config::{
    EnsemblePlan, Environment, InvokerKind, InvokerPlan, Origin, Permission, Policy, Rule, Scope, Template,
    TemplatePiece,
};
use converse_process::Guardian;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::{
    Artefacts, CancelScope, ConnectError, Context, DeclaredConnection, Ensemble, Fetch, FetchError, Fetched,
    Host, NoArtefacts, Reach, Roster, Surroundings, Verdict, Way,
};

/// A directory of its own for one test.
pub(crate) struct TempDir(PathBuf);

impl TempDir {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name =
            format!("converse-ensemble-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path.canonicalize().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub(crate) fn context(cancel: CancellationToken) -> Context {
    let deadline = Instant::now() + Duration::from_secs(30);
    let (clock, cost, host, paths) = Default::default();
    Context { invoker: "test.tool".into(), cancel, deadline, clock, cost, host, paths }
}

/// `{name}` is an argument, `${NAME}` a variable, everything else is text; there are no escapes.
pub(crate) fn template(text: &str) -> Template {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        let (plain, variable) = before.strip_suffix('$').map_or((before, false), |before| (before, true));
        if !plain.is_empty() {
            pieces.push(TemplatePiece::Text(plain.to_owned()));
        }
        let (name, after) = after.split_once('}').unwrap();
        let name = name.to_owned();
        pieces.push(if variable {
            TemplatePiece::Variable { name, default: None }
        } else {
            TemplatePiece::Argument(name)
        });
        rest = after;
    }
    if !rest.is_empty() || pieces.is_empty() {
        pieces.push(TemplatePiece::Text(rest.to_owned()));
    }
    Template { pieces }
}

/// Answers by script, and remembers what it was asked.
#[derive(Default)]
pub(crate) struct Scripted {
    pub(crate) replies: Mutex<Vec<Result<Fetched, FetchError>>>,
    pub(crate) requests: Mutex<Vec<http::Request<Bytes>>>,
}

impl Fetch for Scripted {
    fn fetch<'a>(
        &'a self,
        request: http::Request<Bytes>,
        _: usize,
    ) -> BoxFuture<'a, Result<Fetched, FetchError>> {
        self.requests.lock().unwrap().push(request);
        match self.replies.lock().unwrap().pop() {
            Some(reply) => std::future::ready(reply).boxed(),
            None => std::future::pending().boxed(),
        }
    }
}

/// A world of names and pages.
#[derive(Default)]
pub(crate) struct Atlas {
    pub(crate) names: BTreeMap<String, Vec<IpAddr>>,
    /// By URL.
    pub(crate) pages: BTreeMap<String, Fetched>,
    pub(crate) has_proxy: bool,
    /// What was requested, and on which way.
    pub(crate) journeys: Mutex<Vec<(String, Way)>>,
}

impl Reach for Atlas {
    fn resolve<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Vec<IpAddr>, FetchError>> {
        let unknown = || FetchError::Unreachable(format!("{name} cannot be resolved"));
        std::future::ready(self.names.get(name).cloned().ok_or_else(unknown)).boxed()
    }

    fn has_proxy(&self, _: &http::Uri) -> bool {
        self.has_proxy
    }

    fn fetch_by<'a>(
        &'a self,
        request: http::Request<Bytes>,
        way: Way,
        _: usize,
    ) -> BoxFuture<'a, Result<Fetched, FetchError>> {
        let url = request.uri().to_string();
        let page = self.pages.get(&url).cloned();
        self.journeys.lock().unwrap().push((url, way));
        let nothing = || FetchError::Unreachable("nobody is there".to_owned());
        std::future::ready(page.ok_or_else(nothing)).boxed()
    }
}

/// Keeps everything, unless it is full; remembers what it was given.
#[derive(Default)]
pub(crate) struct Shelf {
    pub(crate) kept: Mutex<Vec<Vec<u8>>>,
    pub(crate) full: bool,
}

impl Artefacts for Shelf {
    fn keep(&self, bytes: &[u8]) -> Option<Digest> {
        self.kept.lock().unwrap().push(bytes.to_vec());
        (!self.full).then_some(Digest([7; 32]))
    }
}

/// `PATH` and `SHARED` are inherited; `KEY` can be named.
pub(crate) fn surroundings(workspace: &Path, fetch: Arc<dyn Fetch>) -> Surroundings {
    let set = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    Surroundings {
        workspace: workspace.to_owned(),
        project: Some(workspace.to_owned()),
        protected: Vec::new(),
        clock: Arc::new(jiff::Timestamp::now),
        environment: Environment::new([set("KEY", "s3cret"), set("UNRELATED", "private")]),
        inherited: vec![set("PATH", "/usr/bin:/bin"), set("SHARED", "for all")],
        // Says once that it cannot be started; what is tested here does not outlive the test.
        guardian: Guardian::new("/bin/false".into(), Vec::new()),
        sandbox_launcher: None,
        fetch,
        reach: Arc::new(Atlas::default()),
        artefacts: Arc::new(NoArtefacts),
        warn: Arc::new(|_| {}),
        start_checks: Arc::new(|_| crate::StartCheck::default()),
    }
}

/// One ensemble `t` with one invoker `x`, which takes any arguments.
pub(crate) fn plan(kind: InvokerKind, policy: Policy, scope: Scope) -> EnsemblePlan {
    let origin = Origin { scope, file: "t.toml".into(), line: 1 };
    let invoker = InvokerPlan {
        name: "x".to_owned().try_into().unwrap(),
        description: String::new(),
        arguments: Some(serde_json::json!({ "type": "object" }).into()),
        kind,
        policy,
        tests: Vec::new(),
        origin: origin.clone(),
    };
    EnsemblePlan { invokers: vec![invoker], ..EnsemblePlan::new("t".to_owned().try_into().unwrap(), origin) }
}

pub(crate) async fn connect(plan: &EnsemblePlan, surroundings: Surroundings) -> (Roster, Vec<ConnectError>) {
    let connection = DeclaredConnection::new(plan, Vec::new(), Arc::new(surroundings));
    let rules = vec![Rule::new("*", Permission::Allow, "test").unwrap()];
    Roster::connect(vec![Ensemble::new(plan, Box::new(connection))], rules, Arc::new(NoArtefacts)).await
}

/// Judges and runs `t.x`, as the loop does.
pub(crate) async fn call(roster: &Roster, arguments: Value, cancel: &CancellationToken) -> InvocationResult {
    call_heard(roster, arguments, cancel, Host::default()).await
}

/// Calls the tool with this host, which may listen to progress.
pub(crate) async fn call_heard(
    roster: &Roster,
    arguments: Value,
    cancel: &CancellationToken,
    host: Host,
) -> InvocationResult {
    match roster.judge(&invocation(arguments)) {
        Verdict::Allowed(approved) => {
            let turn = roster.turn(&approved, &CancelScope::below(cancel)).await.unwrap();
            roster.invoke(&approved, turn, host, cancel).await.result
        }
        Verdict::Answered(denied) => denied.result,
        Verdict::Ask(pending) => panic!("{pending:?}"),
    }
}

/// A call of `t.x`.
pub(crate) fn invocation(arguments: Value) -> Invocation {
    let turn = TurnId(1);
    Invocation {
        turn,
        id: InvocationId::of(turn, 0),
        wire_id: None,
        tool: "t__x".into(),
        arguments: Arguments::from_object(arguments.as_object().unwrap().clone()),
        seal: None,
    }
}

pub(crate) fn text(result: &InvocationResult) -> &str {
    result.content[0].as_text().unwrap()
}
