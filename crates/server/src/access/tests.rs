use std::time::Duration;

use http::header::AUTHORIZATION;
use serde_json::{Value, json};

use super::testing::{Pair, RESOURCE, Server, claims, encoded, issuer};
use super::*;

// Of a key that is nowhere any more; good until the year 2100.
const RSA_MODULUS: &str = "we30oIsela-84sN1m0r90RzezjPpimFuH943xGPa2UnoHhAVQmalqpihYCs7WcUhRmSy55GDnL4nXuqbAgBRIZmU1yUrAaU3JnNTYpxZaHiMCP_TIeS_immVubI3Dcecan5DRQALI3qRocGCFODgfBeUOzpklWRQ6KmBAEriYgGpS2NrVRPf98KtbAw8SC-1uOUwlyjTkiavRdus-bDGqRaczRuuSZA_03dQeJ-9piTIRrUyD5_HNt2QawUro7VhxTAIlkjCL-FlPQ9GyjD2nQlv5bVqFxs8QJYNlcyG2ppFme11_cqH03LtFC5i2jzMEnOHrLm-nHyiTCTw7P1y0Q";
const RS256: &str = "eyJhbGciOiJSUzI1NiIsImtpZCI6InJzYSIsInR5cCI6ImF0K2p3dCJ9.eyJpc3MiOiJodHRwczovL2FzLmV4YW1wbGUiLCJhdWQiOiJodHRwczovL2d3LmV4YW1wbGUvbWNwIiwiZXhwIjo0MTAyNDQ0ODAwLCJzdWIiOiJyc2EiLCJzY29wZSI6ImNhbGwifQ.F8XnN7A2kClnALo-T76XFfnSApnZTDbYuF1SVyOWb_FVyslkUf2A0hytUAU8sqH_lJy6Zq1b2qytiflBKTzoXEjUlwQ6pr12pCPrUHDZIOUhNMeKQvCqRc9Q4XPuTwcY69uTGCXWmRUm3gZdFn23Px5F__oHxovhCgO8kg3VVaiUOsxwwuI0WSVgXp6LK0ADtVSGZWfbqszjzYnIgxZSCZDn16ZSRoIqaeKg7V75zmmzb_Y75oIs7PfhZYu4kyMIcih0zEfD9R-JYgkGUrFnzJbBALaM0h2RxsIsaSvkl5zxH9Cu-2_YKZuPbW0P8sos80ZxRbhv_Glc8vyqS-EZfQ";
const PS256: &str = "eyJhbGciOiJQUzI1NiIsImtpZCI6InJzYSIsInR5cCI6ImF0K2p3dCJ9.eyJpc3MiOiJodHRwczovL2FzLmV4YW1wbGUiLCJhdWQiOiJodHRwczovL2d3LmV4YW1wbGUvbWNwIiwiZXhwIjo0MTAyNDQ0ODAwLCJzdWIiOiJyc2EiLCJzY29wZSI6ImNhbGwifQ.CJe8tvkfnxCUDXAznQFfFf5OoAJ-vEyn37Yeg7LUtV9OsZ3FHUEmQo8yr96YT7P51aM7obdilGs5iSTP4F-kn76iPKvEshYPpWjBXavoOdFJ-KJsFpFJv3lqRDf3hGUQwcT0lU6UdozzwRBrHBTyM-VvoiMb_Hl2L0UWBv42agM-qcT1_JEtxcEwXEVnn1cB8HOChrIigJqfxceKQA_enesxd65D1FLu6OUrW9jPP5Ef5I7oNlbmhF6VtWlGZZOoRrKCuSM8DUZ-F10OL_zjUEim_emngFuuY1uhsbs2zqE5qp1QYT5dsNLKWUaDVgczoISUvviju1y_G33wWyd5PA";

async fn admitted(access: &Access, token: &str) -> Result<Option<String>, Denied> {
    let mut headers = HeaderMap::new();
    headers.insert(AUTHORIZATION, format!("Bearer {token}").parse().unwrap());
    who(access.admit(&headers).await)
}

fn who(admitted: Result<Admission, Denied>) -> Result<Option<String>, Denied> {
    admitted.map(|admitted| admitted.who.map(|who| who.to_string()))
}

fn ada() -> Result<Option<String>, Denied> {
    Ok(Some("subject \"ada\"".to_owned()))
}

