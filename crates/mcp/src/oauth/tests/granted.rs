//! Access granted by a person: for the first time, for more, by another authorization server.

use converse_config::{OauthPlan, SecretRef};
use serde_json::json;

use super::network::{CHALLENGE, NARROW, Network};
use crate::http::Bearer as _;

#[tokio::test]
async fn a_token_is_granted_kept_and_used_by_the_next_run() {
    let network = Network::new();
    let authority = network.authority(true);
    assert_eq!(authority.token().await, Ok(None), "the server says what it wants");
    assert!(network.state().sent.is_empty());
    assert_eq!(authority.challenged(401, None, CHALLENGE).await.unwrap(), "canary-access-1");
    assert_eq!(network.state().questions[0]["scope"], "read");
    assert_eq!(authority.token().await.unwrap().unwrap(), "canary-access-1");
    let sent = network.state().sent.len();
    let next = network.authority(false);
    assert_eq!(next.token().await.unwrap().unwrap(), "canary-access-1");
    assert_eq!(network.state().sent.len(), sent, "nobody was asked");
    for secret in ["canary-access-1", "canary-refresh-1", "canary-code-1"] {
        assert!(network.state().hidden.iter().any(|hidden| hidden == secret), "{secret}");
    }
}

#[tokio::test]
async fn without_a_person_it_is_said_how_to_log_in() {
    let network = Network::new();
    let message = network.authority(false).challenged(401, None, CHALLENGE).await.unwrap_err();
    assert_eq!(message, "the server requires a login: run `converse ensembles login web`");
    assert!(network.state().questions.is_empty());
}

#[tokio::test]
async fn more_is_asked_for_beside_what_was_granted_and_not_for_ever() {
    let network = Network::new();
    let authority = network.authority(true);
    let first = authority.challenged(401, None, CHALLENGE).await.unwrap();
    let second = authority.challenged(403, Some(&first), NARROW).await.unwrap();
    assert_eq!(second, "canary-access-2");
    assert_eq!(network.state().questions[1]["scope"], "write read");
    // Granted, and refused all the same: to ask once more would change nothing.
    let message = authority.challenged(403, Some(&second), NARROW).await.unwrap_err();
    assert!(message.contains("`write` although it was granted"), "{message}");
    assert_eq!(network.state().questions.len(), 2);
    let mut token = second;
    for scope in ["a", "b", "c"] {
        let wanted = NARROW.replace("write", scope);
        match authority.challenged(403, Some(&token), &wanted).await {
            Ok(another) => token = another,
            Err(message) => assert!(scope == "c" && message.contains("3 times"), "{scope}: {message}"),
        }
    }
    assert_eq!(network.state().questions.len(), 4);
    // A request that was under way with the old token takes the new one.
    assert_eq!(authority.challenged(403, Some(&first), NARROW).await.unwrap(), token);
    let narrow = network.authority(false);
    let message =
        narrow.challenged(403, Some(&token), &NARROW.replace("write", "x y read")).await.unwrap_err();
    assert_eq!(
        message,
        "the server requires more scopes than were granted: run `converse ensembles login web --scope x --scope y`"
    );
    let odd = NARROW.replace("write", "x;touch${IFS}y no\u{202e}ne z");
    let message = narrow.challenged(403, Some(&token), &odd).await.unwrap_err();
    let command =
        "the server requires more scopes than were granted: run `converse ensembles login web --scope z`";
    let rest = "; further scopes, to be quoted for the shell after `--scope`: \"x;touch${IFS}y\"";
    assert_eq!(message, format!("{command}{rest}"));
    let message = narrow.challenged(403, Some(&token), "Bearer error=\"invalid_request\"").await.unwrap_err();
    assert!(message.contains("(HTTP 403): invalid_request"), "{message}");
}

#[tokio::test]
async fn tokens_that_are_never_taken_are_not_asked_for_for_ever() {
    let network = Network::new();
    network.state().metadata = json!({ "scopes_supported": ["offline_access"] });
    let authority = network.authority(true);
    let mut token = authority.challenged(401, None, CHALLENGE).await.unwrap();
    assert_eq!(network.state().questions[0]["scope"], "read offline_access");
    let mut message = String::new();
    for _ in 0..10 {
        match authority.challenged(401, Some(&token), CHALLENGE).await {
            Ok(another) => token = another,
            Err(why) => message = why,
        }
    }
    assert!(message.contains("none of 3 new tokens"), "{message}");
    assert_eq!(network.state().questions.len(), 3);
}

