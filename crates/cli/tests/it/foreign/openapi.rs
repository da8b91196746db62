//! `ensembles import openapi`: a document becomes tools, whose requests a server sees as the document describes them.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::env::{Ran, TestEnv};
use crate::http::{Answer, Request, serve};

const DOCUMENT: &str = include_str!("shop.yaml");

struct Shop {
    env: TestEnv,
    seen: Arc<Mutex<Vec<Request>>>,
    port: u16,
}

impl Shop {
    /// Serves the document at `/openapi.yaml`, and answers all other requests with one item.
    fn open() -> Self {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&seen);
        let port = serve(move |request| match request.path.as_str() {
            "/openapi.yaml?key=hidden" => Answer::new(200, "application/yaml", DOCUMENT),
            "/moved.yaml" => Answer::new(302, "text/plain", "").header("location", "/openapi.yaml"),
            "/large.yaml" => Answer::new(200, "application/yaml", vec![b'#'; 20 * 1024 * 1024 + 1]),
            _ => {
                kept.lock().unwrap().push(request);
                Answer::new(200, "application/json", r#"{"data":{"id":7},"meta":{}}"#)
            }
        });
        Self { env: TestEnv::new().var("API_SHOP__KEY", "k&1").var("API_SHOP__TOKEN", "t-1"), seen, port }
    }

    fn import(&self, args: &[&str]) -> Ran {
        self.env.run(&[&["ensembles", "import", "openapi"], args].concat())
    }

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}/{path}", self.port)
    }

    /// Calls a tool, and returns the one request that it made and its result.
    fn call(&self, tool: &str, arguments: &Value) -> (Request, String) {
        let arguments = arguments.to_string();
        let tool = format!("shop.{tool}");
        let rules = ["--ensembles", "e", "--allow", "shop"];
        let ran = self.env.run(&[&["ensembles", "call", &tool, &arguments][..], &rules].concat()).exits(0);
        let mut seen = std::mem::take(&mut *self.seen.lock().unwrap());
        assert_eq!(seen.len(), 1, "{tool}");
        (seen.remove(0), ran.stdout)
    }
}

