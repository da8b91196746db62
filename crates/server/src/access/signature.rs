//! The signature of a token. Only asymmetric algorithms: with a shared secret, each verifier could make tokens.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, KeyAlgorithm, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey};
use serde::Deserialize;
use serde_json::Value;

/// The parts of a token. They are not verified before [`SignedToken::is_signed_by`] returns true.
#[derive(Debug)]
pub(super) struct SignedToken<'t> {
    pub(super) payload: Vec<u8>,
    pub(super) key_id: Option<String>,
    algorithm: Algorithm,
    /// The first two parts, as text.
    message: &'t str,
    signature: &'t str,
}

#[derive(Debug, Deserialize)]
struct Header {
    alg: String,
    #[serde(default)]
    kid: Option<String>,
    /// Critical extensions. None is supported.
    #[serde(default)]
    crit: Option<Value>,
}

impl<'t> SignedToken<'t> {
    pub(super) fn read(token: &'t str) -> Option<Self> {
        let (message, signature) = token.rsplit_once('.')?;
        let (header, payload) = message.split_once('.')?;
        let header: Header = serde_json::from_slice(&decoded(header)?).ok()?;
        let algorithm = algorithm(&header.alg).filter(|_| header.crit.is_none())?;
        Some(Self { payload: decoded(payload)?, key_id: header.kid, algorithm, message, signature })
    }

    /// Returns whether key id and algorithm match.
    pub(super) fn matches(&self, key: &Key) -> bool {
        let same_id = self.key_id.as_ref().is_none_or(|id| key.id.as_ref() == Some(id));
        same_id && key.algorithms.contains(&self.algorithm)
    }

    pub(super) fn is_signed_by(&self, key: &Key) -> bool {
        let (message, algorithm) = (self.message.as_bytes(), self.algorithm);
        let verified = jsonwebtoken::crypto::verify(self.signature, message, &key.key, algorithm);
        self.matches(key) && verified.unwrap_or(false)
    }
}

/// A public key of an issuer.
#[derive(Clone)]
pub(super) struct Key {
    id: Option<String>,
    algorithms: Vec<Algorithm>,
    key: DecodingKey,
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Key")
            .field("id", &self.id)
            .field("algorithms", &self.algorithms)
            .finish_non_exhaustive()
    }
}

impl Key {
    /// `None` for a key that is not for signatures or has an unsupported algorithm.
    pub(super) fn read(jwk: &Value) -> Option<Self> {
        let jwk = Jwk::deserialize(jwk).ok()?;
        let is_for_signatures = matches!(jwk.common.public_key_use, None | Some(PublicKeyUse::Signature));
        let by_kind: &[Algorithm] = match &jwk.algorithm {
            AlgorithmParameters::RSA(_) => &[Algorithm::RS256, Algorithm::PS256],
            AlgorithmParameters::EllipticCurve(curve) if curve.curve == EllipticCurve::P256 => {
                &[Algorithm::ES256]
            }
            AlgorithmParameters::OctetKeyPair(pair) if pair.curve == EllipticCurve::Ed25519 => {
                &[Algorithm::EdDSA]
            }
            _ => &[],
        };
        let named = jwk.common.key_algorithm.map(named);
        let algorithms: Vec<_> =
            by_kind.iter().copied().filter(|kind| named.is_none_or(|named| named == Some(*kind))).collect();
        let key = DecodingKey::from_jwk(&jwk).ok()?;
        let is_useful = is_for_signatures && !algorithms.is_empty();
        is_useful.then_some(Self { id: jwk.common.key_id, algorithms, key })
    }
}

fn decoded(part: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(part).ok()
}

fn algorithm(name: &str) -> Option<Algorithm> {
    match name {
        "RS256" => Some(Algorithm::RS256),
        "PS256" => Some(Algorithm::PS256),
        "ES256" => Some(Algorithm::ES256),
        "EdDSA" => Some(Algorithm::EdDSA),
        _ => None,
    }
}

fn named(algorithm: KeyAlgorithm) -> Option<Algorithm> {
    match algorithm {
        KeyAlgorithm::RS256 => Some(Algorithm::RS256),
        KeyAlgorithm::PS256 => Some(Algorithm::PS256),
        KeyAlgorithm::ES256 => Some(Algorithm::ES256),
        KeyAlgorithm::EdDSA => Some(Algorithm::EdDSA),
        _ => None,
    }
}