#[tokio::test]
async fn another_authorization_server_gets_nothing_of_the_first() {
    let network = Network::new();
    let authority = network.authority(true);
    let first = authority.challenged(401, None, CHALLENGE).await.unwrap();
    let before = network.state().sent.len();
    network.state().issuer = "https://other.example".to_owned();
    let second = authority.challenged(401, Some(&first), CHALLENGE).await.unwrap();
    assert_eq!(second, "canary-access-2");
    let state = network.state();
    assert_eq!(state.questions[1]["client_id"], "client-2-of-https://other.example");
    for (_, url, form) in &state.sent[before..] {
        let shown = format!("{url} {form:?}");
        assert!(!shown.contains("canary-refresh") && !shown.contains("client-1"), "{shown}");
    }
}

#[tokio::test]
async fn a_client_is_the_one_by_hand_or_by_document_before_it_is_registered() {
    let literal = |text: &str| Some(SecretRef::Literal(text.to_owned()));
    let document = Some("https://me.example/client.json".to_owned());
    let by_hand = OauthPlan {
        client_id: literal("by-hand"),
        client_secret: Some(SecretRef::Environment("SECRET".to_owned())),
        client_metadata_url: document.clone(),
        ..OauthPlan::default()
    };
    let by_document = OauthPlan { client_metadata_url: document, ..OauthPlan::default() };
    for (plan, takes_documents, id, registered) in [
        (&by_hand, true, "by-hand", 0),
        (&by_document, true, "https://me.example/client.json", 0),
        (&by_document, false, "client-1-of-https://as.example", 1),
    ] {
        let network = Network::new();
        network.state().metadata = json!({ "client_id_metadata_document_supported": takes_documents });
        network.authority_of(plan.clone(), true).challenged(401, None, CHALLENGE).await.unwrap();
        assert_eq!(network.state().questions[0]["client_id"], id);
        assert_eq!(network.sent_to("/register").len(), registered);
        let basic = network.sent_to("/token")[0].get("basic").cloned();
        assert_eq!(basic.as_deref(), (id == "by-hand").then_some("by-hand:canary-by-hand"));
        assert!(!format!("{:?}", network.state().stored).contains("canary-by-hand"), "it stays where it was");
    }
    let network = Network::new();
    network.state().metadata = json!({ "registration_endpoint": null });
    let message = network.authority(true).challenged(401, None, CHALLENGE).await.unwrap_err();
    assert!(message.contains("`client_id`"), "{message}");
}

/// The key that helps is named: which one that is, the server says.
#[tokio::test]
async fn a_server_without_registration_says_how_it_knows_clients() {
    let document = || Some("https://me.example/client.json".to_owned());
    for (takes_documents, client_metadata_url, named, other) in [
        (true, None, "docs/reference/client-metadata.json", "register a client"),
        (false, None, "`client_id`", "client_metadata_url"),
        (false, document(), "does not accept `client_metadata_url`", "publish"),
    ] {
        let network = Network::new();
        network.state().metadata = json!({
            "registration_endpoint": null, "client_id_metadata_document_supported": takes_documents,
        });
        let plan = OauthPlan { client_metadata_url, ..OauthPlan::default() };
        let message = network.authority_of(plan, true).challenged(401, None, CHALLENGE).await.unwrap_err();
        assert!(message.contains(named) && !message.contains(other), "{message}");
        assert!(network.state().questions.is_empty());
    }
}

#[tokio::test]
async fn who_logs_in_says_what_for() {
    let network = Network::new();
    let plan = OauthPlan { scopes: vec!["planned".to_owned()], ..OauthPlan::default() };
    let authority = network.authority_of(plan, true);
    let login = authority.log_in(&["more".to_owned()]).await.unwrap();
    assert_eq!(login.scopes, ["planned", "more"]);
    assert_eq!((login.issuer.as_deref(), login.renewable), (Some("https://as.example"), true));
    // Once more: what was granted stays.
    assert_eq!(authority.log_in(&[]).await.unwrap().scopes, ["planned", "more"]);
}
