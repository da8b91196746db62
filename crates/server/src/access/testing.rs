//! An authorization server for tests: keys, tokens and counters.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures_util::future::BoxFuture;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _};
use serde_json::{Value, json};

use super::{Issuer, KeyFetcher};

pub(crate) const ISSUER: &str = "https://as.example";
pub(crate) const RESOURCE: &str = "https://gw.example/mcp";

pub(crate) fn encoded(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// A pair of keys of either kind.
pub(crate) enum Pair {
    Edwards(Ed25519KeyPair),
    Curve(Box<EcdsaKeyPair>),
}

impl Pair {
    pub(crate) fn edwards() -> Self {
        let bytes = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        Self::Edwards(Ed25519KeyPair::from_pkcs8(bytes.as_ref()).unwrap())
    }

    pub(crate) fn curve() -> Self {
        let random = SystemRandom::new();
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let bytes = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
        Self::Curve(Box::new(EcdsaKeyPair::from_pkcs8(algorithm, bytes.as_ref(), &random).unwrap()))
    }

    pub(crate) fn jwk(&self, id: &str) -> Value {
        match self {
            Self::Edwards(pair) => {
                json!({"kty": "OKP", "crv": "Ed25519", "kid": id, "x": encoded(pair.public_key())})
            }
            Self::Curve(pair) => {
                let (x, y) = pair.public_key().as_ref()[1..].split_at(32);
                json!({"kty": "EC", "crv": "P-256", "kid": id, "use": "sig", "x": encoded(x), "y": encoded(y)})
            }
        }
    }

    pub(crate) fn token(&self, header: &Value, claims: &Value) -> String {
        let message = format!("{}.{}", encoded(header.to_string()), encoded(claims.to_string()));
        let signature = match self {
            Self::Edwards(pair) => encoded(pair.sign(message.as_bytes())),
            Self::Curve(pair) => encoded(pair.sign(&SystemRandom::new(), message.as_bytes()).unwrap()),
        };
        format!("{message}.{signature}")
    }
}

pub(crate) fn claims() -> Value {
    json!({"iss": ISSUER, "aud": RESOURCE, "exp": 4_102_444_800_u64, "sub": "ada", "scope": "call"})
}

/// Answers for the authorization server.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) keys: Mutex<Vec<Value>>,
    pub(crate) metadata: Mutex<Value>,
    /// How often keys were fetched.
    pub(crate) fetched: AtomicUsize,
}

impl Server {
    pub(crate) fn new(keys: Vec<Value>) -> Arc<Self> {
        let metadata = json!({"issuer": ISSUER, "jwks_uri": "https://as.example/keys"});
        Arc::new(Self {
            keys: Mutex::new(keys),
            metadata: Mutex::new(metadata),
            fetched: AtomicUsize::new(0),
        })
    }

    pub(crate) fn count(&self) -> usize {
        self.fetched.load(Ordering::SeqCst)
    }
}

impl KeyFetcher for Server {
    fn fetch<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<Vec<u8>, String>> {
        let answer = match url {
            // The first name is not there, as with servers of OpenID Connect.
            "https://as.example/.well-known/openid-configuration" => {
                Ok(self.metadata.lock().unwrap().to_string().into_bytes())
            }
            "https://as.example/keys" => {
                self.fetched.fetch_add(1, Ordering::SeqCst);
                match &*self.keys.lock().unwrap() {
                    keys if keys.is_empty() => Err("it is down".to_owned()),
                    keys => Ok(json!({ "keys": keys }).to_string().into_bytes()),
                }
            }
            other => Err(format!("{other}: 404")),
        };
        Box::pin(std::future::ready(answer))
    }
}

pub(crate) fn issuer(server: &Arc<Server>) -> Issuer {
    let keys: Arc<dyn KeyFetcher> = Arc::<Server>::clone(server);
    Issuer::new(ISSUER, RESOURCE, vec!["call".to_owned()], keys).unwrap()
}
