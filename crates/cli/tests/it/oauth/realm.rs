//! A server on loopback that asks who you are, and its authorization server on another port: whatever is not exactly
//! right is refused and remembered.

use std::collections::BTreeMap;
use std::sync::Arc;

use base64::Engine as _;
use parking_lot::{Mutex, MutexGuard};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::env::canary::MARK;
use crate::http::{Answer, Request, serve};

type Form = BTreeMap<String, String>;

#[derive(Debug, Default)]
pub(super) struct State {
    server: u16,
    authority: u16,
    /// What no client of ours may do.
    violations: Vec<String>,
    clients: Vec<(String, String)>,
    codes: BTreeMap<String, Form>,
    pub(super) codes_given: Vec<String>,
    /// Scopes of each token that is good.
    pub(super) tokens: BTreeMap<String, Option<String>>,
    /// Good for one use.
    refreshers: BTreeMap<String, String>,
    spent: Vec<String>,
    pub(super) authorizations: u32,
    pub(super) renewals: u32,
    pub(super) revoked: u32,
    pub(super) refuses_renewals: bool,
    pub(super) issuer_in_redirect: Option<String>,
    pub(super) authorization_endpoint: Option<String>,
}

pub(super) struct Realm(Arc<Mutex<State>>);

impl Realm {
    pub(super) fn new() -> Self {
        let state: Arc<Mutex<State>> = Arc::default();
        let held = || {
            let state = Arc::clone(&state);
            move |what: &dyn Fn(&mut State) -> Answer| what(&mut state.lock())
        };
        let (of_server, of_authority) = (held(), held());
        let server = serve(move |request| of_server(&|state| state.serve(&request)));
        let authority = serve(move |request| of_authority(&|state| state.authorize(&request)));
        let realm = Self(state);
        realm.state().server = server;
        realm.state().authority = authority;
        realm
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock()
    }

    pub(super) fn issuer(&self) -> String {
        self.state().issuer()
    }

    /// Nothing was done that must not be.
    #[track_caller]
    pub(super) fn is_content(&self) {
        let violations = std::mem::take(&mut self.state().violations);
        assert!(violations.is_empty(), "{violations:#?}");
    }

    /// The ensemble `web`, with lines of `[ensemble]`.
    pub(super) fn descriptor(&self, lines: &str) -> String {
        format!(
            "[ensemble]\nname = \"web\"\ndescription = \"Asks who you are\"\n{lines}\n[defaults]\npermission = \"allow\"\n\
             [connection]\ntransport = \"http\"\nurl = \"{}\"\nauth = \"oauth\"\n",
            self.state().resource()
        )
    }
}

impl State {
    fn issuer(&self) -> String {
        format!("http://127.0.0.1:{}", self.authority)
    }

