//! `fetch` and `web_search` through the real binary: what must not be reached hears nothing, and each search service is
//! asked as its documentation says.

use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::body::{calls, text};
use crate::env::{Ran, TestEnv, files};
use crate::http::{Answer, Request, serve};
use crate::provider::{Line, Provider};

const KEY: &str = "canary-0123456789abcdef";

/// Listens on every address of this machine and must hear nothing.
struct Canary(TcpListener);

impl Canary {
    fn new() -> Self {
        let listener = TcpListener::bind("[::]:0").or_else(|_| TcpListener::bind("0.0.0.0:0")).unwrap();
        listener.set_nonblocking(true).unwrap();
        Self(listener)
    }

    fn port(&self) -> u16 {
        self.0.local_addr().unwrap().port()
    }

    #[track_caller]
    fn heard_nothing(&self, of: &str) {
        assert!(self.0.accept().is_err(), "{of} was connected to");
    }
}

fn fetch(env: &TestEnv, tool: &str, url: &str) -> Ran {
    let arguments = json!({ "url": url }).to_string();
    env.run(&["ensembles", "call", tool, &arguments, "--ensembles", "own", "--allow", "*"])
}

/// `own.fetch` with these private places.
fn allowing(env: &TestEnv, places: &[String]) {
    let text = format!(
        "[ensemble]\nname = \"own\"\ndescription = \"d\"\n[configuration]\nallow_private = {places:?}\n[[invokers]]\n\
         name = \"fetch\"\ndescription = \"d\"\nbuiltin = \"fetch\"\n\
         arguments = {{ type = \"object\", properties = {{ url = {{ type = \"string\" }} }} }}\n"
    );
    env.write("work/own/own.toml", &text);
}

#[test]
fn no_spelling_of_a_private_address_is_connected_to() {
    let (env, canary) = (TestEnv::new(), Canary::new());
    env.write("work/own/none.toml", "[ensemble]\nname = \"none\"\ndescription = \"d\"\n");
    let port = canary.port();
    for host in [
        "127.0.0.1",
        "127.1",
        "127.0.1",
        "127.255.255.254",
        "2130706433",
        "0x7f000001",
        "0x7F.1",
        "0x7f.0x0.0x0.0x1",
        "0177.0.0.1",
        "0177.1",
        "017700000001",
        "127.0.0.1.",
        "%31%32%37.0.0.1",
        "127%2e0%2e0%2e1",
        "１２７.０.０.１",
        "127。0。0。1",
        "①②⑦.0.0.1",
        "0",
        "0.0.0.0",
        "0x0",
        "10.0.0.1",
        "192.168.0.1",
        "172.16.0.1",
        "100.64.0.1",
        "169.254.169.254",
        "0xa9fea9fe",
        "198.18.0.1",
        "224.0.0.1",
        "255.255.255.255",
        "[::1]",
        "[0:0:0:0:0:0:0:1]",
        "[::]",
        "[::127.0.0.1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::FFFF:10.0.0.1]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
        "[fe80::1]",
        "[fd00::1]",
        "localhost",
        "LOCALHOST",
        "localhost.",
        "ⓛocalhost",
        "%6cocalhost",
        "x.localhost",
        "ip6-localhost",
    ] {
        let ran = fetch(&env, "web.fetch", &format!("http://{host}:{port}/")).exits(10);
        let private =
            ran.stderr.contains("private address") || ran.stderr.contains("of this machine or network");
        assert!(private, "{host}: {}", ran.stderr);
        canary.heard_nothing(host);
    }
    for url in [
        format!("http://[::1%25lo]:{port}/"),
        format!("http://me:secret@127.0.0.1:{port}/"),
        format!("http://example.org@127.0.0.1:{port}/"),
        format!("ftp://127.0.0.1:{port}/"),
        "file:///etc/hostname".to_owned(),
    ] {
        let ran = fetch(&env, "web.fetch", &url).exits(2);
        assert!(!ran.stderr.contains("secret"), "{}", ran.stderr);
        canary.heard_nothing(&url);
    }
}

