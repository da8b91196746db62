//! Everybody whom a token takes: they refuse what is not exactly right, and remember what they were asked.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use converse_config::{
    ConnectionPlan, Environment, OauthPlan, Origin, Scope, SecretRef, TransportPlan as ServerWay,
};
use converse_ensemble::{FetchError, Fetched, NoArtefacts, Reach, Way};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use http::{Request, Uri};
use parking_lot::{Mutex, MutexGuard};
use reqwest::Url;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::oauth::Authority;
use crate::{Consent, Era, EraStore, Responders, Surroundings, ToolListStore, Vault};

pub(super) const SERVER: &str = "https://mcp.example/mcp";
pub(super) const REDIRECT: &str = "http://127.0.0.1:4711/callback";
const PRM: &str = "https://mcp.example/.well-known/oauth-protected-resource/mcp";
pub(super) const CHALLENGE: &str = r#"Bearer resource_metadata="https://mcp.example/.well-known/oauth-protected-resource/mcp", scope="read""#;
pub(super) const NARROW: &str = r#"Bearer error="insufficient_scope", scope="write""#;

/// What is different this time, and what has happened.
pub(super) struct State {
    pub(super) issuer: String,
    /// Over what the authorization server says of itself; a null takes it out.
    pub(super) metadata: Value,
    /// Whole answers instead of the usual ones, by address.
    pub(super) instead: BTreeMap<String, Fetched>,
    pub(super) names: BTreeMap<String, Vec<IpAddr>>,
    /// What stands in the address that the browser comes back with, over the usual.
    pub(super) callback: BTreeMap<&'static str, Option<String>>,
    pub(super) lifetime: Value,
    /// Of the token endpoint; `None`: all is well.
    pub(super) refusal: Option<(u16, Value)>,
    pub(super) client_secret: Option<&'static str>,
    /// Whether a revocation must have `client_secret` in its form, as servers of the Python SDK require.
    pub(super) secret_in_form: bool,
    /// Method, address, form: as they were sent.
    pub(super) sent: Vec<(String, String, BTreeMap<String, String>)>,
    /// Of each question to the person.
    pub(super) questions: Vec<BTreeMap<String, String>>,
    pub(super) stored: BTreeMap<String, String>,
    pub(super) hidden: Vec<String>,
    /// How often a renewal began.
    pub(super) locks: u32,
    /// What others wait for.
    locked: BTreeSet<String>,
    /// What happens while the next refresh token is being spent.
    pub(super) meanwhile: Option<BoxFuture<'static, ()>>,
    pub(super) warned: Vec<String>,
    /// Begins each token.
    pub(super) token: &'static str,
    clients: Vec<String>,
    codes: BTreeMap<String, BTreeMap<String, String>>,
    tokens: u32,
}

#[derive(Clone)]
pub(super) struct Network(Arc<Mutex<State>>);

impl Network {
    pub(super) fn new() -> Self {
        Self(Arc::new(Mutex::new(State {
            issuer: "https://as.example".to_owned(),
            metadata: json!({}),
            instead: BTreeMap::new(),
            names: BTreeMap::new(),
            callback: BTreeMap::new(),
            lifetime: json!(3600),
            refusal: None,
            client_secret: None,
            secret_in_form: false,
            sent: vec![],
            questions: vec![],
            stored: BTreeMap::new(),
            hidden: vec![],
            locks: 0,
            locked: BTreeSet::new(),
            meanwhile: None,
            warned: vec![],
            token: "canary-access-",
            clients: vec![],
            codes: BTreeMap::new(),
            tokens: 0,
        })))
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock()
    }

    /// Requests to this path, since the beginning.
    pub(super) fn sent_to(&self, end: &str) -> Vec<BTreeMap<String, String>> {
        let state = self.state();
        let sent = state.sent.iter().filter(|(_, url, _)| url.split('?').next().unwrap().ends_with(end));
        sent.map(|(.., form)| form.clone()).collect()
    }

    pub(super) fn authority(&self, with_consent: bool) -> Arc<Authority> {
        self.authority_of(OauthPlan::default(), with_consent)
    }

    pub(super) fn authority_of(&self, plan: OauthPlan, with_consent: bool) -> Arc<Authority> {
        self.authority_at(plan, with_consent, (Scope::User, "web.toml", "/"))
    }

