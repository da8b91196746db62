//! What services are asked and what they answer, by the examples of their documentation.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::Request;
use serde_json::{Map, Value, json};

use super::*;
use crate::Fetched;
use crate::builtin::testing::{Scripted, TempDir, invoke, settings, value, words};

const KEY: &str = "canary-0123456789";

struct Asked {
    answer: Result<Answer, InvokeError>,
    requests: Vec<Request<Bytes>>,
}

fn built(
    configuration: &Map<String, Value>,
    fetch: Arc<Scripted>,
    set: &[&str],
) -> Result<Arc<dyn Invocable>, BuildError> {
    let temp = TempDir::new();
    let value =
        |name: &str| if name == "SEARXNG_URL" { "http://[::1]:8888/sx/".to_owned() } else { KEY.to_owned() };
    let environment = Environment::new(set.iter().map(|name| ((*name).to_owned(), value(name))));
    build(&Settings { environment, fetch, ..settings(configuration, temp.path()) })
}

fn ask(configuration: Value, set: &[&str], arguments: Value, reply: Fetched) -> Asked {
    let fetch = Arc::new(Scripted { replies: Mutex::new(vec![Ok(reply)]), ..Scripted::default() });
    let tool = built(configuration.as_object().unwrap(), Arc::clone(&fetch), set).unwrap();
    let answer = invoke(tool.as_ref(), arguments);
    let requests = std::mem::take(&mut *fetch.requests.lock().unwrap());
    Asked { answer, requests }
}

fn reply(status: u16, body: impl ToString) -> Fetched {
    let content_type = Some("application/json".to_owned());
    Fetched {
        status,
        content_type,
        body: body.to_string().into(),
        truncated: false,
        location: None,
        challenges: vec![],
    }
}

fn failure(configuration: Value, set: &[&str], reply: Fetched) -> String {
    let answer = ask(configuration, set, json!({ "query": "x" }), reply).answer.unwrap();
    assert!(answer.is_error, "{answer:?}");
    words(&answer).to_owned()
}

/// Service, its variable, method, URL, its header, body, and an answer with one page that was found.
fn services()
-> [(&'static str, &'static str, &'static str, &'static str, &'static str, &'static str, Value); 4] {
    [
        (
            "tavily",
            "TAVILY_API_KEY",
            "POST",
            "https://api.tavily.com/search",
            "authorization",
            r#"{"query":"a & b","max_results":3,"time_range":"week"}"#,
            json!({ "query": "a & b", "results": [{ "title": "T", "url": "https://t.example/", "content": "S", "score": 0.9 }] }),
        ),
        (
            "serpapi",
            "SERPAPI_API_KEY",
            "GET",
            "https://serpapi.com/search.json?engine=google&q=a%20%26%20b&num=3&tbs=qdr%3Aw&api_key=canary-0123456789",
            "",
            "",
            json!({ "search_metadata": { "status": "Success" }, "organic_results": [
                { "position": 1, "title": "T", "link": "https://t.example/", "snippet": "S" }] }),
        ),
        (
            "brave",
            "BRAVE_API_KEY",
            "GET",
            "https://api.search.brave.com/res/v1/web/search?q=a%20%26%20b&count=3&result_filter=web&text_decorations=false&freshness=pw",
            "x-subscription-token",
            "",
            json!({ "type": "search", "web": { "type": "search", "results": [
                { "title": "T", "url": "https://t.example/", "description": "<strong>S</strong>" }] } }),
        ),
        (
            "searxng",
            "SEARXNG_URL",
            "GET",
            "http://[::1]:8888/sx/search?q=a%20%26%20b&format=json&time_range=week",
            "",
            "",
            json!({ "query": "a & b", "results": [{ "title": "T", "url": "https://t.example/", "content": "S" }] }),
        ),
    ]
}

