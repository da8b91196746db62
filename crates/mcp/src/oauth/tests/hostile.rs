//! Servers that send us where they should not, and browsers that come back with what is not for us.

use converse_ensemble::Fetched;
use serde_json::{Value, json};

use super::network::{CHALLENGE, Network, answer};
use crate::http::Bearer as _;

async fn refused(network: &Network) -> String {
    let message = network.authority(true).challenged(401, None, CHALLENGE).await.unwrap_err();
    assert!(!message.contains("canary"), "{message}");
    assert!(network.state().stored.is_empty());
    message
}

#[tokio::test]
async fn places_that_are_nobodys_business_are_not_gone_to() {
    for (key, places) in [
        (
            "authorization_endpoint",
            &["javascript:alert(1)", "file:///etc/passwd", "-x", "$(touch x)", "data:,x"][..],
        ),
        (
            "authorization_endpoint",
            &["http://as.example/authorize", "https://127.0.0.1/", "https://user@as.example/"],
        ),
        (
            "token_endpoint",
            &["https://169.254.169.254/", "https://[::ffff:10.0.0.1]/", "https://2130706433/"],
        ),
        (
            "token_endpoint",
            &["http://as.example/token", "https://localhost/", "https://metadata.google.internal/"],
        ),
        ("registration_endpoint", &["https://10.1.2.3/register", "http://127.0.0.1:8080/register"]),
    ] {
        for place in places {
            let network = Network::new();
            network.state().metadata = json!({ key: place });
            let message = refused(&network).await;
            assert!(
                message.contains("is not allowed") || message.contains("could not be"),
                "{place}: {message}"
            );
            assert!(network.state().questions.is_empty(), "{place}");
            assert!(!network.state().sent.iter().any(|(method, ..)| method == "POST"), "{place}");
        }
    }
}

#[tokio::test]
async fn names_that_mean_this_machine_or_network_are_not_gone_to() {
    for addresses in
        [&["127.0.0.1"][..], &["10.0.0.1"], &["8.8.8.8", "169.254.169.254"], &["::1"], &["fe80::1"]]
    {
        let network = Network::new();
        let addresses = addresses.iter().map(|text| text.parse().unwrap()).collect();
        network.state().names.insert("as.example".to_owned(), addresses);
        let message = refused(&network).await;
        assert!(message.contains("as.example is not allowed"), "{message}");
        assert!(!network.state().sent.iter().any(|(_, url, _)| url.contains("as.example")));
    }
    // Public when the metadata were read, and another one when the token is had.
    let network = Network::new();
    network.state().metadata = json!({ "token_endpoint": "https://token.example/token" });
    network.state().names.insert("token.example".to_owned(), vec!["10.0.0.1".parse().unwrap()]);
    let message = refused(&network).await;
    assert!(message.contains("token.example is not allowed"), "{message}");
    assert!(network.sent_to("/token").is_empty());
}

#[tokio::test]
async fn nobody_is_followed_to_another_place() {
    let moved = |to: &str| Fetched { location: Some(to.to_owned()), ..answer(302, &json!({})) };
    for (from, to) in [
        ("https://as.example/.well-known/oauth-authorization-server", "http://127.0.0.1/metadata"),
        ("https://mcp.example/.well-known/oauth-protected-resource/mcp", "https://evil.example/"),
        ("https://as.example/register", "https://as.example/other"),
        ("https://as.example/token", "https://evil.example/token"),
    ] {
        let network = Network::new();
        network.state().instead.insert(from.to_owned(), moved(to));
        refused(&network).await;
        assert!(!network.state().sent.iter().any(|(_, url, _)| url == to), "{from}");
    }
}

#[tokio::test]
async fn who_is_not_whom_we_asked_gets_no_code() {
    let other = Some("https://evil.example".to_owned());
    for (callback, words) in [
        (("iss", other), "found https://evil.example"),
        (("iss", Some("https://as.example/".to_owned())), "found https://as.example/"),
        (("iss", None), "names no issuer, expected https://as.example"),
        (("state", Some("guess".to_owned())), "another login"),
        (("state", None), "another login"),
        (("error", Some("access_denied".to_owned())), "(access_denied)"),
        (("code", None), "no code"),
    ] {
        let network = Network::new();
        network.state().callback.extend([callback]);
        let message = refused(&network).await;
        assert!(message.contains(words), "{message}");
        assert!(network.sent_to("/token").is_empty(), "{message}");
    }
}

#[tokio::test]
async fn what_an_authorization_server_lacks_is_not_done_without() {
    for (metadata, words) in [
        (json!({ "code_challenge_methods_supported": null }), "PKCE"),
        (json!({ "code_challenge_methods_supported": ["plain"] }), "PKCE"),
        (json!({ "response_types_supported": ["token"] }), "authorization code flow"),
        (json!({ "issuer": "https://evil.example" }), "found https://evil.example"),
        (json!({ "issuer": null }), "names no issuer, expected https://as.example"),
    ] {
        let network = Network::new();
        network.state().metadata = metadata;
        let message = refused(&network).await;
        assert!(message.contains(words), "{message}");
        assert!(network.state().questions.is_empty());
    }
}

#[tokio::test]
async fn no_message_repeats_a_secret() {
    for description in ["canary-code-1", "the code canary-code-1 is old"] {
        let network = Network::new();
        let refusal: Value = json!({ "error": "invalid_grant", "error_description": description });
        network.state().refusal = Some((400, refusal));
        let message = refused(&network).await;
        assert!(message.contains("invalid_grant"), "{message}");
    }
    let network = Network::new();
    let long = Fetched { truncated: true, ..answer(200, &json!({})) };
    network
        .state()
        .instead
        .insert("https://as.example/.well-known/oauth-authorization-server".to_owned(), long);
    assert!(refused(&network).await.contains("more than"));
}