    /// `place`: whose the descriptor is, where it is, and the project's directory.
    pub(super) fn authority_at(
        &self,
        plan: OauthPlan,
        with_consent: bool,
        (scope, file, project): (Scope, &str, &str),
    ) -> Arc<Authority> {
        let way = ServerWay::Http { url: SecretRef::Literal(SERVER.to_owned()), headers: vec![] };
        let connection = ConnectionPlan { auth: Some(plan), ..ConnectionPlan::new(way) };
        let consent: Arc<dyn Consent> = Arc::new(self.clone());
        let origin = Origin { scope, file: file.to_owned(), line: 1 };
        let network = self.clone();
        let surroundings = Surroundings {
            workspace: PathBuf::from(project),
            environment: Environment::new([("SECRET".to_owned(), "canary-by-hand".to_owned())]),
            inherited: vec![],
            guardian: converse_process::Guardian::new(PathBuf::from("/nowhere"), vec![]),
            http: Box::new(|_| Err("no network".to_owned())),
            eras: Arc::new(Nothing),
            lists: Arc::new(Nothing),
            artefacts: Arc::new(NoArtefacts),
            project: Some(PathBuf::from(project)),
            note: Arc::new(|_| {}),
            http_runtime: None,
            jitter: || 1.0,
            warn: Arc::new(move |line| network.state().warned.push(line)),
            start_checks: Arc::new(|_| converse_ensemble::StartCheck::default()),
            responders: Responders::default(),
            reach: Some(Arc::new(self.clone())),
            vault: Some(Arc::new(self.clone())),
            consent: with_consent.then_some(consent),
        };
        Authority::of("web", &connection, &origin, &Arc::new(surroundings)).unwrap()
    }
}

pub(super) fn answer(status: u16, body: &Value) -> Fetched {
    let content_type = Some("application/json".to_owned());
    let body = body.to_string().into();
    Fetched { status, content_type, body, truncated: false, location: None, challenges: vec![] }
}

fn pairs(text: &str) -> BTreeMap<String, String> {
    let url = Url::parse(&format!("http://form/?{text}")).unwrap();
    let pairs: Vec<_> =
        url.query_pairs().map(|(key, value)| (key.into_owned(), value.into_owned())).collect();
    let map: BTreeMap<_, _> = pairs.iter().cloned().collect();
    assert_eq!(map.len(), pairs.len(), "nothing is said twice: {text}");
    map
}

impl State {
    fn answer(&mut self, request: &Request<bytes::Bytes>) -> Fetched {
        let (url, body) = (request.uri().to_string(), String::from_utf8(request.body().to_vec()).unwrap());
        let is_json = request.headers().get("content-type").is_some_and(|kind| kind == "application/json");
        let mut form = if is_json || body.is_empty() { BTreeMap::new() } else { pairs(&body) };
        if let Some(basic) = request.headers().get("authorization") {
            let basic = basic.to_str().unwrap().strip_prefix("Basic ").unwrap();
            form.insert("basic".to_owned(), String::from_utf8(STANDARD.decode(basic).unwrap()).unwrap());
        }
        self.sent.push((request.method().to_string(), url.clone(), form.clone()));
        if let Some(answer) = self.instead.get(&url) {
            return answer.clone();
        }
        let (issuer, method) = (self.issuer.clone(), request.method().as_str());
        match (method, url.strip_prefix(&issuer).unwrap_or(&url)) {
            ("GET", SERVER) => Fetched { challenges: vec![CHALLENGE.to_owned()], ..answer(401, &json!({})) },
            ("GET", PRM) => answer(200, &json!({ "resource": SERVER, "authorization_servers": [issuer] })),
            ("GET", "/.well-known/oauth-authorization-server") => {
                let mut metadata = json!({
                    "issuer": issuer, "authorization_endpoint": format!("{issuer}/authorize"),
                    "token_endpoint": format!("{issuer}/token"), "registration_endpoint": format!("{issuer}/register"),
                    "code_challenge_methods_supported": ["S256"], "response_types_supported": ["code"],
                    "authorization_response_iss_parameter_supported": true,
                });
                for (key, value) in self.metadata.as_object().unwrap() {
                    metadata[key] = value.clone();
                }
                metadata.as_object_mut().unwrap().retain(|_, value| !value.is_null());
                answer(200, &metadata)
            }
            ("POST", "/register") => {
                let registration: Value = serde_json::from_str(&body).unwrap();
                assert_eq!(
                    (&registration["application_type"], &registration["client_name"]),
                    (&json!("native"), &json!("converse"))
                );
                assert_eq!(registration["redirect_uris"], json!([REDIRECT]));
                let id = format!("client-{}-of-{issuer}", self.clients.len() + 1);
                self.clients.push(id.clone());
                answer(
                    201,
                    &json!({ "client_id": id, "client_secret": self.client_secret, "redirect_uris": [REDIRECT] }),
                )
            }
            ("POST", "/token") => self.token(&form),
            ("POST", "/revoke") => {
                assert!(self.stored.is_empty(), "it is forgotten here first");
                if self.secret_in_form && !form.contains_key("client_secret") {
                    return answer(400, &json!({ "error": "invalid_request" }));
                }
                answer(200, &json!({}))
            }
            _ => answer(404, &json!({})),
        }
    }

