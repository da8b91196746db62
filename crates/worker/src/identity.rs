//! Who calls a worker: a Restate server signs its requests with a key, as JWTs with Ed25519.
//!
//! The SDK checks them with `jsonwebtoken`, which takes its cryptography from the program: that of `ring`, as everywhere here.

use jsonwebtoken::crypto::{CryptoProvider, JwkUtils, JwtVerifier};
use jsonwebtoken::errors::{ErrorKind, Result};
use jsonwebtoken::signature::{Error, Verifier};
use jsonwebtoken::{Algorithm, AlgorithmFamily, DecodingKey};
use ring::signature::{ED25519, UnparsedPublicKey};

/// Verifies signatures of Ed25519, and nothing else.
static PROVIDER: CryptoProvider = CryptoProvider {
    signer_factory: |_, _| Err(ErrorKind::InvalidAlgorithm.into()),
    verifier_factory: verifier,
    jwk_utils: JwkUtils::new_unimplemented(),
};

/// Lets `jsonwebtoken` verify. Called once, before the first request.
pub(crate) fn install() {
    let _ = PROVIDER.install_default();
}

fn verifier(algorithm: &Algorithm, key: &DecodingKey) -> Result<Box<dyn JwtVerifier>> {
    if *algorithm != Algorithm::EdDSA || key.family() != AlgorithmFamily::Ed {
        return Err(ErrorKind::InvalidAlgorithm.into());
    }
    Ok(Box::new(Ed25519(key.clone())))
}

struct Ed25519(DecodingKey);

impl Verifier<Vec<u8>> for Ed25519 {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> std::result::Result<(), Error> {
        let key = UnparsedPublicKey::new(&ED25519, self.0.as_bytes());
        key.verify(message, signature).map_err(|_| Error::new())
    }
}

impl JwtVerifier for Ed25519 {
    fn algorithm(&self) -> Algorithm {
        Algorithm::EdDSA
    }
}

#[cfg(test)]
mod tests {
    use jsonwebtoken::{Validation, decode};
    use serde_json::Value;

    use super::*;

    /// The example of RFC 8037, appendix A.4, with its claims as they are: not JSON, so that only the signature is checked.
    const TOKEN: &str = "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc.\
                         hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg";
    const KEY: &str = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";

    fn kind(token: &str) -> ErrorKind {
        let key = DecodingKey::from_ed_components(KEY).unwrap();
        let decoded = decode::<Value>(token, &key, &Validation::new(Algorithm::EdDSA));
        decoded.unwrap_err().into_kind()
    }

    #[test]
    fn a_signature_counts_for_its_message_alone() {
        install();
        let signed = kind(TOKEN);
        assert!(matches!(signed, ErrorKind::Json(_)), "signed, but the claims are no claims: {signed:?}");
        for (from, to) in [("RXhh", "RXhi"), ("hgyY", "hgyZ")] {
            assert!(matches!(kind(&TOKEN.replace(from, to)), ErrorKind::InvalidSignature));
        }
    }
}
