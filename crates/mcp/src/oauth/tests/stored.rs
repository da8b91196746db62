//! What was granted, over time: renewed, taken back, forgotten.

use converse_config::{OauthPlan, Scope};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::network::{CHALLENGE, Network, answer};
use crate::http::Bearer as _;
use crate::oauth::LoggedOut;

#[tokio::test]
async fn a_token_that_has_ended_is_renewed_once_whoever_needs_it() {
    let network = Network::new();
    network.state().client_secret = Some("canary-client");
    network.state().lifetime = json!(0);
    network.authority(true).log_in(&[]).await.unwrap();
    network.state().lifetime = json!(3600);
    let (one, other) = (network.authority(false), network.authority(false));
    assert_eq!(one.token().await.unwrap().unwrap(), "canary-access-2");
    assert_eq!(network.state().locks, 1);
    let renewal = network.sent_to("/token")[1].clone();
    assert_eq!(renewal["basic"], "client-1-of-https%3A%2F%2Fas.example:canary-client");
    assert_eq!(renewal["scope"], "read");
    // The other has the old one in mind, and finds the new one.
    assert_eq!(other.challenged(401, Some("canary-access-1"), CHALLENGE).await.unwrap(), "canary-access-2");
    assert_eq!(network.sent_to("/token").len(), 2);
    // One that is refused although it should be good is renewed, and what comes of that is not.
    assert_eq!(other.challenged(401, Some("canary-access-2"), CHALLENGE).await.unwrap(), "canary-access-3");
    let message = other.challenged(401, Some("canary-access-3"), CHALLENGE).await.unwrap_err();
    assert!(message.ends_with("`converse ensembles login web`"), "{message}");
    assert_eq!(network.sent_to("/token").len(), 3);
}

#[tokio::test]
async fn what_was_taken_back_is_forgotten_and_what_may_pass_is_not() {
    for (status, refusal, stored, words) in [
        (400, json!({ "error": "invalid_grant" }), 0, "the server requires a login"),
        (401, json!({ "error": "invalid_client" }), 0, "the server requires a login"),
        (400, json!({ "error": "unauthorized_client" }), 0, "the server requires a login"),
        (400, json!({ "error": "invalid_scope" }), 1, "invalid_scope"),
        (
            503,
            json!({ "error": "server_error", "error_description": "not canary-refresh-1 now" }),
            1,
            "refresh",
        ),
    ] {
        let network = Network::new();
        network.state().lifetime = json!(0);
        network.authority(true).log_in(&[]).await.unwrap();
        network.state().refusal = Some((status, refusal));
        let later = network.authority(false);
        let message = match later.token().await {
            Ok(None) => later.challenged(401, None, CHALLENGE).await.unwrap_err(),
            Ok(Some(token)) => panic!("{token}"),
            Err(message) => message,
        };
        assert!(message.contains(words) && !message.contains("canary"), "{message}");
        assert!(message.ends_with("`converse ensembles login web`"), "{message}");
        assert_eq!(network.state().stored.len(), stored);
    }
}

#[tokio::test]
async fn who_logs_out_is_forgotten_on_both_sides() {
    let (network, wait) = (Network::new(), CancellationToken::new());
    assert_eq!(network.authority(false).log_out(&wait).await, Ok(LoggedOut::Nothing));
    assert!(network.state().sent.is_empty());
    network.state().metadata = json!({ "revocation_endpoint": "https://as.example/revoke" });
    network.authority(true).log_in(&[]).await.unwrap();
    assert_eq!(network.authority(false).log_out(&wait).await, Ok(LoggedOut::Forgotten));
    assert_eq!(network.sent_to("/revoke")[0]["token"], "canary-refresh-1");
    assert_eq!(network.sent_to("/revoke")[0]["token_type_hint"], "refresh_token");
    assert!(network.state().stored.is_empty());
}

/// Servers of the Python SDK refuse a revocation without `client_secret`, also of a client that has none.
#[tokio::test]
async fn a_revocation_has_the_client_secret_where_the_server_reads_it() {
    let (basic, post) = (json!(["client_secret_post", "client_secret_basic"]), json!(["client_secret_post"]));
    let header = "client-1-of-https%3A%2F%2Fas.example:canary-secret";
    for (secret, in_form, methods, requests) in [
        (None, false, json!(null), vec![(None, None)]),
        (None, true, basic.clone(), vec![(None, None), (None, Some(""))]),
        (Some("canary-secret"), false, json!(null), vec![(Some(header), None)]),
        (
            Some("canary-secret"),
            true,
            basic,
            vec![(Some(header), None), (Some(header), Some("canary-secret"))],
        ),
        (Some("canary-secret"), true, post, vec![(None, Some("canary-secret"))]),
    ] {
        let (network, wait) = (Network::new(), CancellationToken::new());
        network.state().client_secret = secret;
        network.state().secret_in_form = in_form;
        network.authority(true).log_in(&[]).await.unwrap();
        network.state().metadata = json!({ "revocation_endpoint": "https://as.example/revoke",
            "revocation_endpoint_auth_methods_supported": methods });
        assert_eq!(network.authority(false).log_out(&wait).await, Ok(LoggedOut::Forgotten), "{requests:?}");
        let sent = network.sent_to("/revoke");
        let found: Vec<_> = sent
            .iter()
            .map(|form| {
                (form.get("basic").map(String::as_str), form.get("client_secret").map(String::as_str))
            })
            .collect();
        assert_eq!(found, requests);
    }
}