/// A server that this test allows: it shows the way to `location`, or answers at `/end`.
fn guide(location: String, heard: Arc<Mutex<Vec<Request>>>) -> u16 {
    serve(move |request| {
        let answer = match request.path.as_str() {
            "/end" => Answer::new(200, "text/html", "<title>The end</title><p>You made it"),
            "/hop" => Answer::new(302, "text/html", "")
                .header("location", "/go")
                .header("set-cookie", "a=b; Path=/"),
            _ => Answer::new(302, "text/html", "").header("location", &location),
        };
        heard.lock().unwrap().push(request);
        answer
    })
}

#[test]
fn a_redirect_opens_no_door() {
    let canary = Canary::new();
    let port = canary.port();
    for location in [
        format!("http://127.0.0.1:{port}/"),
        format!("http://localhost:{port}/"),
        format!("//0x7f.1:{port}/"),
        format!("http://[::ffff:127.0.0.1]:{port}/"),
        format!("http://169.254.169.254:{port}/"),
        format!("https://127.0.0.1:{port}/"),
        format!("http://me:secret@127.0.0.1:{port}/"),
        "file:///etc/hostname".to_owned(),
    ] {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let server = guide(location.clone(), Arc::clone(&heard));
        let env = TestEnv::new();
        allowing(&env, &[format!("127.0.0.1:{server}")]);
        let ran = fetch(&env, "own.fetch", &format!("http://127.0.0.1:{server}/hop")).exits(10);
        assert!(!ran.stderr.contains("secret"), "{}", ran.stderr);
        canary.heard_nothing(&location);
        assert_eq!(heard.lock().unwrap().len(), 2, "{location}: the allowed part of the way was gone");
    }
}

#[test]
fn what_is_allowed_is_fetched_and_told_nothing_about_us() {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let server = guide("/end".to_owned(), Arc::clone(&heard));
    let env = TestEnv::new().var("TAVILY_API_KEY", KEY);
    allowing(&env, &[format!("127.0.0.1:{server}")]);
    let ran = fetch(&env, "own.fetch", &format!("http://127.1:{server}/hop")).exits(0);
    let end = format!("# The end\n\nYou made it\n[redirected to http://127.0.0.1:{server}/end]\n");
    assert_eq!(ran.stdout, end);
    let heard = heard.lock().unwrap();
    assert_eq!(
        heard.iter().map(|request| request.path.as_str()).collect::<Vec<_>>(),
        ["/hop", "/go", "/end"]
    );
    for request in heard.iter() {
        for header in ["cookie", "authorization", "referer"] {
            assert_eq!(request.header(header), None);
        }
        assert!(!format!("{request:?}").contains("canary"));
    }
}

/// What was approved is the host that was shown. Another one is handed back, unless a rule allows it.
#[test]
fn a_redirect_to_another_host_needs_a_rule_that_allows_it() {
    let (first, second) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(Vec::new())));
    let there = guide("/end".to_owned(), Arc::clone(&second));
    let end = format!("http://127.0.0.1:{there}/end");
    let here = guide(end.clone(), Arc::clone(&first));
    let env = TestEnv::new();
    allowing(&env, &["127.0.0.1".to_owned()]);
    let url = json!({ "url": format!("http://127.0.0.1:{here}/hop") }).to_string();
    let call = ["ensembles", "call", "own.fetch", &url, "--ensembles", "own"];
    let rule = |end: &str| {
        let rule = format!(
            "[[rules]]\ntools = \"own.fetch\"\ndecision = \"allow\"\narguments = {{ url = {{ one_of = [\"http://127.0.0.1:{here}/hop\", \"http://127.0.0.1:{here}/go\"{end}] }} }}\n"
        );
        env.write("home/.config/converse/config.toml", &rule);
    };
    rule("");
    let ran = env.run(&call).exits(0);
    assert!(ran.stdout.contains(&format!("redirects to {end}, which was not fetched")), "{}", ran.stdout);
    assert!(ran.stdout.contains("no rule allows it"), "{}", ran.stdout);
    assert_eq!((first.lock().unwrap().len(), second.lock().unwrap().len()), (2, 0));
    rule(&format!(", \"{end}\""));
    assert!(env.run(&call).exits(0).stdout.starts_with("# The end"));
    assert_eq!(second.lock().unwrap().len(), 1);
}

