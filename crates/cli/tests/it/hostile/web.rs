//! Words of servers over HTTP, and of those who say who may use them, on a terminal.

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering::Relaxed};

use serde_json::{Value, json};

use super::shown::{all_bytes, is_clean, words};
use crate::env::TestEnv;
use crate::http::{Answer, serve};

/// Where the words come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Server(u16),
    Challenge,
    Resource,
    Issuer,
    Endpoints,
    Registration,
    Bytes,
}

fn json_of(status: u16, value: &Value) -> Answer {
    Answer::new(status, "application/json", value.to_string())
}

/// Asks who you are, and has the words in one place.
fn site(place: Place) -> u16 {
    let own = Arc::new(AtomicU16::new(0));
    let port = Arc::clone(&own);
    let served = serve(move |request| {
        let base = format!("http://127.0.0.1:{}", port.load(Relaxed));
        // What a line of a header can hold.
        let evil: String =
            words().chars().filter(|c| !c.is_ascii_control() && *c != '"').take(3000).collect();
        let path = request.path.split('?').next().unwrap_or_default();
        match (place, path) {
            (Place::Server(status), "/mcp") => Answer::new(
                status,
                "application/json",
                json!({ "error": words(), "message": words() }).to_string(),
            ),
            (Place::Bytes, _) => Answer::new(200, "application/json", all_bytes()),
            (_, "/mcp") => {
                let told = match place {
                    Place::Challenge => {
                        format!("error=\"{evil}\", error_description=\"{evil}\", scope=\"{evil}\", ")
                    }
                    _ => String::new(),
                };
                let prm = format!("{base}/.well-known/oauth-protected-resource/mcp");
                json_of(401, &json!({ "error": words() }))
                    .header("www-authenticate", &format!("Bearer {told}resource_metadata=\"{prm}\""))
            }
            (Place::Resource, "/.well-known/oauth-protected-resource/mcp") => json_of(
                200,
                &json!({ "resource": words(), "authorization_servers": [words()], "resource_name": words() }),
            ),
            (_, "/.well-known/oauth-protected-resource/mcp") => {
                json_of(200, &json!({ "resource": format!("{base}/mcp"), "authorization_servers": [base] }))
            }
            (_, "/.well-known/oauth-authorization-server") => {
                let evil = words();
                let issuer = if place == Place::Issuer { &evil } else { &base };
                let authorize = match place {
                    Place::Endpoints => format!("{base}/authorize?{evil}"),
                    _ => format!("{base}/authorize"),
                };
                json_of(
                    200,
                    &json!({ "issuer": issuer, "authorization_endpoint": authorize, "token_endpoint": format!("{base}/token"),
                        "registration_endpoint": format!("{base}/register"), "response_types_supported": ["code"],
                        "code_challenge_methods_supported": ["S256"] }),
                )
            }
            (_, "/register") if place == Place::Registration => {
                json_of(400, &json!({ "error": words(), "error_description": words() }))
            }
            (_, "/register") => json_of(201, &json!({ "client_id": words(), "redirect_uris": [] })),
            _ => json_of(404, &json!({ "error": words() })),
        }
    });
    own.store(served, Relaxed);
    served
}

#[test]
fn whoever_asks_who_you_are() {
    let places = [
        Place::Challenge,
        Place::Resource,
        Place::Issuer,
        Place::Endpoints,
        Place::Registration,
        Place::Bytes,
    ];
    for place in places.into_iter().chain([200, 400, 403, 404, 500].map(Place::Server)) {
        let env = TestEnv::hasty();
        let text = format!(
            "[ensemble]\nname = \"web\"\ndescription = \"d\"\n[connection]\ntransport = \"http\"\nauth = \"oauth\"\n\
             url = \"http://127.0.0.1:{}/mcp\"\nconnect_timeout = \"2s\"\n",
            site(place)
        );
        env.write("servers/web.toml", &text);
        let servers = env.path("servers").display().to_string();
        for words in [
            &["ensembles", "show", "web", "--connect"][..],
            &["ensembles", "show", "web", "--connect", "-vv"],
            &["ensembles", "login", "web", "--no-browser"],
            &["ensembles", "check", "--connect"],
        ] {
            // Who is asked for an address gets the end of what is typed.
            let (args, told) = ([words, &["--ensembles", &servers]].concat(), "web");
            if words.contains(&"login") {
                let mut screen = crate::screen::Screen::run(&env, &args);
                screen.types("\x04\r\x04");
                screen.finishes();
                super::shown::holds(screen.bytes(), super::shown::Manner::Drawn, &args, "");
            } else {
                is_clean(&env, &args, told);
            }
        }
    }
}