    fn resource(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.server)
    }

    /// The tokens that are out end at once; nobody is told.
    pub(super) fn end_all(&mut self) {
        self.tokens.values_mut().for_each(|scopes| *scopes = None);
    }

    pub(super) fn secrets(&self) -> Vec<String> {
        let refreshers = self.refreshers.keys().chain(&self.spent);
        let clients = self.clients.iter().map(|(_, secret)| secret);
        self.tokens.keys().chain(refreshers).chain(&self.codes_given).chain(clients).cloned().collect()
    }

    fn must(&mut self, holds: bool, what: &str) -> bool {
        if !holds {
            self.violations.push(what.to_owned());
        }
        holds
    }

    /// As the protected server.
    fn serve(&mut self, request: &Request) -> Answer {
        let prm = format!("http://127.0.0.1:{}/.well-known/oauth-protected-resource/mcp", self.server);
        let (resource, issuer) = (self.resource(), self.issuer());
        if request.path == "/.well-known/oauth-protected-resource/mcp" {
            return json_of(200, &json!({ "resource": resource, "authorization_servers": [issuer] }));
        }
        if request.path != "/mcp" {
            return json_of(404, &json!({}));
        }
        let token = request
            .header("authorization")
            .and_then(|value| value.strip_prefix("Bearer "))
            .map(str::to_owned);
        let scopes = token.as_ref().and_then(|token| self.tokens.get(token)).cloned();
        if let (Some(_), None) = (&token, &scopes) {
            self.must(false, "a token that was never given");
        }
        let Some(scopes) = scopes.flatten() else {
            let challenge = format!("Bearer resource_metadata=\"{prm}\", scope=\"read\"");
            return json_of(401, &json!({})).header("www-authenticate", &challenge);
        };
        let Ok(asked) = serde_json::from_slice::<Value>(&request.body) else {
            return json_of(405, &json!({}));
        };
        if asked["params"]["name"] == "write" && !scopes.split(' ').any(|scope| scope == "write") {
            let challenge =
                format!("Bearer error=\"insufficient_scope\", scope=\"write\", resource_metadata=\"{prm}\"");
            return json_of(403, &json!({})).header("www-authenticate", &challenge);
        }
        answered(&asked, &token.unwrap_or_default())
    }

    fn authorize(&mut self, request: &Request) -> Answer {
        let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
        let form = pairs(if query.is_empty() {
            std::str::from_utf8(&request.body).unwrap_or_default()
        } else {
            query
        });
        let basic =
            request.header("authorization").and_then(|value| value.strip_prefix("Basic ")).map(str::to_owned);
        match (request.method.as_str(), path) {
            ("GET", "/.well-known/oauth-authorization-server") => self.metadata(),
            ("POST", "/register") => self.register(&request.body),
            ("GET", "/authorize") => self.page(form),
            ("POST", "/token") => self.token(&form, basic.as_deref()),
            ("POST", "/revoke") => {
                self.revoked += 1;
                let known = self.refreshers.remove(&form["token"]).is_some();
                self.must(known, "a token is revoked that is not out");
                json_of(200, &json!({}))
            }
            _ => json_of(404, &json!({})),
        }
    }

    fn metadata(&self) -> Answer {
        let issuer = self.issuer();
        let endpoint = self.authorization_endpoint.clone().unwrap_or_else(|| format!("{issuer}/authorize"));
        json_of(
            200,
            &json!({
                "issuer": issuer, "authorization_endpoint": endpoint, "token_endpoint": format!("{issuer}/token"),
                "registration_endpoint": format!("{issuer}/register"), "revocation_endpoint": format!("{issuer}/revoke"),
                "code_challenge_methods_supported": ["S256"], "response_types_supported": ["code"],
                "authorization_response_iss_parameter_supported": true,
                "token_endpoint_auth_methods_supported": ["client_secret_basic"],
            }),
        )
    }

    fn register(&mut self, body: &[u8]) -> Answer {
        let asked: Value = serde_json::from_slice(body).unwrap_or_default();
        self.must(asked["application_type"] == "native", "registered as something else than native");
        let id = format!("client-{}", self.clients.len() + 1);
        let secret = format!("secret-{}-{MARK}", self.clients.len() + 1);
        self.clients.push((id.clone(), secret.clone()));
        json_of(
            201,
            &json!({ "client_id": id, "client_secret": secret, "redirect_uris": asked["redirect_uris"] }),
        )
    }

    fn page(&mut self, form: Form) -> Answer {
        let resource = self.resource();
        let said = |key: &str| form.get(key).map(String::as_str).unwrap_or_default().to_owned();
        self.authorizations += 1;
        self.must(said("resource") == resource, "authorization without the resource");
        self.must(said("response_type") == "code", "another flow");
        self.must(said("code_challenge_method") == "S256" && said("code_challenge").len() == 43, "no PKCE");
        self.must(said("state").len() >= 16, "a state that can be guessed");
        self.must(said("redirect_uri").starts_with("http://127.0.0.1:"), "a redirect to elsewhere");
        let known = self.clients.iter().any(|(id, _)| *id == said("client_id"));
        self.must(known, "a client that nobody knows");
        let code = format!("code-{:04}-{MARK}", self.codes_given.len() + 1);
        self.codes_given.push(code.clone());
        let issuer = self.issuer_in_redirect.clone().unwrap_or_else(|| self.issuer());
        let back = format!("{}?code={code}&state={}&iss={issuer}", said("redirect_uri"), said("state"));
        self.codes.insert(code, form);
        json_of(302, &json!({})).header("location", &back)
    }

    fn token(&mut self, form: &Form, basic: Option<&str>) -> Answer {
        let said = |key: &str| form.get(key).map(String::as_str).unwrap_or_default();
        let resource = self.resource();
        self.must(said("resource") == resource, "a token for nobody");
        let basic = basic.and_then(|basic| base64::engine::general_purpose::STANDARD.decode(basic).ok());
        let basic = basic.and_then(|basic| String::from_utf8(basic).ok()).unwrap_or_default();
        let client =
            basic.split_once(':').map(|(id, secret)| (id.to_owned(), secret.to_owned())).unwrap_or_default();
        let known = self.clients.contains(&client);
        self.must(known, "a client that does not prove who it is");
        let scope = if said("grant_type") == "refresh_token" {
            self.renewals += 1;
            if self.refuses_renewals {
                return json_of(400, &json!({ "error": "invalid_grant" }));
            }
            let Some(scope) = self.refreshers.remove(said("refresh_token")) else {
                self.must(false, "a refresh token was spent twice");
                return json_of(400, &json!({ "error": "invalid_grant" }));
            };
            self.spent.push(said("refresh_token").to_owned());
            scope
        } else {
            let Some(question) = self.codes.remove(said("code")) else {
                self.must(false, "a code was spent twice");
                return json_of(400, &json!({ "error": "invalid_grant" }));
            };
            let digest = Sha256::digest(said("code_verifier").as_bytes());
            let challenge = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(digest);
            self.must(question["code_challenge"] == challenge, "another verifier");
            self.must(question["redirect_uri"] == said("redirect_uri"), "another redirect");
            self.must(question["client_id"] == client.0, "another client");
            question.get("scope").cloned().unwrap_or_default()
        };
        let number = self.tokens.len() + 1;
        let (access, refresh) = (format!("access-{number:04}-{MARK}"), format!("refresh-{number:04}-{MARK}"));
        self.tokens.insert(access.clone(), Some(scope.clone()));
        self.refreshers.insert(refresh.clone(), scope.clone());
        json_of(
            200,
            &json!({
                "access_token": access, "token_type": "Bearer", "expires_in": 3600, "refresh_token": refresh, "scope": scope,
            }),
        )
    }
}