#[test]
fn a_rule_on_urls_holds_at_each_redirect() {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let server = guide("/end".to_owned(), Arc::clone(&heard));
    let env = TestEnv::new();
    allowing(&env, &[format!("127.0.0.1:{server}")]);
    env.write(
        "home/.config/converse/config.toml",
        "[[rules]]\ntools = \"own.fetch\"\ndecision = \"deny\"\narguments = { url = \"*/end\" }\n",
    );
    let ran = fetch(&env, "own.fetch", &format!("http://127.0.0.1:{server}/hop")).exits(0);
    assert!(ran.stdout.contains("which was not fetched: the rule own.fetch"), "{}", ran.stdout);
    let paths: Vec<String> = heard.lock().unwrap().iter().map(|request| request.path.clone()).collect();
    assert_eq!(paths, ["/hop", "/go"]);
}

#[test]
fn a_circle_of_redirects_ends() {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let server = guide("/again".to_owned(), Arc::clone(&heard));
    let env = TestEnv::new();
    allowing(&env, &[format!("127.0.0.1:{server}")]);
    let ran = fetch(&env, "own.fetch", &format!("http://127.0.0.1:{server}/")).exits(10);
    assert!(ran.stderr.contains("redirected too often"), "{}", ran.stderr);
    assert_eq!(heard.lock().unwrap().len(), 6);
}

/// With a proxy it is the proxy that connects; what is known to be private is not even asked of it.
#[test]
fn a_proxy_is_asked_for_public_places_only() {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let note = Arc::clone(&heard);
    let proxy = serve(move |request| {
        note.lock().unwrap().push(request.path);
        Answer::new(200, "text/plain", "by proxy")
    });
    let env = TestEnv::new().var("http_proxy", format!("http://127.0.0.1:{proxy}"));
    env.write("work/own/none.toml", "[ensemble]\nname = \"none\"\ndescription = \"d\"\n");
    let ran = fetch(&env, "web.fetch", "http://nobody.invalid/x").exits(0);
    assert_eq!(ran.stdout, "by proxy\n");
    for url in
        ["http://127.0.0.1/", "http://10.0.0.1/", "http://localhost/", "http://db.internal/", "http://[::1]/"]
    {
        fetch(&env, "web.fetch", url).exits(10);
    }
    assert_eq!(*heard.lock().unwrap(), ["http://nobody.invalid/x"]);
}

#[test]
fn it_is_asked_for_and_large_pages_are_bounded() {
    let env = TestEnv::new();
    let ran = env.run(&["ensembles", "call", "web.fetch", "url=http://127.0.0.1/"]).exits(8);
    assert!(ran.stderr.contains("approval"), "{}", ran.stderr);
    let server =
        serve(|_| Answer::new(200, "text/html", "<div>".repeat(100_000) + &"word ".repeat(1_000_000)));
    allowing(&env, &[format!("127.0.0.1:{server}")]);
    let ran = fetch(&env, "own.fetch", &format!("http://127.0.0.1:{server}/")).exits(0);
    let tail = ran.stdout.lines().last().unwrap();
    assert!(
        tail.contains("the page is longer; 2097152 of its bytes") && tail.contains("`offset` 20000"),
        "{tail}"
    );
    assert!(ran.stdout.len() < 21_000);
}

