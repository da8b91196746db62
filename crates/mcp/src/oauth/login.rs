//! Logins: discovery, client registration, browser, authorization code, token.

use std::sync::Arc;
use std::time::Duration;

use converse_ensemble::ConnectError;
use reqwest::Url;
use rmcp::transport::AuthorizationManager;
use rmcp::transport::auth::{
    AuthError, AuthorizationMetadata, AuthorizationMetadataResolution, OAuthClientConfig, OAuthHttpClient,
};

use super::authority::Authority;
use super::callback::Callback;
use super::destinations::ServerOrigin;
use super::error::OauthError;
use super::grant::{Client, Grant};
use super::guarded_http::GuardedHttp;
use super::scopes;
use crate::McpConnection;

/// Limit for the user in the browser; longer than the limit of the listener for the redirect.
const BROWSER: Duration = Duration::from_secs(6 * 60);
/// Limit for the discovery of the authorization server.
const DISCOVERY: Duration = Duration::from_secs(90);
/// The client name that authorization servers show to the user.
const CLIENT_NAME: &str = "converse";
/// Number of scopes requested; no server has more.
const MAX_SCOPES: usize = 100;
const OFFLINE: &str = "offline_access";

/// An access granted by a server's authorization server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Login {
    /// The issuer as it names itself.
    pub issuer: Option<String>,
    pub scopes: Vec<String>,
    /// Expiry in seconds since 1970; `None` if unknown.
    pub expires: Option<u64>,
    /// Whether the access is renewed without another login.
    pub renewable: bool,
}

impl McpConnection {
    /// Logs the user in, even if a token is stored. Requests `scopes`, those granted before and those that the server
    /// names. Takes at most ten minutes.
    ///
    /// # Errors
    ///
    /// The connection has no `auth = "oauth"`, or no access was granted.
    pub async fn log_in(&self, scopes: &[String]) -> Result<Login, ConnectError> {
        let login = async { self.oauth()?.log_in(scopes).await };
        login.await.map_err(|error| self.oauth_failed(&error))
    }

    pub(super) fn oauth(&self) -> Result<&Authority, OauthError> {
        let missing = || OauthError::Unusable("the connection has no `auth = \"oauth\"`".to_owned());
        self.authority.as_deref().ok_or_else(missing)
    }

    pub(super) fn oauth_failed(&self, error: &OauthError) -> ConnectError {
        ConnectError { ensemble: self.name().to_owned(), reason: error.to_string() }
    }
}

/// An authorization server and the library that talks to it.
pub(super) struct AuthorizationServer {
    pub(super) manager: AuthorizationManager,
    pub(super) metadata: AuthorizationMetadata,
    pub(super) guarded_http: Arc<GuardedHttp>,
}

impl AuthorizationServer {
    /// Describes an error of the library, with the cause that it does not report.
    pub(super) fn explain(&self, error: &AuthError, secrets: &[String]) -> OauthError {
        let message = OauthError::of(error, secrets);
        match self.guarded_http.failure() {
            Some(why) => OauthError::failed(&format!("{message}: {why}"), secrets),
            None => message,
        }
    }
}

impl Authority {
    pub(super) async fn log_in(&self, scopes: &[String]) -> Result<Login, OauthError> {
        let _attempts = self.attempts.lock().await;
        let stored = self.stored()?;
        let grant = self.granted(None, scopes, stored.as_ref()).await?;
        Ok(Login {
            expires: grant.expires(),
            renewable: grant.refresh.is_some(),
            issuer: grant.issuer,
            scopes: grant.scopes,
        })
    }