/// A server of the time before 2026-07-28, with two tools; it says the token when it is asked for it.
fn answered(asked: &Value, token: &str) -> Answer {
    let Some(id) = asked.get("id") else { return json_of(202, &json!({})) };
    let schema = json!({ "type": "object", "properties": { "text": { "type": "string" } } });
    let tool = |name: &str| json!({ "name": name, "description": "A tool", "inputSchema": schema });
    let text = asked["params"]["arguments"]["text"].as_str().unwrap_or_default();
    let verb = if asked["params"]["name"] == "write" { "wrote" } else { "said" };
    let said = if text == "token" { format!("it is {token}") } else { format!("{verb} {text}") };
    let result = match asked["method"].as_str().unwrap_or_default() {
        "initialize" => json!({
            "protocolVersion": "2025-11-25", "capabilities": { "tools": {} },
            "serverInfo": { "name": "realm", "version": "1" },
        }),
        "tools/list" => json!({ "tools": [tool("echo"), tool("write")] }),
        "tools/call" => json!({ "content": [{ "type": "text", "text": said }] }),
        _ => {
            let error = json!({ "code": -32601, "message": "no such method" });
            return json_of(200, &json!({ "jsonrpc": "2.0", "id": id, "error": error }));
        }
    };
    json_of(200, &json!({ "jsonrpc": "2.0", "id": id, "result": result }))
}

fn json_of(status: u16, body: &Value) -> Answer {
    Answer::new(status, "application/json", body.to_string())
}

fn pairs(text: &str) -> Form {
    let decoded = |text: &str| {
        let mut bytes = Vec::new();
        let mut rest = text.bytes();
        while let Some(byte) = rest.next() {
            bytes.push(match byte {
                b'+' => b' ',
                b'%' => {
                    let digits = [rest.next().unwrap(), rest.next().unwrap()];
                    u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap()
                }
                byte => byte,
            });
        }
        String::from_utf8(bytes).unwrap()
    };
    let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
    pairs.map(|(key, value)| (decoded(key), decoded(value))).collect()
}