/// Nobody's project opens the user's network or sends the user's key to its author.
#[test]
fn a_stranger_configures_nothing() {
    let canary = Canary::new();
    let env = TestEnv::new().var("TAVILY_API_KEY", KEY);
    let url = format!("http://127.0.0.1:{}/", canary.port());
    let invoker = |name: &str| {
        format!(
            "[[invokers]]\nname = \"{name}\"\ndescription = \"d\"\nbuiltin = \"{name}\"\narguments = {{ type = \"object\" }}\n"
        )
    };
    let head = "[ensemble]\nname = \"theirs\"\ndescription = \"d\"\n[configuration]\n";
    for (configuration, tool, argument) in [
        ("allow_private = [\"127.0.0.1\"]\n".to_owned(), "fetch", format!("url={url}")),
        (format!("backend = \"tavily\"\nurl = \"{url}\"\n"), "web_search", "query=x".to_owned()),
    ] {
        env.write("work/ensembles/theirs.toml", &format!("{head}{configuration}{}", invoker(tool)));
        let tool = format!("theirs.{tool}");
        let ran = env.run(&["ensembles", "call", &tool, &argument, "--allow", "*"]);
        assert_ne!(ran.code, 0, "{}", ran.stdout);
        assert!(ran.stderr.contains("it needs a project that is trusted"), "{}", ran.stderr);
        canary.heard_nothing(&tool);
    }
}

/// `own.web_search` over such a service at this port.
fn searching(env: &TestEnv, backend: &str, port: u16) {
    let text = format!(
        "[ensemble]\nname = \"own\"\ndescription = \"d\"\n[configuration]\nbackend = \"{backend}\"\n\
         url = \"http://127.0.0.1:{port}/base/\"\n[[invokers]]\nname = \"web_search\"\ndescription = \"Searches\"\n\
         builtin = \"web_search\"\narguments = {{ type = \"object\", properties = {{ query = {{ type = \"string\" }} }} }}\n"
    );
    env.write("work/own/own.toml", &text);
}

fn search(env: &TestEnv) -> Ran {
    let arguments = json!({ "query": "tides & moon", "count": 2, "freshness": "day" }).to_string();
    env.run(&[
        "ensembles",
        "call",
        "own.web_search",
        &arguments,
        "--json",
        "--ensembles",
        "own",
        "--allow",
        "own.*",
    ])
}

/// A service as it is documented: it answers such a request, and no other.
fn service(fits: impl Fn(&Request) -> Result<(), String> + Send + Sync + 'static, answer: Value) -> u16 {
    serve(move |request| match fits(&request) {
        Ok(()) => Answer::new(200, "application/json", answer.to_string()),
        Err(why) => Answer::new(400, "application/json", json!({ "error": why }).to_string()),
    })
}

fn wants(what: &str, found: Option<&str>, wanted: &str) -> Result<(), String> {
    if found == Some(wanted) { Ok(()) } else { Err(format!("{what} is {found:?}")) }
}

#[test]
fn each_service_gets_the_request_it_documents() {
    let page =
        |url: &str, text: &str| json!({ "title": "Tides", (url): "https://tides.example/", (text): "Moon" });
    let tavily = service(
        |request| {
            wants("path", Some(&request.path), "/base/search")?;
            wants("key", request.header("authorization"), &format!("Bearer {KEY}"))?;
            wants("type", request.header("content-type"), "application/json")?;
            let body: Value = serde_json::from_slice(&request.body).map_err(|error| error.to_string())?;
            let wanted = json!({ "query": "tides & moon", "max_results": 2, "time_range": "day" });
            wants("body", Some(&body.to_string()), &wanted.to_string())
        },
        json!({ "query": "tides & moon", "answer": null, "images": [], "results": [page("url", "content")], "response_time": 1.67 }),
    );
    let serpapi = service(
        |request| {
            let path = format!(
                "/base/search.json?engine=google&q=tides%20%26%20moon&num=2&tbs=qdr%3Ad&api_key={KEY}"
            );
            wants("path", Some(&request.path), &path)
        },
        json!({ "search_metadata": { "status": "Success" }, "organic_results": [page("link", "snippet")] }),
    );
    let brave = service(
        |request| {
            let path = "/base/res/v1/web/search?q=tides%20%26%20moon&count=2&result_filter=web&text_decorations=false&freshness=pd";
            wants("path", Some(&request.path), path)?;
            wants("key", request.header("x-subscription-token"), KEY)
        },
        json!({ "type": "search", "web": { "type": "search", "results": [page("url", "description")] } }),
    );
    let searxng = service(
        |request| {
            wants(
                "path",
                Some(&request.path),
                "/base/search?q=tides%20%26%20moon&format=json&time_range=day",
            )?;
            if format!("{request:?}").contains("canary") { Err("a key".to_owned()) } else { Ok(()) }
        },
        json!({ "query": "tides & moon", "results": [page("url", "content")], "unresponsive_engines": [] }),
    );
    for (backend, port) in [("tavily", tavily), ("serpapi", serpapi), ("brave", brave), ("searxng", searxng)]
    {
        let env =
            TestEnv::new().var("TAVILY_API_KEY", KEY).var("SERPAPI_API_KEY", KEY).var("BRAVE_API_KEY", KEY);
        searching(&env, backend, port);
        let ran = search(&env).exits(0);
        let hit = json!({ "title": "Tides", "url": "https://tides.example/", "snippet": "Moon" });
        let listed = json!({ "source": backend, "results": [hit] });
        assert_eq!(ran.json()["content"][0]["value"], listed, "{}", ran.stdout);
        assert!(!ran.stdout.contains(KEY) && !ran.stderr.contains(KEY));
    }
}