    /// Logs the user in and stores the token. Requests `scopes`, those that the server needs and those of `before` if
    /// it has the same issuer, so that a grant never loses scopes.
    pub(super) async fn granted(
        &self,
        challenge: Option<&str>,
        scopes: &[String],
        before: Option<&Grant>,
    ) -> Result<Grant, OauthError> {
        let consent = self.surroundings.consent.clone();
        let consent =
            consent.ok_or_else(|| OauthError::Unusable("a login is not possible in this run".to_owned()))?;
        let mut server = self.discover(challenge).await?;
        let before = before.filter(|grant| grant.issuer == server.metadata.issuer);
        let wanted = self.scopes_to_request(&server, scopes, before).await;
        let wanted: Vec<&str> = wanted.iter().map(String::as_str).collect();
        let redirect_uri = consent.redirect_uri().await.map_err(OauthError::Failed)?;
        let client = self.client(&mut server, &redirect_uri, &wanted).await?;
        let secrets = self.secrets_of(&client);
        let url = server.manager.get_authorization_url(&wanted).await;
        let url = url.map_err(|error| server.explain(&error, &secrets))?;
        let state = state_of(&url).ok_or_else(|| {
            OauthError::Failed("the authorization server's address is not valid".to_owned())
        })?;
        let back = tokio::time::timeout(BROWSER, consent.authorize(&url)).await;
        let back = back.map_err(|_| OauthError::Failed("access was not granted in time".to_owned()))?;
        let back = Callback::read(&back.map_err(OauthError::Failed)?, &redirect_uri, &state)?;
        self.hide(std::slice::from_ref(&back.code));
        let secrets = [secrets, vec![back.code.clone(), back.state.clone()]].concat();
        let exchange = server.manager.exchange_code_for_token_with_issuer(
            &back.code,
            &back.state,
            back.issuer.as_deref(),
        );
        let token = exchange.await.map_err(|error| server.explain(&error, &secrets))?;
        let scopes = server.manager.get_current_scopes().await;
        let grant = Grant::of(&token, server.metadata.issuer.clone(), client, scopes)?;
        Ok(self.store(grant).await)
    }

    /// Discovers the authorization server and checks each address that it names.
    pub(super) async fn discover(&self, challenge: Option<&str>) -> Result<AuthorizationServer, OauthError> {
        let (server_origin, guarded_http) = (self.server_origin()?, self.guarded_http()?);
        let http = Arc::clone(&guarded_http) as Arc<dyn OAuthHttpClient>;
        let manager = AuthorizationManager::new_with_oauth_http_client(server_origin.url.clone(), http).await;
        let mut manager = manager.map_err(|error| OauthError::of(&error, &[]))?;
        let finding = tokio::time::timeout(DISCOVERY, manager.resolve_metadata_from_challenge(challenge));
        let resolution = finding.await.map_err(|_| {
            OauthError::Failed("the authorization server could not be discovered in time".to_owned())
        })?;
        let resolution = resolution.map_err(|error| OauthError::of(&error, &[]))?;
        check_endpoints(&server_origin, &resolution)?;
        manager.set_metadata(resolution.metadata.clone());
        Ok(AuthorizationServer { manager, metadata: resolution.metadata, guarded_http })
    }

    async fn scopes_to_request(
        &self,
        server: &AuthorizationServer,
        scopes: &[String],
        before: Option<&Grant>,
    ) -> Vec<String> {
        let mut wanted = self.plan.scopes.clone();
        if wanted.is_empty() {
            wanted = server.manager.select_initial_scopes(&[]).await;
        }
        let before = before.map(|grant| grant.scopes.as_slice()).unwrap_or_default();
        for scope in before.iter().chain(scopes) {
            if !wanted.contains(scope) {
                wanted.push(scope.clone());
            }
        }
        let offered = server.metadata.scopes_supported.iter().flatten();
        let is_offline = |scope: &String| scope == OFFLINE;
        if !wanted.is_empty() && !wanted.iter().any(is_offline) && offered.into_iter().any(is_offline) {
            wanted.push(OFFLINE.to_owned());
        }
        wanted.retain(|scope| scopes::is_one(scope));
        wanted.truncate(MAX_SCOPES);
        wanted
    }