#[test]
fn imported_tools_send_what_the_document_describes() {
    let shop = Shop::open();
    let ran =
        shop.import(&[&shop.url("openapi.yaml?key=hidden"), "--into", "e", "--result", "/data"]).exits(0);
    assert!(ran.stdout.starts_with("e/shop.toml\ne/shop/invokers/find.toml\n"), "{}", ran.stdout);
    assert!(!format!("{ran:?}").contains("hidden"), "{ran:?}");
    for part in [
        "set `API_SHOP__KEY`: the key for the query `key`",
        "set `API_SHOP__TOKEN`: a token",
        "6 tools written",
        &format!("requests go to http://127.0.0.1:{}\n", shop.port),
    ] {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
    shop.env.run(&["ensembles", "check", "e"]).exits(0);

    let filter = json!({ "name": "a&b", "price": { "min": 1 } });
    let arguments = json!({ "shop": "a/b", "ids": [1, 2], "tag": ["x", "y&z"], "sort": ["name", "price"], "filter": filter, "X-Trace": "t" });
    let (request, result) = shop.call("find", &arguments);
    assert_eq!(request.method, "GET");
    assert_eq!(
        request.path,
        "/v1/shops/a%2Fb/items/1,2?tag=x&tag=y%26z&sort=name%7Cprice&filter%5Bname%5D=a%26b&filter%5Bprice%5D%5Bmin%5D=1&key=k%261"
    );
    assert_eq!((request.header("x-trace"), request.header("authorization")), (Some("t"), None));
    assert_eq!(result.trim(), r#"{"id":7}"#, "the part of the response that the pointer names");

    let (request, _) = shop.call("add", &json!({ "name": "n", "sizes": [1, 2] }));
    assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", "/v1/items"));
    assert_eq!(request.header("authorization"), Some("Bearer t-1"));
    assert_eq!(
        serde_json::from_slice::<Value>(&request.body).unwrap(),
        json!({ "name": "n", "sizes": [1, 2] })
    );

    let (request, result) = shop.call("order", &json!({ "item": "a b", "notes": ["x", "y"] }));
    assert_eq!(request.header("content-type"), Some("application/x-www-form-urlencoded"));
    assert_eq!(request.body, b"item=a%20b&notes=x&notes=y");
    assert_eq!(result.trim(), r#"{"data":{"id":7},"meta":{}}"#, "this response has no such part");

    let (request, _) = shop.call("remove", &json!({ "id": 5 }));
    assert_eq!((request.method.as_str(), request.path.as_str()), ("DELETE", "/v1/items/5"));
}

#[test]
fn imported_tools_send_files() {
    let shop = Shop::open();
    shop.env.write("work/api.yaml", DOCUMENT);
    shop.env.write("work/cat.png", "PNG bytes");
    let server = shop.url("v1");
    shop.import(&["api.yaml", "--into", "e", "--server", &server, "--tag", "pictures"]).exits(0);
    let (request, _) = shop.call("picture", &json!({ "id": 3, "title": "A cat", "image": "cat.png" }));
    assert_eq!(request.path, "/v1/items/3/picture");
    let kind = request.header("content-type").unwrap();
    assert!(kind.starts_with("multipart/form-data; boundary="), "{kind}");
    let body = String::from_utf8(request.body.clone()).unwrap();
    for part in [
        "name=\"title\"\r\n\r\nA cat\r\n",
        "name=\"image\"; filename=\"cat.png\"",
        "image/png\r\n\r\nPNG bytes\r\n",
    ] {
        assert!(body.contains(part), "{part:?}: {body}");
    }
    let (request, _) = shop.call("raw", &json!({ "id": 3, "file": "cat.png" }));
    assert_eq!(
        (request.header("content-type"), request.body.as_slice()),
        (Some("image/png"), &b"PNG bytes"[..])
    );
}

#[test]
fn operations_are_chosen_by_tag_path_and_id() {
    let shop = Shop::open();
    shop.env.write("work/api.yaml", DOCUMENT);
    let chosen = |choice: &[&str]| {
        let args = [&["api.yaml", "--server", "http://x.example", "--json", "--dry-run"], choice].concat();
        let found = shop.import(&args).exits(0).json();
        let files = found["files"].as_array().unwrap().iter().skip(1);
        let name = |file: &Value| {
            let path = file["file"].as_str().unwrap().to_owned();
            path.rsplit(['/', '.']).nth(1).unwrap().to_owned()
        };
        files.map(name).collect::<Vec<_>>()
    };
    assert_eq!(chosen(&["--tag", "pictures"]), ["picture", "raw"]);
    assert_eq!(chosen(&["--path", "/items/{id}*"]), ["remove", "picture", "raw"]);
    assert_eq!(chosen(&["--operation", "add", "--path", "/orders"]), ["add", "order"]);
    assert!(!shop.env.path("home/.config/converse").exists(), "nothing is written");

    let ran = shop.import(&["api.yaml", "--tag", "picture", "--operation", "none"]).exits(3);
    for part in ["the document has no tag `picture`", "the document has no operation `none`"] {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
    shop.import(&["api.yaml", "--into", "e", "--server", "http://x.example"]).exits(0);
    let ran = shop.import(&["api.yaml", "--into", "e", "--server", "http://y.example"]).exits(2);
    assert!(ran.stderr.contains("already-there"), "{}", ran.stderr);
}

/// Files of tools that are not imported any more would look as if they were.
#[test]
fn a_narrower_import_with_force_removes_the_other_tools() {
    let shop = Shop::open();
    shop.env.write("work/api.yaml", DOCUMENT);
    let import = |more: &[&str]| {
        shop.import(&[&["api.yaml", "--into", "e", "--server", "http://x.example"], more].concat())
    };
    import(&[]).exits(0);
    shop.env.write("work/e/shop/invokers/own.toml", "# of the user\n");
    let files = || {
        let names = std::fs::read_dir(shop.env.path("work/e/shop/invokers")).unwrap();
        let mut names: Vec<String> =
            names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    let all = files();
    let ran = import(&["--operation", "add", "--force", "--dry-run"]).exits(0);
    assert!(ran.stderr.contains("note: would be removed: `e/shop/invokers/find.toml`"), "{}", ran.stderr);
    assert_eq!(files(), all);
    let ran = import(&["--operation", "add", "--force"]).exits(0);
    for part in ["note: removed: `e/shop/invokers/find.toml`", "1 tool written"] {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
    assert_eq!(files(), ["add.toml", "own.toml"]);
    shop.env.run(&["ensembles", "check", "e"]).exits(0);
    let found = import(&["--operation", "order", "--force", "--json"]).exits(0).json();
    assert_eq!(found["removed"], json!(["e/shop/invokers/add.toml"]));
}

#[test]
fn a_document_that_cannot_be_read_is_an_error_with_a_hint() {
    let shop = Shop::open();
    shop.env.write("work/api.yaml", DOCUMENT);
    shop.env.write("work/old.json", r#"{"swagger": "2.0"}"#);
    for (args, code, message) in [
        (vec!["old.json"], "openapi-document", "old.json:1:13: this is Swagger 2.0"),
        (vec!["api.yaml"], "openapi-server", "api.yaml:4:3: the document does not say on which server"),
        (
            vec!["api.yaml", "--server", "http://x.example", "--security", "pasword"],
            "openapi-security",
            "`pasword`",
        ),
        (
            vec!["api.yaml", "--server", "x.example"],
            "openapi-server",
            "]: --server: the address `x.example` does not",
        ),
        (vec![&shop.url("moved.yaml")], "openapi-document", "names `/openapi.yaml`, which is not followed"),
        (vec![&shop.url("large.yaml")], "openapi-document", "the document is larger than"),
    ] {
        let ran = shop.import(&args).exits(3);
        assert!(
            ran.stderr.contains(&format!("error[{code}]")) && ran.stderr.contains(message),
            "{}",
            ran.stderr
        );
        assert!(ran.stderr.contains("hint: "), "{}", ran.stderr);
    }
    let ran = shop.import(&["none.yaml"]).exits(3);
    assert!(ran.stderr.contains("error[openapi-document]: none.yaml cannot be read: "), "{}", ran.stderr);
    let ran = shop.env.run_with_stdin(
        &["ensembles", "import", "openapi", "-", "--server", "http://x.example", "--into", "e"],
        DOCUMENT.as_bytes(),
    );
    ran.exits(0);
}