fn changed(name: &str, value: Value) -> Value {
    let mut claims = claims();
    claims[name] = value;
    claims
}

#[tokio::test]
async fn everybody_comes_into_an_open_gateway_and_nobody_into_another() {
    let headers = HeaderMap::new();
    assert_eq!(who(Access::open().admit(&headers).await), Ok(None));
    let tokens = Arc::new(Tokens::read("0123456789abcdef").unwrap());
    let access = Access::open().with_tokens(tokens);
    assert_eq!(who(access.admit(&headers).await), Err(Denied::Missing));
    assert_eq!(admitted(&access, "0123456789abcdef").await, Ok(Some("token 9f9f5111".to_owned())));
    assert_eq!(admitted(&access, "0123456789abcdee").await, Err(Denied::Invalid));
    assert_eq!(access.challenge(Denied::Missing), "Bearer");
    assert_eq!(access.challenge(Denied::Invalid), "Bearer error=\"invalid_token\"");
}

#[tokio::test]
async fn tokens_of_the_issuer_are_let_in_by_every_algorithm() {
    let (edwards, curve) = (Pair::edwards(), Pair::curve());
    let rsa = json!({"kty": "RSA", "kid": "rsa", "n": RSA_MODULUS, "e": "AQAB"});
    let odd = json!({"kty": "brand-new", "kid": "odd"});
    let server = Server::new(vec![odd, edwards.jwk("ed"), curve.jwk("ec"), rsa]);
    let access = Access::open().with_issuer(issuer(&server));
    let ed = edwards.token(&json!({"alg": "EdDSA", "kid": "ed"}), &claims());
    let ec = curve.token(&json!({"alg": "ES256", "kid": "ec", "typ": "at+jwt"}), &claims());
    let unnamed = curve.token(&json!({"alg": "ES256"}), &claims());
    for token in [&ed, &ec, &unnamed] {
        assert_eq!(admitted(&access, token).await, ada());
    }
    for token in [RS256, PS256] {
        assert_eq!(admitted(&access, token).await, Ok(Some("subject \"rsa\"".to_owned())));
    }
    assert_eq!(server.count(), 1, "keys are kept");
}

#[tokio::test]
async fn what_is_wrong_with_a_token_keeps_it_out() {
    let (ours, theirs) = (Pair::curve(), Pair::curve());
    let server = Server::new(vec![ours.jwk("one"), Pair::edwards().jwk("two")]);
    let access = Access::open().with_issuer(issuer(&server));
    let header = json!({"alg": "ES256", "kid": "one"});
    let good = ours.token(&header, &claims());
    assert_eq!(admitted(&access, &good).await, ada());
    let unsigned = |alg: &str| {
        format!("{}.{}.", encoded(json!({"alg": alg}).to_string()), encoded(claims().to_string()))
    };
    let (message, signature) = good.rsplit_once('.').unwrap();
    let (head, _) = message.split_once('.').unwrap();
    let other_payload = format!("{head}.{}.{signature}", encoded(changed("sub", json!("eve")).to_string()));
    // The classic: the public key as a shared secret.
    let shared = ours.token(&json!({"alg": "HS256", "kid": "one"}), &claims());
    for (what, token) in [
        ("of another key", theirs.token(&header, &claims())),
        ("none", unsigned("none")),
        ("None", unsigned("None")),
        ("HS256", shared),
        ("ES256 without a signature", unsigned("ES256")),
        ("the algorithm of another kind", ours.token(&json!({"alg": "RS256", "kid": "one"}), &claims())),
        ("the key of another kind", ours.token(&json!({"alg": "ES256", "kid": "two"}), &claims())),
        ("rules of its own", ours.token(&json!({"alg": "ES256", "kid": "one", "crit": ["x"]}), &claims())),
        ("another payload", other_payload),
        ("over", ours.token(&header, &changed("exp", json!(1_000_000_000)))),
        ("for another", ours.token(&header, &changed("aud", json!("https://other.example/mcp")))),
        ("of another issuer", ours.token(&header, &changed("iss", json!("https://evil.example")))),
        ("no token", "a.b.c".to_owned()),
        ("four parts", format!("{good}.x")),
        ("two parts", message.to_owned()),
    ] {
        assert_eq!(admitted(&access, &token).await, Err(Denied::Invalid), "{what}");
    }
    let narrow = ours.token(&header, &changed("scope", json!("read")));
    assert_eq!(admitted(&access, &narrow).await, Err(Denied::Scope));
    assert_eq!(server.count(), 1, "bad tokens make no traffic");
}