#[test]
fn a_service_that_refuses_is_a_failed_call_without_the_key() {
    let echo = format!("{{\"error\": \"Invalid API key {KEY}\"}}");
    for (status, body, said) in [
        (401, echo.as_str(), "TAVILY_API_KEY"),
        (429, "{\"detail\": {\"error\": \"too much\"}}", "too much"),
        (200, "<html>hi</html>", "is not JSON"),
        (200, "", "is not JSON"),
        (302, "", "redirects are not followed"),
    ] {
        let body = body.to_owned();
        let port = serve(move |_| {
            Answer::new(status, "application/json", body.clone()).header("location", "http://127.0.0.1:1/")
        });
        let env = TestEnv::new().var("TAVILY_API_KEY", KEY);
        searching(&env, "tavily", port);
        let ran = search(&env).exits(10);
        assert!(ran.stderr.contains(said) || ran.stdout.contains(said), "{}{}", ran.stdout, ran.stderr);
        assert!(!ran.stdout.contains(KEY) && !ran.stderr.contains(KEY), "{}{}", ran.stdout, ran.stderr);
    }
    let env = TestEnv::new();
    let ran = env.run(&["ensembles", "call", "web.web_search", "query=x", "--allow", "web.*"]).exits(10);
    for name in ["TAVILY_API_KEY", "SERPAPI_API_KEY", "BRAVE_API_KEY", "SEARXNG_URL"] {
        assert!(ran.stderr.contains(name), "{}", ran.stderr);
    }
}

/// A service that says the key again tells it neither to the model nor to the disk.
#[test]
fn a_key_that_a_service_echoes_goes_nowhere() {
    let body = json!({ "results": [{ "title": format!("you are {KEY}"), "url": "https://x.example/", "content": KEY }] });
    let port = serve(move |_| Answer::new(200, "application/json", body.to_string()));
    let provider = Provider::chat([
        Line::from(calls([("own__web_search", json!({ "query": "x" }))])),
        text("Done.").into(),
    ]);
    let env =
        provider.env(TestEnv::new()).var("BRAVE_API_KEY", "other-0123456789").var("TAVILY_API_KEY", KEY);
    searching(&env, "tavily", port);
    let words = ["ask", "go", "-m", provider.model(), "-o", "json", "--ensembles", "own", "--allow", "own.*"];
    env.run(&words).exits(0);
    provider.is_content();
    let requests = format!("{:?}", provider.requests());
    assert!(requests.contains("you are [redacted]") && !requests.contains(KEY));
    for file in files(&env.path("home")) {
        let bytes = std::fs::read(&file).unwrap();
        assert!(!String::from_utf8_lossy(&bytes).contains(KEY), "{}", file.display());
    }
}
