//! What was granted, over time: renewed, taken back, forgotten.

use serde_json::json;

use super::town::{CHALLENGE, Town};
use crate::bearer::Bearer as _;

#[tokio::test]
async fn a_token_that_has_ended_is_renewed_once_whoever_needs_it() {
    let town = Town::new();
    town.state().client_secret = Some("canary-client");
    town.state().lifetime = json!(0);
    town.authority(true).log_in(&[]).await.unwrap();
    town.state().lifetime = json!(3600);
    let (one, other) = (town.authority(false), town.authority(false));
    assert_eq!(one.token().await.unwrap().unwrap(), "canary-access-2");
    assert_eq!(town.state().locks, 1);
    let renewal = town.sent_to("/token")[1].clone();
    assert_eq!(renewal["basic"], "client-1-of-https%3A%2F%2Fas.example:canary-client");
    assert_eq!(renewal["scope"], "read");
    // The other has the old one in mind, and finds the new one.
    assert_eq!(other.challenged(401, Some("canary-access-1"), CHALLENGE).await.unwrap(), "canary-access-2");
    assert_eq!(town.sent_to("/token").len(), 2);
    // One that is refused although it should be good is renewed, and what comes of that is not.
    assert_eq!(other.challenged(401, Some("canary-access-2"), CHALLENGE).await.unwrap(), "canary-access-3");
    let told = other.challenged(401, Some("canary-access-3"), CHALLENGE).await.unwrap_err();
    assert!(told.ends_with("`converse ensembles login web`"), "{told}");
    assert_eq!(town.sent_to("/token").len(), 3);
}

#[tokio::test]
async fn what_was_taken_back_is_forgotten_and_what_may_pass_is_not() {
    for (status, refusal, kept, words) in [
        (400, json!({ "error": "invalid_grant" }), 0, "it asks who you are"),
        (
            503,
            json!({ "error": "server_error", "error_description": "not canary-refresh-1 now" }),
            1,
            "refresh",
        ),
    ] {
        let town = Town::new();
        town.state().lifetime = json!(0);
        town.authority(true).log_in(&[]).await.unwrap();
        town.state().refusal = Some((status, refusal));
        let later = town.authority(false);
        let told = match later.token().await {
            Ok(None) => later.challenged(401, None, CHALLENGE).await.unwrap_err(),
            Ok(Some(token)) => panic!("{token}"),
            Err(told) => told,
        };
        assert!(told.contains(words) && !told.contains("canary"), "{told}");
        assert_eq!(town.state().kept.len(), kept);
    }
}

#[tokio::test]
async fn who_logs_out_is_forgotten_on_both_sides() {
    let town = Town::new();
    assert!(!town.authority(false).log_out().await.unwrap());
    assert!(town.state().sent.is_empty());
    town.state().metadata = json!({ "revocation_endpoint": "https://as.example/revoke" });
    town.authority(true).log_in(&[]).await.unwrap();
    assert!(town.authority(false).log_out().await.unwrap());
    assert_eq!(town.sent_to("/revoke")[0]["token"], "canary-refresh-1");
    assert_eq!(town.sent_to("/revoke")[0]["token_type_hint"], "refresh_token");
    assert!(town.state().kept.is_empty());
    // Nowhere to be revoked at, or nobody there: it is forgotten all the same.
    town.state().metadata = json!({ "revocation_endpoint": "https://10.0.0.1/revoke" });
    town.authority(true).log_in(&[]).await.unwrap();
    assert!(town.authority(false).log_out().await.unwrap());
    assert!(town.state().kept.is_empty());
}