#[tokio::test(start_paused = true)]
async fn keys_that_are_not_known_are_asked_for_once_a_minute() {
    let (old, new) = (Pair::curve(), Pair::curve());
    let server = Server::new(vec![old.jwk("old")]);
    let access = Access::open().with_issuer(issuer(&server));
    let of_old = old.token(&json!({"alg": "ES256", "kid": "old"}), &claims());
    let of_new = new.token(&json!({"alg": "ES256", "kid": "new"}), &claims());
    assert_eq!(admitted(&access, &of_old).await, ada());
    server.keys.lock().unwrap().push(new.jwk("new"));
    for _ in 0..100 {
        assert_eq!(admitted(&access, &of_new).await, Err(Denied::Invalid));
    }
    assert_eq!(server.count(), 1);
    tokio::time::advance(Duration::from_secs(60)).await;
    assert_eq!(admitted(&access, &of_new).await, ada());
    assert_eq!(server.count(), 2);
    // One that was withdrawn is good for an hour at most.
    server.keys.lock().unwrap().remove(0);
    tokio::time::advance(Duration::from_secs(3600)).await;
    assert_eq!(admitted(&access, &of_old).await, Err(Denied::Invalid));
    // The known keys stay valid while the issuer is down, but it may have other keys by now.
    server.keys.lock().unwrap().clear();
    tokio::time::advance(Duration::from_secs(3600)).await;
    assert_eq!(admitted(&access, &of_new).await, ada());
    assert_eq!(admitted(&access, &of_old).await, Err(Denied::KeysUnavailable));
    // For a day: they may have been withdrawn since.
    tokio::time::advance(Duration::from_secs(23 * 3600 - 1)).await;
    assert_eq!(admitted(&access, &of_new).await, ada());
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(admitted(&access, &of_new).await, Err(Denied::KeysUnavailable));
    server.keys.lock().unwrap().push(new.jwk("new"));
    tokio::time::advance(Duration::from_secs(60)).await;
    assert_eq!(admitted(&access, &of_new).await, ada());
    assert_eq!(admitted(&access, &of_old).await, Err(Denied::Invalid));
}

#[tokio::test(start_paused = true)]
async fn who_was_let_in_is_so_until_the_token_is_over() {
    let pair = Pair::curve();
    let server = Server::new(vec![pair.jwk("one")]);
    let access = Access::open().with_issuer(issuer(&server));
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let token = pair.token(&json!({"alg": "ES256", "kid": "one"}), &changed("exp", json!(now + 100)));
    let mut headers = HeaderMap::new();
    headers.insert(AUTHORIZATION, format!("Bearer {token}").parse().unwrap());
    let admitted = access.admit(&headers).await.unwrap();
    let began = tokio::time::Instant::now();
    admitted.expired().await;
    let took = began.elapsed().as_secs();
    // The clock of claims is not paused: a minute of leeway, and a few seconds of this test.
    assert!((140..=161).contains(&took), "{took}");
}

#[tokio::test(start_paused = true)]
async fn without_keys_nobody_knows() {
    let pair = Pair::curve();
    let token = pair.token(&json!({"alg": "ES256", "kid": "one"}), &claims());
    let down = Server::new(vec![]);
    let reported = Arc::new(parking_lot::Mutex::new(Vec::new()));
    let lines = Arc::clone(&reported);
    let issuer_that_reports = issuer(&down).with_report(move |line| lines.lock().push(line.to_owned()));
    let access = Access::open().with_issuer(issuer_that_reports);
    for _ in 0..3 {
        assert_eq!(admitted(&access, &token).await, Err(Denied::KeysUnavailable));
        tokio::time::advance(Duration::from_secs(60)).await;
    }
    let line = "warning: the keys of the issuer https://as.example cannot be fetched, so tokens signed by unknown keys are \
                refused: it is down";
    assert_eq!(*reported.lock(), [line], "one line for each change");
    assert_eq!(admitted(&access, &token).await, Err(Denied::KeysUnavailable));
    down.keys.lock().unwrap().push(pair.jwk("one"));
    assert_eq!(admitted(&access, &token).await, Err(Denied::KeysUnavailable));
    tokio::time::advance(Duration::from_secs(60)).await;
    assert_eq!(admitted(&access, &token).await, ada());
    assert_eq!(
        reported.lock().last().unwrap(),
        "the keys of the issuer https://as.example are available again"
    );
    for metadata in [
        json!({"issuer": "https://evil.example", "jwks_uri": "https://as.example/keys"}),
        json!({"issuer": "https://as.example", "jwks_uri": "http://as.example/keys"}),
        json!({"issuer": "https://as.example"}),
    ] {
        let server = Server::new(vec![pair.jwk("one")]);
        *server.metadata.lock().unwrap() = metadata.clone();
        let access = Access::open().with_issuer(issuer(&server));
        assert_eq!(admitted(&access, &token).await, Err(Denied::KeysUnavailable), "{metadata}");
    }
}