    /// Returns the client: configured, described by a metadata document, or registered now.
    async fn client(
        &self,
        server: &mut AuthorizationServer,
        redirect_uri: &str,
        scopes: &[&str],
    ) -> Result<Client, OauthError> {
        let document = self.plan.client_metadata_url.as_ref().filter(|_| takes_documents(&server.metadata));
        let id = match (&self.plan.client_id, document) {
            (Some(id), _) => Some(self.read(id)?),
            (None, document) => document.cloned(),
        };
        let redirect_uri = redirect_uri.to_owned();
        if let Some(id) = id {
            let client = Client { id, secret: None, redirect_uri };
            self.configure(server, &client)?;
            return Ok(client);
        }
        if server.metadata.registration_endpoint.is_none() {
            let message = match (takes_documents(&server.metadata), &self.plan.client_metadata_url) {
                (true, _) => {
                    "the authorization server knows clients by a document: publish docs/reference/client-metadata.json \
                     at an `https://` address and put that address as `client_metadata_url` into `[connection.oauth]`"
                }
                (false, None) => {
                    "the authorization server does not register clients itself: register a client there and put its \
                     `client_id` into `[connection.oauth]`"
                }
                (false, Some(_)) => {
                    "the authorization server does not register clients itself and does not accept \
                     `client_metadata_url`: register a client there and put its `client_id` into `[connection.oauth]`"
                }
            };
            return Err(OauthError::Unusable(message.to_owned()));
        }
        let registered = server.manager.register_client(CLIENT_NAME, &redirect_uri, scopes).await;
        let registered = registered.map_err(|error| server.explain(&error, &[]))?;
        self.hide(registered.client_secret.as_slice());
        Ok(Client { id: registered.client_id, secret: registered.client_secret, redirect_uri })
    }

    /// Makes the library use this client.
    pub(super) fn configure(
        &self,
        server: &mut AuthorizationServer,
        client: &Client,
    ) -> Result<(), OauthError> {
        let mut config = OAuthClientConfig::new(&client.id, &client.redirect_uri);
        if let Some(secret) = self.secret_of(client)? {
            config = config.with_client_secret(secret);
        }
        let configured = server.manager.configure_client(config);
        configured.map_err(|error| OauthError::of(&error, &self.secrets_of(client)))
    }

    /// Returns the client secret, from the registration or the descriptor.
    pub(super) fn secret_of(&self, client: &Client) -> Result<Option<String>, OauthError> {
        match (&client.secret, &self.plan.client_secret) {
            (Some(secret), _) => Ok(Some(secret.clone())),
            (None, Some(secret)) => self.read(secret).map(Some),
            (None, None) => Ok(None),
        }
    }

    pub(super) fn secrets_of(&self, client: &Client) -> Vec<String> {
        self.secret_of(client).ok().flatten().into_iter().collect()
    }

    fn read(&self, secret: &converse_config::SecretRef) -> Result<String, OauthError> {
        secret.read(&self.surroundings.environment).map_err(|error| OauthError::Unusable(error.to_string()))
    }
}

/// Checks the endpoints and the PKCE support that an authorization server declares.
fn check_endpoints(
    server_origin: &ServerOrigin,
    resolution: &AuthorizationMetadataResolution,
) -> Result<(), OauthError> {
    let metadata = &resolution.metadata;
    let endpoints = [&metadata.authorization_endpoint, &metadata.token_endpoint];
    for endpoint in endpoints.into_iter().chain(&metadata.registration_endpoint) {
        server_origin
            .check(endpoint)
            .map_err(|why| OauthError::Failed(format!("authorization server: {why}")))?;
    }
    // Without PKCE a stolen code is as good as a token. Servers of the first revision publish no metadata.
    if resolution.source.is_discovered() && metadata.code_challenge_methods_supported.is_none() {
        return Err(OauthError::of(&AuthError::PkceUnsupported, &[]));
    }
    Ok(())
}

fn takes_documents(metadata: &AuthorizationMetadata) -> bool {
    let supported = metadata.additional_fields.get("client_id_metadata_document_supported");
    supported.and_then(serde_json::Value::as_bool).unwrap_or_default()
}

/// Returns the `state` parameter of an authorization URL. It is the last one, because the endpoint named by the server
/// may contain another before it.
pub fn state_of(url: &str) -> Option<String> {
    let url = Url::parse(url).ok()?;
    let states = url.query_pairs().filter(|(name, _)| name == "state");
    states.last().map(|(_, state)| state.into_owned()).filter(|state| !state.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_state_counts() {
        assert_eq!(state_of("https://as.example/a?state=theirs&x=y&state=ours").as_deref(), Some("ours"));
        assert_eq!(state_of("https://as.example/a?x=y"), None);
        assert_eq!(state_of("https://as.example/a?state="), None);
    }
}