/// It is forgotten all the same, and said.
#[tokio::test]
async fn who_cannot_be_told_of_a_logout_keeps_nobody_from_it() {
    let stopped = CancellationToken::new();
    stopped.cancel();
    for (endpoint, status, wait, why) in [
        ("https://10.0.0.1/revoke", 200, CancellationToken::new(), "is not allowed"),
        ("https://as.example/revoke", 503, CancellationToken::new(), "HTTP 503"),
        ("https://as.example/revoke", 200, stopped, "the revocation was cancelled"),
    ] {
        let network = Network::new();
        network.state().metadata = json!({ "revocation_endpoint": endpoint });
        network.state().instead.insert(endpoint.to_owned(), answer(status, &json!({})));
        network.authority(true).log_in(&[]).await.unwrap();
        let out = network.authority(false).log_out(&wait).await.unwrap();
        let LoggedOut::Unrevoked(message) = &out else { panic!("{endpoint}: {out:?}") };
        assert!(message.contains(why) && !message.contains("canary"), "{message}");
        assert!(network.state().stored.is_empty());
    }
}

#[tokio::test]
async fn a_renewal_does_not_undo_what_was_done_meanwhile() {
    let refused = |code: &str| Some((400, json!({ "error": code })));
    for (meanwhile, refusal, stored) in [
        ("log out", None, None),
        ("log out", refused("invalid_grant"), None),
        ("log in", None, Some("canary-access-3")),
        ("log in", refused("invalid_grant"), Some("canary-access-2")),
    ] {
        let network = Network::new();
        network.state().lifetime = json!(0);
        network.authority(true).log_in(&[]).await.unwrap();
        network.state().lifetime = json!(3600);
        network.state().refusal = refusal;
        let other = network.authority(true);
        let then = network.clone();
        let doing = async move {
            then.state().refusal = None;
            if meanwhile == "log out" {
                other.log_out(&CancellationToken::new()).await.unwrap();
            } else {
                other.log_in(&["more".to_owned()]).await.unwrap();
            }
        };
        network.state().meanwhile = Some(Box::pin(doing));
        let token = network.authority(false).token().await.unwrap();
        assert_eq!(token.as_deref(), stored, "{meanwhile}");
        let now: Vec<_> = network.state().stored.values().cloned().collect();
        assert_eq!(now.len(), usize::from(stored.is_some()), "{meanwhile}");
        assert!(now.iter().all(|now| now.contains(stored.unwrap()) && now.contains("more")), "{meanwhile}");
        assert!(network.state().warned.is_empty());
    }
}

/// Somebody else's descriptor does not inherit it.
#[tokio::test]
async fn what_was_granted_is_for_descriptors_of_the_same_place() {
    let own = (Scope::User, "/home/u/ensembles/web.toml", "/a");
    let places = [
        own,
        (Scope::Project, "ensembles/web.toml", "/a"),
        (Scope::Project, "ensembles/web.toml", "/b"),
        (Scope::Explicit, "there/web.toml", "/a"),
        (Scope::Explicit, "/there/web.toml", "/a"),
    ];
    for (place, same) in [
        (own, vec![(Scope::Shipped, "builtin:web.toml", "/b"), (Scope::Explicit, "the command line", "/b")]),
        (places[1], vec![(Scope::Project, "ensembles/other.toml", "/a")]),
        (places[2], vec![]),
        (places[3], vec![(Scope::Explicit, "/a/there/web.toml", "/b")]),
        (places[4], vec![]),
    ] {
        let network = Network::new();
        let authority = |place, consent| network.authority_at(OauthPlan::default(), consent, place);
        authority(place, true).log_in(&[]).await.unwrap();
        for other in places.iter().chain(&same) {
            let has = authority(*other, false).token().await.unwrap().is_some();
            assert_eq!(has, *other == place || same.contains(other), "{place:?} {other:?}");
        }
    }
}

#[tokio::test]
async fn a_word_for_a_token_is_not_taken_out_of_what_is_shown() {
    let network = Network::new();
    network.state().token = "https://";
    network.authority(true).log_in(&[]).await.unwrap();
    let state = network.state();
    assert!(!state.hidden.iter().any(|hidden| hidden.starts_with("https")), "{:?}", state.hidden);
    assert!(state.warned[0].contains("too short"), "{:?}", state.warned);
}