#[tokio::test]
async fn whoever_asks_learns_where_tokens_are_had() {
    let server = Server::new(vec![]);
    let issuer = issuer(&server);
    assert_eq!(issuer.metadata()["resource"], RESOURCE);
    assert_eq!(issuer.metadata()["authorization_servers"], json!(["https://as.example"]));
    for (path, is) in [
        ("/.well-known/oauth-protected-resource", true),
        ("/.well-known/oauth-protected-resource/mcp", true),
        ("/.well-known/oauth-protected-resource/other", false),
        ("/.well-known/oauth-protected-resourcemcp", false),
        ("/mcp", false),
    ] {
        assert_eq!(issuer.is_metadata(path), is, "{path}");
    }
    let access = Access::open().with_issuer(issuer);
    assert_eq!(
        access.challenge(Denied::Scope),
        "Bearer error=\"insufficient_scope\", \
         resource_metadata=\"https://gw.example/.well-known/oauth-protected-resource/mcp\", scope=\"call\""
    );
}

#[test]
fn what_cannot_be_an_issuer_is_said_before() {
    let server = Server::new(vec![]);
    let made = |issuer: &str, resource: &str, scope: &str| {
        let keys: Arc<dyn KeyFetcher> = Arc::<Server>::clone(&server);
        Issuer::new(issuer, resource, vec![scope.to_owned()], keys).map(|_| ())
    };
    assert_eq!(made("https://a", "https://b/mcp", "s"), Ok(()));
    assert_eq!(made("http://a", "https://b", "s"), Err(AccessError::Issuer("http://a".to_owned())));
    assert_eq!(made("https://a", "b", "s"), Err(AccessError::Resource("b".to_owned())));
    assert_eq!(made("https://a", "https://b", "a b"), Err(AccessError::Scope("a b".to_owned())));
    assert_eq!(made("https://a", "https://b", "\""), Err(AccessError::Scope("\"".to_owned())));
}

/// Claims as they are in a signed token; one that is given twice leads nowhere.
#[tokio::test]
async fn a_signed_claim_leads_to_a_view() {
    let pair = Pair::edwards();
    let server = Server::new(vec![pair.jwk("one")]);
    let mut sources = converse_config::SourceMap::new();
    let text = "[[views]]\nname = \"data\"\ntools = [\"*\"]\nclaims = { group = \"data\" }\n";
    let id = sources.add("s.toml", converse_config::Scope::User, text);
    let views = converse_config::parse_settings(&sources, id).value.views;
    let access =
        Access::open().with_issuer(issuer(&server)).with_views(converse_gateway::ViewPlans::new(views));
    let reach = async |claims: String| {
        let message =
            format!("{}.{}", encoded(json!({ "alg": "EdDSA", "kid": "one" }).to_string()), encoded(claims));
        let Pair::Edwards(key) = &pair else { panic!("another pair") };
        let token = format!("{message}.{}", encoded(key.sign(message.as_bytes())));
        access.admit_token(&token).await.map(|admitted| admitted.reach)
    };
    let of_data = changed("group", json!(["x", "data"])).to_string();
    let data = Reach::Views([converse_canister::ViewName::new("data").unwrap()].into());
    assert_eq!(reach(of_data).await, Ok(data));
    assert_eq!(reach(claims().to_string()).await, Err(Denied::View));
    assert_eq!(reach(changed("group", json!("ops")).to_string()).await, Err(Denied::View));
    let twice = claims().to_string().replacen('{', "{\"group\":\"ops\",\"group\":\"data\",", 1);
    assert_eq!(reach(twice).await, Err(Denied::View));
}