    fn token(&mut self, form: &BTreeMap<String, String>) -> Fetched {
        assert_eq!(form["resource"], SERVER);
        if let Some((status, refusal)) = &self.refusal {
            return answer(*status, refusal);
        }
        let scope = if form["grant_type"] == "authorization_code" {
            let question = self.codes.remove(&form["code"]).expect("a code is good once");
            let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(form["code_verifier"].as_bytes()));
            assert_eq!(question["code_challenge"], challenge);
            assert_eq!(form["redirect_uri"], question["redirect_uri"]);
            match (form.get("client_id"), form.get("basic")) {
                (Some(id), None) => assert_eq!(*id, question["client_id"]),
                (None, Some(basic)) => assert!(basic.split_once(':').is_some()),
                odd => panic!("{odd:?}"),
            }
            question.get("scope").cloned()
        } else {
            assert_eq!(form["grant_type"], "refresh_token");
            assert_eq!(
                form["refresh_token"],
                format!("canary-refresh-{}", self.tokens),
                "a token is spent once"
            );
            form.get("scope").cloned()
        };
        self.tokens += 1;
        answer(
            200,
            &json!({
                "access_token": format!("{}{}", self.token, self.tokens), "token_type": "Bearer", "expires_in": self.lifetime,
                "refresh_token": format!("canary-refresh-{}", self.tokens), "scope": scope.unwrap_or_default(),
            }),
        )
    }
}

impl Reach for Network {
    fn resolve<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Vec<IpAddr>, FetchError>> {
        let known = self.state().names.get(name).cloned();
        std::future::ready(Ok(known.unwrap_or_else(|| vec!["93.184.215.14".parse().unwrap()]))).boxed()
    }

    fn has_proxy(&self, _: &Uri) -> bool {
        false
    }

    fn fetch_by<'a>(
        &'a self,
        request: Request<bytes::Bytes>,
        way: Way,
        _: usize,
    ) -> BoxFuture<'a, Result<Fetched, FetchError>> {
        assert!(matches!(way, Way::Direct(_)));
        async move {
            let answer = self.state().answer(&request);
            let is_renewal = request.body().windows(24).any(|part| part == b"grant_type=refresh_token");
            let meanwhile = is_renewal.then(|| self.state().meanwhile.take()).flatten();
            if let Some(meanwhile) = meanwhile {
                meanwhile.await;
            }
            Ok(answer)
        }
        .boxed()
    }
}

impl Consent for Network {
    fn redirect_uri(&self) -> BoxFuture<'_, Result<String, String>> {
        std::future::ready(Ok(REDIRECT.to_owned())).boxed()
    }

    fn authorize<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<String, String>> {
        let mut state = self.state();
        assert!(url.starts_with(&format!("{}/authorize?", state.issuer)), "{url}");
        let question = pairs(url.split_once('?').unwrap().1);
        let parameter = |key: &str| question.get(key).map(String::as_str);
        assert_eq!(
            (parameter("response_type"), parameter("code_challenge_method")),
            (Some("code"), Some("S256"))
        );
        assert_eq!((parameter("resource"), parameter("redirect_uri")), (Some(SERVER), Some(REDIRECT)));
        let code = format!("canary-code-{}", state.questions.len() + 1);
        state.codes.insert(code.clone(), question.clone());
        state.questions.push(question.clone());
        let mut back: BTreeMap<&str, String> =
            [("code", code), ("state", question["state"].clone()), ("iss", state.issuer.clone())].into();
        for (key, value) in &state.callback {
            match value {
                Some(value) => back.insert(key, value.clone()),
                None => back.remove(key),
            };
        }
        let mut url = Url::parse(REDIRECT).unwrap();
        url.query_pairs_mut().extend_pairs(back);
        std::future::ready(Ok(url.to_string())).boxed()
    }
}

impl Vault for Network {
    fn get(&self, key: &str) -> Result<Option<String>, String> {
        Ok(self.state().stored.get(key).cloned())
    }

    fn put(&self, key: &str, value: &str) -> Result<(), String> {
        let mut state = self.state();
        assert!(state.locked.contains(&format!("{key}w")), "nothing is written unlocked");
        state.stored.insert(key.to_owned(), value.to_owned());
        Ok(())
    }

    fn remove(&self, key: &str) -> Result<(), String> {
        let mut state = self.state();
        assert!(state.locked.contains(&format!("{key}w")), "nothing is forgotten unlocked");
        state.stored.remove(key);
        Ok(())
    }

    fn lock(&self, key: &str) -> Result<Box<dyn Send>, String> {
        let mut state = self.state();
        state.locks += u32::from(!key.ends_with('w'));
        let is_free = state.locked.insert(key.to_owned());
        if !is_free {
            return Err("somebody else has it".to_owned());
        }
        Ok(Box::new(Lock { network: self.clone(), key: key.to_owned() }))
    }

    fn hide(&self, secret: &str) {
        self.state().hidden.push(secret.to_owned());
    }
}

struct Lock {
    network: Network,
    key: String,
}

impl Drop for Lock {
    fn drop(&mut self) {
        self.network.state().locked.remove(&self.key);
    }
}

struct Nothing;

impl EraStore for Nothing {
    fn get(&self, _: &str) -> Option<Era> {
        None
    }

    fn put(&self, _: &str, _: Era) {}
}

impl ToolListStore for Nothing {
    fn get(&self, _: &str) -> Option<String> {
        None
    }

    fn put(&self, _: &str, _: &str) {}
}