#[test]
fn each_service_is_asked_in_its_own_way() {
    for (name, variable, method, url, header, body, found) in services() {
        let arguments = json!({ "query": " a & b ", "count": 3, "freshness": "week" });
        for configuration in [json!({ "backend": name }), json!({ "backend": "auto" }), json!({})] {
            let asked = ask(configuration, &[variable], arguments.clone(), reply(200, &found));
            let answer = asked.answer.unwrap();
            let hit = json!({ "title": "T", "url": "https://t.example/", "snippet": "S" });
            assert_eq!(value(&answer), &json!({ "source": name, "results": [hit] }));
            let [request] = asked.requests.as_slice() else { panic!("{name}") };
            assert_eq!(
                (request.method().as_str(), request.uri().to_string().as_str()),
                (method, url),
                "{name}"
            );
            assert_eq!(String::from_utf8_lossy(request.body()), body, "{name}");
            let keys: Vec<_> = request.headers().iter().filter(|(_, value)| value.is_sensitive()).collect();
            match keys.as_slice() {
                [] => assert_eq!(header, ""),
                [(name, value)] => {
                    assert_eq!(name.as_str(), header);
                    assert!(value.to_str().unwrap().ends_with(KEY));
                }
                more => panic!("{more:?}"),
            }
        }
    }
}

#[test]
fn the_first_service_whose_variable_is_set_is_asked() {
    let all = ["SEARXNG_URL", "BRAVE_API_KEY", "SERPAPI_API_KEY", "TAVILY_API_KEY"];
    for (count, origin) in [
        (1, "http://[::1]:8888"),
        (2, "https://api.search"),
        (3, "https://serpapi"),
        (4, "https://api.tavily"),
    ] {
        let asked = ask(json!({}), &all[..count], json!({ "query": "x" }), reply(200, "{}"));
        assert!(asked.requests[0].uri().to_string().starts_with(origin), "{:?}", asked.requests);
    }
    let text = failure(json!({}), &[], reply(200, "{}"));
    assert!(all.iter().all(|name| text.contains(name)), "{text}");
    for (backend, variable) in [("brave", "BRAVE_API_KEY"), ("searxng", "SEARXNG_URL")] {
        assert!(
            failure(json!({ "backend": backend }), &["TAVILY_API_KEY"], reply(200, "{}")).contains(variable)
        );
    }
}

#[test]
fn failures_say_what_to_do_and_never_the_key() {
    let invalid = json!({ "detail": { "error": "Unauthorized: missing or invalid API key." } });
    let spent = json!({ "error": "Your account has run out of searches." });
    let token =
        json!({ "type": "ErrorResponse", "error": { "code": "X", "detail": "The token is invalid." } });
    let html = Fetched { content_type: Some("text/html".into()), ..reply(200, "<h1>hi</h1>") };
    for (backend, reply, said) in [
        ("tavily", reply(401, &invalid), &["missing or invalid", "TAVILY_API_KEY", "401"][..]),
        ("serpapi", reply(429, &spent), &["run out of searches", "429", "later"]),
        ("brave", reply(422, &token), &["The token is invalid", "422"]),
        ("searxng", reply(403, ""), &["`json`", "403"]),
        ("brave", reply(500, "oops"), &["status 500"]),
        ("tavily", reply(302, ""), &["redirects are not followed"]),
        ("tavily", html, &["is not JSON", "text/html"]),
        ("brave", reply(200, ""), &["is not JSON"]),
        ("tavily", reply(200, "[]"), &["is not JSON"]),
        ("tavily", reply(200, "{}"), &["without results"]),
        ("searxng", reply(200, "{\"results\": {}}"), &["without results"]),
        ("serpapi", reply(200, "{\"error\": \"We couldn't get valid results.\"}"), &["couldn't get"]),
    ] {
        let set = ["TAVILY_API_KEY", "SERPAPI_API_KEY", "BRAVE_API_KEY", "SEARXNG_URL"];
        let text = failure(json!({ "backend": backend }), &set, reply);
        assert!(said.iter().all(|words| text.contains(words)), "{backend}: {text}");
        assert!(!text.contains(KEY), "{text}");
    }
}

#[test]
fn nothing_found_is_no_failure() {
    let empty = json!({ "search_metadata": { "status": "Success" }, "error": "Google hasn't returned any results for this query.",
        "search_information": { "organic_results_state": "Fully empty" } });
    for (backend, variable, body) in [
        ("tavily", "TAVILY_API_KEY", json!({ "results": [] })),
        ("serpapi", "SERPAPI_API_KEY", empty),
        ("brave", "BRAVE_API_KEY", json!({ "type": "search" })),
        ("searxng", "SEARXNG_URL", json!({ "results": [] })),
    ] {
        let asked =
            ask(json!({ "backend": backend }), &[variable], json!({ "query": "x" }), reply(200, body));
        assert_eq!(value(&asked.answer.unwrap()), &json!({ "source": backend, "results": [] }));
    }
}

#[test]
fn what_is_found_is_bounded_and_plain() {
    let entry = |url: &str| json!({ "title": "a\n <b>b</b>\u{7}", "url": url, "description": "x &amp; ".repeat(2000) });
    let mut entries = vec![entry("javascript:1"), entry("not a url"), json!(1), json!({})];
    entries.extend((0..30).map(|index| entry(&format!("https://x.example/{index}"))));
    let body = json!({ "web": { "results": entries } });
    let asked = ask(json!({}), &["BRAVE_API_KEY"], json!({ "query": "x" }), reply(200, body));
    let answer = asked.answer.unwrap();
    let results = value(&answer)["results"].as_array().unwrap();
    assert_eq!(results.len(), DEFAULT_COUNT);
    assert_eq!(results[0]["url"], "https://x.example/0");
    assert_eq!(results[0]["title"], "a b");
    assert!(results[0]["snippet"].as_str().unwrap().starts_with("x & x & "));
    assert_eq!(results[0]["snippet"].as_str().unwrap().chars().count(), 2000);
}

#[test]
fn arguments_are_checked_without_a_schema_too() {
    for arguments in [
        json!({}),
        json!({ "query": " " }),
        json!({ "query": "x", "count": 0 }),
        json!({ "query": "x", "count": 21 }),
        json!({ "query": "x", "freshness": "hour" }),
    ] {
        let asked = ask(json!({}), &["BRAVE_API_KEY"], arguments.clone(), reply(200, "{}"));
        assert!(matches!(asked.answer, Err(InvokeError::Invalid(_))), "{arguments}");
        assert!(asked.requests.is_empty());
    }
}

#[test]
fn settings_are_checked_when_it_is_built() {
    let fails = |configuration: Value| {
        let built = built(configuration.as_object().unwrap(), Arc::default(), &[]);
        built.map(|_| ()).map_err(|error| error.key)
    };
    assert_eq!(fails(json!({ "backend": "bing" })), Err("backend"));
    assert_eq!(fails(json!({ "backend": 1 })), Err("backend"));
    assert_eq!(fails(json!({ "url": "https://x.example" })), Err("url"), "whose key would it be?");
    for url in [
        "x",
        "ftp://x.example",
        "http://me@x.example",
        "http://:pw@x.example",
        "http://x.example/?a",
        "http://x/#a",
    ] {
        assert_eq!(fails(json!({ "backend": "brave", "url": url })), Err("url"), "{url}");
    }
    assert_eq!(fails(json!({ "backend": "brave", "url": "http://127.0.0.1:1/api/" })), Ok(()));
    let temp = TempDir::new();
    let configuration = json!({ "backend": "tavily", "url": "https://evil.example" });
    let settings = settings(configuration.as_object().unwrap(), temp.path());
    let built = build(&Settings { trusted: false, ..settings }).map(|_| ());
    assert!(built.unwrap_err().to_string().contains("trusted"), "a key goes where its owner says");
}
